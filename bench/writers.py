"""What it costs that several processes write to one store: CPU of a request in the writers and in the server, with one, two and four of them.

    python -m bench.writers [ENGINE …] [--requests 4000] [--writers 1,2,4] [--batch 64]

Apart: each session comes by one writer, as behind a balancer that keeps a client where it is. Mixed: every writer gets its share of each
session's requests, the worst there can be. Whatever they were given, the trees must be those of one writer.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from bench.agents import sessions
from bench.engines import ENGINES, MISSING, Running
from bench.ingest import machine
from ramify.capture.cleaner import Cleaner
from ramify.ingest import Ingest
from ramify.model.observation import Observation, Request, Response
from ramify.storage.base import Store, StoreDown
from ramify.wiring import open_store

WIDTH = 20
WAYS = ("apart", "mixed")
SHARED = ("postgresql", "clickhouse")


class Told(Struct, frozen=True):
    """What one writer says at its end."""

    requests: int
    cpu: float
    held: float  # of it while nobody else could write
    again: int  # batches that another writer came before


class Share(Struct, frozen=True):
    store: str
    folder: str
    way: str
    part: int
    parts: int
    requests: int
    batch: int


def shared_out(share: Share) -> list[list[Observation]]:
    """Batches of one writer: those of its sessions, or its part of all."""
    seen = [one for some in islice(sessions(0, WIDTH), share.requests // WIDTH) for one in some]
    keys = {one.id: session_of(one) if share.way == "apart" else one.id for one in seen if isinstance(one, Request)}
    parts = {key: number % share.parts for number, key in enumerate(dict.fromkeys(keys.values()))}
    own = [one for one in seen if parts[keys[one.request if isinstance(one, Response) else one.id]] == share.part]
    return [own[start : start + share.batch] for start in range(0, len(own), share.batch)]


def session_of(request: Request) -> str:
    return next(value for name, value in request.headers if name == "x-claude-code-session-id")


def write(share: Share) -> Told:
    batches = shared_out(share)
    store = open_store(share.store, busy_seconds=120)
    turns = Turns(store)
    ingest, again = Ingest(store, redaction=Cleaner()), 0
    folder = Path(share.folder)
    (folder / f"ready{share.part}").touch()
    while not (folder / "go").exists():
        time.sleep(0.005)
    began = time.process_time()
    for batch in batches:
        while True:
            try:
                ingest.step(batch)
                break
            except StoreDown:
                again += 1
    told = Told(sum(isinstance(one, Request) for batch in batches for one in batch), time.process_time() - began, turns.cpu, again)
    store.close()
    return told


class Turns:
    """How much of a writer's CPU goes into its turns: that is what several of them cannot do at the same time."""

    def __init__(self, store: Store) -> None:
        self._exclusive = store.exclusive
        self.cpu = 0.0
        setattr(store, "exclusive", self.exclusive)  # noqa: B010

    @contextmanager
    def exclusive(self) -> Iterator[bool]:
        with self._exclusive() as changed:
            began = time.process_time()
            yield changed
        self.cpu += time.process_time() - began


class Cost(Struct, frozen=True):
    writers: float  # milliseconds of CPU for a request, all of them together
    held: float
    server: float
    rate: float
    again: int
    rows: tuple[int, int]  # tasks and calls: as many as one writer leaves


def measure(running: Running, engine: str, way: str, parts: int, requests: int, batch: int) -> Cost:
    address = f"{running.url}?schema={way}{parts}" if engine == "postgresql" else f"{running.url}_{way}{parts}"
    with tempfile.TemporaryDirectory(prefix="ramify-writers-") as folder:
        open_store(address).close()
        given = [msgspec.json.encode(Share(address, folder, way, part, parts, requests, batch)).decode() for part in range(parts)]
        running_writers = [subprocess.Popen([sys.executable, "-m", "bench.writers", "--share", one], stdout=subprocess.PIPE) for one in given]
        while len(list(Path(folder).glob("ready*"))) < parts:
            time.sleep(0.02)
            if any(one.poll() not in (None, 0) for one in running_writers):
                raise SystemExit("a writer could not begin")
        server, began = running.cpu(), time.perf_counter()
        (Path(folder) / "go").touch()
        told = [msgspec.json.decode(one.communicate()[0], type=Told) for one in running_writers]
        wall, server = time.perf_counter() - began, running.cpu() - server
    count = sum(one.requests for one in told)
    store = open_store(address)
    try:
        rows = (store.count("tasks"), store.count("calls"))
    finally:
        store.close()
    own, held = (sum(some) / count * 1000 for some in ([one.cpu for one in told], [one.held for one in told]))
    return Cost(own, held, server / count * 1000, count / wall, sum(one.again for one in told), rows)


def run(engines: Sequence[str], writers: Sequence[int], requests: int, batch: int, console: Console) -> None:
    table = Table(title=f"{machine()}; {requests:,} requests each, batches of {batch} observations; ms of CPU for a request", title_justify="left")
    for column in ("engine", "sessions", "writers", "all writers", "in turns", "server", "requests/s", "again"):
        table.add_column(column, justify="left" if column in ("engine", "sessions") else "right")
    for engine in engines:
        if why := MISSING[engine]():
            console.print(f"{engine} is left out: {why}")
            continue
        with tempfile.TemporaryDirectory(prefix="ramify-writers-") as folder:
            Path(folder).chmod(0o755)  # PostgreSQL runs as another user
            with ENGINES[engine](Path(folder)) as running:
                wanted: tuple[int, int] | None = None
                for way in WAYS:
                    for parts in writers:
                        cost = measure(running, engine, way, parts, requests, batch)
                        wanted = wanted or cost.rows
                        if cost.rows != wanted:
                            raise SystemExit(f"{engine}, {way}, {parts} writers: {cost.rows} tasks and calls instead of {wanted}")
                        table.add_row(engine, way, str(parts), f"{cost.writers:.2f}", f"{cost.held:.2f}", f"{cost.server:.2f}", f"{cost.rate:,.0f}", str(cost.again))
    console.print(table)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engines", nargs="*", default=list(SHARED), metavar="ENGINE", help=", ".join(SHARED))
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--writers", default="1,2,4")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--share", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.share:
        sys.stdout.write(msgspec.json.encode(write(msgspec.json.decode(given.share, type=Share))).decode())
        return
    run(given.engines, [int(one) for one in given.writers.split(",")], given.requests, given.batch, Console(width=110))


if __name__ == "__main__":
    main()
