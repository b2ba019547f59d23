"""Writers on one ClickHouse: none is lost to a crash, none writes in another's turn, and each hears of the others."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import clickhouse
from tests.contracts.engines import ENGINES

if "clickhouse" not in ENGINES:
    pytest.skip("slow: make clickhouse runs it", allow_module_level=True)
if why := clickhouse.missing():
    assert not os.environ.get("CI"), why
    pytest.skip(why, allow_module_level=True)

from ramify.ingest import Ingest
from ramify.model.observation import Record
from ramify.storage import clickhouse_server
from ramify.storage.base import Changes, Kept, StoreDown
from ramify.storage.clickhouse import ClickHouse, open_clickhouse
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


def test_a_large_batch_is_one_part(tmp_path: Path) -> None:
    """What is stored whole is what comes in one block, so no batch may be cut on the way."""
    store = open_clickhouse(database_of(tmp_path))
    store.server.command(f"SYSTEM STOP MERGES {store.server.table}")
    parts = f"SELECT count() FROM system.parts WHERE active AND database = '{store.server.database}'"
    before = store.server.read(parts)[0][0]
    bodies = [os.urandom(1 << 20) for _ in range(64)]
    store.append([Kept(record(number, body)) for number, body in enumerate(bodies)], Changes(keys={(1, at, "x"): True for at in range(50_000)}))
    assert store.server.read(parts)[0][0] - before == 2  # the turn, and what was written in it
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
