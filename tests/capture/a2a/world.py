"""Named agents behind a proxy on a socket; the agents are servers that are only bytes."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from aiohttp import web

from ramify.capture.a2a.agents import Agents
from ramify.capture.proxy import BODY_LIMIT, SERVER_OPTIONS
from ramify.capture.tee import Sink
from ramify.model.observation import Record
from tests.capture.world import Seen, until

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


@dataclass
class Front:
    url: str
    port: int
    agents: Agents


@asynccontextmanager
async def watched(addresses: dict[str, str], sink: Sink, body_limit: int = BODY_LIMIT, port: int = 0) -> AsyncIterator[Front]:
    numbers = count(1)
    agents = Agents(
        addresses, sink, "default", lambda: time.time_ns() // 1000, lambda: f"run-{next(numbers)}", body_limit
    )
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", agents.handle)
    runner = web.AppRunner(application, shutdown_timeout=1.0, **SERVER_OPTIONS)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    port = runner.addresses[0][1]
    try:
        yield Front(f"http://127.0.0.1:{port}", port, agents)
    finally:
        await agents.close()
        await runner.cleanup()


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def unchunked(answer: bytes) -> bytes:
    """The body of an answer in chunks that came to its end."""
    rest, body = answer.partition(b"\r\n\r\n")[2], b""
    while rest != LAST:
        size, _, rest = rest.partition(b"\r\n")
        body += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    return body


def whole(body: bytes, kind: bytes = b"application/json", more: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b\r\n%b" % (kind, len(body), more, body)


def asked(path: str, method: str = "GET", body: bytes = b"", more: str = "", host: str = "ours:1") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n"
    return (head + (f"Content-Length: {len(body)}\r\n" if body else "") + "\r\n").encode() + body


def records(seen: Seen) -> list[Record]:
    return [observation for observation in seen.observations if isinstance(observation, Record)]


def frames(seen: Seen) -> list[dict[str, Any]]:
    return [json.loads(record.body) for record in records(seen)]


async def frames_until(seen: Seen, kind: str) -> list[dict[str, Any]]:
    """The client may have its last byte a moment before the sink has the frame of it."""
    await until(lambda: any(frame["kind"] == kind for frame in frames(seen)))
    return frames(seen)
