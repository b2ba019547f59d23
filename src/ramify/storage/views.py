"""The views that people ask directly, with any tool that reads SQLite. Their names and columns stay; inner tables may change."""

from collections.abc import Callable
from typing import NamedTuple

from ramify.model.mistake import UserMistake

OURS = "ramify_"


class Dialect(NamedTuple):
    """What engines say differently: a moment (ISO 8601 in UTC with microseconds), its day, and how often something holds."""

    moment: Callable[[str], str]
    day: Callable[[str], str]
    times: Callable[[str], str]
    text: Callable[[str], str] = lambda value: f"CAST({value} AS TEXT)"  # so that joins with ids can use the index over it


def sqlite_moment(column: str) -> str:
    second = f"strftime('%Y-%m-%dT%H:%M:%S', {column} / 1000000, 'unixepoch')"
    return f"CASE WHEN {column} > 0 THEN {second} || printf('.%06dZ', {column} % 1000000) END"


def postgres_moment(column: str) -> str:
    second = f"to_timestamp({column} / 1000000) AT TIME ZONE 'UTC'"
    return f"CASE WHEN {column} > 0 THEN to_char({second}, 'YYYY-MM-DD\"T\"HH24:MI:SS') || '.' || lpad(({column} % 1000000)::text, 6, '0') || 'Z' END"


def clickhouse_moment(column: str) -> str:
    return f"CASE WHEN {column} > 0 THEN formatDateTime(fromUnixTimestamp64Micro({column}, 'UTC'), '%Y-%m-%dT%H:%i:%S.%fZ') END"


SQLITE = Dialect(sqlite_moment, lambda column: f"date({column} / 1000000, 'unixepoch')", lambda test: f"sum({test})")
POSTGRES = Dialect(
    postgres_moment,
    lambda column: f"to_char(to_timestamp({column} / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
    lambda test: f"count(*) FILTER (WHERE {test})",
)
CLICKHOUSE = Dialect(
    clickhouse_moment,
    lambda column: f"formatDateTime(fromUnixTimestamp64Micro({column}, 'UTC'), '%Y-%m-%d')",
    lambda test: f"countIf({test})",
    lambda value: value,
)


def refuse_projects(projects: frozenset[str] | None) -> None:
    """Of engines whose views reach everything, and whose language knows more ways around them than anybody can list."""
    if projects is not None:
        hint = "use the lists, filters and the search, or a token for all projects"
        raise UserMistake("SQL on this engine reaches every project, and this token does not", hint)


def given(column: str) -> str:
    return f"nullif({column}, '')"


PARENT = SQLITE.text(given("parent"))


def spent(prefix: str = "") -> str:
    tokens = ", ".join(f"{prefix}{name} AS {name}_tokens" for name in ("input", "output", "cache_read", "cache_write"))
    return f"{tokens}, {prefix}cost / 1e9 AS cost_usd"


def total(name: str) -> str:
    return f"sum({name}) AS {name}_tokens"


def views(dialect: Dialect) -> dict[str, str]:
    """Columns are named with their table: of a bare one ClickHouse would believe that the view's own is meant."""
    moment = dialect.moment
    tasks = f"""
SELECT t.id AS id, t.project AS project, {given("t.conversation")} AS conversation, {dialect.text(given("t.parent"))} AS parent, t.kind AS kind,
    t.status AS status, {given("t.agent")} AS agent, {given("t.agent_id")} AS agent_id, t.title AS title, t.prompt AS prompt,
    t.prompt_author AS prompt_author, {moment("t.opened")} AS opened, {moment("t.closed")} AS closed,
    (t.closed - t.opened) / 1000.0 AS duration_ms, t.opened AS opened_us, t.calls AS calls, t.tool_calls AS tool_calls, {spent("t.")},
    {given("t.rule")} AS link_rule, t.certainty AS link_certainty, {given("t.via")} AS via
FROM tasks t WHERE t.kind <> 'none'"""

    model_calls = f"""
SELECT c.id AS id, c.project AS project, {given("c.conversation")} AS conversation, {given("c.task")} AS task, {given("c.parent")} AS parent,
    c.kind AS kind, {given("c.utility")} AS utility, {given("c.model")} AS model, c.status AS status, {given("c.attempt_of")} AS attempt_of,
    {moment("c.started")} AS opened, {moment("c.ended")} AS closed, (c.ended - c.started) / 1000.0 AS duration_ms,
    (c.first_byte - c.started) / 1000.0 AS first_token_ms, c.started AS opened_us, {given("c.stop_reason")} AS stop_reason,
    c.http_status AS http_status, c.message_count AS message_count, c.new_messages AS new_messages, c.counted AS counted, {spent("c.")},
    c.source AS source
FROM calls c WHERE c.kind <> 'twin'"""

    def tool_use(task: str, joined: str) -> str:
        return f"""
SELECT t.id AS id, t.native AS call_id, t.project AS project, coalesce({given("k.conversation")}, {given("c.conversation")}) AS conversation,
    {task} AS task, {given("t.call")} AS model_call, {given("t.name")} AS name, t.status AS status, {moment("t.opened")} AS opened,
    {moment("t.closed")} AS closed, (t.closed - t.opened) / 1000.0 AS duration_ms, t.opened AS opened_us,
    {given("t.child")} AS spawned, {given("t.path")} AS path
FROM tools t {joined}"""

    # Whoever asks for the tool calls of a task is led there by an index: it knows columns, and nothing that is made of two.
    owner, caller = "LEFT JOIN tasks k ON k.id = t.task AND t.task <> ''", "LEFT JOIN calls c ON c.id = t.call"
    tool_calls = " UNION ALL ".join((
        tool_use("t.task", f"{caller} {owner} WHERE t.task <> ''"),
        tool_use("c.task", f"{caller.removeprefix('LEFT ')} {owner} WHERE t.task = '' AND c.task <> ''"),
        tool_use("NULL", f"{caller} {owner} WHERE t.task = '' AND coalesce(c.task, '') = ''"),
    ))  # fmt: skip

    messages = f"""
SELECT t.id || '.prompt' AS id, t.project AS project, {given("t.conversation")} AS conversation, t.id AS task, NULL AS model_call,
    'user' AS role, t.prompt_author AS author, t.prompt AS text, {moment("t.opened")} AS timestamp, t.opened AS at_us
FROM tasks t WHERE t.kind <> 'none' AND t.prompt <> ''
UNION ALL
SELECT c.id || '.answer', c.project, {given("c.conversation")}, {given("c.task")}, c.id, 'assistant', 'agent', NULL,
    {moment("coalesce(c.ended, c.started)")}, coalesce(c.ended, c.started)
FROM calls c WHERE c.kind <> 'twin' AND c.status = 'ok'"""

    links = f"""
SELECT t.id AS child, 'task' AS child_kind, {given("t.parent")} AS parent, t.link_kind AS kind, t.rule AS rule, t.certainty AS certainty,
    {given("t.via")} AS via
FROM tasks t WHERE t.rule <> '' AND t.kind <> 'none'
UNION ALL
SELECT c.id, 'model_call', {given("c.parent")}, c.link_kind, c.rule, c.certainty, {given("c.via")}
FROM calls c WHERE c.rule <> '' AND c.kind <> 'twin' AND c.link_kind <> 'spawned'"""

    # Of calls whose price is not known the cost is not known; those without tokens cost nothing.
    used = "input + output + cache_read + cache_write"
    usage = f"""
SELECT {dialect.day("at")} AS day, project, task, agent, model, sum(counted) AS calls, {total("input")}, {total("output")},
    {total("cache_read")}, {total("cache_write")}, CASE WHEN {dialect.times(f"cost IS NULL AND {used} > 0")} = 0 THEN coalesce(sum(cost), 0) / 1e9 END AS cost_usd
FROM (
    SELECT c.started AS at, c.project AS project, {given("c.task")} AS task, {given("t.agent")} AS agent, {given("c.model")} AS model,
        c.counted AS counted, c.input AS input, c.output AS output, c.cache_read AS cache_read, c.cache_write AS cache_write, c.cost AS cost
    FROM calls c LEFT JOIN tasks t ON t.id = c.task WHERE c.kind <> 'twin'
    UNION ALL
    SELECT t.opened, t.project, t.id, {given("t.agent")}, NULL, 0, t.extra_input, t.extra_output, t.extra_cache_read, t.extra_cache_write,
        t.extra_cost
    FROM tasks t WHERE t.extra_input + t.extra_output + t.extra_cache_read + t.extra_cache_write > 0
) AS used GROUP BY 1, 2, 3, 4, 5"""

    conversations = f"""
SELECT c.id AS id, c.project AS project, {given("c.session")} AS session, {given("c.client")} AS client, {moment("c.opened")} AS opened,
    {moment("c.active")} AS active, c.active AS active_us, c.calls AS calls, {spent("c.")} FROM conversations c"""

    return {
        f"{OURS}conversations": conversations,
        f"{OURS}tasks": tasks,
        f"{OURS}model_calls": model_calls,
        f"{OURS}tool_calls": tool_calls,
        f"{OURS}messages": messages,
        f"{OURS}links": links,
        f"{OURS}usage": usage,
    }


VIEWS = views(SQLITE)
