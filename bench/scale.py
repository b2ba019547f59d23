"""The same traffic on each engine, to ten thousand, a hundred thousand and a million requests: what storing costs on the way,
what it takes, and how long questions take at each mark.

    python -m bench.scale [ENGINE …] [--most 1000000] [--folder FOLDER] [--batch 160]

A fill is kept in the folder and goes on from where it was; without a folder it goes when it is done.
"""

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from bench.agents import REQUESTS, sessions
from bench.engines import ENGINES, MISSING, Running
from bench.ingest import BATCH, batches, machine
from bench.scale_questions import asked
from ramify.capture.allocator import reuse_memory
from ramify.capture.cleaner import Cleaner
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.model.observation import Observation
from ramify.query.service import Questions
from ramify.storage.base import Store
from ramify.wiring import open_store

MARKS = (10_000, 100_000, 1_000_000)
WIDTH = 20


class Spent(Struct):
    """Since the mark before: what databases put off, merging above all, comes in large pieces, and each must have its share."""

    requests: int = 0
    seconds: float = 0.0
    own: float = 0.0
    server: float = 0.0


class Mark(Struct):
    """What was measured when there were so many requests."""

    requests: int
    rate: float = 0.0
    own_cpu: float = 0.0  # microseconds of a request
    server_cpu: float = 0.0
    p99: float = 0.0  # milliseconds of a batch
    raw: float = 0.0  # bytes of a request, as they were seen
    stored: float = 0.0  # bytes of a request; the text index is apart
    indexed: float = 0.0
    index_cpu: float = 0.0
    questions: dict[str, tuple[float, float]] = {}


class State(Struct):
    groups: int = 0  # of sessions side by side that are stored
    spent: Spent = msgspec.field(default_factory=Spent)
    marks: dict[str, Mark] = {}


class Filling:
    """One engine's store, from mark to mark."""

    def __init__(self, folder: Path, running: Running, store: Store, batch: int) -> None:
        self._file = folder / "state.json"
        self.state = msgspec.json.decode(self._file.read_bytes(), type=State) if self._file.exists() else State()
        self._running = running
        self._store = store
        self._batch = batch
        self._ingest = Ingest(store, redaction=Cleaner())

    def save(self) -> None:
        self._file.write_bytes(msgspec.json.format(msgspec.json.encode(self.state)))

    def reach(self, requests: int) -> Mark:
        mark = self.state.marks.get(str(requests))
        if mark is not None:
            return mark
        mark, steps = Mark(requests), list[float]()
        while self.state.groups * WIDTH * REQUESTS < requests:
            self._account(steps)
            if self.state.groups % 10 == 0:
                self.save()
        spent = self.state.spent
        mark.rate = spent.requests / spent.seconds
        mark.own_cpu, mark.server_cpu = spent.own / spent.requests * 1e6, spent.server / spent.requests * 1e6
        mark.p99 = sorted(steps)[int(len(steps) * 0.99)] * 1000 if steps else 0.0  # none, where it was cut just here
        self.state.spent, self.state.marks[str(requests)] = Spent(), mark
        self._weigh(mark)
        self.save()
        return mark

    def _account(self, steps: list[float]) -> None:
        own, server, began = time.process_time(), self._running.cpu(), time.perf_counter()
        cpu, wall = self._group(steps)
        spent = self.state.spent
        spent.own += time.process_time() - own - cpu
        spent.server += self._running.cpu() - server
        spent.seconds += time.perf_counter() - began - wall
        spent.requests += WIDTH * REQUESTS
        self.state.groups += 1

    def _group(self, steps: list[float]) -> tuple[float, float]:
        """The time that making it up took: that is no part of what is measured."""
        cpu, wall = time.process_time(), time.perf_counter()
        made: list[list[Observation]] = []
        for batch in sessions(self.state.groups * WIDTH, WIDTH):
            made.append(batch)
            if len(made) == REQUESTS:
                break
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        for batch in batches(iter(made), self._batch):
            start = time.perf_counter()
            self._ingest.step(batch)
            steps.append(time.perf_counter() - start)
        return cpu, wall

    def _weigh(self, mark: Mark) -> None:
        size = self._store.size()
        mark.raw, mark.stored = size["raw_bytes"] / mark.requests, self._size() / mark.requests
        cpu, server = time.process_time(), self._running.cpu()
        count = Indexer(self._store).catch_up()
        mark.index_cpu = (time.process_time() - cpu + self._running.cpu() - server) / max(1, count // 2) * 1e6
        mark.indexed = self._size() / mark.requests - mark.stored

    def _size(self) -> int:
        beside = Path(f"{self._store.path}.search") if self._store.path else None
        return self._store.size()["bytes"] + (beside.stat().st_size if beside and beside.exists() else 0)

    def ask(self, mark: Mark, times: int) -> None:
        mark.questions = {}
        for name, question in asked(Questions(self._store), self.state.groups * WIDTH, times).items():
            taken = []
            for number in range(times):
                start = time.perf_counter()
                question(number)
                taken.append((time.perf_counter() - start) * 1000)
            mark.questions[name] = statistics.median(taken), sorted(taken)[int(times * 0.95)]
        self.save()


def measure(engine: str, folder: Path, most: int, batch: int, told: Callable[[str], None]) -> State:
    folder.mkdir(parents=True, exist_ok=True)
    with ENGINES[engine](folder) as running:
        store = open_store(running.url)
        try:
            filling = Filling(folder, running, store, batch)
            for requests in [mark for mark in MARKS if mark <= most]:
                began = time.perf_counter()
                mark = filling.reach(requests)
                newest = filling.state.groups * WIDTH * REQUESTS == requests
                if newest:  # questions about a smaller store cannot be asked again
                    filling.ask(mark, 20)
                told(f"{engine}: {requests:,} after {time.perf_counter() - began:,.0f} s")
            return filling.state
        finally:
            store.close()


ROWS: dict[str, Callable[[Mark], str]] = {
    "requests/s": lambda mark: f"{mark.rate:,.0f}",
    "CPU µs of the writer": lambda mark: f"{mark.own_cpu:,.0f}",
    "CPU µs of the server": lambda mark: f"{mark.server_cpu:,.0f}" if mark.server_cpu else "–",
    "p99 of a batch, ms": lambda mark: f"{mark.p99:,.0f}",
    "bytes per raw byte": lambda mark: f"{mark.stored / mark.raw:.3f}",
    "… of the text index": lambda mark: f"{mark.indexed / mark.raw:.3f}",
    "CPU µs of indexing": lambda mark: f"{mark.index_cpu:,.0f}",
}


def table(found: dict[str, State], most: int, batch: int) -> Table:
    marks = [str(mark) for mark in MARKS if mark <= most]
    body = statistics.mean([mark.raw for state in found.values() for mark in state.marks.values()])
    made = Table(title=f"{machine()}; {body / 1000:.0f} kB of bodies a request, batches of {batch} observations; questions: median in ms", title_justify="left")
    made.add_column("")
    columns: list[Mark | None] = []
    for engine, state in found.items():
        for mark in marks:
            made.add_column(f"{engine}\n{int(mark):,}", justify="right")
            columns.append(state.marks.get(mark))
    for name, value in ROWS.items():
        made.add_row(name, *(value(mark) if mark else "" for mark in columns))
    names = dict.fromkeys(name for mark in columns if mark for name in mark.questions)
    for name in names:
        made.add_row(name, *(f"{mark.questions[name][0]:.1f}" if mark and name in mark.questions else "" for mark in columns))
    return made


def run(engines: list[str], most: int, folder: Path, console: Console, batch: int = BATCH) -> None:
    reuse_memory()
    gc.set_threshold(100_000, 20, 100)
    found: dict[str, State] = {}
    for engine in engines:
        if why := MISSING[engine]():
            console.print(f"{engine} is left out: {why}")
        else:
            found[engine] = measure(engine, folder / engine, most, batch, console.print)
    console.print(table(found, most, batch))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", default=list(ENGINES), metavar="ENGINE", help=", ".join(ENGINES))
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--batch", type=int, default=BATCH, help="observations that are stored at once")
    given = parser.parse_args(arguments)
    console = Console(width=170)
    if given.folder is not None:
        run(given.engines, given.most, given.folder, console, given.batch)
        return
    with tempfile.TemporaryDirectory(prefix="ramify-scale-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user
        run(given.engines, given.most, Path(folder), console, given.batch)


if __name__ == "__main__":
    main()
