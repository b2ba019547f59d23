"""Servers on one PostgreSQL: they hear of each other, and none of them minds when the database is away."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import pytest

from bench.soaked import Load, Server
from ramify.app import Ramify
from ramify.demo.scenario import play, script
from ramify.demo.upstream import serving
from ramify.ingest import Prices
from ramify.linking.world import Rules
from ramify.model.prices import PRICES, PRICES_VERSION
from ramify.rebuild import rebuild
from ramify.storage.postgres import Postgres
from ramify.wiring import open_store, pricer
from tests import postgres
from tests.contracts.engines import derived, difference, schema_of, seen_stories, told


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture(autouse=True)
def present() -> None:
    if why := postgres.missing():
        assert not os.environ.get("CI"), why
        pytest.skip(why)


@pytest.fixture
def own_cluster() -> Iterator[postgres.Cluster]:
    """Not in pytest's folder, which is closed to the user that the server runs as."""
    with TemporaryDirectory(prefix="ramify-postgres-") as folder:
        made = postgres.Cluster(Path(folder) / "cluster")
        yield made
        made.stop()


@asynccontextmanager
async def balancer(ports: list[int]) -> AsyncIterator[str]:
    """Each connection goes to the next server."""
    turn = cycle(ports)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", next(turn))
        await asyncio.gather(pipe(reader, forth), pipe(back, writer))

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(carry, "127.0.0.1", 0) as listener:
        host, port = listener.sockets[0].getsockname()
        yield f"http://{host}:{port}"


async def test_what_one_server_sees_the_other_shows_live(tmp_path: Path) -> None:
    store = schema_of(tmp_path)
    async with serving(script(0.1)) as upstream:
        one, other = (Server(tmp_path, upstream.url, store=store) for _ in range(2))
        await one.start()
        await other.start()
        heard: list[str] = []
        async with aiohttp.ClientSession() as http, http.get(f"{other.address}/api/live") as feed:
            playing = asyncio.create_task(play(one.address, 0.0))
            async with asyncio.timeout(60):
                async for line in feed.content:
                    if line.startswith(b"data:"):
                        heard.append(line.decode())
                    if any('"status":"completed"' in text and '"task"' in text for text in heard):
                        break
            await playing
        assert not any(b"reload" in line.encode() for line in heard)
        conversations = await other.ask("conversations")
        one.end(signal.SIGTERM)
        other.end(signal.SIGTERM)
    assert conversations is not None
    assert conversations["items"][0]["tasks"] > 2


async def test_two_servers_with_one_session_between_them_give_the_tree_of_one(tmp_path: Path) -> None:
    """Each session's calls go to whichever server comes next, as behind a balancer."""
    address = schema_of(tmp_path)
    async with serving(script(0.1)) as upstream:
        servers = [Server(tmp_path, upstream.url, store=address) for _ in range(2)]
        for server in servers:
            await server.start()
        async with balancer([server.port for server in servers]) as front:
            await asyncio.gather(*(play(front, 0.02, f"session-{number}") for number in range(4)))
        for server in servers:
            await server.until(lambda health: not health["capture"]["waiting"])
            server.end(signal.SIGTERM)
    store = open_store(address)
    live = derived(store)
    assert rebuild(store, Rules(), Prices(pricer(PRICES), PRICES_VERSION), True, lambda done, total: None)["moved"] == []
    assert difference(live, derived(store)) == []
    store.close()


async def test_a_database_that_is_killed_under_load_costs_nothing(tmp_path: Path, own_cluster: postgres.Cluster) -> None:
    async with serving(script(0.1)) as upstream:
        server = Server(tmp_path, upstream.url, store=own_cluster.url)
        await server.start()
        load = Load(server.address, 3)
        load.start()
        await server.until(lambda health: health["capture"]["stored"] > 20)
        await asyncio.to_thread(own_cluster.kill)
        await asyncio.sleep(2)
        await asyncio.to_thread(own_cluster.start)
        await asyncio.sleep(1)
        await load.stop()
        asked = sum(one.method == "POST" for one in upstream.requests)
        health = await server.until(lambda health: not health["capture"]["spooled"] and not health["capture"]["waiting"])
        server.end(signal.SIGTERM)
    assert (load.troubles, load.wrong, health["capture"]["lost"]) == (0, [], 0)
    store = open_store(own_cluster.url)
    assert store.count("calls") == asked
    store.close()


def test_a_store_from_before_the_sums_of_days_gets_them_when_it_is_next_written_to(tmp_path: Path) -> None:
    address = schema_of(tmp_path)
    store = told(open_store(address), seen_stories()[:200])
    before = derived(store)
    assert before["tallies"]
    assert isinstance(store, Postgres)
    with store._server.writing() as connection:
        connection.execute("DROP TABLE tallies")
        connection.execute("DELETE FROM schema_steps WHERE step > 1")
    store.close()
    opened = Ramify.open(address, write=True)
    assert opened.store.fact("outdated") == 1
    assert opened.ingest
    assert opened.store.fact("outdated") is None
    assert {row[0] for row in derived(opened.store)["tallies"]} == {row[0] for row in before["tallies"]}
    opened.close()
