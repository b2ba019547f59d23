"""SQL that people wrote, on PostgreSQL: a cursor in a transaction that can only read, over the views and nothing else.

Views stand in a schema of their own, so that their names are all that a query finds; the inner schema may not be named.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import Connection, sql

from ramify.model.mistake import UserMistake
from ramify.storage.base import Bounds, Rows
from ramify.storage.mesh_tables import MESSAGE_COLUMNS, NUMBERS, TASK_COLUMNS, TOOL_COLUMNS
from ramify.storage.mesh_tables import views as mesh_views
from ramify.storage.postgres_words import qualified, words
from ramify.storage.views import POSTGRES, views

Row = tuple[Any, ...]
FORBIDDEN = re.compile(
    r"(?:\w*_to_xml\w*|ts_stat|ts_rewrite|dblink\w*|crosstab\w*|connectby|lo_\w+|loread|lowrite|set_config|current_setting|pg_\w+|information_schema)"
)
ALLOWED = ("pg_typeof",)
JSON = ("message_content", "tool_calls", "raw_payload", "user_context_raw", "token_usage_raw", "metadata", "input_args", "output_result")
TABLES = {"messages": MESSAGE_COLUMNS, "tasks": TASK_COLUMNS, "tools": TOOL_COLUMNS}
LAST_LEVEL = "regexp_replace(m.topic, '^.*/', '')"
HINT = "ramify sql without a query lists the views and their columns"


def views_of(schema: str) -> str:
    return f"{schema}_views"


def mesh_of(schema: str) -> str:
    """`sam` is the mesh's own word; a second store in one database has to be told apart."""
    return "sam" if schema == "ramify" else f"{schema}_sam"


def statements(schema: str) -> list[str]:
    """All views, made anew."""
    ours, mesh, inner = views_of(schema), mesh_of(schema), f"{mesh_of(schema)}_rows"
    made = [f'DROP SCHEMA IF EXISTS "{name}" CASCADE' for name in (ours, mesh, inner)]
    made += [f'CREATE SCHEMA "{name}"' for name in (ours, mesh, inner)]
    made += [f'SET LOCAL search_path = "{schema}"', *(f'CREATE VIEW "{ours}".{name} AS {query}' for name, query in views(POSTGRES).items())]
    made.append(f'SET LOCAL search_path = "{inner}"')
    for table, columns in TABLES.items():
        made.append(f"CREATE TABLE {table} ({columns[0]} text PRIMARY KEY, {', '.join(f'{name} {kind_of(name)}' for name in columns[1:])})")
    made += ["CREATE INDEX ON messages (task_id, at)", "CREATE INDEX ON messages (context_id, at)", "CREATE INDEX ON tasks (root_task_id)",
             "CREATE INDEX ON tools (task_id)", "CREATE TABLE reached (seq bigint NOT NULL)", "INSERT INTO reached VALUES (0)"]
    for name, query in mesh_views(POSTGRES, LAST_LEVEL, "jsonb_agg").items():
        made.append(f'CREATE VIEW "{mesh}".{name} AS {query}')
        made.append(f'CREATE VIEW "{ours}".sam_{name} AS SELECT * FROM "{mesh}".{name}')
    return made


def kind_of(column: str) -> str:
    return "jsonb" if column in JSON else "bigint" if column in NUMBERS else "text"


class PostgresMesh:
    """The rows behind the mesh's views; what `MeshTables` is on SQLite."""

    def __init__(self, connection: Connection[Row], schema: str) -> None:
        self._connection = connection
        self._rows = sql.Identifier(f"{mesh_of(schema)}_rows")

    @contextmanager
    def _inside(self) -> Iterator[None]:
        with self._connection.transaction():
            self._connection.execute(sql.SQL("SET LOCAL search_path = {}").format(self._rows))
            yield

    @property
    def seq(self) -> int:
        row = self._connection.execute(sql.SQL("SELECT seq FROM {}.reached").format(self._rows)).fetchone()
        return int(row[0]) if row else 0

    def add_messages(self, rows: Sequence[Row], seq: int) -> None:
        again = (
            "ON CONFLICT (identity) DO UPDATE SET received = least(messages.received, excluded.received), "
            "at = CASE WHEN excluded.received < messages.received THEN excluded.at ELSE messages.at END, "
            "user_context_raw = coalesce(messages.user_context_raw, excluded.user_context_raw)"
        )
        with self._inside():
            self._put("messages", rows, again)
            self._connection.execute("UPDATE reached SET seq = %s", (seq,))

    def put_rows(self, tasks: Any, tools: Any) -> None:
        with self._inside():
            for table, rows in (("tasks", tasks), ("tools", tools)):
                self._connection.execute(f"DELETE FROM {table}")
                self._put(table, list(rows), "")

    def clear(self) -> None:
        """A user who may make no schema has none of them."""
        with suppress(psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName), self._inside():
            self._connection.execute("TRUNCATE messages, tasks, tools")
            self._connection.execute("UPDATE reached SET seq = 0")

    def _put(self, table: str, rows: Sequence[Row], again: str) -> None:
        columns = TABLES[table]
        marks = ", ".join("%s::jsonb" if name in JSON else "%s" for name in columns)
        with self._connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) {again}", [tuple(map(plain, row)) for row in rows])

    def close(self) -> None:
        self._connection.close()


def plain(value: Any) -> Any:
    """Neither texts nor JSON of PostgreSQL can hold a NUL."""
    return value.replace("\x00", "\ufffd").replace("\\u0000", "\\ufffd") if isinstance(value, str) else value


def ask_directly(connection: Connection[Row], schema: str, query: str, bounds: Bounds) -> Rows:
    """Closes the connection."""
    try:
        refuse(query, schema)
        with connection.transaction(), connection.cursor(name="asked") as cursor:
            connection.execute("SET TRANSACTION READ ONLY")
            connection.execute("SET LOCAL standard_conforming_strings = on")  # as the words were read
            connection.execute(f"SET LOCAL statement_timeout = {int(bounds.seconds * 1000)}")
            connection.execute(sql.SQL("SET LOCAL search_path = {}").format(sql.Identifier(views_of(schema))))
            cursor.execute(query.strip().rstrip(";"))
            columns = tuple(column.name for column in cursor.description or ())
            return fetched(cursor, columns, bounds)
    except psycopg.Error as problem:
        raise explained(problem, bounds) from None
    finally:
        connection.close()


def fetched(cursor: Any, columns: tuple[str, ...], bounds: Bounds) -> Rows:
    rows: list[Row] = []
    size = 0
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(rows) >= bounds.rows or size > bounds.bytes:
            return Rows(columns, rows, more=True)
        rows.append(tuple(shown(value) for value in row))
    return Rows(columns, rows, more=False)


def shown(value: Any) -> Any:
    """Numbers as JSON knows them; a JSON column is what it says."""
    return float(value) if isinstance(value, Decimal) else value


def refuse(query: str, schema: str) -> None:
    found = words(query.strip().rstrip(";"))
    inner = (schema, f"{mesh_of(schema)}_rows", "public")
    if ";" in found:
        raise UserMistake("there is more than one statement", "ask one at a time")
    for before, behind, called in qualified(found):
        if before in inner or called:
            raise UserMistake(f"a query may not use {before}.{behind}", f"the views are there to be read; {HINT}")
    for word in found:
        if FORBIDDEN.fullmatch(word) and word not in ALLOWED:
            raise UserMistake(f"a query may not use {word}", f"the views are there to be read; {HINT}")


def explained(problem: psycopg.Error, bounds: Bounds) -> UserMistake:
    if isinstance(problem, psycopg.errors.QueryCanceled):
        return UserMistake(f"the query took longer than {bounds.seconds:g} s", "ask for less, or give it more time with --timeout")
    text = problem.diag.message_primary or str(problem)
    if "multiple commands" in text or "multiple" in text:
        return UserMistake("there is more than one statement", "ask one at a time")
    return UserMistake(f"PostgreSQL does not understand the query: {text}", HINT)
