"""The engines to be measured: each started on a folder of its own, with what its server has used so far."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from tests import clickhouse, postgres

TICKS = os.sysconf("SC_CLK_TCK")
SHARED = "1GB"  # a quarter of the memory of a small database server


class Running(Struct, frozen=True):
    """An address, and the processor time in seconds that its server has taken (a file has none)."""

    url: str
    cpu: Callable[[], float]


def of_processes(parent: int) -> float:
    """Of a process and its children, those that have ended included."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(path.parent.name) == parent:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == parent:
            ticks += sum(map(int, fields[11:13]))
    return ticks / TICKS


@contextmanager
def sqlite(folder: Path) -> Iterator[Running]:
    yield Running(f"sqlite:{folder}/ramify.db", lambda: 0.0)


@contextmanager
def postgresql(folder: Path) -> Iterator[Running]:
    server = postgres.Cluster(folder / "cluster", SHARED)
    pid = int((server.data / "postmaster.pid").read_text().split()[0])
    try:
        yield Running(server.url, lambda: of_processes(pid))
    finally:
        server.stop()


@contextmanager
def clickhouse_server(folder: Path) -> Iterator[Running]:
    server = clickhouse.Server(folder / "server")
    try:
        yield Running(f"{server.url}/ramify", lambda: of_processes(server.process.pid))
    finally:
        server.kill()


ENGINES = {"sqlite": sqlite, "postgresql": postgresql, "clickhouse": clickhouse_server}
MISSING: dict[str, Callable[[], str]] = {"sqlite": lambda: "", "postgresql": postgres.missing, "clickhouse": clickhouse.missing}
