"""The Messages API that the client talks to. It answers by a script and keeps every exchange, byte for byte."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from time import monotonic

from aiohttp import web

from ramify.demo.wire import Json, Reply, error_body, events, numbered, whole
from tests.peers.recording.script import Cue, Script

LARGEST = 2**28
PATIENCE = 40.0
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


@dataclass
class Kept:
    """One exchange, what the script meant by it, and whether the client waited for the end."""

    number: int
    identity: str  # what its ids are made of
    started: datetime
    method: str
    path: str
    headers: dict[str, str]
    body: Json | None = None
    cue: Cue | None = None
    reply: Reply | None = None
    ended: datetime | None = None
    status: int = 0
    answer_headers: dict[str, str] = field(default_factory=dict)
    answer: str = ""
    events: int = 0
    aborted: bool = False

    @property
    def session(self) -> str:
        """In a header now; in the account of clients before that."""
        account = ((self.body or {}).get("metadata") or {}).get("user_id", "")
        found = re.search(r"session_(?:id\":\")?([0-9a-f-]{36})", account)
        return self.header("x-claude-code-session-id") or (found[1] if found else "")

    @property
    def said(self) -> tuple[Json, ...]:
        """The blocks of the answer, as far as it was given."""
        if self.reply is None or self.status != 200:
            return ()
        return tuple(numbered(self.reply, self.identity))

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers.items() if key.lower() == name), None)


class Api:
    def __init__(self, script: Script, seed: str) -> None:
        self.script = script
        self.kept: list[Kept] = []
        self.released = asyncio.Event()
        self.url = ""
        self._seed = seed
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        application = web.Application(client_max_size=LARGEST)
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = "http://{}:{}".format(*self._runner.addresses[0][:2])

    async def stop(self) -> None:
        self.released.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def until(self, scene: str, turn: int = 0, events: int = 1, helper: str | None = None) -> None:
        """The model has begun to speak there."""

        wanted = Cue(scene, turn, helper)
        await until(lambda: any(one.cue == wanted and one.events >= events for one in self.kept), PATIENCE)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        number = len(self.kept) + 1
        kept = Kept(
            number, self._identity(number), datetime.now(UTC), request.method, request.raw_path, dict(request.headers)
        )
        self.kept.append(kept)
        try:
            raw = await request.read()
            kept.body = json.loads(raw) if raw else None
            return await self._route(request, kept)
        except (asyncio.CancelledError, ConnectionError):
            kept.aborted = True
            raise
        finally:
            kept.ended = datetime.now(UTC)

    async def _route(self, request: web.Request, kept: Kept) -> web.StreamResponse:
        if kept.body is None or not request.path.startswith("/v1/messages"):
            return self._whole(kept, None, 200 if request.method == "HEAD" or request.path == "/api/hello" else 404)
        kept.answer_headers = {"request-id": f"req_{kept.identity}"}
        if request.path.endswith("count_tokens"):
            return self._whole(kept, {"input_tokens": len(json.dumps(kept.body)) // 4}, 200)
        kept.cue, reply = self.script(kept.body)
        kept.reply = reply
        if reply.status != 200:
            return self._whole(kept, error_body(reply.status, reply.message, f"req_{kept.identity}"), reply.status)
        if not kept.body.get("stream"):
            return self._whole(kept, whole(reply, kept.identity, kept.body["model"]), 200)
        return await self._stream(request, kept)

    def _whole(self, kept: Kept, body: Json | None, status: int) -> web.Response:
        kept.status = status
        kept.answer = json.dumps(body) if body is not None else ""
        kept.answer_headers |= {"Content-Type": "application/json"} if body is not None else {}
        kept.events = 1
        return web.Response(status=status, text=kept.answer, headers=kept.answer_headers)

    async def _stream(self, request: web.Request, kept: Kept) -> web.StreamResponse:
        assert kept.reply is not None
        assert kept.body is not None
        assert request.transport is not None
        kept.status = 200
        kept.answer_headers |= {"Content-Type": "text/event-stream; charset=utf-8"}
        response = web.StreamResponse(headers=kept.answer_headers)
        await response.prepare(request)
        for event in events(kept.reply, kept.identity, kept.body["model"]):
            if kept.events == kept.reply.cut_after:
                kept.aborted = True
                request.transport.close()
                break
            if kept.events == kept.reply.hold_after:
                await self.released.wait()
            await response.write(event)
            kept.answer += event.decode()
            kept.events += 1
            if kept.reply.pace:
                await asyncio.sleep(kept.reply.pace)
        return response

    def _identity(self, number: int) -> str:
        """Of the shape of real ones: `01` and 22 letters."""
        raw = sha256(f"{self._seed}/{number}".encode()).digest()
        return "01" + "".join(ALPHABET[byte % len(ALPHABET)] for byte in raw[:22])


async def until(true: Callable[[], bool], seconds: float) -> None:
    end = monotonic() + seconds
    while not true():
        if monotonic() > end:
            raise TimeoutError(f"not within {seconds} seconds")
        await asyncio.sleep(0.02)


@asynccontextmanager
async def serving(script: Script, seed: str) -> AsyncIterator[Api]:
    api = Api(script, seed)
    await api.start()
    try:
        yield api
    finally:
        await api.stop()
