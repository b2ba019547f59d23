"""The scripted API says what the real one would, and remembers what it was asked."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from ramify.demo.upstream import Upstream, prompt, serving, turn
from ramify.demo.wire import Json, Reply, events, say, text, thinking, tool
from tests.capture.world import until

HELLO: Json = {"model": "claude-demo", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
RICH = Reply(
    content=(
        thinking("Let me look at the file before I say anything."),
        text("I look. Ä 中 🌳"),
        tool("Read", {"path": 'a "quoted" 🌳\n', "lines": [1, 22, 333], "deep": {"x": None}}),
        tool("Now", {}),
    ),
    usage={"input_tokens": 30, "output_tokens": 44, "cache_read_input_tokens": 5},
)


async def ask(upstream: Upstream, body: Json, path: str = "/v1/messages") -> tuple[int, bytes, str]:
    async with aiohttp.ClientSession() as session, session.post(upstream.url + path, json=body) as response:
        return response.status, await response.read(), response.headers["request-id"]


def parsed(stream: bytes) -> list[Json]:
    blocks = [block.split("\n") for block in stream.decode().strip().split("\n\n")]
    for name, line in blocks:
        assert json.loads(line.removeprefix("data: "))["type"] == name.removeprefix("event: ")
    return [json.loads(line.removeprefix("data: ")) for _, line in blocks]


def rebuilt(stream: list[Json]) -> list[Json]:
    """The content blocks as a client of the API puts them together."""
    blocks: list[Json] = []
    raw: dict[int, str] = {}
    for event in stream:
        match event:
            case {"type": "content_block_start", "content_block": block}:
                blocks.append(dict(block))
            case {"type": "content_block_delta", "index": index, "delta": {"partial_json": piece}}:
                raw[index] = raw.get(index, "") + piece
            case {"type": "content_block_delta", "index": index, "delta": {"type": _, **fields}}:
                for name, piece in fields.items():
                    blocks[index][str(name)] += piece
    for index, words in raw.items():
        blocks[index]["input"] = json.loads(words or "{}")
    return blocks


async def test_a_stream_and_a_whole_answer_say_the_same() -> None:
    async with serving(lambda _: RICH) as upstream:
        stream = parsed((await ask(upstream, HELLO | {"stream": True}))[1])
    async with serving(lambda _: RICH) as upstream:
        whole = json.loads((await ask(upstream, HELLO))[1])
    assert rebuilt(stream) == whole["content"]
    assert stream[0]["message"]["id"] == whole["id"]
    assert (whole["stop_reason"], whole["usage"]["cache_read_input_tokens"]) == ("tool_use", 5)
    assert stream[-2]["usage"] == whole["usage"]
    assert stream[0]["message"]["usage"]["output_tokens"] == 1


async def test_a_stream_has_the_events_of_the_api_in_their_order() -> None:
    names = [event["type"] for event in parsed(b"".join(events(say("one two three four five"), "01", "m")))]
    assert names == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


async def test_two_runs_of_one_story_have_the_same_ids_and_two_requests_have_different_ones() -> None:
    runs = []
    for _ in range(2):
        async with serving(lambda _: RICH, seed="s") as upstream:
            runs.append([json.loads((await ask(upstream, HELLO))[1])["id"] for _ in range(2)])
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
async def test_errors_have_the_shape_of_the_api(status: int, kind: str) -> None:
    async with serving(lambda _: Reply(status=status)) as upstream:
        got, raw, request = await ask(upstream, HELLO | {"stream": True})
    body = json.loads(raw)
    assert (got, body["type"], body["error"]["type"]) == (status, "error", kind)
    assert body["request_id"] == request
    assert request.startswith("req_01")


async def test_a_cut_stream_breaks_off() -> None:
    async with serving(lambda _: Reply(content=(text("a b c d e f"),), cut_after=3)) as upstream:
        with pytest.raises(aiohttp.ClientPayloadError):
            await ask(upstream, HELLO | {"stream": True})


async def test_tokens_are_counted_and_other_paths_are_not_found() -> None:
    async with serving(lambda _: say("Hi")) as upstream:
        counted = json.loads((await ask(upstream, HELLO, "/v1/messages/count_tokens"))[1])
        assert (await ask(upstream, HELLO, "/v1/nothing"))[0] == 404
        async with aiohttp.ClientSession() as session, session.head(upstream.url + "/") as response:
            assert response.status == 200
    assert counted["input_tokens"] > 10
    assert [received.method for received in upstream.requests] == ["POST", "POST", "HEAD"]


async def test_requests_are_remembered_as_they_were() -> None:
    async with serving(lambda _: say("Hi")) as upstream:
        await ask(upstream, HELLO, "/v1/messages?beta=true")
    (received,) = upstream.requests
    assert (received.method, received.path, received.left) == ("POST", "/v1/messages?beta=true", False)
    assert (json.loads(received.body), received.header("content-type")) == (HELLO, "application/json")


async def test_a_client_that_leaves_is_noticed_while_the_answer_is_held() -> None:
    async with serving(lambda _: Reply(content=(text("a"),), hold_after=2)) as upstream:
        asking = asyncio.create_task(ask(upstream, HELLO | {"stream": True}))
        await until(lambda: any(received.body for received in upstream.requests))
        asking.cancel()
        await until(lambda: upstream.requests[0].left)


async def test_a_held_answer_goes_on_when_it_is_released() -> None:
    async with serving(lambda _: Reply(content=(text("a"),), hold_after=2)) as upstream:
        asking = asyncio.create_task(ask(upstream, HELLO | {"stream": True}))
        await asyncio.sleep(0.05)
        assert not asking.done()
        upstream.released.set()
        assert parsed((await asking)[1])[-1] == {"type": "message_stop"}


def test_a_script_knows_where_a_line_of_work_began_and_how_far_it_is() -> None:
    first: Any = [{"type": "text", "text": "<system-reminder>…"}, {"type": "text", "text": "Do it"}]
    messages = [{"role": "user", "content": first}, {"role": "assistant", "content": "Yes"}]
    assert (prompt({"messages": messages}), turn({"messages": messages})) == ("Do it", 1)
    assert (prompt(HELLO), turn(HELLO)) == ("Hello", 0)
