"""The columns and indexes of derived rows on PostgreSQL, as this version wants them."""

from ramify.storage.columns import COLUMNS, NUMBERS, OPTIONAL

INDEXES = (
    "CREATE INDEX calls_started ON calls (started, id)",
    "CREATE INDEX calls_conversation ON calls (conversation, started, id)",
    "CREATE INDEX calls_task ON calls (task, started, id)",
    "CREATE INDEX calls_attempt ON calls (attempt_of) WHERE attempt_of <> ''",
    "CREATE INDEX calls_running ON calls (status) WHERE status = 'running'",
    "CREATE INDEX tools_call ON tools (call, block)",
    "CREATE INDEX tools_task ON tools (task, opened, id) WHERE task <> ''",
    "CREATE INDEX tasks_opened ON tasks (opened, id)",
    "CREATE INDEX tasks_conversation ON tasks (conversation, opened, id)",
    "CREATE INDEX tasks_parent ON tasks (parent) WHERE parent <> ''",
    "CREATE INDEX tasks_inside ON tasks (parent, conversation) WHERE kind = 'root' AND parent <> ''",
    "CREATE INDEX tasks_roots ON tasks (opened, id) WHERE kind = 'root'",
    "CREATE INDEX tasks_unusual ON tasks (status) WHERE status <> 'completed'",
    "CREATE INDEX tasks_agent ON tasks (lower(agent COLLATE \"C\"))",
    "CREATE INDEX tasks_project ON tasks (lower(project COLLATE \"C\"))",
    "CREATE INDEX calls_unusual ON calls (status) WHERE status <> 'ok' AND status <> 'running'",
    "CREATE INDEX calls_model ON calls (lower(model COLLATE \"C\"))",
    "CREATE INDEX tools_name ON tools (lower(name COLLATE \"C\"))",
    "CREATE INDEX conversations_project ON conversations (lower(project COLLATE \"C\"))",
    "CREATE INDEX calls_of_project ON calls (project, started, id)",
    "CREATE INDEX tasks_of_project ON tasks (project, opened, id)",
    "CREATE INDEX conversations_of_project ON conversations (project, active, id)",
    "CREATE INDEX events_of_project ON events (project, recorded, id)",
    "CREATE INDEX lines_conversation ON lines (conversation, kind, started, position)",
    "CREATE INDEX conversations_active ON conversations (active, id)",
    "CREATE INDEX messages_line ON messages (line, at, id)",
    "CREATE INDEX reports_conversation ON reports (conversation, at, id)",
    "CREATE INDEX notes_task ON notes (task, at, id)",
    "CREATE INDEX artifacts_task ON artifacts (task, at, id)",
    "CREATE INDEX operations_updated ON operations (updated, id)",
    "CREATE INDEX operations_session ON operations (session, updated, id)",
    "CREATE UNIQUE INDEX events_session ON events (session, seq)",
    "CREATE INDEX events_operation ON events (session, operation, seq)",
    "CREATE INDEX events_agent ON events (session, agent, seq)",
    "CREATE INDEX events_task ON events (agent, agent_task_id) WHERE agent_task_id <> ''",
    "CREATE INDEX events_recorded ON events (session, recorded)",
    "CREATE INDEX events_subject ON events (subject, seq) WHERE subject <> ''",
    "CREATE INDEX messages_observation ON messages (observation) WHERE observation <> ''",
    "CREATE INDEX notes_observation ON notes (observation) WHERE observation <> ''",
    "CREATE INDEX tools_observation ON tools (observation) WHERE observation <> ''",
    "CREATE INDEX sessions_active ON sessions (active, id)",
    "CREATE INDEX tallies_kind ON tallies (kind, at, id)",
)


def kind_of(column: str) -> str:
    return {"doc": "bytea", "certainty": "float8"}.get(column, "bigint" if column in NUMBERS else "text")


def table(name: str) -> str:
    columns = [f'"{column}" {kind_of(column)}{"" if column in OPTIONAL else " NOT NULL"}' for column in COLUMNS[name]]
    return f"CREATE TABLE {name} (id text COLLATE \"C\" PRIMARY KEY, {''.join(one + ', ' for one in columns)}doc bytea NOT NULL)"


PROJECTIONS = (*COLUMNS, "keys", "refs", "unreadable")
