"""Clients that know what they must get, byte for byte, and say of every exchange how it went."""

import asyncio
import itertools
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import aiohttp

from bench.soaked import TROUBLE
from bench.wishes import Wish, answer, asked, drawn, words
from ramify.capture.answer import left_over
from ramify.demo.wire import Json

PATIENCE = aiohttp.ClientTimeout(total=180, sock_connect=10)
MOST_TURNS = 10
SLOW_SHARE = 0.1  # of the clients that read with pauses


class Got(NamedTuple):
    status: int  # 0: no answer
    body: bytes
    whole: bool


class Down:
    """When nobody could answer, because the server was killed: what passed through it then was cut by us."""

    def __init__(self) -> None:
        self._times: list[tuple[float, float]] = []
        self._since = 0.0

    def begin(self) -> None:
        self._since = time.monotonic()

    def end(self) -> None:
        self._times.append((self._since, time.monotonic()))
        self._since = 0.0

    def touched(self, began: float, ended: float) -> bool:
        if self._since and ended >= self._since:
            return True
        return any(began <= last and ended >= first for first, last in self._times)

    def before(self, ended: float) -> float:
        """How many seconds later the next kill came."""
        later = [first - ended for first, _ in self._times if first >= ended]
        return min(later, default=float("inf"))

    @property
    def kills(self) -> int:
        return len(self._times)


def verdict(wish: Wish, got: Got) -> str:
    """How it went, by what the upstream did; "" where it did not do that."""
    told = answer(wish)
    if told.sent is None:
        exact = got == Got(told.status, told.body, True)
        return ("whole" if told.status == 200 else "refused") if exact else ""
    if got.whole or (got.status not in (0, told.status)):
        return ""
    return "cut" if got.body == told.body else ""


@dataclass
class Clients:
    """Sessions side by side, each of some turns, with all faults of an upstream in between."""

    address: str
    width: int
    source: random.Random
    down: Down
    counts: Counter[str] = field(default_factory=Counter)
    harmed: list[str] = field(default_factory=list)
    finished: dict[int, float] = field(default_factory=dict)  # whole answers, and when they had come
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _running: bool = True

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self.width)]

    async def stop(self) -> None:
        """Each exchange comes to its end."""
        self._running = False
        await asyncio.gather(*self._tasks)

    async def _work(self) -> None:
        while self._running:
            slow = self.source.random() < SLOW_SHARE
            async with aiohttp.ClientSession(timeout=PATIENCE) as http:
                await self._session(http, slow)

    async def _session(self, http: aiohttp.ClientSession, slow: bool) -> None:
        history: list[Json] = []
        session = f"soak-{self.source.getrandbits(64):016x}"
        for _ in range(self.source.randint(1, MOST_TURNS)):
            if not self._running:
                return
            wish = drawn(next(self._numbers), self.source)
            if not await self._exchange(http, wish, history, session, slow):
                await asyncio.sleep(0.3)
            elif wish.way != "agent" and wish.fault in ("ok", "slow"):
                history += [{"role": "user", "content": wish.mark}, {"role": "assistant", "content": words(wish)}]
            await asyncio.sleep(self.source.uniform(0.05, 1.2))

    async def _exchange(self, http: aiohttp.ClientSession, wish: Wish, history: list[Json], session: str, slow: bool) -> bool:
        path, body = asked(wish, history)
        began = time.monotonic()
        got = await ask(http, self.address + path, body, session, slow)
        ended = time.monotonic()
        how = verdict(wish, got)
        if how == "whole" or how == "refused":
            self.finished[wish.number] = ended
        if not how and self.down.touched(began, ended + 0.2):
            how = "cut by a killed server"
            if got.status == 200 and not answer(wish).body.startswith(got.body):
                how = ""
        self.counts[how or "harmed"] += 1
        if not how:
            self.harmed.append(f"{wish.mark} status {got.status}, {len(got.body)} bytes, whole {got.whole}: {got.body[:200]!r}")
        return how == "whole"


async def ask(http: aiohttp.ClientSession, url: str, body: Json, session: str, slow: bool) -> Got:
    status, got = 0, b""
    stream: aiohttp.StreamReader | None = None
    headers = {"x-claude-code-session-id": session, "user-agent": "claude-cli/2.1.325", "a2a-version": "1.0"}
    try:
        async with http.post(url, json=body, headers=headers) as response:
            status, stream = response.status, response.content
            while piece := await stream.readany():
                got += piece
                if slow:
                    await asyncio.sleep(0.03)
        return Got(status, got, True)
    except TROUBLE:
        # A reader of aiohttp hides what came before an early end.
        return Got(status, got + left_over(stream) if stream is not None else b"", False)


@dataclass
class Reporters:
    """Programs that send events and spans, each again until it is acknowledged, as exporters do."""

    address: str
    source: random.Random
    events: set[str] = field(default_factory=set)
    spans: set[str] = field(default_factory=set)
    again: int = 0
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _running: bool = True

    def start(self) -> None:
        self._tasks = [asyncio.create_task(work()) for work in (self._events, self._spans)]

    async def stop(self) -> None:
        self._running = False
        await asyncio.gather(*self._tasks)

    async def _events(self) -> None:
        async with aiohttp.ClientSession(timeout=PATIENCE, cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            async with http.get(f"{self.address}/api/session/info") as response:  # the cookie names the session
                await response.read()
            for number in itertools.count(1):
                if not self._running:
                    return
                await self._until(http, "/api/events", event(number))
                self.events.add(str(event(number)["eventId"]))
                await asyncio.sleep(self.source.uniform(0.2, 0.8))

    async def _spans(self) -> None:
        async with aiohttp.ClientSession(timeout=PATIENCE) as http:
            while self._running:
                trace = f"{self.source.getrandbits(128):032x}"
                ids = [f"{self.source.getrandbits(64):016x}" for _ in range(3)]
                spans = [span(trace, id, ids[0] if at else "", at) for at, id in enumerate(ids)]
                await self._until(http, "/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
                self.spans |= set(ids)
                await asyncio.sleep(self.source.uniform(0.5, 2.0))

    async def _until(self, http: aiohttp.ClientSession, path: str, body: Json) -> None:
        while True:
            with suppress(*TROUBLE):
                async with http.post(self.address + path, json=body) as response:
                    if response.status == 200:
                        return
            self.again += 1
            await asyncio.sleep(0.5)


def event(number: int) -> Json:
    kind = ("protocol_request", "status_update", "protocol_response")[number % 3]
    return {"eventType": kind, "eventId": f"soakevent-{number}", "operationId": f"op_{number // 9}", "agentId": f"agent_{number // 3 % 3}",
            "taskType": "sync", "callId": f"call_{number // 3}", "status": "completed" if number % 3 == 2 else "working", "payload": {}}  # fmt: skip


def span(trace: str, id: str, parent: str, at: int) -> Json:
    names = ("invoke_agent", "chat", "execute_tool")
    start = time.time_ns()
    given = {"gen_ai.operation.name": names[at], "gen_ai.agent.name": "soak", "gen_ai.request.model": "gpt-5.2", "gen_ai.tool.name": "look"}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in given.items()]
    return {"traceId": trace, "spanId": id, "parentSpanId": parent, "name": names[at], "kind": 1, "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + 5_000_000), "attributes": attributes}  # fmt: skip
