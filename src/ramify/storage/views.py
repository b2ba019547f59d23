"""The views that people ask directly, with any tool that reads SQLite. Their names and columns stay; inner tables may change."""

from collections.abc import Callable
from typing import NamedTuple

OURS = "ramify_"


class Dialect(NamedTuple):
    """What engines say differently: a moment (ISO 8601 in UTC with microseconds), its day, and how often something holds."""

    moment: Callable[[str], str]
    day: Callable[[str], str]
    times: Callable[[str], str]


def sqlite_moment(column: str) -> str:
    second = f"strftime('%Y-%m-%dT%H:%M:%S', {column} / 1000000, 'unixepoch')"
    return f"CASE WHEN {column} > 0 THEN {second} || printf('.%06dZ', {column} % 1000000) END"


def postgres_moment(column: str) -> str:
    second = f"to_timestamp({column} / 1000000) AT TIME ZONE 'UTC'"
    return f"CASE WHEN {column} > 0 THEN to_char({second}, 'YYYY-MM-DD\"T\"HH24:MI:SS') || '.' || lpad(({column} % 1000000)::text, 6, '0') || 'Z' END"


SQLITE = Dialect(sqlite_moment, lambda column: f"date({column} / 1000000, 'unixepoch')", lambda test: f"sum({test})")
POSTGRES = Dialect(
    postgres_moment,
    lambda column: f"to_char(to_timestamp({column} / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
    lambda test: f"count(*) FILTER (WHERE {test})",
)


def given(column: str) -> str:
    return f"nullif({column}, '')"


# A text, so that joins with ids can use the index over it.
PARENT = f"CAST({given('parent')} AS TEXT)"


def spent(prefix: str = "") -> str:
    tokens = ", ".join(f"{prefix}{name} AS {name}_tokens" for name in ("input", "output", "cache_read", "cache_write"))
    return f"{tokens}, {prefix}cost / 1e9 AS cost_usd"


def total(name: str) -> str:
    return f"sum({name}) AS {name}_tokens"


def views(dialect: Dialect) -> dict[str, str]:
    moment = dialect.moment
    tasks = f"""
SELECT id, project, {given("conversation")} AS conversation, {PARENT} AS parent, kind, status, {given("agent")} AS agent,
    {given("agent_id")} AS agent_id, title, prompt, prompt_author, {moment("opened")} AS opened, {moment("closed")} AS closed,
    (closed - opened) / 1000.0 AS duration_ms, opened AS opened_us, calls, tool_calls, {spent()},
    {given("rule")} AS link_rule, certainty AS link_certainty, {given("via")} AS via
FROM tasks WHERE kind <> 'none'"""

    model_calls = f"""
SELECT id, project, {given("conversation")} AS conversation, {given("task")} AS task, {given("parent")} AS parent, kind,
    {given("utility")} AS utility, {given("model")} AS model, status, {given("attempt_of")} AS attempt_of, {moment("started")} AS opened,
    {moment("ended")} AS closed, (ended - started) / 1000.0 AS duration_ms, (first_byte - started) / 1000.0 AS first_token_ms,
    started AS opened_us, {given("stop_reason")} AS stop_reason, http_status, message_count, new_messages, counted, {spent()}, source
FROM calls WHERE kind <> 'twin'"""

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
SELECT id || '.prompt' AS id, project, {given("conversation")} AS conversation, id AS task, NULL AS model_call, 'user' AS role,
    prompt_author AS author, prompt AS text, {moment("opened")} AS timestamp, opened AS at_us
FROM tasks WHERE kind <> 'none' AND prompt <> ''
UNION ALL
SELECT id || '.answer', project, {given("conversation")}, {given("task")}, id, 'assistant', 'agent', NULL,
    {moment("coalesce(ended, started)")}, coalesce(ended, started)
FROM calls WHERE kind <> 'twin' AND status = 'ok'"""

    links = f"""
SELECT id AS child, 'task' AS child_kind, {given("parent")} AS parent, link_kind AS kind, rule, certainty, {given("via")} AS via
FROM tasks WHERE rule <> '' AND kind <> 'none'
UNION ALL
SELECT id, 'model_call', {given("parent")}, link_kind, rule, certainty, {given("via")}
FROM calls WHERE rule <> '' AND kind <> 'twin' AND link_kind <> 'spawned'"""

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
    SELECT opened, project, id, {given("agent")}, NULL, 0, extra_input, extra_output, extra_cache_read, extra_cache_write, extra_cost
    FROM tasks WHERE extra_input + extra_output + extra_cache_read + extra_cache_write > 0
) AS used GROUP BY 1, 2, 3, 4, 5"""

    conversations = f"""
SELECT id, project, {given("session")} AS session, {given("client")} AS client, {moment("opened")} AS opened, {moment("active")} AS active,
    active AS active_us, calls, {spent()} FROM conversations"""

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
