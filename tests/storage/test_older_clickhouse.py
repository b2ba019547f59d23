"""A store on ClickHouse that an older version has written, with everything in one table: it goes on, and nothing of it is lost."""

import gzip
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import clickhouse

if why := clickhouse.missing():
    assert not os.environ.get("CI"), why
    pytest.skip(why, allow_module_level=True)

from ramify.indexing import Indexer
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.observation import Observation
from ramify.rebuild import rebuild
from ramify.storage.base import Store
from ramify.storage.clickhouse import SCHEMA, ClickHouse, open_clickhouse
from ramify.storage.clickhouse_contents import OLD
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
    assert never_saw(older, list(seen_in(CASES[1]))) == []
    assert older.server.read(f"SELECT count() FROM {older.server.table} WHERE gone = 1 AND space IN ('observations', 'blobs')") == [(0,)]
    assert older.server.read(f"SELECT count() FROM `{older.server.database}`.contents") == [(0,)]


def test_it_is_opened_again_as_it_is(older: ClickHouse, tmp_path: Path) -> None:
    rows = derived(older)
    again = open_clickhouse(database_of(tmp_path))
    assert (again.fact("schema"), difference(rows, derived(again))) == (SCHEMA, [])
    again.close()
