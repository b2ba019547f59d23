"""People and programs that look on while others work: pages, questions, and live feeds that are read well or badly."""

import asyncio
import json
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

import aiohttp

from bench.harm import Down
from bench.soaked import TROUBLE

QUESTIONS = (
    "tasks?roots=true", "conversations", "calls?limit=100", "calls?filter=status:failed", "stats", "stats?by=day,model", "search?q=soak",
    "lint", "all/operations", "all/events", "health", "filter?list=tasks&q=sta",
)  # fmt: skip
PATIENCE = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=60)


@dataclass
class Onlookers:
    """`shown` is what the live feed said of calls: it must never be taken back."""

    address: str
    source: random.Random
    down: Down
    feeds: int = 4
    slow: int = 2
    shown: dict[str, str] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    bugs: list[str] = field(default_factory=list)
    resyncs: int = 0
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._feed(number < self.slow)) for number in range(self.feeds)]
        self._tasks.append(asyncio.create_task(self._ask()))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _feed(self, slow: bool) -> None:
        since = ""
        while True:
            with suppress(*TROUBLE):
                async with aiohttp.ClientSession(timeout=PATIENCE) as http, http.get(f"{self.address}/api/live", headers={"last-event-id": since}) as feed:
                    async for line in feed.content:
                        if slow:
                            await asyncio.sleep(self.source.uniform(0.0, 0.5))
                        if line.startswith(b"id: "):
                            since = line[4:].strip().decode()
                        elif line.startswith(b"event: resync"):
                            self.resyncs += 1
                            since = ""
                        elif line.startswith(b"data: "):
                            self._note(json.loads(line[6:]))
            await asyncio.sleep(0.5)

    def _note(self, told: dict[str, object]) -> None:
        changes = told.get("changes")
        for change in changes if isinstance(changes, list) else ():
            match change:
                case {"call": {"id": str(id), "status": str(status)}}:
                    self.shown[id] = status
                case {"gone": {"kind": "call", "id": str(id)}}:
                    self.shown.pop(id, None)  # it turned out to be another one, which was told as well
                case _:
                    pass

    async def _ask(self) -> None:
        while True:
            question = self.source.choice(QUESTIONS)
            began = time.monotonic()
            with suppress(*TROUBLE):
                async with aiohttp.ClientSession(timeout=PATIENCE) as http, http.get(f"{self.address}/api/{question}") as answer:
                    await answer.read()
                    self.asked[str(answer.status)] += 1
                    if answer.status >= 500 and answer.status != 503 and not self.down.touched(began, time.monotonic()):
                        self.bugs.append(f"{question}: {answer.status}")
            await asyncio.sleep(self.source.uniform(0.1, 1.0))
