"""Stores on ClickHouse that older versions have written, with everything in one table, or with each column for itself: they go on, and nothing of them is lost."""

import gzip
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests import clickhouse

if why := clickhouse.missing():
    assert not os.environ.get("CI"), why
    pytest.skip(why, allow_module_level=True)

from ramify.indexing import Indexer
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import TABLES
from ramify.model.observation import Observation
from ramify.rebuild import rebuild
from ramify.storage.base import Store, StoreDown
from ramify.storage.clickhouse import SCHEMA, ClickHouse, open_clickhouse
from ramify.storage.clickhouse_contents import OLD
from ramify.storage.clickhouse_server import ClickHouseServer
from ramify.storage.columns import COLUMNS, columns_of
from ramify.storage.sqlite import open_sqlite
from ramify.storage.sweeping import sweep
from tests.contracts.engines import database_of, derived, difference, log_of, server
from tests.test_forgetting import going, names_of, seen_in, settled, told

HERE = Path(__file__)
CASES = ("anthropic/subtask-three-parallel", "a2a/v1-refine")
LATER, AFTER = "anthropic/fork-three-ways", "anthropic/early-child"


def seen() -> list[Observation]:
    return [one for case in CASES for one in seen_in(case)]


def command(database: str, query: str, data: bytes = b"") -> None:
    address = f"http://127.0.0.1:{server().port}/?database={database}&query={urllib.request.quote(query)}"  # type: ignore[attr-defined]
    urllib.request.urlopen(address, data=data, timeout=60).close()


@pytest.fixture
def older(tmp_path: Path) -> Iterator[ClickHouse]:
    database = database_of(tmp_path).rpartition("/")[2]
    command("default", f"CREATE DATABASE {database}")
    command(database, HERE.with_name("clickhouse_1.sql").read_text())
    command(database, "INSERT INTO entries FORMAT Native", gzip.decompress(HERE.with_name("clickhouse_1.native.gz").read_bytes()))
    store = open_clickhouse(database_of(tmp_path))
    yield store
    store.close()


def never_saw(store: Store, seen: list[Observation]) -> list[tuple[str, object]]:
    other = told(open_sqlite("memory:"), seen)
    try:
        return difference(settled(store), settled(other))
    finally:
        other.close()


def test_it_is_read_searched_and_goes_on(older: ClickHouse) -> None:
    assert {one.id: one for one in log_of(older)} == {one.id: one for one in seen()}
    assert older.observation(seen()[0].id) == seen()[0]
    assert older.search.indexed() == 0  # its words are gathered anew, in their own table
    Indexer(older).catch_up()
    assert older.search.indexed() == older.seq()
    same = told(open_sqlite("memory:"), seen())
    Indexer(same).catch_up()
    for words in ('"the"', '"of"', '"files"'):
        assert len(older.search.find(words, 99, None)) == len(same.search.find(words, 99, None))
    assert any(older.search.find(words, 9, None) for words in ('"the"', '"of"', '"files"'))
    same.close()
    assert older.server.read(f"SELECT count() FROM {older.server.table} WHERE startsWith(space, 'texts/')") == [(0,)]
    more = list(seen_in(LATER))
    Ingest(older).step(more)
    assert {one.id: one for one in log_of(older)} == {one.id: one for one in [*seen(), *more]}
    assert older.fact("outdated")  # only its log grows until all of it is derived again
    rebuild(older, Rules(), Prices(), False, lambda done, total: None)
    assert not older.fact("outdated")
    assert never_saw(older, [*seen(), *more]) == []
    Ingest(older).step(list(seen_in(AFTER)))
    assert never_saw(older, [*seen(), *more, *seen_in(AFTER)]) == []


def test_what_is_forgotten_goes_from_both_places(older: ClickHouse) -> None:
    more = list(seen_in(LATER))
    Ingest(older).step(more)
    ids = [id for id, _ in older.blobs(0, 10_000)]
    assert 0 < min(ids) < OLD
    assert sweep(older) == 0
    for case in (CASES[0], LATER):
        going(older, names_of(case))
    assert {one.id for one in log_of(older)} == {one.id for one in seen_in(CASES[1])}
    rebuild(older, Rules(), Prices(), False, lambda done, total: None)  # its rows are of that version
    assert never_saw(older, list(seen_in(CASES[1]))) == []
    assert older.server.read(f"SELECT count() FROM {older.server.table} WHERE gone = 1 AND space IN ('observations', 'blobs')") == [(0,)]
    assert older.server.read(f"SELECT count() FROM `{older.server.database}`.contents") == [(0,)]


def test_it_is_opened_again_as_it_is(older: ClickHouse, tmp_path: Path) -> None:
    rows = derived(older)
    again = open_clickhouse(database_of(tmp_path))
    assert (again.fact("schema"), difference(rows, derived(again))) == (SCHEMA, [])
    again.close()


def laid_out(database: str) -> None:
    """As the fifth schema had it: bodies and words beside, each column of the entries for itself."""
    command("default", f"CREATE DATABASE {database}")
    for statement in HERE.with_name("clickhouse_5.sql").read_text().split(";\n"):
        if statement:
            command(database, statement)
    for table in ("entries", "contents", "texts"):
        command(database, f"INSERT INTO {table} FORMAT Native", gzip.decompress(HERE.with_name(f"clickhouse_5.{table}.native.gz").read_bytes()))


@pytest.fixture
def unpacked(tmp_path: Path) -> str:
    address = database_of(tmp_path)
    laid_out(address.rpartition("/")[2])
    return address


def as_columns_say(store: ClickHouse) -> None:
    """Whatever rules they were derived by: columns are those of their rows."""
    for table, columns in COLUMNS.items():
        for id, *values, doc in store.projected(table, ["id", *columns, "doc"]):
            row = msgspec.msgpack.decode(doc, type=TABLES[table])
            assert (id, tuple(values)) == (row.id, columns_of(row))


def holds_all(address: str) -> None:
    store = open_clickhouse(address)
    try:
        assert (store.fact("schema"), store.fact("outdated")) == (SCHEMA, 1)  # what there is shows until it is derived again
        assert {one.id: one for one in log_of(store)} == {one.id: one for one in seen()}
        assert store.search.indexed() == store.seq() == len(seen())
        assert any(store.search.find(words, 9, None) for words in ('"the"', '"of"', '"files"'))
        assert store.count("calls") == store.totals()["calls"] > 0
        as_columns_say(store)
        tables = store.server.read(f"SELECT name FROM system.tables WHERE database = '{store.server.database}' AND startsWith(name, 'entries')")
        assert tables == [("entries",)]
        more = list(seen_in(LATER))
        Ingest(store).step(more)
        assert {one.id: one for one in log_of(store)} == {one.id: one for one in [*seen(), *more]}
        rebuild(store, Rules(), Prices(), False, lambda done, total: None)
        assert never_saw(store, [*seen(), *more]) == []
    finally:
        store.close()


def test_columns_that_stood_for_themselves_are_packed(unpacked: str) -> None:
    holds_all(unpacked)


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 40])
def test_packing_that_was_cut_is_done_by_whoever_comes_next(unpacked: str, cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bare, left = ClickHouseServer.command, iter(range(cut))

    def command(server: ClickHouseServer, statement: str, settings: dict[str, object] | None = None) -> None:
        if next(left, None) is None:
            raise StoreDown("the machine went away")
        bare(server, statement, settings)

    monkeypatch.setattr(ClickHouseServer, "command", command)
    with pytest.raises(StoreDown, match="went away"):
        ClickHouse("older", {"host": "127.0.0.1", "port": server().port}, unpacked.rpartition("/")[2], "", 5.0)
    monkeypatch.undo()
    holds_all(unpacked)
