"""SQL that people wrote, on PostgreSQL: a cursor in a transaction that can only read, over the views and nothing else.

Views stand in a schema of their own, so that their names are all that a query finds; the inner schema may not be named.
"""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import Connection, sql

from ramify.model.mistake import UserMistake
from ramify.storage.base import Bounds, Rows
from ramify.storage.direct import LONGEST_PROBLEM, too_long
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
LARGEST_ROW = 16 * 2**20
TOO_LARGE = "a row is larger than 16 MiB"
SMALL = f"CASE WHEN pg_column_size(q) > {LARGEST_ROW} THEN left('{TOO_LARGE}', pg_column_size(q))::boolean ELSE true END"
"""There is no other way to fail from within a query."""
AT_ONCE = 4 * 2**20  # bytes: the server puts together what is fetched at once before it sends any of it
MOST_AT_ONCE = 1000  # rows
HINT = "ramify sql without a query lists the views and their columns"


def views_of(schema: str) -> str:
    return f"{schema}_views"


def mesh_of(schema: str) -> str:
    """`sam` is the mesh's own word; a second store in one database has to be told apart."""
    return "sam" if schema == "ramify" else f"{schema}_sam"


def rows_of(schema: str) -> str:
    return f"{mesh_of(schema)}_rows"


def schemas(schema: str) -> list[str]:
    return [views_of(schema), mesh_of(schema), rows_of(schema)]


def statements(schema: str) -> list[str]:
    """All views, in schemas that hold nothing of ours yet."""
    ours, mesh, inner = schemas(schema)
    made = [f'SET LOCAL search_path = "{schema}"', *(f'CREATE VIEW "{ours}".{name} AS {query}' for name, query in views(POSTGRES).items())]
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
        self._rows = sql.Identifier(rows_of(schema))

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
        with connection.transaction(), connection.cursor() as cursor:
            connection.execute("SET TRANSACTION READ ONLY")
            connection.execute("SET LOCAL standard_conforming_strings = on")  # as the words were read
            connection.execute(f"SET LOCAL statement_timeout = {max(1, int(bounds.seconds * 1000))}")
            connection.execute(sql.SQL("SET LOCAL search_path = {}").format(sql.Identifier(views_of(schema))))
            return asked(cursor, query.strip().rstrip(";"), bounds)
    except psycopg.Error as problem:
        raise explained(problem, bounds) from None
    finally:
        connection.close()


def asked(cursor: Any, query: str, bounds: Bounds) -> Rows:
    """As it is, the query is only read: what could not stand by itself must not become something else between our words."""
    end = time.monotonic() + bounds.seconds
    cursor.execute(f"DECLARE alone NO SCROLL CURSOR FOR {query}")
    cursor.execute(f"DECLARE asked NO SCROLL CURSOR FOR SELECT q.* FROM ({query}\n) AS q WHERE {SMALL}")
    cursor.execute("FETCH FORWARD 0 FROM asked")
    columns = tuple(column.name for column in cursor.description or ())
    rows: list[Row] = []
    size, count = 0, 1
    while True:
        cursor.execute(f"SET LOCAL statement_timeout = {max(1, int((end - time.monotonic()) * 1000))}")
        before = len(rows)
        for row in cursor.stream(f"FETCH FORWARD {count} FROM asked"):
            size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
            if len(rows) >= bounds.rows or size > bounds.bytes:
                return Rows(columns, rows, more=True)
            rows.append(tuple(shown(value) for value in row))
        if len(rows) - before < count:
            return Rows(columns, rows, more=False)
        count = max(1, min(count * 10, AT_ONCE * len(rows) // max(1, size), MOST_AT_ONCE))


def shown(value: Any) -> Any:
    """Numbers as JSON knows them; a JSON column is what it says."""
    return float(value) if isinstance(value, Decimal) else value


def refuse(query: str, schema: str) -> None:
    found = words(query.strip().rstrip(";"))
    inner = (schema, rows_of(schema), "public")
    if ";" in found:
        raise UserMistake("there is more than one statement", "ask one at a time")
    for before, behind, called in qualified(found):
        if before in inner or called:
            raise UserMistake(f"a query may not use {before}.{behind}", f"the views are there to be read; {HINT}")
    for word in found:
        if FORBIDDEN.fullmatch(word) and word not in ALLOWED:
            raise UserMistake(f"a query may not use {word}", f"the views are there to be read; {HINT}")


def explained(problem: psycopg.Error, bounds: Bounds) -> UserMistake:
    if isinstance(problem, psycopg.errors.QueryCanceled | psycopg.errors.InFailedSqlTransaction):  # canceled while a row was on its way
        return too_long(bounds)
    text = (problem.diag.message_primary or str(problem))[:LONGEST_PROBLEM]
    if TOO_LARGE in text:
        return UserMistake(TOO_LARGE, "ask for fewer columns, or for shorter texts")
    if isinstance(problem, psycopg.errors.OutOfMemory | psycopg.errors.ProgramLimitExceeded):
        return UserMistake(f"the query needs more than PostgreSQL gives it: {text}", "ask for less at once")
    if "multiple commands" in text or "multiple" in text:
        return UserMistake("there is more than one statement", "ask one at a time")
    return UserMistake(f"PostgreSQL does not understand the query: {text}", HINT)
