"""How fast observations are linked and stored, what they take, and whether that changes as the store grows.

Each figure is measured in this process with the same code that the writer's process runs: redaction, decoding,
linking, folding, one durable commit per batch.
"""

import gc
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.traffic import Session, traffic
from ramify.capture.allocator import reuse_memory
from ramify.capture.cleaner import Cleaner
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.model.observation import Observation, Request, Response
from ramify.storage.sqlite import Sqlite, open_sqlite

BATCH = 160  # observations: what comes in the 40 ms that the writer gathers, at 2,000 requests a second


def batches(source: Iterator[list[Observation]], size: int = BATCH) -> Iterator[list[Observation]]:
    waiting: list[Observation] = []
    for some in source:
        waiting += some
        while len(waiting) >= size:
            yield waiting[:size]
            waiting = waiting[size:]
    if waiting:
        yield waiting


class Measured:
    """Time spent inside `step` alone: making up the traffic is not part of it."""

    def __init__(self, store: Sqlite) -> None:
        self.store = store
        self.ingest = Ingest(store, redaction=Cleaner())
        self.requests = 0
        self.raw = 0
        self.seconds = 0.0
        self.cpu = 0.0

    def take(self, batch: list[Observation]) -> None:
        start, cpu = time.perf_counter(), time.process_time()
        self.ingest.step(batch)
        self.seconds += time.perf_counter() - start
        self.cpu += time.process_time() - cpu
        self.requests += sum(isinstance(seen, Request) for seen in batch)
        self.raw += sum(len(seen.body) for seen in batch if isinstance(seen, Request | Response))


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def rates(console: Console, requests: int) -> None:
    table = Table(title=f"ingest with linking, durable commits of {BATCH} observations; {machine()}", title_justify="left")
    for name in ("traffic", "body kB", "requests", "requests/s", "MB/s raw", "CPU µs each", "stored/raw"):
        table.add_column(name, justify="left" if name == "traffic" else "right")
    kinds = (
        ("lone questions", 1, 60, requests),
        ("sessions of 12 turns", 12, 60, requests),
        ("sessions of 36 turns", 36, 20, requests // 2),
        ("the same, no session named", 36, 20, requests // 2),
    )
    for number, (name, turns, width, count) in enumerate(kinds):
        with tempfile.TemporaryDirectory() as folder:
            measured = Measured(open_sqlite(f"sqlite:{folder}/bench.db"))
            for batch in batches(traffic(count, turns, width, named=number < 3)):
                measured.take(batch)
            measured.store.close()
            table.add_row(
                name, f"{measured.raw / measured.requests / 1000:.0f}", f"{measured.requests}",
                f"{measured.requests / measured.seconds:,.0f}", f"{measured.raw / measured.seconds / 1e6:.0f}",
                f"{measured.cpu / measured.requests * 1e6:.0f}", f"{size_of(Path(folder)) / measured.raw:.4f}",
            )
    console.print(table)


def long_session(console: Console, turns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite(f"sqlite:{folder}/bench.db")
        measured = Measured(store)
        session = Session(1)
        for _ in range(turns):
            measured.take(list(session.turn()))
        store.close()
        bare = size_of(Path(folder))
        store = open_sqlite(f"sqlite:{folder}/bench.db")
        Indexer(store).catch_up()
        last = store.observation(f"obs_bench-1--{turns}")
        start = time.perf_counter()
        store.observation(f"obs_bench-1--{turns}")
        read = time.perf_counter() - start
        store.close()
        assert isinstance(last, Request)
        console.print(
            f"a session of {turns} turns, tool results of 2 to 40 kB: {measured.raw / 1e6:.0f} MB raw, "
            f"{bare / measured.raw:.4f} stored bytes per raw byte, {size_of(Path(folder)) / measured.raw:.4f} with the "
            f"text index; the last request ({len(last.body) / 1e6:.1f} MB) is put together again in {read * 1000:.0f} ms; "
            f"{measured.cpu / turns * 1e6:.0f} CPU µs a request (one commit each)\n"
        )


def growth(console: Console, most: int) -> None:
    """Sessions of 12 turns, until there are so many requests; the last thousand before each mark are measured."""
    table = Table(title="growth: the thousand requests before each mark", title_justify="left")
    for name in ("requests in the store", "CPU µs each", "requests/s", "stored kB each", "p99 batch ms"):
        table.add_column(name, justify="right")
    marks = [mark for mark in (1_000, 3_000, 10_000, 30_000, 100_000) if mark <= most]
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite(f"sqlite:{folder}/bench.db")
        measured = Measured(store)
        before, steps = (0, 0.0, 0.0), [0.0]
        for batch in batches(traffic(most, 12, 40)):
            if measured.requests >= marks[0] - 1000 and not before[0]:
                before, steps = (max(measured.requests, 1), measured.seconds, measured.cpu), []
            start = time.perf_counter()
            measured.take(batch)
            steps.append(time.perf_counter() - start)
            if measured.requests >= marks[0]:
                count = measured.requests - before[0]
                steps.sort()
                table.add_row(
                    f"{measured.requests:,}", f"{(measured.cpu - before[2]) / count * 1e6:.0f}",
                    f"{count / (measured.seconds - before[1]):,.0f}", f"{size_of(Path(folder)) / measured.requests / 1000:.1f}",
                    f"{steps[int(len(steps) * 0.99)] * 1000:.0f}",
                )
                before = (0, 0.0, 0.0)
                marks = marks[1:]
                if not marks:
                    break
        store.close()
    console.print(table)


def machine() -> str:
    return f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores {platform.machine()}, Python {platform.python_version()}"


def main(requests: int = 6_000, turns: int = 300, most: int = 100_000) -> None:
    reuse_memory()
    gc.set_threshold(100_000, 20, 100)
    console = Console(width=130)
    rates(console, requests)
    long_session(console, turns)
    growth(console, most)


if __name__ == "__main__":
    main()
