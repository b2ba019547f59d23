"""The operator sees every session of the event log by its public name, and takes none over by looking."""

from tests.web.test_events import REQUEST, RESPONSE, Client, client, serving


async def named(one: Client) -> str:
    return str((await one.data("GET", "/api/session/info"))["session"])


async def test_the_operator_sees_all_sessions_and_callers_their_own() -> None:
    async with serving() as (_, address), client(address) as first, client(address) as second, client(address) as operator:
        await first.post(REQUEST, RESPONSE)
        await second.post({**REQUEST, "agentId": "agent_y"})
        one, other = await named(first), await named(second)
        found = (await operator.ask("GET", "/api/sessions"))["items"]
        assert {each["session"]: (each["eventCount"], each["openTasks"]) for each in found} == {one: (2, 0), other: (1, 1)}
        board = (await operator.ask("GET", "/api/all/operations"))["items"]
        assert sorted((each["session"], each["operationId"], each["agents"][0]) for each in board) == sorted(
            [(one, "op_1234", "agent_x"), (other, "op_1234", "agent_y")]
        )
        mine = (await operator.ask("GET", f"/api/all/operations?session={one}"))["items"]
        assert [each["session"] for each in mine] == [one]
        detail = await operator.data("GET", f"/api/sessions/{one}/operations/op_1234")
        assert [event["eventType"] for event in detail["events"]] == ["protocol_request", "protocol_response"]
        assert (await operator.data("GET", f"/api/sessions/{other}/events"))["lastSeq"] == 1
        assert (await operator.data("GET", "/api/operations"))["operations"] == []


async def test_an_operator_empties_one_session_and_leaves_the_others() -> None:
    async with serving() as (_, address), client(address) as first, client(address) as second, client(address) as operator:
        await first.post(REQUEST)
        await second.post(REQUEST)
        name = await named(first)
        async with operator.http.request("DELETE", f"{address}/api/sessions/{name}/events") as answer:
            assert (await answer.json())["data"] == {"deleted": 1}
            assert "set-cookie" not in answer.headers
        assert (await first.data("GET", "/api/events"))["events"] == []
        assert len((await second.data("GET", "/api/events"))["events"]) == 1


async def test_a_session_is_streamed_to_the_operator_from_a_number_on() -> None:
    async with serving() as (_, address), client(address) as first, client(address) as operator:
        await first.post(REQUEST, RESPONSE)
        name = await named(first)
        async with operator.http.get(f"{address}/api/sessions/{name}/events/stream?after_seq=1") as stream:
            lines = [(await stream.content.readline()).decode().strip() for _ in range(5)]
            assert "id: 2" in lines
            assert "set-cookie" not in stream.headers
