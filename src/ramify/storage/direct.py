"""SQL that people wrote, on a connection of its own that can only read, and only so much of it.

Whoever may ask may read what is stored of their projects, but not the store's own secrets, and must not be able to change,
reach or exhaust anything. SQLite says inside which view a table is read, but calls a query's own `WITH tasks AS (…)` just so.
What may read a table therefore has a name that nobody can know: it is made up for each query.
"""

import re
import secrets
import sqlite3
import time
from urllib.parse import quote

from ramify.model.mistake import UserMistake
from ramify.storage.base import Bounds, Further, Rows
from ramify.storage.views import VIEWS

SECRET = ("facts",)  # the key of fingerprints is among them
MASTER = ("sqlite_master", "sqlite_schema")
INTERNAL = ("sqlite_", "pragma_", "dbstat", "bytecode", "tables_used")  # SQLite's own, some of which read pages as they are
GENERATED = ("json_each", "json_tree")
FORBIDDEN = ("load_extension", "fts3_tokenizer", "zeroblob", "randomblob")
PROJECTS = ("tasks", "calls", "tools", "conversations")
"""Tables that say whose a row is. Views reach all others from these."""
TABLE = re.compile(rf"\b(FROM|JOIN) ({'|'.join(PROJECTS)})\b")
OWN = "FROM own."  # in a further view: the store's own of that name
STEPS = 5_000  # of SQLite's machine between two looks at the clock
LONGEST_VALUE = 8 * 2**20
LONGEST_PROBLEM = 500
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LONGEST_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
GRACE = 0.5  # seconds for a query to see by itself that its time is over, before its process ends
HINT = "ramify sql without a query lists the views and their columns"


def reader_of(path: str, writer: sqlite3.Connection) -> sqlite3.Connection:
    """What lives in memory has one connection only: a copy is asked instead."""
    if path:
        return sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=5, isolation_level=None)
    copy = sqlite3.connect(":memory:", isolation_level=None)
    writer.backup(copy)
    return copy


class Guard:
    """Lets through what reads a view; an inner table only where one of the `inner` views reads it.

    Where a query takes no column of a view, as to count its rows, SQLite names the view just before the table. That is let
    through where everything may be seen (`whole`): at worst it tells how many rows a table has, and nothing of them."""

    def __init__(self, connection: sqlite3.Connection, inner: frozenset[str], whole: bool) -> None:
        named = {"table": set[str](), "view": set[str]()}
        listed = "SELECT type, name FROM {} WHERE type IN ('table', 'view')"
        for kind, name in connection.execute(f"{listed.format('sqlite_master')} UNION {listed.format('sqlite_temp_master')}"):
            named[kind].add(name.lower())
        self.tables, self.views = named["table"], named["view"]
        self.inner = inner
        self.whole = whole
        self.entered = ""
        self.refused = ""

    def __call__(self, action: int, first: str | None, second: str | None, base: str | None, inside: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            self.entered = (inside or "").lower()
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            return self._say((second or "").lower() not in FORBIDDEN, f"use the function {second}")
        if action == sqlite3.SQLITE_READ:
            return self._say(self._may_read((first or "").lower(), second or "", (inside or "").lower()), f"use the table {first}")
        return self._say(False, "do anything but read")

    def _may_read(self, table: str, column: str, inside: str) -> bool:
        if table in SECRET:
            return False
        if self.whole and not column and self.entered in self.inner:
            return True
        if table in self.views or inside in self.inner or table in MASTER or table in GENERATED:
            return True
        return table not in self.tables and not table.startswith(INTERNAL)  # a name that the query gave itself

    def _say(self, allowed: bool, what: str) -> int:
        if not allowed:
            self.refused = self.refused or what
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def ask_directly(
    connection: sqlite3.Connection, sql: str, bounds: Bounds, further: Further | None = None, projects: frozenset[str] | None = None
) -> Rows:
    """Closes the connection. Raises UserMistake for what is wrong with the query, what it may not, and what takes too long."""
    end = time.monotonic() + bounds.seconds
    guard = Guard(connection, add(connection, further or Further(), projects), projects is None)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")  # views that came with the file; those of this connection are ours
        for name in GENERATED:  # SQLite declares them when they are first used, which the guard would refuse
            connection.execute(f"SELECT 1 FROM {name}('[]')")
        for limit, most in LIMITS.items():
            connection.setlimit(limit, most)
        connection.set_progress_handler(lambda: time.monotonic() > end, STEPS)
        connection.set_authorizer(guard)
        return _fetched(connection.execute(sql), bounds)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as problem:
        raise _explained(problem, guard, bounds) from None
    finally:
        connection.set_authorizer(None)
        connection.close()


def add(connection: sqlite3.Connection, further: Further, projects: frozenset[str] | None) -> frozenset[str]:
    """Views of this connection alone, which go before those of the file; and the names of those that read tables."""
    connection.execute("PRAGMA temp_store = MEMORY")
    for name, function in further.functions.items():
        connection.create_function(name, -1, function, deterministic=True)
    unknown = f"inner_{secrets.token_hex(16)}_"
    made = narrowed(projects) | {f"own_{name}": query for name, query in VIEWS.items()} | further.views
    for name, query in made.items():
        own = query.replace(OWN, f"FROM {unknown}own_")
        inner = own if projects is None or name in PROJECTS else TABLE.sub(rf"\1 {unknown}\2", own)
        connection.execute(f"CREATE TEMP VIEW {unknown}{name} AS {inner}")
    for name in {*VIEWS, *further.views}:
        connection.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM {unknown}{name if name in further.views else f'own_{name}'}")
    return frozenset(f"{unknown}{name}" for name in made)


def narrowed(projects: frozenset[str] | None) -> dict[str, str]:
    """What stands in for the tables. Names are written as bytes: they come from tokens and headers, and a view takes no parameters."""
    if projects is None:
        return {}
    written = ", ".join(f"CAST(x'{project.encode('utf-8', 'surrogatepass').hex()}' AS TEXT)" for project in sorted(projects))
    return {table: f"SELECT * FROM main.{table} WHERE project IN ({written})" for table in PROJECTS}


def _fetched(cursor: sqlite3.Cursor, bounds: Bounds) -> Rows:
    if cursor.description is None:
        raise UserMistake("the query asks for nothing", "write a SELECT")
    columns = tuple(column[0] for column in cursor.description)
    rows: list[tuple[object, ...]] = []
    size = 0
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(rows) >= bounds.rows or size > bounds.bytes:
            return Rows(columns, rows, more=True)
        rows.append(row)
    return Rows(columns, rows, more=False)


def too_long(bounds: Bounds) -> UserMistake:
    return UserMistake(f"the query took longer than {bounds.seconds:g} s", "ask for less, or give it more time with --timeout")


def _explained(problem: Exception, guard: Guard, bounds: Bounds) -> UserMistake:
    text = str(problem)[:LONGEST_PROBLEM]  # it may quote a value
    if guard.refused:
        return UserMistake(f"a query may not {guard.refused}", f"the views are there to be read; {HINT}")
    if text == "interrupted":
        return too_long(bounds)
    if "one statement at a time" in text:
        return UserMistake("there is more than one statement", "ask one at a time")
    return UserMistake(f"SQLite does not understand the query: {text}", HINT)
