import asyncio
import json
from typing import Any

import pytest
from aiohttp import ClientResponse

from ramify.web import live
from tests.web.served import Small, serving


async def next_event(response: ClientResponse) -> dict[str, Any]:
    """The next event, with its fields; comments under the empty name."""
    fields: dict[str, Any] = {}
    while line := (await asyncio.wait_for(response.content.readline(), 5)).decode().rstrip("\n"):
        name, _, value = line.partition(": " if not line.startswith(":") else ":")
        fields[name] = value
    return fields


async def test_changes_come_with_their_number_and_close_ones_come_together() -> None:
    small = Small()
    async with serving(small) as client, client.get("/api/live") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert await next_event(response) == {"retry": "1000"}
        small.hub.publish(7, {"task": "a"})
        small.hub.publish(8, {"task": "b"}, {"task": "c"})
        event = await next_event(response)
        assert (event["id"], event["event"]) == ("8", "changes")
        assert json.loads(event["data"]) == {
            "seq": 8,
            "changes": [{"task": "a"}, {"task": "b"}, {"task": "c"}],
        }


async def test_very_many_changes_come_in_parts_and_only_the_last_is_a_place_to_go_on_from() -> None:
    small = Small()
    number = 2 * live.MOST_IN_EVENT + 1
    async with serving(small) as client, client.get("/api/live") as response:
        await next_event(response)
        small.hub.publish(7, *({"task": str(at)} for at in range(number)))
        events = [await next_event(response) for _ in range(3)]
    assert [event.get("id") for event in events] == [None, None, "7"]
    parts = [json.loads(event["data"]) for event in events]
    assert [(part["seq"], part.get("more", False)) for part in parts] == [(7, True), (7, True), (7, False)]
    assert [change["task"] for part in parts for change in part["changes"]] == [str(at) for at in range(number)]


@pytest.mark.parametrize(
    ("query", "headers", "since"),
    [
        ("", {}, None),
        ("?since=7", {}, 7),
        ("?since=3", {"last-event-id": "8"}, 8),
        ("", {"last-event-id": "7"}, 7),
    ],
)
async def test_a_reader_goes_on_where_it_was(query: str, headers: dict[str, str], since: int | None) -> None:
    small = Small()
    for seq in (7, 8, 9):
        small.hub.publish(seq, {"seq": seq})
    async with serving(small) as client, client.get(f"/api/live{query}", headers=headers) as response:
        await next_event(response)
        changes = json.loads((await next_event(response))["data"])["changes"]
        assert [change["seq"] for change in changes] == [seq for seq in (7, 8, 9) if seq > (since or 0)]
    assert small.hub.asked == [since]


async def test_a_wrong_place_to_go_on_from_is_named() -> None:
    async with serving(Small()) as client:
        async with client.get("/api/live?since=x") as response:
            assert response.status == 400
        async with client.get("/api/live", headers={"last-event-id": "x"}) as response:
            assert "Last-Event-ID" in (await response.json())["error"]["message"]


async def test_a_reader_that_can_not_be_given_everything_is_told_to_load_again() -> None:
    small = Small()
    async with serving(small) as client, client.get("/api/live") as response:
        await next_event(response)
        small.hub.publish(7, {"task": "a"})
        small.hub.end()
        assert (await next_event(response))["id"] == "7"
        assert (await next_event(response))["event"] == "resync"
        assert await response.content.read() == b""


async def test_a_slow_reader_is_dropped_and_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_WAITING", 100)
    small = Small()
    async with serving(small) as client, client.get("/api/live") as response:
        await next_event(response)
        small.hub.publish(7, *({"task": at} for at in range(500)))
        assert (await next_event(response))["event"] == "resync"
        assert await response.content.read() == b""


async def test_a_reader_that_stops_reading_gets_a_bounded_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_WAITING", 100)
    small = Small()
    async with serving(small) as client, client.get("/api/live") as response:
        for seq in range(1, 31):
            small.hub.publish(seq, *({"text": "x" * 20_000} for _ in range(60)))
            await asyncio.sleep(0.05)
        everything = await asyncio.wait_for(response.content.read(), 20)
    assert everything.endswith(live.RESYNC)
    assert len(everything) < 30 * 60 * 20_000  # the rest was dropped, not kept in memory


async def test_a_quiet_feed_says_that_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PING_SECONDS", 0.05)
    async with serving(Small()) as client, client.get("/api/live") as response:
        await next_event(response)
        assert await next_event(response) == {"": " ping"}


async def test_a_server_that_stops_does_not_wait_for_its_readers() -> None:
    began = asyncio.get_running_loop().time()
    async with serving(Small()) as client:
        response = await client.get("/api/live")
        await next_event(response)
    assert asyncio.get_running_loop().time() - began < 5
