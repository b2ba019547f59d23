"""How a store and its engine stand: for people in words, for a server as it was known last."""

import sqlite3
import threading
import time
from contextlib import suppress
from typing import Any

import msgspec

from ramify.room import size
from ramify.storage.base import About, Store, StoreDown

SECONDS = 30.0
BEHIND = 1000  # observations that search may lack before that is worth a word
MANY_PARTS = 500  # in one partition; ClickHouse slows inserts down from 1,000
Closed = sqlite3.ProgrammingError


class Standing:
    """Asked for in the background: whoever wants to know must not wait for a store that is away."""

    def __init__(self, store: Store, seconds: float = SECONDS) -> None:
        self._store = store
        self._seconds = seconds
        self._until = 0.0
        self._bytes = 0
        self._engine: dict[str, Any] | None = None

    def bytes(self) -> int:
        self._look_again()
        return self._bytes

    def engine(self) -> dict[str, Any] | None:
        self._look_again()
        return self._engine

    def _look_again(self) -> None:
        if time.monotonic() >= self._until:
            self._until = time.monotonic() + self._seconds
            threading.Thread(target=self._look, name="ramify-standing", daemon=True).start()

    def _look(self) -> None:
        with suppress(StoreDown, Closed):
            self._bytes = self._store.size()["bytes"]
            self._engine = {**msgspec.structs.asdict(self._store.about()), "log": self._store.seq(), "indexed": self._store.search.indexed()}


def behind(store: Store) -> int:
    """Observations that search does not know yet."""
    return max(0, store.seq() - store.search.indexed())


def described(about: About, taken: int) -> str:
    said = [f"{about.engine} {about.version}, {size(taken)}"]
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
    return None
