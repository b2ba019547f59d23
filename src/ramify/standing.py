"""How a store and its engine stand: for people in words, for a server as it was known last."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import msgspec

from ramify.room import size
from ramify.storage.base import About, Store, StoreDown

SECONDS = 30.0
PATIENCE = 1.0  # seconds that whoever asks whether the store answers waits for it
WANTED = 10  # so many times it is looked again after somebody asked
BEHIND = 1000  # observations that search may lack before that is worth a word
MANY_PARTS = 500  # in one partition; ClickHouse slows inserts down from 1,000
Closed = sqlite3.ProgrammingError


class Standing:
    """Asked for in the background, again and again for as long as somebody wants to know: they must not wait for a store that is away."""

    def __init__(self, store: Store, seconds: float = SECONDS) -> None:
        self._store = store
        self._seconds = seconds
        self._asked = 0.0
        self._looked = 0.0
        self._bytes = 0
        self._engine: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._looking: threading.Thread | None = None

    def bytes(self) -> int:
        self._look_again()
        return self._bytes

    def engine(self) -> dict[str, Any] | None:
        self._look_again()
        known, looked = self._engine, self._looked
        return {**known, "age_s": round(time.monotonic() - looked, 1)} if known is not None else None

    def _look_again(self) -> None:
        self._asked = time.monotonic()
        with self._lock:
            if not self._over.is_set() and (self._looking is None or not self._looking.is_alive()):
                self._looking = threading.Thread(target=self._look_on, name="ramify-standing", daemon=True)
                self._looking.start()

    def _look_on(self) -> None:
        while not self._over.is_set() and time.monotonic() - self._asked < WANTED * self._seconds:
            self._look()
            self._over.wait(self._seconds)

    def _look(self) -> None:
        with suppress(StoreDown, Closed):
            self._bytes = self._store.size()["bytes"]
            self._engine = {**msgspec.structs.asdict(self._store.about()), "log": self._store.seq(), "indexed": self._store.search.indexed()}
            self._looked = time.monotonic()

    def close(self) -> None:
        self._over.set()


class Beat(msgspec.Struct, frozen=True):
    """How far the log goes, and how long it took to say so; None: it was not said, and `problem` is why. `ever`: it was once."""

    seq: int | None
    seconds: float
    problem: str = ""
    ever: bool = True


class Pulse:
    """Whether the store answers. One thread asks it, one question at a time: a store that hangs keeps one thread, and nobody
    for longer than a second."""

    def __init__(self, question: Callable[[], int], ever: bool = True) -> None:
        self._question = question
        self._ever = ever
        self._lock = threading.Lock()
        self._wanted: SimpleQueue[Future[Beat] | None] = SimpleQueue()
        self._answer: Future[Beat] | None = None
        self._asked = 0.0
        self._thread = threading.Thread(target=self._run, name="ramify-pulse", daemon=True)

    async def beat(self) -> Beat:
        asked, answer = self._ask()
        hearing = asyncio.wrap_future(answer)
        await asyncio.wait({hearing}, timeout=max(0.0, asked + PATIENCE - time.monotonic()))
        if hearing.done():
            return hearing.result()
        took = time.monotonic() - asked
        return Beat(None, took, f"it has not answered for {took:.0f} s", self._ever)

    def _ask(self) -> tuple[float, Future[Beat]]:
        """The question that is out, or another."""
        with self._lock:
            if self._answer is None or self._answer.done():
                self._asked, self._answer = time.monotonic(), Future()
                self._answer.set_running_or_notify_cancel()  # who does not wait any more takes nothing from the others
                self._wanted.put(self._answer)
            if self._thread.ident is None:
                self._thread.start()
            return self._asked, self._answer

    def close(self) -> None:
        """Its thread ends, and lets go of the store; one that hangs is not waited for."""
        self._wanted.put(None)

    def _run(self) -> None:
        while (answer := self._wanted.get()) is not None:
            began = time.monotonic()
            try:
                seq: int | None = self._question()
                problem, self._ever = "", True
            except Exception as trouble:  # whatever it is, it has not answered
                seq, problem = None, str(trouble) or type(trouble).__name__
            answer.set_result(Beat(seq, time.monotonic() - began, problem, self._ever))


def behind(store: Store) -> int:
    """Observations that search does not know yet."""
    return max(0, store.seq() - store.search.indexed())


def described(about: About, taken: int) -> str:
    said = [f"{about.engine} {about.version}, schema {about.schema}, {size(taken)}"]
    if about.partitions is not None:
        said.append(f"{about.partitions} tables of days")
    if about.notices:
        said.append("servers hear of each other at once")
    if about.parts is not None:
        said.append(f"{about.parts} parts, at most {about.most_parts} in one partition")
    if about.merges is not None:
        said.append(f"{about.merges} merges under way")
    if about.mutations:
        said.append(f"{about.mutations} deletions are not done")
    if about.shards is not None:
        said.append(f"{about.answering} of {about.replicas} replicas of {about.shards} shards answer")
    return "; ".join(said)


def trouble(about: About) -> tuple[str, str] | None:
    """What an operator should look at, and what to do."""
    if about.answering is not None and about.answering < (about.replicas or 0):
        return "not every replica answers", "bring the others back: while a shard cannot take anything, observations wait in the spool"
    if (about.most_parts or 0) > MANY_PARTS:
        return "merging falls behind", "give the server more CPU or faster disks, or write with fewer servers: each batch is a part"
    if about.notices is False:
        return "notices do not arrive", "a pooler carries none: readers load anew seconds after another server's changes; servers may go past it"
    if about.lacks:
        return f"there are no views for SQL, since the user may not make the schemas {', '.join(about.lacks)}", "CREATE SCHEMA … AUTHORIZATION … each, or GRANT CREATE ON DATABASE"
    return None
