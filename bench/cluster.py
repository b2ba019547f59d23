"""A ClickHouse cluster of two shards on real nodes that loses one of them under load, again and again: nothing acknowledged is lost.

`python -m bench.cluster [--kills N] [--width W]`; ends with status 1 at the first broken promise. Two nodes hold a copy each of the
first shard, one holds the second, the last passes on. There is no Keeper, so the copies are written by the `Distributed` table and
not by replication.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import clickhouse_connect

from bench.soaked import Load, Server, Shown, asked_of, holds, status_of
from ramify.demo.scenario import script
from ramify.demo.upstream import Upstream, serving
from ramify.ingest import Prices
from ramify.linking.world import Rules
from ramify.model.prices import PRICES, PRICES_VERSION
from ramify.rebuild import rebuild
from ramify.storage.base import Store
from ramify.wiring import open_store, pricer
from tests import clickhouse

DATABASE = "crew"  # whose name chooses the first shard, the one with two copies
SAME = (
    "SELECT count(), sum(cityHash64(space, key, moment, id, doc, place)) FROM entries_local FINAL WHERE space NOT IN ('turns', 'news')",
    "SELECT count(), sum(cityHash64(id, head, payload)) FROM contents_local FINAL",
)


async def lose_nodes(cluster: clickhouse.Cluster, server: Server, upstream: Upstream, kills: int, width: int) -> list[str]:
    await server.start()
    load, shown, away, stored = Load(server.address, width), Shown(server), 0.0, 0
    load.start()
    shown.start()
    for number in range(kills):
        await asyncio.sleep(random.uniform(1, 4))
        health = await server.until(lambda health, least=stored: health["capture"]["stored"] > least, 120)  # it goes on after each blow
        stored = health["capture"]["stored"]
        node = cluster.nodes[number % 3]
        await asyncio.to_thread(node.kill)
        began = time.monotonic()
        await asyncio.sleep(random.uniform(1, 4))
        await asyncio.to_thread(node.start)
        away += time.monotonic() - began
    await asyncio.sleep(2)
    await load.stop()
    await shown.stop()
    health = await server.until(lambda health: not health["capture"]["spooled"] and not health["capture"]["waiting"], 300)
    holds(not (load.troubles or load.wrong), f"clients noticed: {load}")
    holds(not health["capture"]["lost"], f"{health['capture']['lost']} observations were lost")
    server.end(signal.SIGTERM)
    store = open_store(cluster.url(DATABASE))
    calls = check(store, asked_of(upstream), shown.calls)
    store.close()
    copies = [copy_of(node) for node in cluster.nodes[:2]]
    holds(copies[0] == copies[1], f"the copies differ: {copies}")
    other = copy_of(cluster.nodes[2])[1][0]
    holds(other > 0, "the second shard has nothing")
    return [
        f"{kills} times a node of three was killed under load and away for {away:.0f} s together",
        f"{calls} of {asked_of(upstream)} calls stored, {len(shown.calls)} shown on the way and all of them there, {load.sessions} whole sessions",
        f"both copies hold the same {copies[0][0][0]} entries and {copies[0][1][0]} contents; the other shard holds {other} contents",
    ]


def check(store: Store, wanted: int, shown: dict[str, str]) -> int:
    missing = [id for id in shown if store.load("calls", id) is None]
    holds(not missing, f"{len(missing)} calls that were shown are gone: {missing[:3]}")
    calls = store.count("calls")
    holds(calls == wanted, f"{wanted} requests were made, {calls} calls are stored")
    moved = rebuild(store, Rules(), Prices(pricer(PRICES), PRICES_VERSION), True, lambda done, total: None)["moved"]
    holds(moved == [], f"deriving again would move {len(moved)} rows: {moved[:2]}")
    return calls


def copy_of(node: clickhouse.Server) -> list[tuple[int, int]]:
    with closing(clickhouse_connect.get_client(host="127.0.0.1", port=node.port, database=DATABASE)) as client:
        return [(int(count), int(total)) for query in SAME for count, total in client.query(query).result_rows]


async def soak(arguments: argparse.Namespace) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    with tempfile.TemporaryDirectory(prefix="ramify-cluster-") as folder:
        os.environ["XDG_DATA_HOME"] = f"{folder}/data"  # where a server's spool stands
        cluster = clickhouse.Cluster(Path(folder))
        try:
            cluster.prepare(DATABASE)
            async with serving(script(0.1)) as upstream:
                server = Server(Path(folder), upstream.url, store=cluster.url(DATABASE))
                for line in await lose_nodes(cluster, server, upstream, arguments.kills, arguments.width):
                    print(line, flush=True)
        finally:
            cluster.kill()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--width", type=int, default=4, help="sessions side by side")
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    if why := clickhouse.missing():
        print(why, file=sys.stderr)
        return int(bool(os.environ.get("CI")))
    return status_of(soak(arguments))


if __name__ == "__main__":
    raise SystemExit(main())
