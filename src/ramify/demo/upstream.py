"""A Messages API of our own: answers by a script, as the real one does, and remembers what it was asked."""

import asyncio
import json
from base64 import b32encode
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from ramify.demo.wire import Json, Reply, error_body, events, whole
from ramify.model.ids import digest

Script = Callable[[Json], Reply]
"""From the body of a request to what the model says. It may keep count: it is asked once for each request."""

LARGEST_BODY = 2**30


@dataclass
class Received:
    """One request, as it was on the wire."""

    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes = b""
    identity: str = ""  # what the ids of its answer are made of
    sent: int = 0  # events of a streamed answer
    left: bool = False  # the client went away before the answer was whole

    def header(self, name: str) -> str:
        return next((value.decode() for key, value in self.headers if key.decode().lower() == name), "")


class Upstream:
    """Ids follow from the seed, the prompt and the turn: two runs of one story write the same bytes."""

    def __init__(self, script: Script, seed: str = "ramify") -> None:
        self.requests: list[Received] = []
        self.released = asyncio.Event()
        self.url = ""
        self._script = script
        self._seed = seed
        self._seen: Counter[bytes] = Counter()
        self._runner: web.AppRunner | None = None

    async def start(self, port: int = 0) -> None:
        application = web.Application(client_max_size=LARGEST_BODY)
        application.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        self._runner = runner
        self.url = "http://{}:{}".format(*runner.addresses[0][:2])

    async def stop(self) -> None:
        self.released.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        received = Received(request.method, request.raw_path, request.raw_headers)
        self.requests.append(received)
        try:
            received.body = await request.read()
            return await self._route(request, received)
        except (asyncio.CancelledError, ConnectionError):
            received.left = True
            raise

    async def _route(self, request: web.Request, received: Received) -> web.StreamResponse:
        raw = received.body
        if request.method == "HEAD" or request.path == "/api/hello":
            return web.Response()
        identity = received.identity = self._identity(raw)
        if request.method != "POST" or not request.path.startswith("/v1/messages"):
            return refusal(404, "", identity)
        try:
            body = json.loads(raw)
        except ValueError:
            return refusal(400, "The body is no JSON.", identity)
        if request.path == "/v1/messages/count_tokens":
            return web.json_response({"input_tokens": len(raw) // 4}, headers=ids(identity))
        reply = self._script(body)
        if reply.status != 200:
            return refusal(reply.status, reply.message, identity)
        if body.get("stream"):
            stream = events(reply, identity, body["model"])
            return await self._stream(request, received, reply, stream)
        if reply.hold_after is not None:
            await self.released.wait()
        return web.json_response(whole(reply, identity, body["model"]), headers=ids(identity))

    async def _stream(
        self, request: web.Request, received: Received, reply: Reply, stream: Iterator[bytes]
    ) -> web.StreamResponse:
        headers = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
        response = web.StreamResponse(headers=headers | ids(received.identity))
        await response.prepare(request)
        for event in stream:
            if received.sent == reply.cut_after:
                assert request.transport is not None
                request.transport.close()
                break
            if received.sent == reply.hold_after:
                await self.released.wait()
            await response.write(event)
            received.sent += 1
            if reply.pace:
                await asyncio.sleep(reply.pace)
        return response

    def _identity(self, raw: bytes) -> str:
        """Not from the whole body: that holds durations and dates, which differ between two runs."""
        key = digest(self._seed, opening(raw))
        self._seen[key] += 1
        return "01" + b32encode(digest(key, self._seen[key])).decode()[:22]


@asynccontextmanager
async def serving(script: Script, seed: str = "ramify") -> AsyncIterator[Upstream]:
    upstream = Upstream(script, seed)
    await upstream.start()
    try:
        yield upstream
    finally:
        await upstream.stop()


def prompt(body: Json) -> str:
    """The words that began this line of work: the last text of its first message (reminders come first)."""
    for message in body.get("messages", ()):
        if message["role"] == "user":
            content = message["content"]
            if isinstance(content, str):
                return content
            return next((block["text"] for block in reversed(content) if block["type"] == "text"), "")
    return ""


def turn(body: Json) -> int:
    """How often the model has spoken in this line of work; parallel agents do not disturb each other."""
    return sum(message["role"] == "assistant" for message in body.get("messages", ()))


def opening(raw: bytes) -> str:
    try:
        body = json.loads(raw)
        return f"{prompt(body)}\n{turn(body)}"
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""


def refusal(status: int, message: str, identity: str) -> web.Response:
    return web.json_response(
        error_body(status, message, f"req_{identity}"), status=status, headers=ids(identity)
    )


def ids(identity: str) -> dict[str, str]:
    return {"request-id": f"req_{identity}"}
