"""Writers on one ClickHouse: none is lost to a crash, none writes in another's turn, and each hears of the others."""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests import clickhouse

if why := clickhouse.missing():
    assert not os.environ.get("CI"), why
    pytest.skip(why, allow_module_level=True)

from ramify.belonging import aliases
from ramify.diagnosis import checks
from ramify.indexing import Indexer
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import Conversation
from ramify.model.mistake import Unreachable
from ramify.model.observation import Record
from ramify.rebuild import rebuild
from ramify.settings import load
from ramify.storage import clickhouse_schema, clickhouse_server, opening, sealing
from ramify.storage.base import Bounds, Changes, Kept, Others, StoreDown
from ramify.storage.clickhouse import ClickHouse, open_clickhouse
from ramify.storage.opening import open_store
from ramify.storage.sqlite import open_sqlite
from tests import test_forgetting as forgetting
from tests.contracts.engines import database_of, derived, difference, log_of, seen_stories, told


def record(number: int, body: bytes = b"") -> Record:
    return Record(f"obs_{number}", "default", number, "test", "lines", str(number), body)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[ClickHouse, ClickHouse]]:
    one, other = (open_clickhouse(database_of(tmp_path), busy_seconds=20) for _ in range(2))
    yield one, other
    one.close()
    other.close()


def test_a_writer_that_was_overtaken_writes_nothing(pair: tuple[ClickHouse, ClickHouse], monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a long sleep of its machine: it still believes that it is its turn."""
    one, other = pair
    monkeypatch.setattr(clickhouse_server, "LEASE", 0.2)
    with pytest.raises(StoreDown, match="turn"), one.exclusive():
        one.append([Kept(record(1, b"late"))], Changes())
        other.append([Kept(record(2, b"in time"))], Changes())
    assert log_of(one) == [record(2, b"in time")]
    one.append([Kept(record(1, b"again"))], Changes())
    assert log_of(other) == [record(2, b"in time"), record(1, b"again")]


def test_a_long_turn_is_not_taken_away(pair: tuple[ClickHouse, ClickHouse], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = pair
    monkeypatch.setattr(clickhouse_server, "LEASE", 1.5)
    monkeypatch.setattr(clickhouse_server, "BEAT", 0.2)
    waiting = threading.Thread(target=other.append, args=([Kept(record(2))], Changes()))
    with one.exclusive():
        waiting.start()
        waiting.join(timeout=4)
        assert waiting.is_alive()
        one.append([Kept(record(1))], Changes())
    waiting.join(timeout=20)
    assert log_of(one) == [record(1), record(2)]


def test_a_turn_that_is_over_keeps_nobody_waiting(pair: tuple[ClickHouse, ClickHouse], monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign of life that was on its way with the last insert does not come behind it."""
    one, other = pair
    monkeypatch.setattr(clickhouse_server, "BEAT", 0.005)
    monkeypatch.setattr(threading.Event, "set", lambda event, put=threading.Event.set: (time.sleep(0.02), put(event))[1])  # as on a busy machine
    for number in range(3):
        with one.exclusive():
            one.append([Kept(record(number))], Changes())
            time.sleep(0.01)
        time.sleep(0.2)
        assert not other.server.last()[2].busy


def test_whoever_waits_for_a_writer_that_died_gets_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clickhouse_server, "LEASE", 2.0)
    monkeypatch.setattr(clickhouse_server, "BEAT", 0.2)
    one, other = (open_clickhouse(database_of(tmp_path), busy_seconds=0.5) for _ in range(2))
    assert one.server._insert({}, one.server.last()[2], busy=True)  # and no more of it
    other.append([Kept(record(1))], Changes())
    assert log_of(other) == [record(1)]
    one.close()
    other.close()


@pytest.mark.parametrize("seed", range(3))
def test_a_writer_doubts_only_what_others_wrote_and_decides_as_if_it_were_alone(pair: tuple[ClickHouse, ClickHouse], seed: int) -> None:
    """Batches of the same sessions, now by the one and now by the other; cleared results and corrections among them."""
    source, seen = random.Random(seed), seen_stories()[seed * 90 : seed * 90 + 90]
    writers = [Ingest(store) for store in pair]
    told: list[Others | None] = []
    for store in pair:
        heard = store.others
        store.others = lambda heard=heard: told.append(found := heard()) or found  # type: ignore[method-assign, func-returns-value]
    while seen:
        size = source.choice((1, 3, 10))
        source.choice(writers).step(seen[:size])
        seen = seen[size:]
    assert told.count(None) == 2  # the first time of each
    assert any(one is not None and one.rows and one.keys for one in told)
    alone = open_sqlite("memory:")
    Ingest(alone).step(seen_stories()[seed * 90 : seed * 90 + 90])
    assert difference(derived(pair[0]), derived(alone)) == []
    alone.close()


def test_a_large_batch_is_one_part(tmp_path: Path) -> None:
    """What is stored whole is what comes in one block, so no batch may be cut on the way."""
    store = open_clickhouse(database_of(tmp_path))
    store.server.command(f"SYSTEM STOP MERGES {store.server.table}")
    bodies = [os.urandom(1 << 20) for _ in range(64)]
    store.append([Kept(record(number, body)) for number, body in enumerate(bodies)], Changes(keys={(1, at, "x"): True for at in range(50_000)}))
    assert store.server.read(f"SELECT uniqExact(_part) FROM {store.server.table} WHERE space IN ('keys', 'observations')") == [(1,)]
    assert [seen.body for seen in log_of(store)] == bodies  # type: ignore[union-attr]
    store.close()


def test_a_server_that_is_killed_keeps_what_it_took_and_goes_on(tmp_path: Path) -> None:
    own = clickhouse.Server(tmp_path / "server")
    try:
        seen = seen_stories()[:60]
        store = open_clickhouse(f"{own.url}/team", busy_seconds=20)
        told(store, seen[:40])
        own.kill()
        with pytest.raises(StoreDown):
            Ingest(store).step(seen[40:])
        own.start()
        assert log_of(store) == seen[:40]
        Ingest(store).step(seen[40:])
        assert log_of(store) == seen
        rows = derived(store)
        store.close()
        again = open_clickhouse(f"{own.url}/team")
        assert difference(rows, derived(again)) == []
        assert again.check() == "ok"
        again.close()
    finally:
        own.kill()


def test_a_server_that_goes_while_a_store_is_opened_is_one_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens it has time and tries again; it is no bug of ours."""
    own = clickhouse.Server(tmp_path / "server")
    try:
        open_store(f"{own.url}/team").close()

        def unlock(*store: Any) -> None:
            own.kill()
            sealing.unlock(*store)

        monkeypatch.setattr(opening, "unlock", unlock)
        with pytest.raises(Unreachable, match="cannot be opened: the server does not answer"):
            open_store(f"{own.url}/team")
    finally:
        own.kill()


def test_writers_and_server_that_are_killed_at_any_moment_give_the_rows_of_one_writer_that_was_not(tmp_path: Path) -> None:
    """Between two inserts, in the middle of one, in its own turn or while it waits: what was not stored is told again."""
    count, source = 60, random.Random(7)
    with TemporaryDirectory(dir=clickhouse.quick_folder()) as folder:
        own = clickhouse.Server(Path(folder) / "server")
        command = [sys.executable, "-m", "tests.clickhouse_writer", f"{own.url}/team"]
        writers = [subprocess.Popen([*command, str(part), "3", str(count)]) for part in range(3)]
        try:
            for blow in range(8):
                time.sleep(source.uniform(0.5, 2))
                if blow % 4 == 3:
                    own.kill()
                    time.sleep(source.uniform(0.1, 0.8))
                    own.start()
                else:
                    part = source.randrange(3)
                    writers[part].kill()
                    writers[part].wait()
                    writers[part] = subprocess.Popen([*command, str(part), "3", str(count)])
            assert [writer.wait(timeout=300) for writer in writers] == [0, 0, 0]
            store = open_clickhouse(f"{own.url}/team")
            log = log_of(store)
            assert sorted(seen.id for seen in log) == sorted(seen.id for seen in seen_stories()[:count])
            assert [seq for seq, _ in store.observations()] == list(range(1, count + 1))
            assert {seen.id: seen for seen in log} == {seen.id: seen for seen in seen_stories()[:count]}
            assert difference(derived(store), derived(told(open_sqlite("memory:"), log))) == []
            assert store.check() == "ok"
            store.close()
        finally:
            for writer in writers:
                writer.kill()
            own.kill()


def test_what_was_forgotten_leaves_the_disk(tmp_path: Path) -> None:
    """Its older versions as well, which a mark alone would only hide."""
    with TemporaryDirectory(dir=clickhouse.quick_folder()) as folder:
        own = clickhouse.Server(Path(folder) / "server")
        try:
            store = open_clickhouse(f"{own.url}/team")
            store.server.command(f"ALTER TABLE {store.server.table} MODIFY SETTING old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0")
            forgetting.told(store, [*forgetting.secret("xylophonic"), *forgetting.secret("marzipan")])
            Indexer(store).catch_up()
            assert words_on(own.data) == words_in(store) == {"xylophonic", "marzipan"}
            [row] = [row for row in store.docs("conversations") if isinstance(row, Conversation) and row.session == "xylophonic-session"]
            answer = forgetting.going(store, frozenset(aliases(store, row.id)))
            assert (answer["observations"], answer["left"]) == (16, "")
            assert words_in(store) == {"marzipan"}
            end = time.monotonic() + 60
            while words_on(own.data) != {"marzipan"} and time.monotonic() < end:
                time.sleep(0.3)
            assert words_on(own.data) == {"marzipan"}
            assert store.server.read(f"SELECT count() FROM {store.server.table} WHERE space <> 'facts' AND (gone = 1 OR space = 'wipes')") == [(0,)]
            Indexer(store).catch_up()
            assert (len(store.search.find('"marzipan"', 9, None)) > 0, store.search.find('"xylophonic"', 9, None)) == (True, [])
            store.close()
        finally:
            own.kill()


def words_in(store: ClickHouse) -> set[str]:
    """Of all versions, packed or not."""
    raw = ""
    for shape in clickhouse_schema.SHAPES:
        texts = [column for column, kind in shape.columns.items() if kind == "String"]
        raw += repr(store.server.read(f"SELECT {', '.join(f'`{column}`' for column in texts)} FROM {store.server.named(shape)}"))
    return {word for word in ("xylophonic", "marzipan") if word in raw}


def words_on(folder: Path) -> set[str]:
    """Files come and go meanwhile."""
    found: set[str] = set()
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                raw = Path(place, name).read_bytes()
                found |= {word for word in ("xylophonic", "marzipan") if word.encode() in raw}
    return found


def test_a_store_of_a_version_with_fewer_columns_is_brought_up(tmp_path: Path) -> None:
    store = open_clickhouse(database_of(tmp_path))
    Ingest(store).step(seen_stories()[:10])
    rows = derived(store)
    store.server.command(f"ALTER TABLE {store.server.table} DROP COLUMN title")
    store.set_fact("layout", "with fewer places in its lists")
    store.close()
    again = open_clickhouse(database_of(tmp_path))
    assert again.fact("outdated") == 1
    rebuild(again, Rules(), Prices(), False, lambda done, total: None)
    assert (difference(rows, derived(again)), again.fact("outdated")) == ([], None)
    assert again.sql("SELECT count() FROM ramify_links", Bounds()).rows[0][0] > 0
    again.close()


def test_what_the_server_says_is_wrong_is_told(tmp_path: Path) -> None:
    store = open_clickhouse(database_of(tmp_path))
    store.append([Kept(record(1))], Changes())
    assert next(checks(store, load({}, {})))["status"] == "ok"
    store.server.command(f"ALTER TABLE {store.server.table} DELETE WHERE throwIf(id = 'obs_1', 'as if')", {"mutations_sync": 0})
    end = time.monotonic() + 30
    while store.check() == "ok" and time.monotonic() < end:
        time.sleep(0.1)
    told_of = next(checks(store, load({}, {})))
    assert (told_of["status"], "cannot delete" in told_of["message"]) == ("fail", True)
    store.server.command(f"KILL MUTATION WHERE database = '{store.server.database}'")
    store.close()


def test_each_hears_what_the_others_wrote(pair: tuple[ClickHouse, ClickHouse]) -> None:
    one, other = pair
    heard: list[tuple[int, object]] = []
    came = threading.Event()

    def hear(seq: int, rows: object) -> None:
        heard.append((seq, rows))
        came.set()

    end = one.follow(hear)
    try:
        one.append([Kept(record(1))], Changes())
        threading.Event().wait(1.2)  # it has begun to listen, and what it wrote itself is no news
        Ingest(other).step(seen_stories()[:10])
        assert came.wait(10)
    finally:
        end()
    assert heard[0][0] == other.seq()
    assert ("calls", str(next(other.docs("calls")).id)) in heard[0][1]  # type: ignore[operator]
    assert len(heard) == 1
