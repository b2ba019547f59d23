"""Whoever runs the server sees the operations and events of every session; a caller sees its own."""

from tests.web.test_events import REQUEST, RESPONSE, client, serving


async def test_the_operator_sees_every_session() -> None:
    async with serving() as (_, address), client(address) as one, client(address) as other, client(address) as operator:
        await one.post(REQUEST, RESPONSE)
        await other.post({**REQUEST, "operationId": "op_other"})
        assert (await operator.data("GET", "/api/operations"))["operations"] == []
        found = await operator.ask("GET", "/api/all/operations")
        assert [(item["operationId"], item["status"]) for item in found["items"]] == [("op_other", "pending"), ("op_1234", "completed")]
        tree = await operator.ask("GET", "/api/all/operations/op_1234")
        assert [root["status"] for root in tree["roots"]] == ["completed"]
        events = await operator.ask("GET", "/api/all/events?operation_id=op_1234")
        assert [item["eventType"] for item in events["items"]] == ["protocol_response", "protocol_request"]
