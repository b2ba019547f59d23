"""A store on PostgreSQL that an older version has written: it is brought up step by step, and nothing of it is lost."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ramify.indexing import Indexer
from ramify.ingest import Prices
from ramify.linking.world import Rules
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation
from ramify.rebuild import rebuild
from ramify.storage.base import Store
from ramify.storage.postgres_days import DAY, parts
from ramify.storage.postgres_steps import STEPS
from ramify.storage.sqlite import open_sqlite
from ramify.wiring import open_store
from tests import postgres
from tests.contracts.engines import cluster, derived, difference, schema_of
from tests.test_forgetting import going, names_of, seen_in, settled, told

OLD = Path(__file__).with_name("postgres_1.sql.gz")
CASES = ("anthropic/subtask-three-parallel", "a2a/v1-refine")


def seen() -> list[Observation]:
    return [one for case in CASES for one in seen_in(case)]


@pytest.fixture(autouse=True)
def present() -> None:
    if why := postgres.missing():
        assert not os.environ.get("CI"), why
        pytest.skip(why)


@pytest.fixture
def address(tmp_path: Path) -> str:
    """In a database of its own: the dump names its schemas."""
    name = f"old_{schema_of(tmp_path)[-16:]}"
    with psycopg.connect(cluster().url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = f"postgresql://ramify@127.0.0.1:{cluster().port}/{name}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(gzip.decompress(OLD.read_bytes()).decode())
    return url


def test_its_log_and_rows_are_all_there_and_its_words_are_read_again(address: str) -> None:
    store = open_store(address)
    assert [one for _, one in store.observations()] == seen()
    assert all(store.observation(one.id) == one for one in seen())
    assert (store.seq(), store.search.indexed()) == (len(seen()), 0)  # its words were cut in another way
    assert Indexer(store).catch_up() == store.search.indexed() == len(seen())
    wanted = derived(told(open_sqlite("memory:"), seen()))
    assert {table for table, _ in difference(derived(store), wanted)} >= {"keys", "tallies"}  # which it did not know yet
    brought_up(store)
    assert wanted["tallies"]
    assert difference(derived(store), wanted) == []
    assert steps_of(address) == len(STEPS) > 1
    store.close()


def brought_up(store: Store) -> None:
    assert store.fact("outdated")
    rebuild(store, Rules(), Prices(), False, lambda done, total: None)
    assert not store.fact("outdated")


def test_it_is_gone_on_with_and_forgotten_from_like_any_other(address: str) -> None:
    store = open_store(address)
    brought_up(store)
    more = seen_in("anthropic/early-child")
    told(store, more)
    assert [one.id for _, one in store.observations()] == [one.id for one in [*seen(), *more]]
    going(store, names_of("a2a/v1-refine"))
    left = [*seen_in("anthropic/subtask-three-parallel"), *more]
    assert [one for _, one in store.observations()] == left
    assert difference(settled(store), settled(told(open_sqlite("memory:"), left))) == []
    going(store, names_of("anthropic/subtask-three-parallel") | names_of("anthropic/early-child"))
    assert (store.count("observations"), store.blobs(0, 9)) == (0, [])
    store.close()


def test_one_without_turns_gets_them_and_keeps_its_rows_until_it_is_derived_again(tmp_path: Path) -> None:
    store = told(open_store(schema_of(tmp_path)), seen())
    rows, schema = derived(store), store._server.schema  # type: ignore[attr-defined]
    store.close()
    with psycopg.connect(cluster().url, autocommit=True, options=f"-c search_path={schema}") as connection:
        connection.execute("DROP TABLE turns; DELETE FROM schema_steps WHERE step >= 6")
    again = open_store(schema_of(tmp_path))
    assert again.fact("outdated")
    assert derived(again) == rows
    told(again, seen_in("anthropic/early-child"))
    assert [one for _, one in again.observations()] == [*seen(), *seen_in("anthropic/early-child")]
    again.close()


def test_a_store_of_a_newer_version_is_left_alone(address: str) -> None:
    open_store(address).close()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("INSERT INTO ramify.schema_steps VALUES (%s)", (len(STEPS) + 1,))
    with pytest.raises(UserMistake, match="newer Ramify"):
        open_store(address)


def steps_of(address: str) -> int:
    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT max(step) FROM ramify.schema_steps").fetchone()
    return int(row[0]) if row else 0


def test_a_column_and_an_index_that_are_missing_are_made_from_the_rows(address: str) -> None:
    whole = open_store(address)
    before = derived(whole)
    whole.close()
    with psycopg.connect(address, autocommit=True, options="-c search_path=ramify") as connection:
        connection.execute("DROP SCHEMA ramify_views CASCADE; DROP INDEX calls_model; ALTER TABLE tasks DROP COLUMN agent, DROP COLUMN closed")
        connection.execute("DROP TABLE sheets; DELETE FROM facts WHERE name IN ('layout', 'views')")
    again = open_store(address)
    after = derived(again)
    assert {table: rows for table, rows in after.items() if table != "sheets"} == {table: rows for table, rows in before.items() if table != "sheets"}
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT 1 FROM pg_indexes WHERE indexname IN ('calls_model', 'tasks_agent')").fetchall() == [(1,), (1,)]
    again.close()


# -- days ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(schema_of(tmp_path))
    yield opened
    opened.close()


def days_of(store: Store) -> set[str]:
    with store._server.writing() as connection:  # type: ignore[attr-defined]
        return {name for _, name, _ in parts(connection) if not name.endswith("_before")}


def test_each_day_has_a_part_and_one_of_which_all_goes_is_dropped(store: Store) -> None:
    first, second = seen_in("anthropic/early-child"), seen_in("anthropic/subtask-three-parallel")
    later = [moved(one, 10 * DAY) for one in second]
    told(store, [*first, *later])
    days = {one.at // DAY for one in [*first, *later]}
    assert len(days_of(store)) == 2 * len(days) > 2
    assert [one for _, one in store.observations()] == [*first, *later]
    going(store, names_of("anthropic/early-child"))
    assert len(days_of(store)) == 2 * len({one.at // DAY for one in later})
    assert [one for _, one in store.observations()] == later
    assert difference(settled(store), settled(told(open_sqlite("memory:"), later))) == []


def test_what_is_dated_before_the_calendar_or_far_beyond_it_is_kept_too(store: Store) -> None:
    odd = [moved(one, shift) for one, shift in zip(seen_in("claude/nested"), (-(1 << 61), 1 << 61, -DAY * 30_000), strict=False)]
    told(store, odd)
    assert [one for _, one in store.observations()] == odd


def moved(seen: Observation, by: int) -> Observation:
    from msgspec.structs import replace

    return replace(seen, at=seen.at + by)
