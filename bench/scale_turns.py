"""What the next requests cost in stores of several sizes, in turns: whatever else the machine does, it does to all of them.

    python -m bench.scale_turns ENGINE FOLDER FOLDER … [--turns 10] [--batch 160]

The folders are those of `bench.scale`; each store gets one more group of sessions in each turn, and remembers that. A database
goes on merging while it is another one's turn: "all of it" has that, too.
"""

import argparse
import gc
import statistics
import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.agents import REQUESTS
from bench.engines import ENGINES, Running
from bench.ingest import BATCH, machine
from bench.scale import WIDTH, Filling
from ramify.capture.allocator import reuse_memory
from ramify.wiring import open_store

GROUP = WIDTH * REQUESTS


def turn(filling: Filling, running: Running) -> tuple[float, float]:
    """Microseconds of a request: of the writer, and of its server."""
    own, server = time.process_time(), running.cpu()
    making, _ = filling._group([])
    filling.state.groups += 1
    filling.save()
    return (time.process_time() - own - making) / GROUP * 1e6, (running.cpu() - server) / GROUP * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=list(ENGINES))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--batch", type=int, default=BATCH)
    given = parser.parse_args()
    reuse_memory()
    gc.set_threshold(100_000, 20, 100)
    with ExitStack() as stack:
        stores: list[tuple[Filling, Running]] = []
        for folder in given.folders:
            running = stack.enter_context(ENGINES[given.engine](folder / given.engine))
            store = open_store(running.url)
            stack.callback(store.close)
            stores.append((Filling(folder / given.engine, running, store, given.batch), running))
        held = [filling.state.groups * GROUP for filling, _ in stores]
        for one in stores:
            turn(*one)  # what is remembered between batches is not there yet
        before = [running.cpu() for _, running in stores]
        taken = [[turn(*one) for one in stores] for _ in range(given.turns)]
        spent = [(running.cpu() - start) / (given.turns * GROUP) * 1e6 for (_, running), start in zip(stores, before, strict=True)]
    table = Table("requests in the store", "writer, least", "median", "server, least", "median", "all of it", title=f"{machine()}; {given.engine}, CPU µs of a request, {given.turns} turns of {GROUP}")
    for number, count in enumerate(held):
        own, server = ([one[number][part] for one in taken] for part in (0, 1))
        table.add_row(f"{count:,}", *(f"{how(values):,.0f}" for values in (own, server) for how in (min, statistics.median)), f"{spent[number]:,.0f}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
