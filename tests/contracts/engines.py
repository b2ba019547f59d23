"""Every engine that keeps the store's contract; a new one joins by one line."""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.traffic import traffic
from ramify.ingest import Ingest
from ramify.model.observation import Observation
from ramify.storage.schema import PROJECTIONS
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.story import anthropic_cases, exchanges


class Engine(Struct, frozen=True):
    """`lasting`: what was stored is there when it is opened again."""

    open: Callable[[Path], Sqlite]
    lasting: bool


ENGINES = {
    "memory": Engine(lambda folder: open_sqlite("memory:"), lasting=False),
    "sqlite": Engine(lambda folder: open_sqlite(f"sqlite:{folder}/store.db"), lasting=True),
}


def derived(store: Sqlite) -> dict[str, list[Any]]:
    """Every derived row of every kind, look-up keys included; where in the file it stands does not count."""
    found: dict[str, list[Any]] = {}
    for table in PROJECTIONS:
        names = [row[1] for row in store._read(f"PRAGMA table_info({table})") if row[1] != "row"]
        found[table] = sorted(store._read(f"SELECT {', '.join(names)} FROM {table}"))
    return found


def difference(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    return [(table, row) for table in one for row in set(one[table]) ^ set(other[table])]


def seen_stories() -> list[Observation]:
    """All that the cases hold, with sub-agents, retries, compactions, and some long sessions."""
    cases = [seen for case in anthropic_cases() for story in exchanges("anthropic", case) for seen in story]
    sessions = [seen for batch in traffic(60, turns=8, width=3) for seen in batch]
    return [*cases, *sessions]


def batches(seen: Sequence[Observation], seed: int) -> Iterator[list[Observation]]:
    source = random.Random(seed)
    at = 0
    while at < len(seen):
        size = source.choice((1, 2, 7, 40))
        yield list(seen[at : at + size])
        at += size


def told(store: Sqlite, seen: Sequence[Observation], seed: int = 0) -> Sqlite:
    ingest = Ingest(store)
    for batch in batches(seen, seed):
        ingest.step(batch)
    return store
