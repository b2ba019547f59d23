"""Slow readers, sudden ends, old connections, TLS: what the proxy does when the two sides are not in step."""

import asyncio
import shutil
import ssl
import subprocess
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from ramify.capture.allocator import reuse_memory
from ramify.capture.pool import Pool
from tests.capture.world import OK, Seen, bytes_server, proxied, read_head, talk, until

GET = b"GET /v1/x HTTP/1.1\r\nHost: h\r\n\r\n"
FLOOD = 200 * 2**20
PIECE = b"x" * 2**16


async def test_a_client_that_reads_slowly_slows_the_upstream_down() -> None:
    sent = 0

    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % FLOOD)
        while sent < FLOOD:
            writer.write(PIECE)
            await writer.drain()
            sent += len(PIECE)

    async with bytes_server(upstream_side) as upstream, proxied(upstream, Seen()) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(GET)
        await read_head(reader)
        await asyncio.sleep(0.5)
        assert sent < FLOOD / 4
        writer.transport.abort()


async def test_an_upstream_that_reads_slowly_slows_the_client_down() -> None:
    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        await asyncio.sleep(30)

    sent = 0
    async with bytes_server(upstream_side) as upstream, proxied(upstream, Seen()) as front:
        _, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % FLOOD)
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                while sent < FLOOD:
                    writer.write(PIECE)
                    await writer.drain()
                    sent += len(PIECE)
        assert sent < FLOOD / 4
        writer.transport.abort()


async def test_what_came_before_a_sudden_end_reaches_even_a_slow_client() -> None:
    size = 8 * 2**20

    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (size + 1) + b"x" * size)

    seen = Seen()
    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(GET)
        await read_head(reader)
        await asyncio.sleep(0.3)
        assert len(await reader.read()) == size
        writer.close()
        response = await seen.response()
    assert (response.outcome, len(response.body)) == ("cut", size)


async def test_a_connection_that_the_upstream_has_closed_is_not_used_again() -> None:
    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(OK)

    async with bytes_server(upstream_side) as upstream, proxied(upstream, Seen()) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        for _ in range(3):
            writer.write(GET)
            assert await asyncio.wait_for(reader.readexactly(len(OK)), 5) == OK
            await asyncio.sleep(0.02)
        writer.close()


async def test_what_is_no_http_ends_like_a_cut() -> None:
    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"SSH-2.0-nothing to see here\r\n\r\n")

    seen = Seen()
    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        assert await talk(front.port, GET) == b""
        assert (await seen.response()).outcome == "cut"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not here to make a certificate")
    both = tmp_path / "both.pem"
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    made = (
        openssl,
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        both,
        "-out",
        tmp_path / "c.pem",
    )
    subprocess.run([*made, *subject], check=True, capture_output=True)
    both.write_text(both.read_text() + (tmp_path / "c.pem").read_text())
    return both


async def test_an_upstream_behind_tls_is_reached_if_its_certificate_is_known(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(OK)
        writer.close()

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
    status, body = await get_through(url)
    assert (status, b"CERTIFICATE_VERIFY_FAILED" in body) == (502, True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert await get_through(url) == (200, b"ok")
    server.close()


async def get_through(upstream: str) -> tuple[int, bytes]:
    async with (
        proxied(upstream, Seen()) as front,
        aiohttp.ClientSession() as session,
        session.get(front.url + "/v1/x") as response,
    ):
        return response.status, await response.read()


@pytest.mark.parametrize("address", ["", "api.anthropic.com", "ftp://x", "http://"])
def test_what_is_no_address_is_refused_with_a_hint(address: str) -> None:
    with pytest.raises(ValueError, match="give an address such as"):
        Pool(address)


async def test_memory_can_be_tuned_while_bodies_pass() -> None:
    reuse_memory()
    seen = Seen()

    async def upstream_side(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await read_head(reader)
            await reader.readexactly(2**20)
            writer.write(OK)

    async with bytes_server(upstream_side) as upstream, proxied(upstream, seen) as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        for _ in range(5):
            writer.write(
                b"POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % 2**20 + b"x" * 2**20
            )
            assert await asyncio.wait_for(reader.readexactly(len(OK)), 5) == OK
        writer.close()
        await until(lambda: len(seen.responses) == 5)
    assert {len(request.body) for request in seen.requests} == {2**20}
