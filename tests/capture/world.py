"""Small real worlds for capture: a proxy on a socket, and servers and clients that are only bytes."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from aiohttp import web

from ramify.capture.proxy import BODY_LIMIT, SERVER_OPTIONS, Proxy
from ramify.capture.tee import Sink
from ramify.model.observation import Observation, Request, Response

Exchange = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HELLO = {"model": "claude-demo", "max_tokens": 10, "messages": [{"role": "user", "content": "Hello"}]}
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Seen:
    """A sink that keeps everything, in order."""

    observations: list[Observation] = field(default_factory=list)

    def put(self, observation: Observation) -> None:
        self.observations.append(observation)

    @property
    def requests(self) -> list[Request]:
        return [seen for seen in self.observations if isinstance(seen, Request)]

    @property
    def responses(self) -> list[Response]:
        return [seen for seen in self.observations if isinstance(seen, Response)]

    async def response(self, number: int = 0) -> Response:
        """The client may have its last byte a moment before the sink has its observation."""
        await until(lambda: len(self.responses) > number)
        return self.responses[number]


@dataclass
class Front:
    url: str
    port: int
    proxy: Proxy


@asynccontextmanager
async def proxied(upstream: str, sink: Sink, body_limit: int = BODY_LIMIT) -> AsyncIterator[Front]:
    numbers = count(1)
    proxy = Proxy(
        upstream,
        sink,
        project="default",
        clock=lambda: time.time_ns() // 1000,
        new_id=lambda: f"obs_{next(numbers)}",
        fingerprint=lambda key: f"print-of-{key[-4:]}",
        body_limit=body_limit,
    )
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", proxy.handle)
    runner = web.AppRunner(application, shutdown_timeout=1.0, **SERVER_OPTIONS)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    try:
        yield Front(f"http://127.0.0.1:{port}", port, proxy)
    finally:
        await proxy.close()
        await runner.cleanup()


@asynccontextmanager
async def bytes_server(exchange: Exchange) -> AsyncIterator[str]:
    """A server that does with each connection what `exchange` does, and nothing else."""

    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            await exchange(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**20)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in writers:
            if not writer.transport.is_closing():
                writer.transport.abort()
        await asyncio.sleep(0.01)


class Echo:
    """Remembers the bytes it was sent and gives a fixed answer."""

    def __init__(self, answer: bytes = OK, body: int = 0) -> None:
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.answer = answer
        self.body = body

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            self.heads.append(await read_head(reader))
            self.bodies.append(await reader.readexactly(self.body))
            writer.write(self.answer)


async def read_head(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


async def talk(port: int, request: bytes) -> bytes:
    """Says it and reads until the other side closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        await asyncio.sleep(0.002)
