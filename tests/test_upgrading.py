"""A newer version on an older store: it captures and answers at once, and derives the old rows again beside that."""

import asyncio
import fcntl
import lzma
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import msgspec
import pytest

from bench.soaked import Server, check_rebuild
from bench.traffic import traffic
from ramify.app import Ramify
from ramify.demo.scenario import play, script
from ramify.demo.upstream import serving
from ramify.ingest import DERIVED, Ingest, Prices
from ramify.linking.world import Rules
from ramify.settings import load
from ramify.storage.base import StoreDown
from ramify.storage.sqlite import Sqlite, open_sqlite
from ramify.upgrading import folder_of, share_done
from ramify.wiring import bring_up
from tests.contracts.engines import derived, difference

OLD = Path(__file__).parent / "cases" / "stores" / "v10-b96a25a.db.xz"
LOST = "INSERT OR REPLACE INTO facts VALUES ('outdated', 1)"


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Somebody else is at it, and takes long."""
    folder = Path(f"{path}.deriving")
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def filled(path: Path, requests: int) -> Sqlite:
    store = open_sqlite(f"sqlite:{path}")
    ingest = Ingest(store)
    for batch in traffic(requests, turns=2, width=10):
        ingest.step(batch)
    return store


def outdate(path: Path) -> None:
    """As a step of the schema does, with rows that are wrong."""
    with sqlite3.connect(path) as raw:
        raw.execute(LOST)
        raw.execute("DELETE FROM tasks WHERE row % 2")
    raw.close()


async def test_a_server_captures_and_answers_while_an_older_store_is_derived_again(tmp_path: Path) -> None:
    async with serving(script(0.05)) as upstream, aiohttp.ClientSession() as http:
        server = Server(tmp_path, upstream.url)
        server.path.write_bytes(lzma.decompress(OLD.read_bytes()))
        try:
            with held(server.path):
                await server.start()
                before = await server.ask("tasks?limit=1000")
                assert before is not None
                assert len(before["items"]) > 5
                await play(server.address, 0.0)
                health = await server.until(lambda health: health["capture"]["stored"] > 20 and not health["capture"]["waiting"])
                assert health["deriving"]["total"] > 100
                assert (health["capture"]["spooled"], health["capture"]["lost"], health["status"]) == (0, 0, "ok")
                assert await server.ask("tasks?limit=1000") == {**before, "seq": (await server.ask("tasks") or {})["seq"]}
                async with http.delete(f"{server.address}/api/links/{before['items'][0]['id']}") as refused:
                    assert (refused.status, "derived again" in await refused.text()) == (409, True)
                server.kill()  # an upgrade that is cut
                await server.start()
                await play(server.address, 0.0, "another-session")
            await server.until(lambda health: health["deriving"] is None)
            for _ in range(200):
                calls = await server.ask("calls?filter=status:running")
                if calls is not None and not calls["items"]:
                    break
                await asyncio.sleep(0.05)
            server.end(signal.SIGTERM)
        finally:
            server.end_anyway()
    brought_up = Ramify.open(f"sqlite:{server.path}")
    log = [seen for _, seen in brought_up.store.observations()]
    fresh = Ramify.open("memory:", write=True)
    fresh.ingest.step(log)
    assert len(log) > health["deriving"]["total"] + 40
    assert difference(derived(brought_up.store), derived(fresh.store)) == []
    assert not folder_of(brought_up.store).exists()
    brought_up.close()
    check_rebuild(server.path)


def test_an_upgrade_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = filled(path, 260)
    wanted = derived(store)
    outdate(path)
    settings = msgspec.json.encode(load({"store": f"sqlite:{path}"}, {}))
    with subprocess.Popen([sys.executable, "-m", "ramify.renewal"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(settings)
        child.stdin.close()
        first = child.stdout.readline()
        child.kill()
    assert 0 < int(first.split()[0]) < 1000
    assert store.fact("outdated")
    assert 0 < share_done(store) < 1
    told: list[int] = []
    bring_up(store, Rules(), Prices(), lambda done, total: told.append(done))
    assert not store.fact("outdated")
    assert difference(derived(store), wanted) == []
    store.close()


def test_it_goes_on_only_from_what_was_made_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = filled(path, 220)
    wanted = derived(store)
    outdate(path)

    def cut(done: int, total: int) -> None:
        raise StoreDown("the disk is full")

    for rules in (Rules(), Rules(), Rules(spawn_tools=frozenset({"other"}))):
        with pytest.raises(StoreDown):
            bring_up(store, rules, Prices(), cut)
    told: list[int] = []
    bring_up(store, Rules(), Prices(), lambda done, total: told.append(done))
    assert told[0] == 200  # from the beginning: the last one had other rules
    assert difference(derived(store), wanted) == []
    outdate(path)
    with pytest.raises(StoreDown):
        bring_up(store, Rules(), Prices(), cut)
    told.clear()
    bring_up(store, Rules(), Prices(), lambda done, total: told.append(done))
    assert told[0] == 400  # and here from where it was cut
    assert difference(derived(store), wanted) == []
    store.close()


def test_a_batch_that_was_cut_in_pieces_is_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = filled(path, 220)
    wanted = derived(store)
    outdate(path)
    folder_of(store).mkdir()
    scratch = Sqlite("scratch", str(folder_of(store) / "scratch.db"))
    scratch.set_fact(DERIVED, -1)
    scratch.close()
    bring_up(store, Rules(), Prices())
    assert difference(derived(store), wanted) == []
    store.close()


def test_who_does_not_wait_leaves_it_to_the_one_that_is_at_it_and_only_adds_to_the_log(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = filled(path, 20)
    rows = derived(store)
    more = [seen for batch in traffic(40, turns=2, width=10) for seen in batch][40:]
    with held(path):
        with sqlite3.connect(path) as raw:
            raw.execute(LOST)
        raw.close()
        bring_up(store, Rules(), Prices(), wait=False)
        ingest = Ingest(store)
        assert ingest.step(more) == len(more)
        assert difference(derived(store), rows) == []
        assert ingest.is_behind
    bring_up(store, Rules(), Prices())
    assert not ingest.is_behind
    again = open_sqlite("memory:")
    whole = Ingest(again)
    whole.step([seen for _, seen in store.observations()])
    assert difference(derived(store), derived(again)) == []
    store.close()
