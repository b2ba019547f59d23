"""Every engine that keeps the store's contract; a new one joins by one line."""

import atexit
import os
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from msgspec import Struct

from bench.traffic import traffic
from ramify.ingest import Ingest
from ramify.model.observation import Observation
from ramify.storage.base import Store
from ramify.storage.columns import COLUMNS
from ramify.storage.postgres import PLAIN
from ramify.storage.schema import PROJECTIONS
from ramify.wiring import open_store
from tests import clickhouse, postgres
from tests.story import anthropic_cases, exchanges


class Engine(Struct, frozen=True):
    """`lasting`: what was stored is there when it is opened again."""

    address: Callable[[Path], str]
    lasting: bool
    missing: str = ""  # why it cannot be had here
    examples: int = 20  # fewer where each takes seconds

    def open(self, folder: Path) -> Store:
        return open_store(self.address(folder))


ENGINES = {
    "memory": Engine(lambda folder: "memory:", lasting=False, examples=10),
    "sqlite": Engine(lambda folder: f"sqlite:{folder}/store.db", lasting=True),
    "postgres": Engine(lambda folder: schema_of(folder), lasting=True, missing=postgres.missing(), examples=6),
    "clickhouse": Engine(lambda folder: database_of(folder), lasting=True, missing=clickhouse.missing(), examples=3),
}


def to_be_had(name: str) -> str:
    """Where it is not here, the test is left out; in CI that is a failure."""
    if why := ENGINES[name].missing:
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    return name


def folder_of_the_run(prefix: str, where: str | None = None) -> Path:
    """Gone with the process."""
    folder = TemporaryDirectory(prefix=prefix, dir=where)
    atexit.register(folder.cleanup)
    return Path(folder.name)


@cache
def cluster() -> postgres.Cluster:
    """One for the whole run; each store has a schema of its own in it."""
    made = postgres.Cluster(folder_of_the_run("ramify-postgres-") / "cluster", fsync="off")  # nobody takes the machine's power away meanwhile
    atexit.register(made.stop)
    return made


def schema_of(folder: Path) -> str:
    return f"{cluster().url}?schema=s{sha256(str(folder).encode()).hexdigest()[:16]}"


@cache
def server() -> clickhouse.Server:
    """One for the whole run; each store has a database of its own in it."""
    made = clickhouse.Server(folder_of_the_run("ramify-clickhouse-", clickhouse.quick_folder()) / "server")
    atexit.register(made.kill)
    return made


def database_of(folder: Path) -> str:
    return f"{server().url}/s{sha256(str(folder).encode()).hexdigest()[:16]}"


def derived(store: Store) -> dict[str, list[Any]]:
    """Every derived row of every kind, look-up keys included; where in the file it stands does not count."""
    names = {table: ["id", *COLUMNS[table], "doc"] if table in COLUMNS else PLAIN[table] for table in PROJECTIONS}
    return {table: sorted(store.projected(table, names[table])) for table in PROJECTIONS}


def difference(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    return [(table, row) for table in one for row in set(one[table]) ^ set(other[table])]


def log_of(store: Store) -> list[Observation]:
    return [seen for _, seen in store.observations()]


def seen_stories() -> list[Observation]:
    """All that the cases hold, with sub-agents, retries, compactions, and some long sessions."""
    cases = [seen for case in anthropic_cases() for story in exchanges("anthropic", case) for seen in story]
    sessions = [seen for batch in traffic(60, turns=8, width=3) for seen in batch]
    return [*cases, *sessions]


def stories_for(address: str) -> list[Observation]:
    """Fewer where each batch takes a tenth of a second."""
    return seen_stories()[:120] if address.startswith("clickhouse:") else seen_stories()


def batches(seen: Sequence[Observation], seed: int) -> Iterator[list[Observation]]:
    source = random.Random(seed)
    at = 0
    while at < len(seen):
        size = source.choice((1, 2, 7, 40))
        yield list(seen[at : at + size])
        at += size


def told(store: Store, seen: Sequence[Observation], seed: int = 0) -> Store:
    ingest = Ingest(store)
    for batch in batches(seen, seed):
        ingest.step(batch)
    return store
