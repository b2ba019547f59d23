"""The views say what the questions say; and a hostile query can neither change, reach nor exhaust anything."""

import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.ingest import Ingest
from ramify.model.mistake import UserMistake
from ramify.query.direct import sql, views
from ramify.query.read_columns import further
from ramify.query.service import Questions
from ramify.storage.base import Bounds
from ramify.storage.sqlite import Sqlite, open_sqlite
from ramify.storage.views import VIEWS
from tests.story import CASES, anthropic_cases, exchanges, reports

DOCS = Path(__file__).parents[2] / "docs" / "sql.md"
READ_FROM_BODIES = {("ramify_tool_calls", "input"), ("ramify_tool_calls", "result")}  # when somebody asks us


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sqlite]:
    store = open_sqlite("memory:" if request.param == "memory" else f"sqlite:{tmp_path_factory.mktemp('sql')}/a ?#%.db")
    ingest = Ingest(store)
    for case in anthropic_cases():
        ingest.step([seen for story in exchanges("anthropic", case) for seen in story])
    for case, source in (("nested", "exchanges"), ("parallel", "transcripts"), ("simple", "stream-json")):
        ingest.step([seen for story in reports(CASES / "claude" / case, source) for seen in story])
    yield store
    store.close()


def ask(store: Sqlite, sql: str, **bounds: Any) -> list[dict[str, Any]]:
    found = store.sql(sql, Bounds(**bounds))
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_tasks_calls_tools_and_conversations_are_those_of_the_questions(store: Sqlite) -> None:
    questions = Questions(store)
    tasks = {row["id"]: row for row in ask(store, "SELECT * FROM ramify_tasks")}
    shapes = questions.tasks(limit=0)["items"]
    assert set(tasks) == {task["id"] for task in shapes}
    for task in shapes:
        row = tasks[task["id"]]
        assert {name: row[name] for name in ("status", "opened", "closed", "prompt", "tool_calls", "conversation")} == {
            name: task[name] for name in ("status", "opened", "closed", "prompt", "tool_calls", "conversation")
        }
        assert row["duration_ms"] == task["duration_ms"]
        assert (row["calls"], row["input_tokens"], row["cost_usd"]) == (task["usage"]["calls"], task["usage"]["input"], task["usage"]["cost_usd"])
        assert row["parent"] == (task["link"] or {}).get("parent")
    calls = {row["id"]: row for row in ask(store, "SELECT * FROM ramify_model_calls")}
    found = questions.calls(limit=0)["items"]
    assert set(calls) == {call["id"] for call in found}
    for call in found:
        row = calls[call["id"]]
        names = ("task", "status", "model", "kind", "opened", "closed", "first_token_ms", "stop_reason", "new_messages")
        assert {name: row[name] for name in names} == {name: call[name] for name in names}
    for row in ask(store, "SELECT * FROM ramify_tool_calls"):
        tool = questions.tool(row["id"])
        assert (row["call_id"], row["task"], row["name"], row["status"], row["closed"]) == (tool["call_id"], tool["task"], tool["name"], tool["status"], tool["closed"])
        assert ([row["spawned"]] if row["spawned"] else []) == tool["spawned"]
    assert {row["id"]: row["cost_usd"] for row in ask(store, "SELECT * FROM ramify_conversations")} == {
        one["id"]: one["usage"]["cost_usd"] for one in questions.conversations(limit=0)["items"]
    }


def test_usage_adds_up_to_that_of_each_task(store: Sqlite) -> None:
    sums = ask(store, "SELECT task, sum(calls) AS calls, sum(input_tokens) AS input, sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read FROM ramify_usage GROUP BY task")
    found = {row.pop("task"): row for row in sums}
    for task in Questions(store).tasks(limit=0)["items"]:
        wanted = {name: task["usage"][name] for name in ("calls", "input", "output", "cache_read")}
        assert found.get(task["id"], dict.fromkeys(wanted, 0)) == wanted


def test_links_and_messages(store: Sqlite) -> None:
    linked = {row["child"]: row for row in ask(store, "SELECT * FROM ramify_links")}
    questions = Questions(store)
    for shape in [*questions.tasks(limit=0)["items"], *questions.calls(limit=0)["items"]]:
        if shape["link"]:
            row = linked.pop(shape["id"])
            assert (row["kind"], row["rule"], row["certainty"]) == (shape["link"]["kind"], shape["link"]["rule"], shape["link"]["certainty"])
    assert linked == {}
    roles = {(row["role"], row["author"]) for row in ask(store, "SELECT * FROM ramify_messages")}
    assert roles >= {("user", "human"), ("user", "agent"), ("assistant", "agent")}


def test_any_tool_can_read_the_views(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_sqlite(f"sqlite:{path}")
    Ingest(store).step([seen for story in exchanges("anthropic", "linear") for seen in story])
    theirs = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for name in VIEWS:
        columns = [column for column in views(store)[name] if (name, column) not in READ_FROM_BODIES]
        assert [column[0] for column in theirs.execute(f"SELECT * FROM {name}").description] == columns
    assert theirs.execute("SELECT count(*) FROM ramify_tasks").fetchone()[0] > 0
    theirs.close()
    store.close()


def test_the_page_names_every_view_and_its_examples_can_be_asked(store: Sqlite) -> None:
    page = DOCS.read_text("utf-8")
    assert all(f"| `{name}` |" in page for name in views(store))
    examples = [*re.findall(r"```sql\n(.*?)```", page, re.DOTALL), *re.findall(r'ramify sql .*?"(.*?)"$', page, re.MULTILINE)]
    assert len(examples) == 6
    for example in examples:
        assert sql(store, example, Bounds())["columns"]


HOSTILE = [
    "DELETE FROM tasks", "UPDATE tasks SET doc = 1", "INSERT INTO facts VALUES ('a', 1)", "DROP TABLE tasks", "DROP VIEW ramify_tasks",
    "CREATE TABLE x (a)", "CREATE TEMP TABLE x (a)", "CREATE TEMP VIEW ramify_tasks AS SELECT * FROM facts", "ALTER TABLE tasks RENAME TO x",
    "ATTACH '/tmp/hostile.db' AS x", "ATTACH ':memory:' AS x", "DETACH main", "VACUUM", "VACUUM INTO '/tmp/hostile.db'", "REINDEX", "ANALYZE",
    "PRAGMA query_only = OFF", "PRAGMA writable_schema = ON", "PRAGMA user_version = 99", "PRAGMA journal_mode = DELETE", "PRAGMA table_info(facts)",
    "SELECT * FROM pragma_database_list", "SELECT count(*) FROM pragma_database_list", "SELECT data FROM sqlite_dbpage", "SELECT count(*) FROM dbstat",
    "WITH n AS (SELECT * FROM facts) SELECT count(*) FROM n", "SELECT load_extension('/tmp/x.so')", "SELECT writefile('/tmp/hostile', 'x')", "SELECT readfile('/etc/passwd')",
    "SELECT edit('x')", "BEGIN", "BEGIN EXCLUSIVE", "COMMIT", "SAVEPOINT a", "SELECT 1; DELETE FROM tasks", "SELECT 1; SELECT 2",
    "SELECT * FROM tasks", "SELECT doc FROM calls", "SELECT count(*) FROM tools", "SELECT 1 FROM observations", "SELECT * FROM blobs", "SELECT value FROM facts",
    "WITH ramify_tasks AS (SELECT * FROM facts) SELECT * FROM ramify_tasks", "SELECT * FROM (SELECT value FROM facts) AS ramify_tasks",
    "WITH ramify_tasks AS (SELECT id FROM observations) SELECT * FROM ramify_tasks", "WITH ramify_tasks(a) AS (SELECT doc FROM calls) SELECT a FROM ramify_tasks",
    "SELECT * FROM main.ramify_tasks", "WITH RECURSIVE ramify_links(a) AS (SELECT ref FROM keys) SELECT count(*) FROM ramify_links",
    "WITH a AS (WITH ramify_usage AS (SELECT payload FROM blobs) SELECT * FROM ramify_usage) SELECT * FROM a",
    "WITH sam_tool_calls AS (SELECT value FROM refs) SELECT * FROM sam_tool_calls",
    "SELECT (SELECT value FROM facts WHERE name = 'secret')", "SELECT 1 WHERE EXISTS (SELECT 1 FROM facts)", "SELECT * FROM main.facts",
    "SELECT * FROM ramify_tasks JOIN facts", "SELECT * FROM ramify_tasks WHERE id IN (SELECT name FROM facts)", "INSERT INTO ramify_tasks DEFAULT VALUES",
    "SELECT zeroblob(1000000000)", "SELECT randomblob(1000000000)", "SELECT replace(printf('%8000000d', 1), ' ', 'xxxxxxxx')",
    "", ";", "-- nothing", "SELEC", "SELECT 'a\0b'", "SELECT \ud800", "SELECT " + "(" * 5000 + "1" + ")" * 5000, "SELECT " + "1+" * 60_000 + "1", " UNION ALL ".join(["SELECT 1"] * 100),
]  # fmt: skip


@pytest.mark.parametrize("sql", HOSTILE, ids=lambda sql: ascii(sql)[:60])
def test_a_hostile_query_is_refused_and_changes_nothing(store: Sqlite, sql: str) -> None:
    before = (store._read("PRAGMA user_version"), store.count("tasks"), store.seq(), store._read("SELECT count(*) FROM sqlite_master"))
    with pytest.raises(UserMistake):
        store.sql(sql, Bounds(seconds=5), further(store))
    assert before == (store._read("PRAGMA user_version"), store.count("tasks"), store.seq(), store._read("SELECT count(*) FROM sqlite_master"))
    assert not Path("/tmp/hostile.db").exists()


FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "


@pytest.mark.parametrize("sql", [FOREVER + "SELECT sum(i) FROM n", FOREVER + "SELECT i FROM n WHERE i < 0", FOREVER + "SELECT count(*) FROM n a, n b", FOREVER + "SELECT max(length(printf('%100000d', i))) FROM n"])
def test_what_would_never_end_is_ended(store: Sqlite, sql: str) -> None:
    start = time.monotonic()
    with pytest.raises(UserMistake, match=r"longer than 0\.3 s"):
        store.sql(sql, Bounds(seconds=0.3))
    assert time.monotonic() - start < 5


def test_rows_and_bytes_are_bounded_and_it_is_said(store: Sqlite) -> None:
    few = store.sql(FOREVER + "SELECT i FROM n", Bounds(rows=7))
    assert ([row[0] for row in few.rows], few.more) == ([1, 2, 3, 4, 5, 6, 7], True)
    long = store.sql(FOREVER + "SELECT printf('%1000000d', i) FROM n", Bounds(bytes=5_000_000))
    assert (len(long.rows), long.more) == (5, True)
    assert not store.sql("SELECT 1", Bounds(rows=1)).more
    assert all(len(row[0] or "") <= 8 * 2**20 for row in store.sql("SELECT printf('%1000000000d', 1)", Bounds()).rows)


def test_what_is_harmless_is_answered(store: Sqlite) -> None:
    assert ask(store, "SELECT j.value AS v FROM json_each('[1, 2]') j") == [{"v": 1}, {"v": 2}]
    assert ask(store, "VALUES (1), (2)")
    assert ask(store, "EXPLAIN QUERY PLAN SELECT * FROM ramify_tasks")
    assert ask(store, "SELECT upper(title) AS t, row_number() OVER (ORDER BY opened_us) AS n FROM ramify_tasks LIMIT 1;")
    assert ask(store, "SELECT count(*) AS n FROM sqlite_master WHERE type = 'view'")[0]["n"] == len(VIEWS)


@given(st.text(max_size=60) | st.lists(st.sampled_from(["SELECT", "*", "FROM", "ramify_tasks", "facts", "WITH", "AS", "(", ")", ",", "tasks", "value", "1", ";", "ATTACH", "PRAGMA", "'"]), max_size=12).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_no_text_reaches_a_secret_or_breaks_the_store(store: Sqlite, sql: str) -> None:
    secret = b"no one may read this"
    store.set_fact("secret", secret)
    try:
        found = store.sql(sql, Bounds(rows=100, seconds=1), further(store))
    except UserMistake:
        return
    assert not [row for row in found.rows if secret in row]
