"""What is large stands beside the entries on ClickHouse: named or swept, dropped by the day, and never another's."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import clickhouse

if why := clickhouse.missing():
    assert not os.environ.get("CI"), why
    pytest.skip(why, allow_module_level=True)

from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.model.observation import Record
from ramify.storage import clickhouse_server
from ramify.storage.base import Changes, Kept, Overtaken, StoreDown
from ramify.storage.clickhouse import ClickHouse, open_clickhouse
from ramify.storage.clickhouse_contents import DAY, together
from ramify.storage.clickhouse_known import Known
from ramify.storage.clickhouse_packing import read_from
from ramify.storage.clickhouse_schema import CONTENTS, TEXTS
from ramify.storage.sqlite import open_sqlite
from ramify.storage.sweeping import sweep
from tests.contracts.engines import database_of, derived, difference, log_of, seen_stories, told


def record(number: int, body: bytes = b"", day: int = 20_000) -> Record:
    return Record(f"obs_{number}", "default", day * DAY + number, "test", "lines", str(number), body)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[ClickHouse, ClickHouse]]:
    one, other = (open_clickhouse(database_of(tmp_path), busy_seconds=20) for _ in range(2))
    yield one, other
    one.close()
    other.close()


def held(store: ClickHouse) -> list[tuple[object, ...]]:
    return store.server.read(f"SELECT seq, version, gone FROM {store.server.named(CONTENTS)} ORDER BY seq, version")


def days(store: ClickHouse) -> list[int]:
    query = "SELECT DISTINCT toInt64(partition) FROM system.parts WHERE active AND rows > 0 AND database = '{0}' AND table = 'contents' ORDER BY 1"
    return [day for (day,) in store.server.read(query.format(store.server.database))]


def test_numbers_say_the_day_and_what_stands_together() -> None:
    assert together(20_000 * DAY + 5, 3) >> 47 == 20_000
    assert together(20_000 * DAY, 3) >> 32 & 0x7FFF == together(20_001 * DAY, 3) >> 32 & 0x7FFF == 3
    assert together(-5, 1 << 40) >> 47 == 1
    assert together(1 << 62, 0) < 1 << 63


def test_calls_of_a_session_stand_together(tmp_path: Path) -> None:
    store = open_clickhouse(database_of(tmp_path))
    Ingest(store).step(seen_stories()[-40:])
    conversations = {row[0] for row in store.server.read(f"SELECT {read_from('conversation')} FROM {store.server.table} FINAL WHERE space = 'calls'")}
    places = store.server.read(f"SELECT uniqExact(bitAnd(bitShiftRight(place, 32), 32767)) FROM {store.server.table} FINAL WHERE space = 'seen'")
    assert places == [(len(conversations),)]
    store.close()


def test_what_a_turn_left_that_was_never_stored_is_swept(pair: tuple[ClickHouse, ClickHouse], monkeypatch: pytest.MonkeyPatch) -> None:
    """The contents were there, and then the writer was overtaken: the next one uses the same numbers, and what it wrote counts."""
    one, other = pair
    monkeypatch.setattr(clickhouse_server, "LEASE", 0.2)
    with pytest.raises(Overtaken), one.exclusive():
        one.append([Kept(record(1, b"late")), Kept(record(2, b"also late"))], Changes())
        other.append([Kept(record(3, b"in time"))], Changes())
    assert [seq for seq, *_ in held(other)] == [1, 1, 2]
    assert log_of(other) == log_of(one) == [record(3, b"in time")]
    assert other.observation("obs_3") == record(3, b"in time")
    assert sweep(other) == 0
    other.shrink()
    assert [seq for seq, _, gone in held(other) if not gone] == [1]
    assert log_of(one) == [record(3, b"in time")]
    one.append([Kept(record(1, b"again"))], Changes())
    assert log_of(other) == [record(3, b"in time"), record(1, b"again")]


def test_pieces_that_a_lost_turn_left_are_not_taken_from_whoever_does_the_same_again(pair: tuple[ClickHouse, ClickHouse], monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the turn in which they are found to be nobody's and the one in which they are marked."""
    one, other = pair
    monkeypatch.setattr(clickhouse_server, "LEASE", 0.2)
    seen = seen_stories()[-20:]
    with pytest.raises(Overtaken), one.exclusive():
        Ingest(one).step(seen)
        other.append([Kept(record(1))], Changes())
    assert sweep(other) > 0
    assert Ingest(one).step(seen) == len(seen)
    other.shrink()
    assert log_of(open_clickhouse(one.url)) == log_of(one) == [record(1), *seen]


def test_a_writer_that_is_alone_does_not_announce_itself_and_gives_way(pair: tuple[ClickHouse, ClickHouse], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = pair
    monkeypatch.setattr(clickhouse_server, "ALONE", 0.0)
    seen = seen_stories()[-30:]
    ingest = Ingest(one)
    ingest.step(seen[:10])
    number = one.server.last()[0]
    ingest.step(seen[10:20])
    assert one.server.last()[0] == number + 1
    come, gone = threading.Event(), threading.Event()
    fold = one._put_observations

    def interrupted(kept: list[Kept]) -> None:
        fold(kept)
        if not come.is_set():
            come.set()
            assert gone.wait(20)

    def intrude() -> None:
        assert come.wait(20)
        other.append([Kept(record(1))], Changes())
        gone.set()

    monkeypatch.setattr(one, "_put_observations", interrupted)
    intruder = threading.Thread(target=intrude)
    intruder.start()
    assert ingest.step(seen[20:]) == 10  # the second time
    intruder.join()
    assert log_of(other) == [*seen[:20], record(1), *seen[20:]]
    assert difference(derived(other), derived(told(open_sqlite("memory:"), seen))) == []


def test_days_of_which_nothing_is_left_are_dropped(tmp_path: Path) -> None:
    store = open_clickhouse(database_of(tmp_path))
    many = [record(day, b"said on day %d" % day, 20_000 + day) for day in range(120)]  # more than a server lets into one insert
    store.append([Kept(one) for one in many], Changes())
    assert days(store) == [20_000 + day for day in range(120)]
    store.append([Kept(record(1000, b"also", 20_003))], Changes())
    store.forget([one.id for one in many[:20]])
    store.shrink()
    assert days(store) == [20_003, *(20_000 + day for day in range(20, 120))]
    assert [one.id for one in log_of(store)] == [*(one.id for one in many[20:]), "obs_1000"]
    assert sum(not gone for *_, gone in held(store)) == 101
    store.close()


def test_marks_expire_and_take_along_what_they_mark(tmp_path: Path) -> None:
    """The engine does it by itself when it merges."""
    store = open_clickhouse(database_of(tmp_path))
    table = store.server.named(CONTENTS)
    store.append([Kept(record(1, b"stays")), Kept(record(2, b"goes"))], Changes())
    [(place,)] = store.server.read(f"SELECT id FROM {table} WHERE seq = 2")
    row = (place, 99, 1, int(time.time()) - 24 * 3600 + 2)
    store.server.put(table, [row], ("id", "version", "gone", "marked"), ("Int64", "UInt64", "UInt8", "DateTime"))
    left = []
    for pause in (0, 3):
        time.sleep(pause)
        store.server.command(f"OPTIMIZE TABLE {table} FINAL")
        left.append([(seq, gone) for seq, _, gone in held(store)])
    assert left == [[(0, 1), (1, 0)], [(1, 0)]]
    store.close()


def test_contents_that_are_named_and_not_there_are_told_of(tmp_path: Path) -> None:
    store = open_clickhouse(database_of(tmp_path))
    store.append([Kept(record(1, b"one")), Kept(record(2, b"two"))], Changes())
    store.server.command(f"ALTER TABLE {store.server.named(CONTENTS)} DELETE WHERE seq = 2", {"mutations_sync": 2})
    assert store.observation("obs_1") == record(1, b"one")
    with pytest.raises(StoreDown, match="1 observations are named"):
        store.observation("obs_2")
    store.close()


def test_words_that_a_dead_indexer_left_are_not_found_twice(tmp_path: Path) -> None:
    store = open_clickhouse(database_of(tmp_path))
    told(store, seen_stories()[-20:])
    with pytest.raises(ZeroDivisionError), store.exclusive():
        Indexer(store).catch_up()
        for shape, rows in store.server.beside.values():
            store.server._put_beside(shape, rows)
        raise ZeroDivisionError
    assert store.server.read(f"SELECT count() > 0 FROM {store.server.named(TEXTS)}") == [(1,)]
    assert store.search.indexed() == 0
    store.close()
    again, same = open_clickhouse(database_of(tmp_path)), told(open_sqlite("memory:"), seen_stories()[-20:])
    for one in (again, same):
        Indexer(one).catch_up()
    assert len(again.search.find('"task"', 999, None)) == len(same.search.find('"task"', 999, None)) > 0
    again.close()


def test_what_the_server_says_is_there_is_what_a_writer_would_have_noted(tmp_path: Path) -> None:
    """The same bits, whether they were worked out here or there."""
    store = open_clickhouse(database_of(tmp_path))
    Ingest(store).step(seen_stories()[-40:])
    noted = store._known
    read = Known()
    with store.exclusive():
        assert read.may_hold(store.server, "seen", seen_stories()[-1].id)
        assert not read.may_hold(store.server, "seen", "nobody")
        assert noted.may_hold(store.server, "seen", seen_stories()[-1].id)
    assert read._bits == noted._bits
    assert any(read._bits)
    store.close()
