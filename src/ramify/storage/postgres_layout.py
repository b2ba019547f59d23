"""Brings the tables of a PostgreSQL store to the columns and indexes that this version asks for; rows tell all of them."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import msgspec
from psycopg import Connection

from ramify.storage.columns import COLUMNS
from ramify.storage.postgres_schema import INDEXES, kind_of, table

Row = tuple[Any, ...]
Columns = Callable[[str, bytes], Row]
BATCH = 1000


def version() -> bytes:
    told = repr((sorted((name, table(name)) for name in COLUMNS), INDEXES))
    return msgspec.msgpack.encode(sha256(told.encode()).hexdigest()[:16])


def lay_out(connection: Connection[Row], columns: Columns) -> None:
    """Inside the caller's transaction: all of it, or none."""
    found = connection.execute("SELECT value FROM facts WHERE name = 'layout'").fetchone()
    if found and found[0] == version():
        return
    for name in COLUMNS:
        _make_columns(connection, name, columns)
    _make_indexes(connection)
    connection.execute("INSERT INTO facts VALUES ('layout', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (version(),))


def _make_columns(connection: Connection[Row], name: str, columns: Columns) -> None:
    rows = connection.execute("SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = %s", (name,)).fetchall()
    known = [row[0] for row in rows]
    if not known:
        connection.execute(table(name))
        return
    lacking = [column for column in COLUMNS[name] if column not in known]
    if not lacking:
        return
    added = [f'ADD COLUMN "{column}" {kind_of(column)}' for column in lacking]
    connection.execute(f"ALTER TABLE {name} {', '.join(added)}")
    _fill(connection, name, lacking, columns)
    required = [f'ALTER COLUMN "{column}" SET NOT NULL' for column in lacking if "NOT NULL" in defined(name, column)]
    if required:
        connection.execute(f"ALTER TABLE {name} {', '.join(required)}")


def defined(name: str, column: str) -> str:
    return table(name).partition(f'"{column}" ')[2].partition(",")[0]


def _fill(connection: Connection[Row], name: str, lacking: list[str], columns: Columns) -> None:
    places = [COLUMNS[name].index(column) for column in lacking]
    updates = ", ".join(f'"{column}" = given.c{at}' for at, column in enumerate(lacking))
    arrays = ", ".join(f"%s::{kind_of(column)}[]" for column in lacking)
    names = ", ".join(f"c{at}" for at in range(len(lacking)))
    statement = f"UPDATE {name} SET {updates} FROM unnest(%s::text[], {arrays}) AS given (id, {names}) WHERE {name}.id = given.id"
    for rows in _pages(connection, name):
        told = [columns(name, doc) for _, doc in rows]
        connection.execute(statement, [[id for id, _ in rows], *([one[place] for one in told] for place in places)])


def _pages(connection: Connection[Row], name: str) -> Iterator[list[Row]]:
    after = ""
    while rows := connection.execute(f"SELECT id, doc FROM {name} WHERE id > %s ORDER BY id LIMIT {BATCH}", (after,)).fetchall():
        yield rows
        after = rows[-1][0]


def _make_indexes(connection: Connection[Row]) -> None:
    rows = connection.execute("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()").fetchall()
    known = {row[0] for row in rows}
    for statement in INDEXES:
        if statement.replace("UNIQUE ", "").split()[2] not in known:
            connection.execute(statement)
