"""Ways to rows by what they belong to, and by time: entries of their own, in the same insert as the row.

ClickHouse finds a row by its place; any other question would read a column of all rows of their kind. A way says where to look and
no more: a row that has moved since leaves an entry behind, so whoever went by it looks at the row as it is now.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from ramify.storage.base import Ask
from ramify.storage.clickhouse_packing import order, read_from
from ramify.storage.clickhouse_schema import literal

Place = tuple[str, int, int, str]
Values = dict[str, Any]


class Way(Struct, frozen=True):
    """To the rows of a table with the same value in `column` (without one: to all of them), in the order of `order`. Rows in which that is
    empty have none. `carried` columns stand beside it, so that rows that cannot fit are passed over. `left`: so many entries are to be expected for
    a row, which moves along it and leaves one behind each time."""

    order: str
    column: str = ""
    carried: tuple[str, ...] = ()
    only: tuple[str, str] | None = None  # a column, and what it must say
    named: str = ""
    left: int = 1

    @property
    def name(self) -> str:
        return self.named or self.column


INSIDE = Way("opened", "parent", only=("kind", "root"), named="inside")
"""Few roots stand under a task of another conversation; all of them are asked for."""
WAYS: dict[str, tuple[Way, ...]] = {
    "calls": (Way("started", carried=("project", "kind")), *(Way("started", column) for column in ("conversation", "task", "attempt_of"))),
    "tasks": (Way("opened", carried=("project", "kind", "status")), Way("opened", "conversation"), Way("opened", "parent"), INSIDE),
    "tools": (Way("opened", carried=("project",)), Way("opened", "call"), Way("opened", "task"), Way("opened", "observation")),
    "lines": (Way("started", "conversation"),),
    "conversations": (Way("active", carried=("project",), left=8),),
    "messages": (Way("at", "line"), Way("at", "observation")),
    "reports": (Way("at", "conversation"),),
    "notes": (Way("at", "task"), Way("at", "observation")),
    "artifacts": (Way("at", "task"),),
    "operations": (Way("updated", carried=("project",), left=8), Way("updated", "session", left=8)),
    "events": (Way("recorded", carried=("project",)), Way("recorded", "session"), Way("recorded", "subject")),
    "sessions": (Way("active", carried=("project",), left=8),),
}
SPACES = tuple(f"{table}/{way.name}" for table, ways in WAYS.items() for way in ways)
TABLE = "splitByChar('/', toString(space))[1]"  # of a way
HASH = "reinterpretAsInt64(xxh3({0}))"


def key_of(way: Way, value: str) -> int:
    if not way.column or way.named:
        return 0
    hashed = xxh3_64_intdigest(value.encode("utf-8", "surrogatepass"))
    return hashed - (1 << 64) if hashed >> 63 else hashed


def ways_of(table: str, id: str, values: Values) -> Iterator[tuple[Place, Values]]:
    """The entries that lead to a row."""
    for way in WAYS.get(table, ()):
        value = values[way.column] if way.column else ""
        if (value or not way.column) and (way.only is None or values[way.only[0]] == way.only[1]):
            yield (f"{table}/{way.name}", key_of(way, value), values[way.order] or 0, id), {column: values[column] for column in way.carried}


def way_for(table: str, ask: Ask) -> Way | None:
    """By what the rows belong to, where that is asked for; else by time."""
    fitting = [way for way in WAYS.get(table, ()) if way.order == ask.order and not way.named]
    near = [way for way in fitting if way.column and ask.where.get(way.column)]
    return next(iter(near or [way for way in fitting if not way.column]), None)


def way_by(table: str, column: str) -> Way | None:
    return next((way for way in WAYS.get(table, ()) if way.column == column and not way.named), None)


def along(table: str, way: Way, values: Sequence[str] = ("",)) -> str:
    """Which entries these are. One key is written so that ClickHouse sees that they come in order, and reads no more than are wanted."""
    keys = sorted({key_of(way, value) for value in values}) or [0]
    which = f"key IN {literal(keys)}" if len(keys) > 1 else f"key = {keys[0]}"
    return f"space = {literal(f'{table}/{way.name}')} AND {which}"


def carried_by(way: Way, ask: Ask) -> list[str]:
    return [
        *(f"{read_from(column)} = {literal(value)}" for column, value in ask.where.items() if column in way.carried),
        *(f"{read_from(column)} <> {literal(value)}" for column, value in ask.without.items() if column in way.carried),
    ]


def filling(entries: str) -> Iterator[str]:
    """For a store that has none yet: from its rows, under the same versions. To do it again changes nothing."""
    for table, ways in WAYS.items():
        for way in ways:
            key = HASH.format(read_from(way.column)) if way.column and not way.named else "0"
            clauses = [f"space = {literal(table)}"]
            clauses += [f"{read_from(way.column)} <> ''"] if way.column else []
            clauses += [f"{read_from(way.only[0])} = {literal(way.only[1])}"] if way.only else []
            carried = ", ".join(read_from(column) if column else "''" for column in order("", way.carried)[0])
            yield (
                f"INSERT INTO {entries} (space, key, moment, id, version, texts) "
                f"SELECT {literal(f'{table}/{way.name}')}, {key}, ifNull({read_from(way.order)}, 0), id, version, [{carried}]::Array(String) "
                f"FROM {entries} FINAL WHERE {' AND '.join(clauses)}"
            )
