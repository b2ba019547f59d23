"""The two processes that the latency benchmark measures between: an upstream of bytes, and a bare proxy."""

import asyncio
import sys
import time
from itertools import count
from typing import cast

from aiohttp import web

from bench.loops import run
from ramify.capture.allocator import reuse_memory
from ramify.capture.proxy import SERVER_OPTIONS, Proxy
from ramify.model.observation import Observation

ANSWER = b"x" * 2000
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2000\r\n\r\n" + ANSWER
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b"c8\r\n" + b"e" * 200 + b"\r\n"
EVENTS = 10
BETWEEN_EVENTS = 0.002
LAST = b"0\r\n\r\n"


class Script(asyncio.Protocol):
    """Answers whole requests, cheaply enough that the proxy is what is measured."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self._missing = -1
        self._head = b""
        self._streams = False

    def data_received(self, chunk: bytes) -> None:
        if self._missing < 0:
            self._head += chunk
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            chunk = self._head[end + 4 :]
            self._open(self._head[:end])
        self._missing -= len(chunk)
        if self._missing == 0:
            self._missing = -1
            self._answer()

    def _open(self, head: bytes) -> None:
        lower = head.lower()
        start = lower.index(b"content-length:") + 15
        stop = lower.find(b"\r\n", start)
        self._missing = int(lower[start : stop if stop > 0 else None])
        self._streams = b"?stream" in head
        self._head = b""

    def _answer(self) -> None:
        if not self._streams:
            self.transport.write(WHOLE)
            return
        self.transport.write(STREAM_HEAD + EVENT)
        asyncio.get_running_loop().call_later(BETWEEN_EVENTS, self._go_on, 1)

    def _go_on(self, sent: int) -> None:
        if sent == EVENTS:
            self.transport.write(LAST)
            return
        self.transport.write(EVENT)
        asyncio.get_running_loop().call_later(BETWEEN_EVENTS, self._go_on, sent + 1)


class Nothing:
    """A sink that keeps nothing: the proxy alone is measured."""

    def put(self, observation: Observation) -> None:
        return


async def serve_upstream(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Script, "127.0.0.1", port)
    await server.serve_forever()


async def serve_proxy(port: int, upstream: str) -> None:
    reuse_memory()
    numbers = count()
    proxy = Proxy(
        upstream,
        Nothing(),
        project="bench",
        clock=lambda: time.time_ns() // 1000,
        new_id=lambda: f"obs_{next(numbers)}",
        fingerprint=lambda key: key[-4:],
    )
    application = web.Application()
    application.router.add_route("*", "/v1/{path:.*}", proxy.handle)
    runner = web.AppRunner(application, **SERVER_OPTIONS)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    role, at, *rest = sys.argv[1:]
    run(serve_upstream(int(at)) if role == "upstream" else serve_proxy(int(at), rest[0]))
