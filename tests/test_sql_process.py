"""A query of any form ends at its time and within its memory, wherever in SQLite it is; and others are answered meanwhile."""

import re
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ramify.ingest import Ingest
from ramify.model.mistake import UserMistake
from ramify.query.direct import sql
from ramify.query.narrowed import narrowed
from ramify.sql_process import Begin, Question, SqlProcess, SqlProcesses, _encode
from ramify.storage.base import Bounds
from ramify.storage.direct import GRACE
from ramify.storage.sealing import unlock
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.story import exchanges

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there it is asked in the server's own process")
SLACK = 8.0  # seconds: the machine may be busy, and a process has to begin
LONG = "WITH t(s) AS MATERIALIZED (SELECT printf('%8000000d', 1))"
TREE = ", ".join(f"c{i} AS (SELECT 1 FROM c{i - 1} a, c{i - 1} b)" for i in range(1, 40))
FORMS = {
    "a long character": "SELECT length(printf('%.*c', 2147483000, 'x'))",
    "many of them": "SELECT length(printf('%.*c%.*c%.*c', 900000000, 'x', 900000000, 'x', 900000000, 'x'))",
    "trim": f"{LONG} SELECT length(trim(s, replace(s, ' ', 'y') || ' ')) FROM t",
    "trim of few": "SELECT length(trim(s, replace(s, 'x', 'y') || 'x')) FROM (SELECT replace(printf('%99000d', 1), ' ', 'x') s)",
    "instr": f"{LONG} SELECT instr(s, substr(s, 1, 4000000) || 'x') FROM t",
    "replace": f"{LONG} SELECT length(replace(s, substr(s, 1, 4000000) || 'x', 'y')) FROM t",
    "like": f"{LONG} SELECT replace(s, ' ', 'a') LIKE '{'%a' * 200}_b' FROM t",
    "glob": f"{LONG} SELECT replace(s, ' ', 'a') GLOB '{'*[^b]' * 150}?b' FROM t",
    "json_patch": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000), o(a, b) AS MATERIALIZED "
    "(SELECT json_group_object('a' || i, i), json_group_object('b' || i, i) FROM n) SELECT length(json_patch(a, b)) FROM o",
    "json_set": f"{LONG}, n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(length(json_set('[1]', '$[0]', s || i))) FROM t, n",
    "quote": f"{LONG}, n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(length(quote(s || i))) FROM t, n",
    "hex": f"{LONG}, n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(length(hex(substr(s, 1, 4000000) || i))) FROM t, n",
    "group_concat": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT length(group_concat(i) OVER (ORDER BY i)) FROM n",
    "texts that grow": "WITH RECURSIVE n(s) AS (SELECT 'x' UNION ALL SELECT substr(s || s || 'y', 1, 8000000) FROM n) SELECT count(*) FROM n",
    "what is named twice, again and again": f"WITH c0 AS (SELECT 1), {TREE} SELECT count(*) FROM c39",
    "a sort": f"{LONG}, n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60) SELECT max(a) FROM (SELECT s || n.i AS a FROM t, n, n m ORDER BY 1)",
    "never": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
}
HEAVY = {
    "a sort": f"{LONG}, n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT count(*), max(a) FROM (SELECT s || i AS a FROM t, n ORDER BY 1)",
    "a row": f"{LONG} SELECT {', '.join(f's || {i}' for i in range(900))} FROM t",
    "many rows that are held": f"{LONG}, n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000), h(a) AS MATERIALIZED (SELECT s || i FROM t, n) SELECT count(*) FROM h a, h b WHERE a.a > b.a",
}


def filled(url: str) -> Sqlite:
    store = open_sqlite(url)
    Ingest(store).step([seen for story in exchanges("anthropic", "linear") for seen in story])
    return store


@pytest.fixture(scope="module", params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sqlite]:
    store = filled("memory:" if request.param == "memory" else f"sqlite:{tmp_path_factory.mktemp('sql')}/a ?#%.db")
    yield store
    store.close()


@pytest.fixture(scope="module")
def processes(store: Sqlite) -> Iterator[SqlProcesses]:
    processes = SqlProcesses(store)
    yield processes
    processes.close()


@pytest.fixture(scope="module")
def of_a_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlProcesses]:
    store = filled(f"sqlite:{tmp_path_factory.mktemp('sql')}/ramify.db")
    processes = SqlProcesses(store)
    yield processes
    processes.close()
    store.close()


def problem(processes: SqlProcesses, query: str, seconds: float) -> str:
    try:
        processes.ask(query, Bounds(seconds=seconds))
    except UserMistake as mistake:
        return str(mistake)
    return ""


@pytest.mark.parametrize("query", ["SELECT * FROM ramify_tasks", "SELECT * FROM ramify_tool_calls", "SELECT id, text, x'00ff' FROM ramify_messages", "SELECT * FROM sam_messages"])
def test_the_answer_is_that_of_the_store(store: Sqlite, processes: SqlProcesses, query: str) -> None:
    for projects in (None, frozenset({"default"}), frozenset({"other"})):
        seen = store if projects is None else narrowed(store, projects)
        here, there = sql(seen, query, Bounds()), processes.ask(query, Bounds(), projects)
        assert {**here, "ms": 0} == {**there, "ms": 0}


def test_what_is_stored_later_is_answered(store: Sqlite, processes: SqlProcesses) -> None:
    count = "SELECT count(*) FROM ramify_tasks"
    before = processes.ask(count, Bounds())["rows"]
    Ingest(store).step([seen for story in exchanges("anthropic", "twins") for seen in story])
    assert processes.ask(count, Bounds())["rows"] > before


@pytest.mark.parametrize("query", ["SELECT * FROM facts", "DELETE FROM tasks", "nonsense", "SELECT \ud800", ""])
def test_what_is_wrong_is_said_as_by_the_store(store: Sqlite, processes: SqlProcesses, query: str) -> None:
    with pytest.raises(UserMistake) as here:
        sql(store, query, Bounds())
    with pytest.raises(UserMistake) as there:
        processes.ask(query, Bounds())
    assert str(here.value) == str(there.value)


@pytest.mark.parametrize("form", FORMS)
def test_a_query_of_any_form_ends_at_its_time(of_a_file: SqlProcesses, form: str) -> None:
    start = time.monotonic()
    assert re.search(r"^$|longer than 1 s — ask|memory — ask|too big — ", problem(of_a_file, FORMS[form], 1))
    assert time.monotonic() - start < 1 + GRACE + SLACK
    assert of_a_file.ask("SELECT 1", Bounds())["rows"] == [[1]]


def test_one_function_that_does_not_look_at_the_clock_is_ended_in_memory_as_well(processes: SqlProcesses) -> None:
    with pytest.raises(UserMistake, match="longer than 1 s"):
        processes.ask(FORMS["a long character"], Bounds(seconds=1))


@pytest.mark.parametrize("form", HEAVY)
def test_memory_is_bounded_and_it_is_said(of_a_file: SqlProcesses, form: str) -> None:
    with pytest.raises(UserMistake, match="memory — ask for fewer rows"):
        of_a_file.ask(HEAVY[form], Bounds(seconds=60))
    assert of_a_file.ask("SELECT 1", Bounds())["rows"] == [[1]]


def every_function() -> list[tuple[str, int]]:
    """With how many values each is called; -1: any."""
    with sqlite3.connect(":memory:") as connection:
        found = connection.execute("SELECT DISTINCT lower(name), narg FROM pragma_function_list").fetchall()
    return sorted((name, count) for name, count in found if name[0].isalpha())


def test_no_function_takes_longer_than_its_time_on_the_longest_text(of_a_file: SqlProcesses) -> None:
    """Measured by the processor too: what was given up must not go on."""
    processes = SqlProcesses(of_a_file._store)
    before, asked = resource.getrusage(resource.RUSAGE_CHILDREN), 0
    for name, count in every_function():
        for values in (["s"], ["s", "s || 'y'"], ["s", "substr(s, 1, 4000000) || 'x'", "'y'"], ["substr(s, 1, 4000000) || 'x'", "s", "s"]):
            if count not in (-1, len(values)):
                continue
            asked += 1
            start = time.monotonic()
            assert len(problem(processes, f"{LONG} SELECT length({name}({', '.join(values)})) FROM t", 0.3)) < 1000, name
            assert time.monotonic() - start < 0.3 + GRACE + SLACK, (name, values)
    processes.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert asked > 100
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < asked * (0.3 + GRACE)


def test_others_are_answered_meanwhile(of_a_file: SqlProcesses) -> None:
    def hang() -> None:
        with pytest.raises(UserMistake, match="longer than 3 s"):
            of_a_file.ask(FORMS["a long character"], Bounds(seconds=3))

    of_a_file.ask("SELECT 1", Bounds())
    thread = threading.Thread(target=hang)
    thread.start()
    time.sleep(0.2)
    assert of_a_file.ask("SELECT count(*) > 0 FROM ramify_tasks", Bounds())["rows"] == [[1]]
    assert thread.is_alive()
    thread.join()


def test_a_process_ends_at_its_time_when_its_server_is_gone(tmp_path: Path) -> None:
    filled(f"sqlite:{tmp_path}/ramify.db").close()
    process = SqlProcess(Begin("", f"{tmp_path}/ramify.db", None))
    process._send(_encode(Question(FORMS["a long character"].encode(), Bounds(seconds=1), None)))
    process._in.close()
    assert process._child.wait(1 + GRACE + SLACK) == -signal.SIGALRM


def test_one_that_nobody_asked_for_long_is_replaced(of_a_file: SqlProcesses) -> None:
    of_a_file.ask("SELECT 1", Bounds())
    [idle] = of_a_file._idle
    idle._in.close()  # it ends by itself, as after its time
    idle._child.wait()
    idle._in = open("/dev/null", "wb")  # noqa: SIM115
    assert of_a_file.ask("SELECT 2", Bounds())["rows"] == [[2]]
    assert of_a_file._idle[0] is not idle


def test_an_encrypted_store_is_read_by_its_process(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/ramify.db")
    unlock(store, {"RAMIFY_ENCRYPTION_KEY": "5e" * 32})
    Ingest(store).step([seen for story in exchanges("anthropic", "linear") for seen in story])
    processes = SqlProcesses(store)
    query = "SELECT text FROM ramify_messages WHERE role = 'assistant'"
    assert processes.ask(query, Bounds())["rows"] == sql(store, query, Bounds())["rows"] != []
    processes.close()
    store.close()


def test_the_command_ends_at_its_time(tmp_path: Path) -> None:
    filled(f"sqlite:{tmp_path}/ramify.db").close()
    command = [sys.executable, "-m", "ramify", "sql", "--store", f"sqlite:{tmp_path}/ramify.db", "--timeout", "1s", FORMS["a long character"]]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "longer than 1 s" in done.stderr
    assert "--timeout" in done.stderr
    assert time.monotonic() - start < 1 + GRACE + 2 * SLACK
