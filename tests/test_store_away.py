"""A database that is away or hangs: who begins then, who runs, and who is to end. Clients notice nothing, and nothing is lost."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import psycopg
import pytest
import pytest_asyncio

from bench.soaked import Server
from ramify.demo.upstream import Upstream, serving
from ramify.demo.wire import Json, Reply, text
from ramify.model.mistake import Unreachable, UserMistake
from ramify.served import open_served
from ramify.settings import Settings
from ramify.storage.opening import open_store
from tests import clickhouse, postgres
from tests.contracts.engines import to_be_had

Database = postgres.Cluster | clickhouse.Server
only_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture(params=["postgres", "clickhouse"])
def engine(request: pytest.FixtureRequest) -> str:
    return to_be_had(request.param)


@pytest.fixture
def own(engine: str) -> Iterator[Database]:
    with TemporaryDirectory(prefix="ramify-own-") as folder:
        made = postgres.Cluster(Path(folder) / "own") if engine == "postgres" else clickhouse.Server(Path(folder) / "own")
        yield made
        made.kill()


def answer(body: Json) -> Reply:
    return Reply(content=(text("Well."),))


@pytest_asyncio.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with serving(answer) as made:
        yield made


@pytest_asyncio.fixture
async def server(tmp_path: Path, own: Database, upstream: Upstream) -> AsyncIterator[Server]:
    made = Server(tmp_path, upstream.url, store=own.url)
    yield made
    made.end_anyway()


async def said(server: Server, words: str) -> float:
    """One exchange, and how long it took."""
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": words}]}
    began = time.monotonic()
    async with aiohttp.ClientSession() as http, http.post(f"{server.address}/v1/messages", json=body) as response:
        assert response.status == 200
        await response.read()
    return time.monotonic() - began


def bodies(own: Database) -> list[bytes]:
    store = open_store(own.url)
    found = [bytes(getattr(seen, "body", b"")) for _, seen in store.observations()]
    store.close()
    return found


def kept(own: Database, words: str) -> int:
    return sum(words.encode() in body for body in bodies(own))


def log_of(server: Server) -> str:
    return Path(server.log.name).read_text()


async def stored_all(server: Server) -> None:
    await server.until(lambda health: health["capture"]["stored"] and not health["capture"]["waiting"] and not health["capture"]["spooled"])


async def test_a_writer_that_begins_while_the_store_is_away_keeps_what_it_is_given(server: Server, own: Database) -> None:
    await server.start()
    await said(server, "first")
    await stored_all(server)
    await asyncio.to_thread(own.kill)
    os.kill(server.writer(), signal.SIGKILL)
    await said(server, "second")
    await server.until(lambda health: health["capture"]["spooled"] >= 2 and not health["capture"]["waiting"])
    server.kill()
    await asyncio.to_thread(own.start)
    await server.start()
    await stored_all(server)
    server.end(signal.SIGTERM)
    assert (kept(own, "first"), kept(own, "second")) == (1, 1)
    assert "Traceback" not in log_of(server)
    assert "Retrying" not in log_of(server)  # a driver's own words, again and again; ours say once that it is away


@only_postgres
async def test_a_server_whose_database_is_cut_right_after_its_start_ends_soon(server: Server, own: Database) -> None:
    await server.start()
    await asyncio.to_thread(own.kill)
    await said(server, "only")
    began = time.monotonic()
    await asyncio.to_thread(server.end, signal.SIGTERM)
    assert time.monotonic() - began < 20
    await asyncio.to_thread(own.start)
    await server.start()
    await stored_all(server)
    server.end(signal.SIGTERM)
    assert kept(own, "only") == 1


async def answered(server: Server, path: str) -> tuple[int, str, float]:
    began = time.monotonic()
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(5)) as http, http.get(f"{server.address}{path}") as response:
        return response.status, await response.text(), time.monotonic() - began


async def test_a_store_that_hangs_stops_nothing_but_itself(server: Server, own: Database) -> None:
    await server.start()
    await said(server, "first")
    await stored_all(server)
    own.pause()
    try:
        for number in range(3):
            assert await said(server, f"second {number}") < 5
        for path in ("/api/alive", "/api/ready", "/api/health", "/metrics"):
            status, text, took = await answered(server, path)
            assert (status, took < 3) == (200, True), (path, text)
        await server.until(lambda health: health["capture"]["spooled"] >= 6 and not health["capture"]["waiting"], 20)
        assert await said(server, "third") < 5
        await server.until(lambda health: health["capture"]["spooled"] >= 8 and not health["capture"]["waiting"], 20)
        assert "has not answered" in str(await server.ask("health"))
        began = time.monotonic()
        await asyncio.to_thread(server.end, signal.SIGTERM)
        took = time.monotonic() - began
        print(f"ended after {took:.1f} s")
        assert took < 20
    finally:
        own.resume()
    await server.start()
    await stored_all(server)
    server.end(signal.SIGTERM)
    words = [word for body in bodies(own) for word in (b"first", b"second 0", b"second 1", b"second 2", b"third") if word in body]
    assert words == [b"first", b"second 0", b"second 1", b"second 2", b"third"]


async def test_a_store_that_hangs_for_a_while_gets_everything_once_and_in_order(server: Server, own: Database) -> None:
    await server.start()
    await said(server, "0 of")
    await stored_all(server)
    own.pause()
    try:
        for number in range(1, 4):
            await said(server, f"{number} of")
            await asyncio.sleep(0.8)
        await server.until(lambda health: health["capture"]["spooled"] >= 6, 20)
    finally:
        own.resume()
    await said(server, "4 of")
    await server.until(lambda health: not health["capture"]["waiting"] and not health["capture"]["spooled"] and not health["capture"]["problem"])
    server.end(signal.SIGTERM)
    told = [body[place - 2 : place - 1] for body in bodies(own) if (place := body.find(b" of") + 1) > 0]
    assert told == [b"0", b"1", b"2", b"3", b"4"]


@only_postgres
async def test_clients_are_sent_here_also_where_something_was_lost(tmp_path: Path, own: Database, upstream: Upstream) -> None:
    """Turned away they would have no answer at all, for a count that stays for good."""
    made = Server(tmp_path, upstream.url, "--spool-limit", "1KiB", store=own.url)
    try:
        await made.start()
        await said(made, "first")
        await stored_all(made)
        await asyncio.to_thread(own.kill)
        for number in range(4):
            await said(made, f"second {number}")
        await made.until(lambda health: health["capture"]["lost"] and not health["capture"]["waiting"])
        status, text, _ = await answered(made, "/api/ready")
        assert (status, '"store": false' in text) == (200, True), text
        await asyncio.to_thread(own.start)
    finally:
        made.end_anyway()


async def test_a_server_that_has_nothing_to_store_ends_while_its_store_hangs(server: Server, own: Database) -> None:
    await server.start()
    await said(server, "only")
    await stored_all(server)
    own.pause()
    try:
        await answered(server, "/metrics")
        began = time.monotonic()
        await asyncio.to_thread(server.end, signal.SIGTERM)
        took = time.monotonic() - began
        print(f"ended after {took:.1f} s")
        assert took < 20
    finally:
        own.resume()
    assert kept(own, "only") == 1


async def test_a_server_that_begins_while_the_store_is_away_captures_and_connects_when_it_comes(server: Server, own: Database) -> None:
    await server.start()
    await said(server, "first")
    await stored_all(server)
    server.end(signal.SIGTERM)
    await asyncio.to_thread(own.kill)
    await server.start()
    await said(server, "second")
    await server.until(lambda health: health["capture"]["spooled"] >= 2 and not health["capture"]["waiting"])
    assert (await answered(server, "/api/alive"))[0] == 200
    status, text, _ = await answered(server, "/api/ready")
    assert (status, "refused" in text) == (503, True), text
    figures = await server.metrics()
    assert 0 < figures["ramify_ingest_lag_seconds"] < 120  # it waits on disk, and is not stored
    assert (figures["ramify_exchanges_captured_total"], figures["ramify_observations_captured_total"], figures["ramify_commit_seconds_count"]) == (1, 2, 0)
    status, text, took = await answered(server, "/api/conversations")
    assert (status, "store_away" in text, took < 3) == (503, True, True), text
    await asyncio.to_thread(own.start)
    await stored_all(server)
    await server.until(lambda health: health["status"] == "ok")
    assert (await answered(server, "/api/ready"))[0] == 200
    assert (await answered(server, "/api/conversations"))[0] == 200
    figures = await server.metrics()
    assert figures["ramify_ingest_lag_seconds"] == 0
    assert figures["ramify_commit_seconds_count"] > 0
    server.end(signal.SIGTERM)
    assert (kept(own, "first"), kept(own, "second")) == (1, 1)
    assert "Traceback" not in log_of(server)
    assert "Retrying" not in log_of(server)  # a driver's own words, again and again; ours say once that it is away


@only_postgres
async def test_an_encrypted_store_that_was_never_open_here_may_be_away_at_the_start(
    server: Server, own: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAMIFY_ENCRYPTION_KEY", "ab" * 32)
    await asyncio.to_thread(own.kill)
    await server.start()
    await said(server, "nasturtium")
    await server.until(lambda health: health["capture"]["spooled"] >= 2 and not health["capture"]["waiting"])
    assert not [file for file in (tmp_path / "data").rglob("*") if file.is_file() and b"nasturtium" in file.read_bytes()]
    server.kill()
    await asyncio.to_thread(own.start)
    await server.start()
    await stored_all(server)
    server.end(signal.SIGTERM)
    assert kept(own, "nasturtium") == 1


@only_postgres
def test_what_somebody_has_to_put_right_is_a_mistake_at_the_start(own: Database, tmp_path: Path) -> None:
    """Another database, another user, a name that nobody has: waiting would not help."""
    for url in (own.url + "_of_nobody", own.url.replace("ramify@", "nobody@"), own.url.replace("127.0.0.1", "nobody.invalid")):
        with pytest.raises(UserMistake) as refused:
            open_served(Settings(store=url))
        assert not isinstance(refused.value, Unreachable), refused.value


@only_postgres
def test_a_database_that_lets_no_more_in_is_only_away(own: postgres.Cluster) -> None:
    """While one server takes over from another, say, and the role may have so many connections."""
    with psycopg.connect(own.url, autocommit=True) as owner:
        owner.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 1")
    url = own.url.replace("ramify@", "few@")
    with psycopg.connect(url), pytest.raises(Unreachable, match="too many connections"):
        open_store(url)
