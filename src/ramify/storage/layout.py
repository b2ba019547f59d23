"""The columns, indexes and views that a file must have. What it lacks is made from its rows, which hold everything.

Steps of `schema.py` bring what cannot be derived; a new column needs none.
"""

import sqlite3
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from msgspec import ValidationError

from ramify.storage.columns import COLUMNS, NUMBERS
from ramify.storage.schema import PROJECTIONS
from ramify.storage.views import OURS, PARENT, VIEWS

# Names are compared without regard to case: nobody knows by heart whether a tool is called Bash or bash.
INDEXES = {
    "calls": (
        "calls_started ON calls (started, id)",
        "calls_conversation ON calls (conversation, started, id)",
        "calls_task ON calls (task, started, id)",
        "calls_attempt ON calls (attempt_of) WHERE attempt_of <> ''",
        "calls_running ON calls (status) WHERE status = 'running'",
        "calls_unusual ON calls (status) WHERE status <> 'ok' AND status <> 'running'",
        "calls_model ON calls (model COLLATE NOCASE)",
        "calls_of_project ON calls (project, started, id)",
    ),
    "tools": ("tools_call ON tools (call, block)", "tools_name ON tools (name COLLATE NOCASE)"),
    "tasks": (
        "tasks_opened ON tasks (opened, id)",
        "tasks_roots ON tasks (opened, id) WHERE kind = 'root'",
        "tasks_conversation ON tasks (conversation, opened, id)",
        "tasks_parent ON tasks (parent) WHERE parent <> ''",
        "tasks_unusual ON tasks (status) WHERE status <> 'completed'",
        "tasks_agent ON tasks (agent COLLATE NOCASE)",
        "tasks_project ON tasks (project COLLATE NOCASE)",
        "tasks_of_project ON tasks (project, opened, id)",
    ),
    "conversations": (
        "conversations_active ON conversations (active, id)",
        "conversations_project ON conversations (project COLLATE NOCASE)",
        "conversations_of_project ON conversations (project, active, id)",
    ),
    "events": ("events_of_project ON events (project, recorded, id)",),
}
VIEW_INDEXES = (
    f"children ON tasks ({PARENT})",
    *(f"refs_mesh_{kind} ON refs (id, value) WHERE kind = 'sam:{kind}'" for kind in ("task", "context")),
)
"""For views alone: a parent as they write it, and the way from rows to the ids that a mesh gave them."""
EDITION = 1  # one more whenever a column of the same name comes to say something else
Columns = Callable[[str, bytes], tuple[Any, ...]]
BATCH = 1000


def version() -> str:
    told = repr((sorted(COLUMNS.items()), sorted(NUMBERS), INDEXES, VIEW_INDEXES, VIEWS))
    return f"{EDITION}:{sha256(told.encode()).hexdigest()[:16]}"


def _edition(connection: sqlite3.Connection) -> int:
    found = connection.execute("SELECT value FROM facts WHERE name = 'layout'").fetchone()
    return int(found[0].partition(":")[0]) if found else 0


def is_laid_out(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT value FROM facts WHERE name = 'layout'").fetchone()
    return found is not None and found[0] == version()


def lay_out(connection: sqlite3.Connection, columns: Columns) -> None:
    """Inside the caller's transaction: all of it, or none."""
    for name in _named(connection, "view"):
        if name.startswith(OURS):
            connection.execute(f"DROP VIEW {name}")
    for table in INDEXES:
        known = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        if not set(COLUMNS[table]) <= set(known) or _edition(connection) != EDITION:
            _copy(connection, table, columns)
    wanted = {text.partition(" ")[0]: text for texts in (*INDEXES.values(), VIEW_INDEXES) for text in texts}
    for name in wanted.keys() - set(_named(connection, "index")):
        connection.execute(f"CREATE INDEX {wanted[name]}")
    for name, query in VIEWS.items():
        connection.execute(f"CREATE VIEW {name} AS {query}")
    connection.execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('layout', ?)", (version(),))


def _named(connection: sqlite3.Connection, kind: str) -> list[str]:
    return [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,))]


def _copy(connection: sqlite3.Connection, table: str, columns: Columns) -> None:
    """`doc` stands last: what is asked for can be read without passing over it."""
    defined = "".join(f"{name} {'INTEGER' if name in NUMBERS else 'REAL' if name == 'certainty' else 'TEXT'}, " for name in COLUMNS[table])
    connection.execute(f"CREATE TABLE new_{table} (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, {defined}doc BLOB NOT NULL)")
    kept = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", (table,))]
    marks = ", ".join("?" * (len(COLUMNS[table]) + 3))
    try:
        for rows in _pages(connection, table):
            connection.executemany(f"INSERT INTO new_{table} VALUES ({marks})", [(row, id, *columns(table, doc), doc) for row, id, doc in rows])
    except ValidationError:
        _empty(connection, f"new_{table}")
    connection.execute(f"DROP TABLE {table}")
    connection.execute("PRAGMA legacy_alter_table = ON")  # views that name the table mean the new one
    connection.execute(f"ALTER TABLE new_{table} RENAME TO {table}")
    connection.execute("PRAGMA legacy_alter_table = OFF")
    for sql in kept:
        connection.execute(sql)


def _empty(connection: sqlite3.Connection, *further: str) -> None:
    """Rows of the first version mean something else by now. They are derived again, and until then there are none."""
    for table in (*PROJECTIONS, *further):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("INSERT OR REPLACE INTO facts SELECT 'outdated', 1 FROM observations LIMIT 1")


def _pages(connection: sqlite3.Connection, table: str) -> Iterator[list[Any]]:
    after = -1
    while rows := connection.execute(f"SELECT row, id, doc FROM {table} WHERE row > ? ORDER BY row LIMIT ?", (after, BATCH)).fetchall():
        yield rows
        after = rows[-1][0]
