"""Half an hour of mixed load with random faults: every client gets what its upstream sent, nothing acknowledged is lost, nothing grows.

    python -m bench.soak_faults [--minutes M] [--engine sqlite|postgres] [--width W] [--unkilled M] [--seed N]

Clients of three protocols, events, spans, pages, good and bad live readers, through a real `ramify serve`. Upstreams refuse, stall
and cut; the server and its writer are paused and killed, the disk is full for a while, the database is killed. In the first
half (or so many minutes) the server itself is not killed, so that its memory, files, threads and tasks can be compared with
what they were; every ten minutes says what they are.
Ends with status 1 at a broken promise.
"""

import argparse
import asyncio
import os
import platform
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.blows import Blows, small_disk
from bench.faulty import faulty
from bench.flatness import Flatness
from bench.harm import Clients, Down, Reporters
from bench.onlookers import Onlookers
from bench.soaked import Server, holds, status_of
from bench.told import check_told
from ramify.wiring import open_store
from tests import postgres

DISK, MINUTE = 300 * 2**20, 7 * 2**20  # what a store takes of it anyway, and for each minute: it is full when somebody fills it, not before
QUIET = (10.0, 30.0)  # seconds between two blows
TOLD = 600.0  # seconds between two lines about memory
LIMITS = ("--queue-bytes", "64MiB", "--spool-limit", "256MiB")


@dataclass
class World:
    """Everything that takes part."""

    server: Server
    clients: Clients
    reporters: Reporters
    onlookers: Onlookers
    blows: Blows
    flat: Flatness = field(default_factory=Flatness)
    lost: int = 0


@contextmanager
def engine(name: str, folder: Path, minutes: float) -> Iterator[tuple[str, Path | None, postgres.Cluster | None]]:
    """The address of a store, the disk that may be filled, and the database that may be killed."""
    with ExitStack() as stack:
        if name == "postgres":
            cluster = postgres.Cluster(folder / "cluster")
            stack.callback(cluster.kill)
            os.environ["XDG_DATA_HOME"] = f"{folder}/data"  # where a server's spool stands
            yield cluster.url, None, cluster
            return
        mounted = stack.enter_context(small_disk(folder / "disk", DISK + round(MINUTE * minutes)))
        if not mounted:
            print("no disk of its own can be mounted here: it is never full", flush=True)
        yield f"sqlite:{folder}/disk/soak.db", folder / "disk" if mounted else None, None


async def live(world: World, minutes: float, unkilled: float) -> None:
    """Blow after blow; what comes after the unkilled minutes begins with the first kill of the server."""
    began = time.monotonic()
    sampling = asyncio.create_task(sample(world))
    while (passed := time.monotonic() - began) < minutes * 60:
        kills = passed > unkilled * 60
        await asyncio.sleep(world.blows.source.uniform(*QUIET))
        name = "kill server" if kills and not world.blows.down.kills else world.blows.source.choice(world.blows.known(kills))
        await world.blows.strike(name)
        holds(not world.clients.harmed, f"{len(world.clients.harmed)} clients were harmed: {world.clients.harmed[:3]}")
        holds(not world.onlookers.bugs, f"questions failed: {world.onlookers.bugs[:3]}")
        print(f"{passed:6.0f} s  {name:14} {dict(world.clients.counts)}", flush=True)
    sampling.cancel()


async def sample(world: World) -> None:
    """Only of a server that was never killed: each begins anew."""
    began = told = time.monotonic()
    while True:
        await asyncio.sleep(5)
        health = await world.server.ask("health")
        if health is not None:
            world.lost = max(world.lost, health["capture"]["lost"])
        if not world.blows.counts["kill server"]:
            await world.flat.add(world.server)
            if (now := time.monotonic()) - told > TOLD:
                told = now
                print(f"{now - began:6.0f} s  {world.flat.now()}", flush=True)


async def ended(world: World) -> None:
    """Everybody comes to an end, and everything that waits is stored."""
    await world.clients.stop()
    await world.reporters.stop()
    health = await world.server.until(lambda health: not health["capture"]["spooled"] and not health["capture"]["waiting"], 600)
    await asyncio.sleep(1)
    await world.onlookers.stop()
    world.lost = max(world.lost, health["capture"]["lost"])
    world.server.end(signal.SIGTERM)
    holds(not world.clients.harmed, f"clients were harmed: {world.clients.harmed[:3]}")
    holds(not world.lost, f"{world.lost} observations were lost")


async def soak(arguments: argparse.Namespace, folder: Path, store: str, disk: Path | None, database: postgres.Cluster | None) -> None:
    source, down = random.Random(arguments.seed), Down()
    async with faulty() as upstream:
        server = Server(folder, upstream, "--openai-upstream", upstream, "--a2a", f"soak={upstream}", *LIMITS, store=store)
        world = World(
            server, Clients(server.address, arguments.width, source, down), Reporters(server.address, source),
            Onlookers(server.address, source, down), Blows(server, down, source, disk, database),
        )  # fmt: skip
        await server.start()
        for part in (world.clients, world.reporters, world.onlookers):
            part.start()
        try:
            await live(world, arguments.minutes, arguments.minutes / 2 if arguments.unkilled is None else arguments.unkilled)
            await ended(world)
        finally:
            server.end_anyway()
        report(world, arguments, checked(world, folder, store))


def checked(world: World, folder: Path, store: str) -> list[str]:
    """On a copy where that can be made: the small disk has no room to derive everything once more."""
    if store.startswith("sqlite:"):
        for path in Path(store.removeprefix("sqlite:")).parent.glob("soak.db*"):
            if path.is_file():
                shutil.copy(path, folder / path.name)
        store = f"sqlite:{folder}/soak.db"
    opened = open_store(store)
    try:
        return check_told(opened, world.clients, world.reporters, world.onlookers.shown)
    finally:
        opened.close()


def report(world: World, arguments: argparse.Namespace, checks: list[str]) -> None:
    print(f"\n{arguments.engine}, {arguments.minutes:.0f} minutes, width {arguments.width}, seed {arguments.seed}, {os.cpu_count()} cores, {platform.platform()}, Python {platform.python_version()}")
    print(f"blows: {dict(world.blows.counts)}")
    print(f"clients: {dict(world.clients.counts)}")
    print(f"reporters sent again: {world.reporters.again}; questions: {dict(world.onlookers.asked)}; readers that loaded anew: {world.onlookers.resyncs}")
    for line in (*checks, *world.flat.lines()):
        print(line)
    world.flat.check()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak_faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--width", type=int, default=10, help="sessions side by side")
    parser.add_argument("--unkilled", type=float, metavar="MINUTES", help="before the server itself is killed for the first time: half of them if it is not said")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    if arguments.engine == "postgres" and (why := postgres.missing()):
        print(why, file=sys.stderr)
        return int(bool(os.environ.get("CI")))
    with tempfile.TemporaryDirectory(prefix="ramify-soak-") as folder, engine(arguments.engine, Path(folder), arguments.minutes) as (store, disk, database):
        return status_of(soak(arguments, Path(folder), store, disk, database), Path(folder) / "server.log")


if __name__ == "__main__":
    raise SystemExit(main())
