"""SQL that people wrote, on ClickHouse: read-only, over the views and nothing else.

The server itself says of what a query is made, before it is run: which tables it names, and which functions it calls.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from clickhouse_connect.driver.exceptions import ClickHouseError

from ramify.model.mistake import UserMistake
from ramify.storage.base import Bounds, Rows
from ramify.storage.clickhouse_schema import literal, name
from ramify.storage.clickhouse_server import ClickHouseServer, words
from ramify.storage.clickhouse_views import INNER, MESH, ROWS, kind_of
from ramify.storage.direct import too_long

Row = tuple[Any, ...]
Node = tuple[int, str, str]  # how deep it stands, what it is, and its name
HINT = "ramify sql without a query lists the views and their columns"
TABLE_FUNCTIONS = {"numbers", "generateSeries", "generate_series", "values"}
FORBIDDEN = re.compile(
    r"(?:file|joinGet\w*|dict[A-Z]\w*|sleep\w*|get\w*Setting\w*|getMacro|getServerPort|tcpPort|hostName|fqdn|FQDN|serverUUID|user|currentUser|"
    r"filesystem\w*|catboost\w*|addressTo\w*|showCertificate|hasColumnInTable|ai[A-Z]\w*|queryID|initial\w+|"
    r"(?:edit|levenshtein|damerauLevenshtein)Distance\w*|jaro\w+|multiFuzzyMatch\w*)"  # the square of two texts, in which nobody looks at the clock
)
MEMORY = 4 << 30
GRACE = 2.0  # seconds in which the server may say by itself that its time is over
LARGER = 4  # times what is taken of an answer may be on its way, in one block
IN = ("in", "notIn", "globalIn", "globalNotIn", "nullIn", "notNullIn", "globalNullIn", "globalNotNullIn")


def ask_directly(server: ClickHouseServer, query: str, bounds: Bounds) -> Rows:
    query = query.strip().rstrip(";").strip()
    if not query:
        raise UserMistake("the query asks for nothing", "write a SELECT")
    settings = {
        "readonly": 1, "max_execution_time": bounds.seconds, "timeout_before_checking_execution_speed": 0, "cancel_http_readonly_queries_on_client_close": 1,
        "max_memory_usage": MEMORY, "max_result_bytes": LARGER * bounds.bytes, "result_overflow_mode": "throw", "limit": bounds.rows + 1, "max_recursive_cte_evaluation_depth": 1 << 40,
    }  # fmt: skip
    try:
        refuse(nodes(server.explained(query)))
        with server.directly(query, settings, bounds.seconds + GRACE) as (columns, found):
            return gathered(columns, found, bounds)
    except TimeoutError:
        raise too_long(bounds) from None
    except ClickHouseError as problem:
        raise explained(problem, bounds) from None


def gathered(columns: Sequence[str], found: Iterable[Row], bounds: Bounds) -> Rows:
    rows: list[tuple[object, ...]] = []
    size = 0
    for row in found:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(rows) >= bounds.rows or size > bounds.bytes:
            return Rows(tuple(columns), rows, more=True)
        rows.append(tuple(map(shown, row)))
    return Rows(tuple(columns), rows, more=False)


def shown(value: Any) -> Any:
    """As JSON knows it."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, str | bytes | int | float | None | list | dict) else str(value)


def explained(problem: ClickHouseError, bounds: Bounds) -> UserMistake:
    text = words(problem)
    if re.search(r"TIMEOUT_EXCEEDED|[Cc]ode:? 159", str(problem)):
        return too_long(bounds)
    if "TOO_MANY_ROWS_OR_BYTES" in str(problem):
        return UserMistake(f"the answer is larger than {LARGER * bounds.bytes >> 20} MiB", "ask for fewer rows or columns, or for shorter texts")
    if "MEMORY_LIMIT_EXCEEDED" in str(problem):
        return UserMistake(f"the query needs more than {MEMORY >> 30} GiB of memory", "ask for fewer rows or columns, or for shorter texts")
    if "Multi-statements" in text:
        return UserMistake("there is more than one statement", "ask one at a time")
    return UserMistake(f"ClickHouse does not understand the query: {text}", HINT)


# -- what a query is made of ------------------------------------------------------------------------------------------


def nodes(tree: str) -> list[Node]:
    found: list[Node] = []
    for line in tree.splitlines():
        kind, _, rest = line.strip().partition(" ")
        found.append((len(line) - len(line.lstrip(" ")), kind, re.sub(r" ?\((?:alias|children).*$", "", rest)))
    return found


def refuse(tree: list[Node]) -> None:
    """A name with a dot is one of another database, or a column; and behind IN a bare name may be a table."""
    if not tree or tree[0][1] not in ("SelectWithUnionQuery", "SelectIntersectExceptQuery"):
        raise UserMistake("a query may only read", f"write a SELECT; {HINT}")
    if [kind for depth, kind, _ in tree if depth == 1][1:] or any(kind == "Set" for _, kind, _ in tree):
        raise UserMistake("a query may not choose its format or settings", "leave FORMAT, SETTINGS and INTO out")
    for place, (_, kind, what) in enumerate(tree):
        if kind == "TableIdentifier" and ("." in what or what in INNER):
            raise forbidden(what)
        if kind == "TableExpression" and tree[place + 1][1] == "Function" and tree[place + 1][2] not in TABLE_FUNCTIONS:
            raise forbidden(tree[place + 1][2])
        if kind == "Function" and what in IN and (table := table_behind(tree, place)):
            raise forbidden(table)
        if kind == "Function" and FORBIDDEN.fullmatch(what) and tree[place - 1][1] != "TableExpression":
            raise forbidden(what)


def table_behind(tree: list[Node], place: int) -> str:
    depth = tree[place][0]
    arguments = [node for node in inside(tree, place) if node[0] == depth + 2]
    what = arguments[1][2] if len(arguments) > 1 and arguments[1][1] == "Identifier" else ""
    return what if "." in what or what in INNER else ""


def inside(tree: list[Node], place: int) -> Iterator[Node]:
    for node in tree[place + 1 :]:
        if node[0] <= tree[place][0]:
            return
        yield node


def forbidden(what: str) -> UserMistake:
    return UserMistake(f"a query may not use {what}", f"the views are there to be read; {HINT}")


# -- the rows of a mesh -----------------------------------------------------------------------------------------------


class ClickHouseMesh:
    """The rows behind the mesh's views. What is written twice, by two who were asked at once, is there once."""

    def __init__(self, server: ClickHouseServer) -> None:
        self._server = server
        self._now = server.last()[0]
        self._known, self._generation = self._reached()

    def _name(self, table: str) -> str:
        return f"{name(self._server.database)}.{ROWS}{table}"

    def _reached(self) -> tuple[int, int]:
        seq, generation = self._server.read(f"SELECT max(seq), max(generation) FROM {self._name('reached')}")[0]
        return int(seq or 0), int(generation or 0)

    @property
    def seq(self) -> int:
        return self._known

    def add_messages(self, rows: Sequence[Row], seq: int) -> None:
        if rows:
            columns = MESH["messages"]
            fresh: dict[str, Row] = {}
            for row in [*self._stored([row[0] for row in rows]), *rows]:
                known = fresh.get(row[0])
                fresh[row[0]] = tuple(row) if known is None else together(columns, known, tuple(row))
            self._put("messages", fresh.values(), {"version": seq})
        if seq > self._known:
            self._known = seq
            self._put_reached(self._generation)

    def _stored(self, identities: Sequence[str]) -> list[Row]:
        columns = ", ".join(map(name, MESH["messages"]))
        return self._server.read(f"SELECT {columns} FROM {self._name('messages')} FINAL WHERE identity IN {literal(identities)}")

    def put_rows(self, tasks: Iterable[Row], tools: Iterable[Row]) -> None:
        """All of them: links move, and what they say is small. Nothing, where nobody wrote since the last time."""
        if self._generation >= self._now:
            return
        for table, rows in (("tasks", tasks), ("tools", tools)):
            self._put(table, list(rows), {"generation": self._now})
        self._put_reached(self._now)
        for table in ("tasks", "tools"):
            self._drop_older(table)

    def _drop_older(self, table: str) -> None:
        own = f"{self._name(table)}{'_local' if self._server.cluster else ''}"
        for (generation,) in self._server.read(f"SELECT DISTINCT generation FROM {self._name(table)} WHERE generation < {self._generation}"):
            self._server.command(f"ALTER TABLE {own}{self._server.on} DROP PARTITION {generation}")
        self._generation = self._now

    def _put(self, table: str, rows: Iterable[Row], more: dict[str, int]) -> None:
        columns = MESH[table]
        if data := [(*row, *more.values()) for row in rows]:
            kinds = [kind_of(column) for column in columns] + ["UInt64"] * len(more)
            kinds[0] = "String"
            self._server.put(self._name(table), data, [*columns, *more], kinds)

    def _put_reached(self, generation: int) -> None:
        self._server.put(self._name("reached"), [(0, self._known, generation)], ["one", "seq", "generation"], ["UInt8", "Int64", "UInt64"])

    def clear(self) -> None:
        for table in (*MESH, "reached"):
            own = f"{self._name(table)}{'_local' if self._server.cluster else ''}"
            self._server.command(f"TRUNCATE TABLE IF EXISTS {own}{self._server.on}")

    def close(self) -> None:
        """Its server is the store's."""


def together(columns: Sequence[str], known: Row, again: Row) -> Row:
    """A later delivery of the same message: the earliest time counts, and what the first lacked is filled in."""
    one, other = dict(zip(columns, known, strict=True)), dict(zip(columns, again, strict=True))
    if (other["received"] or 0) < (one["received"] or 0):
        one |= {"received": other["received"], "at": other["at"]}
    if one["user_context_raw"] is None:
        one["user_context_raw"] = other["user_context_raw"]
    return tuple(one.values())
