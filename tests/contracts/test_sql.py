"""SQL that people wrote gives the same on every engine, can only read, and reads nothing but the views."""

import json
import resource
import time
from typing import Any

import pytest

from ramify.app import Ramify
from ramify.model.mistake import UserMistake
from ramify.query.direct import sql, views
from ramify.query.mesh_views import VIEWS as MESH_VIEWS
from ramify.storage.base import Bounds
from ramify.storage.views import VIEWS
from tests.contracts.engines import ENGINES, to_be_had
from tests.contracts.test_answers import first, told
from tests.story import expected

HOSTILE = (
    "DELETE FROM ramify_tasks", "SELECT 1; DROP TABLE tasks", "COMMIT; DROP TABLE tasks", "SELECT * FROM facts", "SELECT * FROM observations",
    "WITH gone AS (DELETE FROM ramify_tasks RETURNING 1) SELECT * FROM gone", "CREATE TABLE mine (a int)", "", "nonsense",
)  # fmt: skip


@pytest.fixture(params=[name for name in ENGINES if name != "memory"])
def store(request: pytest.FixtureRequest) -> Ramify:
    return told(to_be_had(request.param))


def asked(ramify: Ramify, query: str) -> list[dict[str, Any]]:
    found = sql(ramify.store, query, Bounds(rows=100_000, seconds=60))
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """JSON is a value on one engine and a text on the other; figures have the same size."""
    return {name: loaded(value) for name, value in row.items()}


def loaded(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in "[{\"":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return round(float(value), 6) if isinstance(value, int | float) else value


def ordered(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(plain(row), sort_keys=True) for row in rows)


READ_FROM_BODIES = {"ramify_tool_calls": ("input", "result"), "ramify_messages": ("text",)}
"""What only an engine in this process can read when it is asked."""


def without(ramify: Ramify, view: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    left = () if ramify.store.url.startswith(("sqlite:", "memory:")) else READ_FROM_BODIES.get(view, ())
    return [{name: value for name, value in row.items() if name not in left} for row in rows]


@pytest.mark.parametrize("view", [*VIEWS, *MESH_VIEWS])
def test_every_view_says_the_same_as_in_memory(store: Ramify, view: str) -> None:
    query = f"SELECT * FROM {view}"
    assert ordered(without(store, view, asked(store, query))) == ordered(without(store, view, asked(first(), query)))


def test_the_rows_of_every_view_can_be_counted(store: Ramify) -> None:
    """Of which no column is taken."""
    for view in VIEWS:
        [counted] = asked(store, f"SELECT count(*) AS n FROM {view}")
        assert counted["n"] == len(asked(store, f"SELECT 1 AS one FROM {view}")), view


def test_the_views_and_their_columns_are_listed(store: Ramify) -> None:
    assert set(views(store.store)) == {*VIEWS, *MESH_VIEWS}
    for view, columns in views(first().store).items():
        left = READ_FROM_BODIES.get(view, ())
        assert [name for name in columns if name not in left] == [name for name in views(store.store)[view] if name not in left]


@pytest.mark.parametrize("query", HOSTILE)
def test_a_query_can_only_read_the_views(store: Ramify, query: str) -> None:
    before = asked(store, "SELECT count(*) AS n FROM ramify_tasks")
    with pytest.raises(UserMistake):
        sql(store.store, query, Bounds())
    assert asked(store, "SELECT count(*) AS n FROM ramify_tasks") == before


def test_a_long_query_is_cut_off_and_so_is_a_long_answer(store: Ramify) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(UserMistake, match="longer than"):
        sql(store.store, endless, Bounds(seconds=0.3))
    assert sql(store.store, "SELECT id FROM ramify_tasks", Bounds(rows=2))["more"]


ABUSE = {
    "postgres": (
        "SELECT length(repeat('x', 1000000000))", "SELECT repeat('x', 1000000000)", "SELECT repeat('x', 20000000)", "SELECT repeat('x', 10000000) FROM generate_series(1, 1000)",
        "SELECT pg_sleep(10)", "SELECT count(*) FROM generate_series(1, 100000000000)", "SELECT string_agg(repeat('x', 1000000), '') FROM generate_series(1, 2000)",
        "SELECT i, (SELECT sum(j) FROM generate_series(1, 20000) j WHERE j > i) FROM generate_series(1, 1000000) i",
        "SELECT repeat('a', 3000) ~ '^(a?){300}(a{300})*b'", "SELECT array_agg(i) FROM generate_series(1, 100000000) i", "SELECT 1) AS q, (SELECT 2",
    ),
    "clickhouse": (
        "SELECT repeat('x', 1000000000)", "SELECT sleep(3)", "SELECT count() FROM numbers(100000000000)", "SELECT sum(length(repeat(toString(number), 1000000))) FROM numbers(10000000)",
        "SELECT max(editDistance(repeat('a', 60000), repeat(toString(number), 60000))) FROM numbers(100)", "SELECT groupArray(number) FROM numbers(10000000000)",
        "SELECT arraySum(arrayMap(x -> x * x, range(400000000)))", "SELECT repeat(toString(number % 9), 500000) FROM numbers(900)", "SELECT match(repeat('a', 1000000), '(a|aa)*(a|aa)*b'), count() FROM numbers(10000000000)",
        "SELECT " + ", ".join(f"length(repeat(repeat('x', 1000000), {times}))" for times in range(900, 930)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("engine", "query"), [(engine, query) for engine in ABUSE for query in ABUSE[engine]])
def test_a_database_server_ends_what_takes_too_long_or_too_much(engine: str, query: str) -> None:
    """Within its second, but for how busy the machine is; and what comes to us is bounded."""
    to_be_had(engine)
    ramify = told(engine)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    try:
        assert sql(ramify.store, query, Bounds(1000, 1.0, 16 << 20))["more"]
    except UserMistake as mistake:
        said = str(mistake)
        assert said.count(" — ") == 1
    assert time.monotonic() - start < 20  # without a bound, the longest would take minutes
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10


def test_an_empty_answer_has_its_columns(store: Ramify) -> None:
    if store.store.url.startswith("clickhouse:"):
        pytest.skip("it says nothing of columns where there is no row")
    assert sql(store.store, "SELECT id, kind FROM ramify_tasks WHERE id = 'none'", Bounds())["columns"] == ["id", "kind"]


def test_many_rows_come_in_their_order(store: Ramify) -> None:
    query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) SELECT i FROM n ORDER BY i DESC"
    assert [row["i"] for row in asked(store, query)] == list(range(2500, 0, -1))


def test_the_inner_schema_of_postgres_may_not_be_named() -> None:
    to_be_had("postgres")
    ramify = told("postgres")
    schema = ramify.store._server.schema  # type: ignore[attr-defined]
    for query in PAST_THE_VIEWS:
        with pytest.raises(UserMistake, match=r"may not|no end|more than one"):
            sql(ramify.store, query.format(inner=schema), Bounds())
    for query in HARMLESS:
        assert sql(ramify.store, query.format(inner=schema), Bounds())["columns"]


PAST_THE_VIEWS = (
    "SELECT * FROM {inner}.facts", 'SELECT * FROM "{inner}" . facts', "SELECT query_to_xml('select 1', true, true, '')", "SELECT pg_read_file('/etc/passwd')",
    "SELECT count(*) FROM {inner}/**/.facts", "SELECT count(*) FROM {inner}--\n.facts", "SELECT E'\\'', (SELECT count(*) FROM {inner}.facts) --'",
    "SELECT e'a'\n'\\'', (SELECT count(*) FROM {inner}.facts) --'", 'SELECT 1 AS "--", (SELECT count(*) FROM {inner}.facts)',
    """SELECT 1 AS "'", (SELECT count(*) FROM {inner}.facts) AS "'\"""", "SELECT 1 AS a$b$, (SELECT count(*) FROM {inner}.facts) AS c$b$",
    "SELECT /* /* */ 1 */ count(*) FROM {inner}.facts", "SELECT $a$ $b$ $a$, count(*) FROM {inner}.facts", "SELECT count(*) FROM {inner}.\"facts\"",
    "SELECT * FROM pg_stats", "SELECT * FROM pg_catalog.pg_stats", 'SELECT * FROM "pg_stats"', "SELECT * FROM information_schema.tables", "TABLE pg_authid",
    "SELECT * FROM U&\"\\0070g_stats\"", "SELECT public.crosstab('SELECT 1')", "SELECT ts_rewrite('a'::tsquery, 'SELECT 1')", "SELECT 'a", "SELECT /* a", "SELECT $$ a",
    "SELECT 1; SELECT count(*) FROM {inner}.facts", 'SELECT "PG_READ_FILE"(1), pg_read_file(\'/etc/passwd\')',
)  # fmt: skip
HARMLESS = (
    "SELECT '{inner}.facts'", 'SELECT 1 AS "{inner}.facts"', "SELECT $$ {inner}.facts; pg_stats $$", "SELECT 1 -- {inner}.facts", "SELECT /* pg_stats; */ 'it''s'",
    "SELECT t.id FROM ramify_tasks t", 'SELECT "ramify_tasks"."id" FROM ramify_tasks', "SELECT pg_typeof(1)", "SELECT 1;", "SELECT date'2026-11-16'",
)  # fmt: skip


ELSEWHERE = (
    "SELECT * FROM entries", "SELECT * FROM {own}.entries", "SELECT 1 WHERE 'a' IN entries", "SELECT 1 WHERE 'a' IN {own}.entries",
    "SELECT (SELECT count() FROM system.users)", "SELECT file('/etc/passwd')", "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1/', 'LineAsString')", "SELECT * FROM merge('{own}', '.*')", "SELECT * FROM sam_rows_messages",
    "WITH a AS (SELECT * FROM remote('127.0.0.1', {own}.entries)) SELECT * FROM a", "SELECT 1 SETTINGS readonly = 0", "SELECT 1 FORMAT JSON",
    "SELECT 1 UNION ALL SELECT count() FROM `{own}`.`entries`", "SELECT 1 FROM ramify_tasks JOIN {own}.entries USING id", "SHOW TABLES",
    "SELECT sleep(1)", "EXPLAIN SELECT 1", "SET readonly = 0", "SELECT dictGet('{own}.d', 'a', 1)", "SELECT joinGet('{own}.entries', 'doc', 1)",
    "SELECT * FROM dictionary('d')", "SELECT * FROM view(SELECT * FROM {own}.entries)", "SELECT arrayMap(x -> x IN entries, ['a'])",
)  # fmt: skip


@pytest.mark.parametrize("query", ELSEWHERE)
def test_on_clickhouse_nothing_but_the_views_may_be_named(query: str) -> None:
    to_be_had("clickhouse")
    ramify = told("clickhouse")
    with pytest.raises(UserMistake, match=r"may not|may only"):
        sql(ramify.store, query.format(own=ramify.store.server.database), Bounds())  # type: ignore[attr-defined]


def test_on_clickhouse_a_query_may_be_as_rich_as_its_language() -> None:
    to_be_had("clickhouse")
    query = """
        WITH big AS (SELECT conversation, count() AS tasks, groupArray(id) AS ids FROM ramify_tasks GROUP BY conversation)
        SELECT big.tasks, arrayExists(one -> has(big.ids, one), ids) AS found, toDateTime('2026-01-01 00:00:00', 'UTC') AS at
        FROM big WHERE conversation IN (SELECT id FROM ramify_conversations) ORDER BY tasks DESC, conversation LIMIT 1;"""
    [row] = asked(told("clickhouse"), query)
    assert row["tasks"] == max(one["n"] for one in asked(first(), "SELECT count(*) AS n FROM ramify_tasks GROUP BY conversation"))
    assert (row["found"], row["at"][:19]) == (1, "2026-01-01T00:00:00")


# The questions as people write them on PostgreSQL, where the mesh's schema is in the search path.
QUESTIONS = {
    "tool calls": "SELECT message_id, timestamp, agent_name, jsonb_array_elements(tool_calls) AS tool_call FROM messages"
    " WHERE interaction_id = '{root}' AND tool_calls IS NOT NULL ORDER BY timestamp",
    "sub-tasks": "SELECT task_id, agent_name, count(*) AS num_messages, min(timestamp) AS started_at, max(timestamp) AS ended_at FROM messages"
    " WHERE interaction_id = '{root}' AND parent_task_id IS NOT NULL GROUP BY task_id, agent_name",
    "reasoning": "SELECT message_id, part FROM messages, jsonb_array_elements(message_content) AS part"
    " WHERE interaction_id = '{root}' AND part->'data'->>'type' = 'llm_invocation'",
}


@pytest.mark.parametrize("case", ["simple", "parallel", "workflow"])
def test_the_questions_of_a_mesh_run_in_its_own_schema(case: str) -> None:
    to_be_had("postgres")
    import psycopg

    from ramify.storage.postgres_direct import mesh_of
    from tests.contracts.engines import cluster

    ramify = told("postgres")
    asked(ramify, "SELECT count(*) FROM sam_messages")  # brings them up
    truth = expected("sam", case)
    with psycopg.connect(cluster().url) as connection:
        connection.execute(f"SET search_path = {mesh_of(ramify.store._server.schema)}")  # type: ignore[attr-defined]
        found = {name: connection.execute(query.format(root=truth["root_task_id"])).fetchall() for name, query in QUESTIONS.items()}  # type: ignore[call-overload]
    assert len(found["tool calls"]) == sum(len(call["phases"]) for call in truth["tool_calls"])
    assert {row[0] for row in found["sub-tasks"]} == {task["task_id"] for task in truth["tasks"] if task["parent_task_id"]}
    assert len(found["reasoning"]) == truth["totals"]["model_calls"]


def test_where_postgres_has_json_it_is_jsonb_and_our_own_views_have_none() -> None:
    """What tools got and gave stands in bodies, which only `show` and the API read there; a mesh's is written out."""
    to_be_had("postgres")
    import psycopg

    from ramify.storage.postgres_direct import JSON, views_of
    from tests.contracts.engines import cluster

    ramify = told("postgres")
    query = "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = %s"
    with psycopg.connect(cluster().url) as connection:
        found = connection.execute(query, (views_of(ramify.store._server.schema),)).fetchall()  # type: ignore[attr-defined]
    kinds = {(view, column): kind for view, column, kind in found}
    assert {kind for (view, _), kind in kinds.items() if view.startswith("ramify_")} <= {"text", "bigint", "integer", "double precision", "numeric"}
    assert {kinds.get(("ramify_tool_calls", column)) for column in READ_FROM_BODIES["ramify_tool_calls"]} == {None}
    held = {column: kind for (view, column), kind in kinds.items() if view.startswith("sam_") and column in JSON}
    assert {"input_args", "output_result", "message_content", "tool_calls", "raw_payload"} <= set(held)
    assert set(held.values()) == {"jsonb"}
    [row] = asked(ramify, "SELECT count(*) AS n FROM sam_tool_calls WHERE jsonb_typeof(input_args) = 'object'")
    assert row["n"] > 0
