"""The views that people ask on ClickHouse, and the rows of a mesh behind four of them; all in the database of the store."""

import re
from collections.abc import Mapping
from hashlib import sha256

from ramify.storage.clickhouse_packing import named
from ramify.storage.clickhouse_schema import BEFORE, ENTRIES, SHAPES, Shape, literal, name, table
from ramify.storage.columns import COLUMNS
from ramify.storage.mesh_tables import MESSAGE_COLUMNS, NUMBERS, TASK_COLUMNS, TOOL_COLUMNS
from ramify.storage.mesh_tables import views as mesh_views
from ramify.storage.views import CLICKHOUSE, views

ROWS = "sam_rows_"  # inner tables of the mesh
MESH = {"messages": MESSAGE_COLUMNS, "tasks": TASK_COLUMNS, "tools": TOOL_COLUMNS}
LAST_LEVEL = "replaceRegexpOne(m.topic, '^.*/', '')"
moment = CLICKHOUSE.moment
# These two ask for each row in the other dialects, which is quick where there are indexes.
INTERACTIONS = f"""
SELECT r.task_id AS interaction_id, r.context_id AS context_id, r.prompt AS user_query, r.final_text AS agent_response,
    r.status AS response_state, r.agent_name AS primary_agent, toJSONString(d.others) AS delegated_agents, {moment("r.opened")} AS started_at,
    {moment("r.closed")} AS ended_at, d.number - 1 AS num_subtasks, coalesce(c.number, 0) AS num_tool_calls, d.input AS input_tokens,
    d.output AS output_tokens, d.total AS total_tokens
FROM tasks r JOIN (
    SELECT root_task_id, count() AS number, sum(input_tokens) AS input, sum(output_tokens) AS output, sum(input_tokens + output_tokens) AS total,
        arraySort(groupUniqArrayIf(assumeNotNull(agent_name), task_id <> root_task_id AND agent_name IS NOT NULL)) AS others
    FROM tasks GROUP BY root_task_id
) d ON d.root_task_id = r.task_id LEFT JOIN (
    SELECT t.root_task_id AS root, count() AS number FROM tools c JOIN tasks t ON t.task_id = c.task_id GROUP BY t.root_task_id
) c ON c.root = r.task_id WHERE r.task_id = r.root_task_id"""
CONVERSATIONS = f"""
SELECT t.context_id AS context_id, max(t.user_id) AS user_id, {moment("min(t.opened)")} AS started_at, {moment("max(m.last)")} AS last_message_at,
    countIf(t.task_id = t.root_task_id) AS num_interactions, coalesce(max(m.number), 0) AS num_messages
FROM tasks t LEFT JOIN (SELECT context_id, max(at) AS last, count() AS number FROM messages GROUP BY context_id) m ON m.context_id = t.context_id
WHERE t.context_id IS NOT NULL GROUP BY t.context_id"""


def shapes() -> list[Shape]:
    """Messages are put together by the latest word on each; tasks and tools are all written anew, and the last time counts."""
    messages = {column: kind_of(column) for column in MESSAGE_COLUMNS} | {"identity": "String", "version": "UInt64"}
    made = [Shape(f"{ROWS}messages", messages, ("identity",), ("version",))]
    for one, key in (("tasks", "task_id"), ("tools", "id")):
        columns = {column: kind_of(column) for column in MESH[one]} | {key: "String", "generation": "UInt64"}
        made.append(Shape(f"{ROWS}{one}", columns, ("generation", key), (), "generation"))
    return [*made, Shape(f"{ROWS}reached", {"one": "UInt8", "seq": "Int64", "generation": "UInt64"}, ("one", "generation", "seq"))]


def kind_of(column: str) -> str:
    return "Nullable(Int64)" if column in NUMBERS else "Nullable(String)"


def statements(database: str, cluster: str = "", present: Mapping[str, str] | None = None) -> list[str]:
    """Without those tables and views that are there, by their names and comments: a view's comment says which text it is of."""
    there = present or {}
    made = [one for shape in shapes() if shape.name not in there for one in table(database, shape, cluster)]
    on = f" ON CLUSTER {name(cluster)}" if cluster else ""
    for view, query in all_views(database).items():
        version = sha256(query.encode()).hexdigest()[:16]
        if there.get(view) != version:
            made.append(f"CREATE OR REPLACE VIEW {name(database)}.{view}{on} AS {query} COMMENT {literal(version)}")
    return made


def all_views(database: str) -> dict[str, str]:
    ours = {one: f"SELECT {named(('id', *COLUMNS[one]))} FROM {name(database)}.{ENTRIES.name} FINAL WHERE space = {literal(one)}" for one in COLUMNS}
    mesh = {"messages": f"SELECT * FROM {name(database)}.{ROWS}messages FINAL"}
    for one in ("tasks", "tools"):
        newest = f"generation = (SELECT max(generation) FROM {name(database)}.{ROWS}reached)"
        mesh[one] = f"SELECT * FROM {name(database)}.{ROWS}{one} FINAL WHERE {newest}"
    rows = {**mesh_views(CLICKHOUSE, LAST_LEVEL, ""), "interactions": INTERACTIONS, "conversations": CONVERSATIONS}
    return {
        **{view: over(ours, query) for view, query in views(CLICKHOUSE).items()},
        **{f"sam_{view}": over(mesh, query) for view, query in rows.items()},
    }


def over(tables: dict[str, str], query: str) -> str:
    """With those tables that it speaks of."""
    used = [one for one in tables if re.search(rf"\b(?:FROM|JOIN) {one}\b", query)]
    return f"WITH {', '.join(f'{one} AS ({tables[one]})' for one in used)}{query}"


INNER = frozenset(f"{one}{end}" for one in (BEFORE, *(shape.name for shape in (*SHAPES, *shapes()))) for end in ("", "_local"))
