"""PostgreSQL as others run it: behind a pooler in transaction mode, by a user who may do nothing else in the database."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from bench.traffic import traffic
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.model.mistake import Unreachable
from ramify.model.observation import Observation
from ramify.storage.base import Bounds
from ramify.storage.sqlite import open_sqlite
from ramify.wiring import open_store
from tests import pooler
from tests.contracts.engines import cluster, derived, difference, seen_stories, told
from tests.test_forgetting import going, names_of, seen_in


@pytest.fixture(autouse=True)
def present() -> None:
    if why := pooler.missing():
        assert not os.environ.get("CI"), why
        pytest.skip(why)


@pytest.fixture(scope="module")
def user() -> str:
    """Who may make schemas of their own in this database, and no more."""
    with psycopg.connect(cluster().url, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE; GRANT CREATE ON DATABASE postgres TO plain")
        connection.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    return "plain"


@pytest.fixture(scope="module")
def pooled(user: str) -> Iterator[str]:
    with TemporaryDirectory(prefix="ramify-pooler-") as folder:
        Path(folder).chmod(0o755)
        made = pooler.Pooler(Path(folder) / "pooler", cluster().port, user)
        yield made.url
        made.stop()


def test_a_plain_user_needs_no_more_than_a_schema(user: str) -> None:
    store = open_store(f"postgresql://{user}@127.0.0.1:{cluster().port}/postgres?schema=plain")
    told(store, seen_in("anthropic/subtask-three-parallel"))
    assert store.sql("SELECT count(*) FROM ramify_tasks", Bounds()).rows[0][0] > 0
    going(store, names_of("anthropic/subtask-three-parallel"))
    assert store.count("observations") == 0
    store.close()


def test_who_has_no_connection_left_waits_for_one() -> None:
    """Other servers have them all, of its own or of the pooler's: that passes, and is no reason to end."""
    with psycopg.connect(cluster().url, autocommit=True) as connection:
        connection.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 1")
    url = f"postgresql://few@127.0.0.1:{cluster().port}/postgres"
    with psycopg.connect(url), pytest.raises(Unreachable, match="too many connections"):
        open_store(f"{url}?schema=few")


def test_behind_a_pooler_everything_is_as_without_one(pooled: str) -> None:
    store = open_store(f"{pooled}?schema=pooled")
    seen = seen_stories()
    told(store, seen)
    Indexer(store).catch_up()
    plain = told(open_sqlite("memory:"), seen)
    Indexer(plain).catch_up()
    assert difference(derived(store), derived(plain)) == []
    assert [one for _, one in store.observations()] == [one for _, one in plain.observations()]
    assert len(store.search.find('"look"', 9, None)) == len(plain.search.find('"look"', 9, None))
    assert store.sql("SELECT count(*) FROM ramify_tasks", Bounds()).rows == plain.sql("SELECT count(*) FROM ramify_tasks", Bounds()).rows
    store.close()


def test_nothing_that_we_set_stays_in_a_session_that_others_use(pooled: str) -> None:
    """Another program's search path, limits and rights to write are its own, though it gets the sessions we had."""
    store = open_store(f"{pooled}?schema=polite")
    told(store, seen_in("anthropic/early-child"))
    store.sql("SELECT 1", Bounds())
    for _ in range(12):
        with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as other:
            shown = [other.execute(f"SHOW {name}").fetchone() for name in ("search_path", "lock_timeout", "default_transaction_read_only", "statement_timeout")]
        assert shown == [('"$user", public',), ("0",), ("off",), ("0",)]
    store.close()


def test_two_writers_behind_it_take_turns(pooled: str) -> None:
    seen = [one for batch in traffic(80, turns=8, width=4) for one in batch]
    stores = [open_store(f"{pooled}?schema=turns", busy_seconds=60) for _ in range(2)]

    def write(number: int) -> None:
        ingest = Ingest(stores[number])
        for at in range(number * 5, len(seen), 10):
            ingest.step(seen[at : at + 5])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found, wanted = derived(stores[0]), derived(told(open_sqlite("memory:"), seen))
    for store in stores:
        store.close()
    # Who came before the call that it goes on from still waits for it: such keys lead nowhere new.
    assert set(wanted.pop("keys")) <= set(found.pop("keys"))
    assert difference(found, wanted) == []


def test_who_listens_behind_it_learns_of_others_all_the_same(pooled: str) -> None:
    """Notices do not come through; the end of the log is looked at instead."""
    here, there = (open_store(f"{pooled}?schema=heard") for _ in range(2))
    heard: list[tuple[int, object]] = []

    def hear(seq: int, rows: Sequence[tuple[str, str]] | None, after: int | None = None) -> None:
        heard.append((seq, rows))

    end = here.follow(hear)
    time.sleep(1)
    written: list[Observation] = list(seen_in("anthropic/early-child"))
    Ingest(there).step(written)
    until = time.monotonic() + 20
    while not any(seq == len(written) for seq, _ in heard) and time.monotonic() < until:
        time.sleep(0.1)
    assert heard[-1][0] == len(written)
    assert [one.about().notices for one in (here, there)] == [False, False]  # who follows has seen it, who does not has tried
    end()
    here.close()
    there.close()
