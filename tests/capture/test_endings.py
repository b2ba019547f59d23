"""How an exchange ends on one side is how it ends on the other."""

import asyncio
import gc
import io
import json

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler

from ramify.capture.pool import Pool
from ramify.capture.tee import Exchange
from ramify.demo.upstream import serving
from ramify.demo.wire import Reply, say
from tests.capture.world import HELLO, Seen, bytes_server, proxied, read_head, talk, until


async def test_a_cut_stream_reaches_the_client_as_a_cut_stream() -> None:
    seen = Seen()
    reply = Reply(content=say("one two three four five six").content, cut_after=4)
    async with serving(lambda _: reply) as upstream, proxied(upstream.url, seen) as front:
        body = json.dumps(HELLO | {"stream": True}).encode()
        head = b"POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)
        got = await talk(front.port, head + body)
        response = await seen.response()
    assert got.count(b"event: ") == 4
    assert not got.endswith(b"0\r\n\r\n")
    assert (response.outcome, response.status) == ("cut", 200)
    assert response.body.count(b"event: ") == 4
    assert "closed early" in response.error


async def test_a_short_body_reaches_the_client_as_a_short_body() -> None:
    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")

    seen = Seen()
    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        got = await talk(front.port, b"GET /v1/x HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (await seen.response()).outcome == "cut"
    assert got == b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"


async def test_an_upstream_that_leaves_without_a_word_leaves_the_client_without_a_word() -> None:
    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)

    seen = Seen()
    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        assert await talk(front.port, b"GET /v1/x HTTP/1.1\r\nHost: h\r\n\r\n") == b""
        response = await seen.response()
    assert (response.outcome, response.status, response.first_byte) == ("cut", 0, 0)


@pytest.mark.parametrize("framing", [b"Content-Length: 2\r\n\r\n{}", b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"], ids=["whole", "chunked"])
async def test_an_upstream_that_leaves_before_it_is_asked_has_left_without_a_word(framing: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Pool._open

    async def left(pool: Pool) -> ResponseHandler:
        connection = await opened(pool)
        assert connection.transport is not None
        connection.transport.abort()
        return connection

    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)

    monkeypatch.setattr(Pool, "_open", left)
    seen = Seen()
    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        assert await talk(front.port, b"POST /v1/x HTTP/1.1\r\nHost: h\r\n" + framing) == b""
        response = await seen.response()
    assert (response.outcome, response.status) == ("cut", 0)
    assert seen.requests[0].body == b"{}"


async def test_an_answer_that_ends_with_its_connection_is_whole() -> None:
    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nall of it")

    seen = Seen()
    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        got = await talk(front.port, b"GET /v1/x HTTP/1.0\r\n\r\n")
        assert (await seen.response()).outcome == "complete"
        async with aiohttp.ClientSession() as session, session.get(front.url + "/v1/x") as response:
            assert await response.read() == b"all of it"
    assert got.endswith(b"\r\n\r\nall of it")


@pytest.mark.parametrize("hold_after", [0, 3])
async def test_a_client_that_leaves_takes_the_upstream_request_with_it(hold_after: int) -> None:
    seen = Seen()
    reply = Reply(content=say("one two three four five six").content, hold_after=hold_after)
    async with serving(lambda _: reply) as upstream, proxied(upstream.url, seen) as front:
        async with aiohttp.ClientSession() as session:
            url = front.url + "/v1/messages"
            async with session.post(url, json=HELLO | {"stream": True}) as response:
                while hold_after and (await response.content.readline()) != b"event: content_block_start\n":
                    pass
                response.close()
        await until(lambda: upstream.requests[0].left)
        ended = await seen.response()
    assert ended.outcome == "aborted"
    assert ended.body.count(b"event: ") == hold_after


async def test_a_client_that_leaves_after_a_large_upload_takes_the_upstream_request_with_it() -> None:
    seen = Seen()
    large = HELLO | {"stream": True, "system": "x" * 5_000_000}
    reply = Reply(content=say("one").content, hold_after=3)
    async with serving(lambda _: reply) as upstream, proxied(upstream.url, seen) as front:
        async with (
            aiohttp.ClientSession() as session,
            session.post(front.url + "/v1/messages", data=io.BytesIO(json.dumps(large).encode())) as response,
        ):
            await response.content.readline()
            response.close()
        await until(lambda: upstream.requests[0].left)
        assert (await seen.response()).outcome == "aborted"
    assert len(seen.requests[0].body) > 5_000_000


async def test_a_client_that_leaves_in_the_middle_of_its_upload_is_observed() -> None:
    gone = asyncio.Event()

    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        gone.set()

    seen = Seen()
    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        _, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\nhalf")
        await asyncio.sleep(0.05)
        writer.close()
        await asyncio.wait_for(gone.wait(), 5)
        response = await seen.response()
    assert (seen.requests[0].body, response.outcome, response.status) == (b"half", "aborted", 0)


async def test_an_answer_to_half_an_upload_reaches_the_client_at_once() -> None:
    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
        await reader.read()

    seen = Seen()
    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\nhalf")
        assert (await asyncio.wait_for(read_head(reader), 5)).startswith(b"HTTP/1.1 413 Too Large\r\n")
        writer.close()
        assert (await seen.response()).status == 413
    assert seen.requests[0].body == b"half"


async def test_a_dead_upstream_is_an_error_that_says_what_to_do() -> None:
    seen = Seen()
    async with proxied("http://127.0.0.1:9", seen) as front, aiohttp.ClientSession() as session:
        async with session.post(front.url + "/v1/messages", json=HELLO) as response:
            body = await response.json()
            assert response.status == 502
        assert (await seen.response()).outcome == "failed"
    assert body["type"] == "error"
    assert body["error"]["type"] == "api_error"
    assert body["error"]["message"].startswith("ramify: cannot reach upstream http://127.0.0.1:9 (")
    assert "--anthropic-upstream" in body["error"]["message"]
    assert json.loads(seen.requests[0].body) == HELLO
    assert seen.responses[0].status == 502
    assert json.loads(seen.responses[0].body) == body


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok"])
async def test_what_was_cut_is_let_go_at_once(answer: bytes) -> None:
    """Its bodies do not wait for a search for rings of objects, which a quiet server seldom makes."""

    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(answer)

    seen = Seen()
    gc.collect()
    gc.disable()
    try:
        async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
            for number in range(5):
                await talk(front.port, b"GET /v1/x HTTP/1.1\r\nHost: h\r\n\r\n")
                assert (await seen.response(number)).outcome == "cut"
            await until(lambda: not any(isinstance(one, Exchange) for one in gc.get_objects()))
    finally:
        gc.enable()
