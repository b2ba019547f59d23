"""Servers on one database: they hear of each other, and none of them minds when it is away."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import count, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import pytest

from bench.soaked import Load, Server
from ramify.demo.scenario import play, script
from ramify.demo.upstream import serving
from ramify.ingest import Prices
from ramify.linking.world import Rules
from ramify.model.prices import PRICES, PRICES_VERSION
from ramify.rebuild import rebuild
from ramify.web.metrics import AWAY
from ramify.wiring import open_store, pricer
from tests import clickhouse, postgres
from tests.contracts.engines import ENGINES, derived, difference, log_of, to_be_had


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture(params=["postgres", "clickhouse"])
def engine(request: pytest.FixtureRequest) -> str:
    return to_be_had(request.param)


@pytest.fixture
def address(engine: str, tmp_path: Path) -> str:
    return ENGINES[engine].address(tmp_path)


@pytest.fixture
def own(engine: str) -> Iterator[postgres.Cluster | clickhouse.Server]:
    """One that may be killed. Not in pytest's folder, which is closed to the user that PostgreSQL runs as."""
    with TemporaryDirectory(prefix="ramify-own-") as folder:
        made = postgres.Cluster(Path(folder) / "own") if engine == "postgres" else clickhouse.Server(Path(folder) / "own")
        yield made
        made.kill()


only_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


@asynccontextmanager
async def balancer(ports: list[int]) -> AsyncIterator[str]:
    """Each connection goes to the next server."""
    turn = count()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", ports[next(turn) % len(ports)])
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


@only_postgres
async def test_what_one_server_sees_the_other_shows_live(tmp_path: Path, address: str) -> None:
    async with serving(script(0.1)) as upstream:
        one, other = (Server(tmp_path, upstream.url, store=address) for _ in range(2))
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


class Reader:
    """Reads the live feed of one server for a moment, then goes on at the next one from where it was."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], dict[str, Any]] = {}
        self.last = ""
        self.resyncs = 0

    async def read(self, http: aiohttp.ClientSession, address: str, seconds: float) -> None:
        headers = {"last-event-id": self.last} if self.last else {}
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), http.get(f"{address}/api/live", headers=headers) as feed:
                id = ""
                async for line in feed.content:
                    if line.startswith(b"id: "):
                        id = line[4:].strip().decode()
                    elif line.startswith(b"event: resync"):
                        self.resyncs += 1
                    elif line.startswith(b"data: "):
                        self._take(json.loads(line[6:]).get("changes", []))
                        self.last = id or self.last

    def _take(self, changes: list[dict[str, Any]]) -> None:
        for change in changes:
            for kind in ("call", "task"):
                if kind in change:
                    self.known[kind, change[kind]["id"]] = change[kind]


@only_postgres
async def test_a_reader_that_goes_from_server_to_server_misses_nothing(tmp_path: Path, address: str) -> None:
    async with serving(script(0.1)) as upstream, aiohttp.ClientSession() as http:
        servers = [Server(tmp_path, upstream.url, store=address) for _ in range(2)]
        for server in servers:
            await server.start()
        reader = Reader()
        async with balancer([server.port for server in servers]) as front:
            before = await servers[0].ask("tasks")
            reader.last = str(before["seq"]) if before is not None else ""
            playing = asyncio.gather(*(play(front, 0.02, f"session-{number}") for number in range(6)))
            turn = cycle(servers)
            while not playing.done():
                await reader.read(http, next(turn).address, 0.35)
            await playing
        for server in servers:
            await server.until(lambda health: not health["capture"]["waiting"])
        await reader.read(http, servers[0].address, 2.0)
        calls, tasks = await servers[1].ask("calls?limit=1000"), await servers[1].ask("tasks?limit=1000")
        for server in servers:
            server.end(signal.SIGTERM)
    assert calls is not None
    assert tasks is not None
    assert reader.resyncs == 0
    shown = {("call", call["id"]): call["status"] for call in calls["items"]} | {("task", task["id"]): task["status"] for task in tasks["items"]}
    assert len(shown) > 20
    assert {place: reader.known[place]["status"] for place in shown if place in reader.known} == shown


async def test_two_servers_with_one_session_between_them_give_the_tree_of_one(tmp_path: Path, address: str) -> None:
    """Each session's calls go to whichever server comes next, as behind a balancer."""
    async with serving(script(0.1)) as upstream:
        servers = [Server(tmp_path, upstream.url, store=address) for _ in range(2)]
        for server in servers:
            await server.start()
        async with balancer([server.port for server in servers]) as front:
            await asyncio.gather(*(play(front, 0.02, f"session-{number}") for number in range(4)))
        for server in servers:
            health = await server.until(lambda health: not health["capture"]["waiting"])
            assert health["engine"]["version"]
            server.end(signal.SIGTERM)
    store = open_store(address)
    live = derived(store)
    assert rebuild(store, Rules(), Prices(pricer(PRICES), PRICES_VERSION), True, lambda done, total: None)["moved"] == []
    assert difference(live, derived(store)) == []
    store.close()


async def test_a_database_that_is_killed_under_load_costs_nothing(tmp_path: Path, own: postgres.Cluster | clickhouse.Server) -> None:
    async with serving(script(0.1)) as upstream:
        server = Server(tmp_path, upstream.url, store=own.url)
        await server.start()
        load = Load(server.address, 3)
        load.start()
        await server.until(lambda health: health["capture"]["stored"] > 20)
        await asyncio.to_thread(own.kill)
        away = await server.until(lambda health: health["capture"]["spooled"] > 20)
        await asyncio.to_thread(own.start)
        await asyncio.sleep(1)
        await load.stop()
        asked = sum(one.method == "POST" for one in upstream.requests)
        health = await server.until(lambda health: not health["capture"]["spooled"] and not health["capture"]["waiting"])
        server.end(signal.SIGTERM)
    assert (load.troubles, load.wrong, health["capture"]["lost"]) == (0, [], 0)
    assert (away["status"], health["status"], health["notices"]) == ("degraded", "ok", [])
    assert 0 < away["seq"] < health["seq"]
    assert [notice.startswith(AWAY) for notice in away["notices"]] == [True]
    store = open_store(own.url)
    assert store.count("calls") == asked
    log = log_of(store)
    assert len({seen.id for seen in log}) == len(log) >= 2 * asked
    store.close()


@only_postgres
async def test_a_server_under_load_moves_to_another_engine_and_loses_nothing(tmp_path: Path, address: str) -> None:
    """Copied while it serves; then clients are sent to a server on the new store, the old one ends, and the rest is copied."""
    async with serving(script(0.1)) as upstream:
        old = Server(tmp_path, upstream.url)
        new = Server(tmp_path, upstream.url, store=address)
        await old.start()
        ports = [old.port]
        async with balancer(ports) as front:
            load = Load(front, 3)
            load.start()
            await old.until(lambda health: health["capture"]["stored"] > 40)
            first = await copied(old.store, address)
            assert first["copied"] > 40
            await new.start()
            ports[:] = [new.port]
            await new.until(lambda health: health["capture"]["stored"] > 40)
            old.end(signal.SIGTERM)
            await load.stop()
        await new.until(lambda health: not health["capture"]["waiting"])
        last = await copied(old.store, address)
        assert (last["verified"], last["missing"]) == (True, [])
        asked = sum(one.method == "POST" for one in upstream.requests)
        new.end(signal.SIGTERM)
    store = open_store(address)
    live = derived(store)
    assert store.count("calls") == asked
    assert store.count("calls", {"status": "running"}) == 0
    assert rebuild(store, Rules(), Prices(pricer(PRICES), PRICES_VERSION), True, lambda done, total: None)["moved"] == []
    assert difference(live, derived(store)) == []
    store.close()


async def copied(source: str, target: str) -> dict[str, Any]:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ramify", "copy", source, target, "--json", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, problem = await asyncio.wait_for(child.communicate(), 120)
    assert child.returncode == 0, problem.decode()
    answer: dict[str, Any] = json.loads(out)
    return answer
