"""Each thread asks by a connection of its own, which nobody closes while it does."""

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ramify.storage.base import StoreDown
from ramify.storage.postgres import Postgres
from ramify.storage.readers import Readers
from ramify.storage.sqlite import Sqlite
from ramify.wiring import open_store
from tests.contracts.engines import ENGINES, to_be_had

LONG = {
    "sqlite": "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10000000000) SELECT max(n) FROM c",
    "postgres": "SELECT pg_sleep(600)",
}
ASKING = """
import sys, threading
from ramify.wiring import open_store

store = open_store(sys.argv[1])

def ask(times):
    for _ in range(times):
        store.count("tasks")
        store.facts("")

for _ in range(int(sys.argv[2])):
    threads = [threading.Thread(target=ask, args=(1 + number % 5,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
store.close()
"""


@pytest.fixture(params=["sqlite", "postgres", "clickhouse"])
def engine(request: pytest.FixtureRequest) -> str:
    return to_be_had(request.param)


@pytest.fixture
def address(engine: str, tmp_path: Path) -> str:
    return ENGINES[engine].address(tmp_path)


def in_thread(work: Callable[[], object]) -> threading.Thread:
    made = threading.Thread(target=work)
    made.start()
    return made


def opened() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def is_open(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


def test_a_thread_with_the_number_of_an_ended_one_gets_nothing_of_its() -> None:
    readers = Readers(opened, sqlite3.Connection.interrupt)
    found: list[tuple[int, sqlite3.Connection]] = []

    def ask() -> None:
        with readers.mine() as connection:
            found.append((threading.get_ident(), connection))

    for _ in range(20):
        in_thread(ask).join()
    assert len({number for number, _ in found}) < 20  # numbers are given again
    assert len({id(connection) for _, connection in found}) == 20
    assert [is_open(connection) for _, connection in found] == [False] * 19 + [True]
    readers.close()
    assert not is_open(found[-1][1])


def test_who_asks_again_has_the_same_one() -> None:
    readers = Readers(opened, sqlite3.Connection.interrupt)
    assert not readers.has_mine()
    assert readers.mine() is readers.mine()
    assert readers.has_mine()
    first = readers.mine()
    readers.drop()
    assert readers.mine() is not first
    with pytest.raises(StoreDown), first:
        pass


def test_threads_that_come_and_go_while_others_ask(engine: str, address: str) -> None:
    """Where this goes wrong it may take the process down: it has one of its own."""
    rounds = {"sqlite": 150, "postgres": 25, "clickhouse": 10}[engine]
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", ASKING, address, str(rounds)], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("engine", ["sqlite", "postgres"], indirect=True)
def test_a_store_that_is_closed_ends_what_others_still_ask_it(engine: str, address: str) -> None:
    store = open_store(address)
    problems: list[BaseException] = []
    reads = store._file.read if isinstance(store, Sqlite) else store._server.read if isinstance(store, Postgres) else None
    assert reads
    asking = threading.Event()

    def ask() -> None:
        asking.set()
        try:
            reads(LONG[engine])
        except StoreDown as problem:
            problems.append(problem)

    thread = in_thread(ask)
    asking.wait()
    time.sleep(0.3)
    store.close()
    thread.join(60)
    assert not thread.is_alive()
    assert [str(problem) for problem in problems] == ["the store is closed"]
    with pytest.raises(StoreDown, match="the store is closed"):
        store.count("tasks")
