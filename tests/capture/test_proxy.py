"""What a client and an upstream notice of the proxy between them: nothing."""

import asyncio
import gzip
import io

import aiohttp
import pytest

from ramify.demo.upstream import serving
from ramify.demo.wire import Reply, say
from tests.capture.world import HELLO, OK, Echo, Seen, bytes_server, proxied, read_head, talk, until


async def test_a_request_arrives_with_its_bytes_in_order_case_and_number() -> None:
    echo = Echo(body=4)
    async with bytes_server(echo) as upstream, proxied(upstream, Seen()) as front:
        await talk(
            front.port,
            b"PATCH /v1/odd//path/../x?b=%20+&a=%C3%A4&a HTTP/1.1\r\nX-UPPER: 1\r\nhost: here\r\n"
            b"x-twice: b\r\nX-Twice: a\r\nContent-length: 4\r\nx-latin: caf\xe9\r\n"
            b"Connection: close, x-mine\r\nX-Mine: 1\r\n"
            b"Keep-Alive: 5\r\nTE: trailers\r\nX-Ramify-Project: p\r\nx-last:\r\n\r\nbody",
        )
    port = upstream.rpartition(":")[2].encode()
    assert echo.heads == [
        b"PATCH /v1/odd//path/../x?b=%20+&a=%C3%A4&a HTTP/1.1\r\nX-UPPER: 1\r\nhost: 127.0.0.1:"
        + port
        + b"\r\nx-twice: b\r\nX-Twice: a\r\nContent-length: 4\r\nx-latin: caf\xe9\r\nx-last: \r\n\r\n"
    ]
    assert echo.bodies == [b"body"]


async def test_an_answer_arrives_with_its_bytes_in_order_case_and_number() -> None:
    answer = (
        b"HTTP/1.1 299 Quite Fine\r\nrequest-ID: r1\r\nSet-Cookie: a=1\r\nX-b: 2\r\nset-cookie: b=2\r\n"
        b"Keep-Alive: timeout=5\r\nContent-Length: 2\r\nX-Latin: caf\xe9\r\n\r\nok"
    )
    async with bytes_server(Echo(answer)) as upstream, proxied(upstream, Seen()) as front:
        got = await talk(front.port, b"GET /v1/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert got == answer.replace(b"Keep-Alive: timeout=5\r\n", b"").replace(
        b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"
    )


async def test_redirects_and_cookies_are_the_clients_own_matter() -> None:
    echo = Echo(b"HTTP/1.1 302 Found\r\nLocation: /v1/b\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n")
    async with bytes_server(echo) as upstream, proxied(upstream, Seen()) as front:
        for _ in range(2):
            got = await talk(front.port, b"GET /v1/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert got.startswith(b"HTTP/1.1 302 Found\r\nLocation: /v1/b\r\n")
    assert len(echo.heads) == 2
    assert b"ookie" not in echo.heads[1]


async def test_a_prefix_is_taken_off_and_a_base_path_is_put_before() -> None:
    echo = Echo()
    async with bytes_server(echo) as upstream, proxied(upstream + "/base/", Seen()) as front:
        for path in (b"/anthropic/v1/models?x=1", b"/v1/models", b"/anthropic", b"/anthropics"):
            await talk(front.port, b"GET " + path + b" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert [head.split(b" ")[1] for head in echo.heads] == [
        b"/base/v1/models?x=1",
        b"/base/v1/models",
        b"/base/",
        b"/base/anthropics",
    ]


async def test_a_chunked_upload_stays_chunked_and_flows_piece_by_piece() -> None:
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await arrived.put(await read_head(reader))
        while (size := int(await reader.readline(), 16)) > 0:
            await arrived.put(await reader.readexactly(size))
            await reader.readline()
        writer.write(OK)

    seen = Seen()
    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert b"Transfer-Encoding: chunked\r\n" in await arrived.get()
        for piece in (b"one", b"three"):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            assert await asyncio.wait_for(arrived.get(), 5) == piece
        assert not seen.requests
        writer.write(b"0\r\n\r\n")
        assert (await read_head(reader)).startswith(b"HTTP/1.1 200 OK")
        writer.close()
    assert [request.body for request in seen.requests] == [b"onethree"]


async def test_compressed_bodies_pass_untouched_both_ways() -> None:
    packed = gzip.compress(b"x" * 5000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    echo, seen = Echo(head + packed, body=len(packed)), Seen()
    async with bytes_server(echo) as upstream, proxied(upstream, seen) as front:
        got = await talk(
            front.port,
            b"POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(packed), packed),
        )
        response = await seen.response()
    assert echo.bodies == [packed]
    assert got.endswith(b"\r\n\r\n" + packed)
    assert (seen.requests[0].body, response.body) == (packed, packed)


async def test_the_first_piece_arrives_before_the_second_is_sent() -> None:
    go_on = asyncio.Event()

    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await go_on.wait()
        for piece in (b"a", b"b"):
            go_on.clear()
            writer.write(b"1\r\n%b\r\n" % piece)
            await go_on.wait()
        writer.write(b"0\r\n\r\n")

    seen = Seen()
    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"GET /v1/x HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (await read_head(reader)).endswith(b"Transfer-Encoding: chunked\r\n\r\n")
        for piece in (b"1\r\na\r\n", b"1\r\nb\r\n", b"0\r\n\r\n"):
            go_on.set()
            assert await asyncio.wait_for(reader.readexactly(len(piece)), 5) == piece
        writer.close()
        response = await seen.response()
    assert response.outcome == "complete"
    assert seen.requests[0].at < response.first_byte < response.at


@pytest.mark.parametrize("status", [400, 429, 500, 529])
async def test_errors_of_the_upstream_pass_as_they_are(status: int) -> None:
    seen = Seen()
    async with (
        serving(lambda _: Reply(status=status)) as upstream,
        proxied(upstream.url, seen) as front,
        aiohttp.ClientSession() as session,
        session.post(front.url + "/v1/messages", json=HELLO) as response,
    ):
        assert response.status == status
        assert (await response.json())["request_id"] == response.headers["request-id"]
        assert ((await seen.response()).outcome, seen.responses[0].status) == ("complete", status)


@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_without_a_body_has_no_body(status: int) -> None:
    echo = Echo(b"HTTP/1.1 %d Nothing\r\nETag: x\r\n\r\n" % status)
    async with bytes_server(echo) as upstream, proxied(upstream, Seen()) as front:
        got = await talk(front.port, b"GET /v1/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert got == b"HTTP/1.1 %d Nothing\r\nETag: x\r\nConnection: close\r\n\r\n" % status


async def test_the_answer_to_head_keeps_its_length_and_its_connection() -> None:
    echo = Echo(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
    async with bytes_server(echo) as upstream, proxied(upstream, Seen()) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        for _ in range(3):
            writer.write(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
            assert await asyncio.wait_for(read_head(reader), 5) == echo.answer
        writer.close()
    assert len(echo.heads) == 3


async def test_a_client_that_waits_to_be_asked_for_its_body_is_asked() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\n"
    echo = Echo(early + OK, body=4)
    async with bytes_server(echo) as upstream, proxied(upstream, Seen()) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"POST /v1/x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert await asyncio.wait_for(read_head(reader), 5) == early
        writer.write(b"body")
        assert await asyncio.wait_for(reader.readexactly(len(OK)), 5) == OK
        writer.close()
    assert b"Expect: 100-continue\r\n" in echo.heads[0]


async def test_a_hundred_streams_run_side_by_side() -> None:
    seen = Seen()

    def script(body: dict[str, object]) -> Reply:
        return Reply(content=say(f"{body['max_tokens']} says all of this at leisure").content, pace=0.005)

    async with (
        serving(script) as upstream,
        proxied(upstream.url, seen) as front,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
    ):

        async def one(number: int) -> str:
            body = HELLO | {"stream": True, "max_tokens": number}
            async with session.post(front.url + "/v1/messages", json=body) as response:
                return await response.text()

        texts = await asyncio.gather(*(one(number) for number in range(100)))
        await until(lambda: len(seen.responses) == 100)
    assert all(f'"{number} says all' in text for number, text in enumerate(texts))
    assert sorted(text.encode() for text in texts) == sorted(response.body for response in seen.responses)


async def test_thirty_two_megabytes_pass_both_ways() -> None:
    size = 32 * 2**20
    body = bytes(range(256)) * (size // 256)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size
    echo, seen = Echo(head + body, body=size), Seen()
    async with (
        bytes_server(echo) as upstream,
        proxied(upstream, seen) as front,
        aiohttp.ClientSession() as session,
        session.post(front.url + "/v1/messages", data=io.BytesIO(body)) as response,
    ):
        got = await response.read()
        observed = await seen.response()
    assert (echo.bodies[0] == body, got == body) == (True, True)
    assert (seen.requests[0].body == body, observed.body == body, observed.error) == (True, True, "")


async def test_connections_to_the_upstream_are_used_again() -> None:
    opened = 0
    echo = Echo()

    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        await echo(reader, writer)

    async with bytes_server(upstream_side) as upstream, proxied(upstream, Seen()) as front:
        for _ in range(5):
            await talk(front.port, b"GET /v1/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert (opened, len(echo.heads)) == (1, 5)
