"""`kill -9` under load, many times, and a store that fails under load: what was shown stays, what was asked arrives.

`python -m bench.soak [--kills N] [--fail-seconds S] [--width W]`; ends with status 1 at the first broken promise.
"""

import argparse
import asyncio
import random
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.soaked import (
    Load,
    Server,
    Shown,
    Times,
    asked_of,
    check_left_open,
    check_rebuild,
    check_store,
    holds,
    locked,
    status_of,
)
from ramify.demo.scenario import script
from ramify.demo.upstream import Upstream, serving
from ramify.storage.sqlite import open_sqlite

KILLS_A_STORE = 8  # then a new one: deriving a large one again after every kill would take all the time


@dataclass
class Tally:
    kills: int = 0
    shown: int = 0
    stored: int = 0
    sessions: int = 0

    def __str__(self) -> str:
        return f"{self.kills} kills, {self.stored} calls stored, {self.shown} shown before a kill, 0 of them lost, {self.sessions} whole sessions"


async def kill_often(folder: Path, upstream: Upstream, kills: int, width: int, tally: Tally) -> None:
    """One store, one server after the other."""
    server = Server(folder, upstream.url)
    shown = Shown(server)
    count = 0
    await server.start()
    for _ in range(kills):
        load = Load(server.address, width)
        load.start()
        shown.start()
        await asyncio.sleep(random.uniform(0.2, 3.0))
        server.kill()
        await shown.stop()
        await load.cut()
        count = check_store(server.path, shown.calls)
        check_rebuild(server.path)
        await server.start()
        await check_left_open(server)
        shown.calls = {id: status for id, status in shown.calls.items() if status != "running"}
        tally.kills += 1
        tally.sessions += load.sessions
    tally.shown += len(shown.calls)
    tally.stored += count
    server.end(signal.SIGTERM)
    check_store(server.path, shown.calls)
    check_rebuild(server.path)


async def fail_store(folder: Path, upstream: Upstream, seconds: float, width: int) -> list[str]:
    """The clients must not notice, and everything must be there afterwards."""
    server = Server(folder, upstream.url)
    await server.start()
    upstream.requests.clear()
    load, before, during, after = Load(server.address, width), *(Times(server.address) for _ in range(3))
    load.start()
    await before.measure(max(1.0, seconds / 3))
    figures = [server.figures()]
    with locked(server.path):
        await during.measure(seconds)
        health = await server.until(lambda health: health["capture"]["problem"])
        figures.append(server.figures())
    drained = asyncio.create_task(emptied(server))
    await after.measure(max(1.0, seconds / 3))
    await load.stop()
    figures.append(server.figures())
    took = await drained
    await server.until(lambda health: not health["capture"]["spooled"] and not health["capture"]["waiting"])
    server.end(signal.SIGTERM)
    holds(not (load.troubles or load.wrong or before.errors or during.errors or after.errors), f"clients noticed: {load} {during}")
    store = open_sqlite(f"sqlite:{server.path}")
    calls, wanted = store.count("calls"), asked_of(upstream)
    store.close()
    holds(calls == wanted, f"{wanted} requests were made, {calls} calls are stored")
    check_rebuild(server.path)
    return [
        f"{calls} of {wanted} calls stored, {load.sessions} sessions; {health['capture']['spooled']} observations in the spool at the end, stored {took:.1f} s after",
        f"before: {before}",
        f"during: {during}",
        f"after:  {after}",
        "memory and open files: " + ", ".join(f"{memory} MiB {files}" for memory, files in figures),
    ]


async def emptied(server: Server) -> float:
    began = time.monotonic()
    await server.until(lambda health: not health["capture"]["spooled"], 120)
    return time.monotonic() - began


async def stay_flat(folder: Path, upstream: Upstream, seconds: float, width: int) -> str:
    server = Server(folder, upstream.url)
    await server.start()
    load = Load(server.address, width)
    load.start()
    figures = []
    for _ in range(6):
        await asyncio.sleep(seconds / 6)
        figures.append(server.figures())
        upstream.requests.clear()
    await load.stop()
    await asyncio.sleep(2)
    figures.append(server.figures())
    server.end(signal.SIGTERM)
    holds(figures[-1][1] <= figures[0][1] + 20, f"open files grow: {figures}")
    return "; ".join(f"{memory} MiB {files} files" for memory, files in figures)


async def soak(arguments: argparse.Namespace) -> None:
    began = time.monotonic()
    # An agent in the background of a session that was cut complains to nobody in particular.
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    tally = Tally()
    while tally.kills < arguments.kills:
        with tempfile.TemporaryDirectory(prefix="ramify-soak-") as folder:
            async with serving(script(arguments.pace)) as upstream:
                many = min(KILLS_A_STORE, arguments.kills - tally.kills)
                await kill_often(Path(folder), upstream, many, arguments.width, tally)
        print(f"{time.monotonic() - began:5.0f} s  killed: {tally}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ramify-soak-") as folder:
        async with serving(script(arguments.pace)) as upstream:
            for line in await fail_store(Path(folder), upstream, arguments.fail_seconds, arguments.width):
                print(f"{time.monotonic() - began:5.0f} s  store away for {arguments.fail_seconds:.0f} s: {line}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ramify-soak-") as folder:
        async with serving(script(arguments.pace)) as upstream:
            figures = await stay_flat(Path(folder), upstream, arguments.fail_seconds, arguments.width)
            print(f"{time.monotonic() - began:5.0f} s  flat: {figures}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--fail-seconds", type=float, default=60.0)
    parser.add_argument("--width", type=int, default=6, help="sessions side by side")
    parser.add_argument("--pace", type=float, default=0.1, help="how slowly answers stream; 1 is that of a model")
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    return status_of(soak(arguments))


if __name__ == "__main__":
    raise SystemExit(main())
