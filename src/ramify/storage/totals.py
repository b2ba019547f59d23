"""How much there is of everything, kept beside the rows: a question about all of them must not read all of them.

Sums over the rows that a batch touches, before and after it, differ by what it adds. The same sums over all rows give what is
kept, so it can be made again at any time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ramify.model.entity import Conversation
from ramify.model.usage import NOTHING
from ramify.storage.base import Store

FACT = "totals"
SPENT = ("input", "output", "cache_read", "cache_write")


class Sum(NamedTuple):
    """Over rows: as a database adds it up, and what one row brings, by its columns."""

    sql: str
    share: Callable[[Mapping[str, Any]], int]


def _times(test: str, fits: Callable[[Mapping[str, Any]], bool]) -> Sum:
    return Sum(f"count(*) FILTER (WHERE {test})", fits)


def _all_of(column: str) -> Sum:
    return Sum(f"coalesce(sum({column}), 0)", lambda row: row[column] or 0)


EVERY = Sum("count(*)", lambda row: 1)
SUMS: dict[str, dict[str, Sum]] = {
    "conversations": {
        "conversations": EVERY,
        "counted": _all_of("counted"),
        **{name: _all_of(name) for name in (*SPENT, "cost")},
        "unpriced": _times(
            f"cost IS NULL AND counted + {' + '.join(SPENT)} > 0",
            lambda row: row["cost"] is None and row["counted"] + sum(row[name] for name in SPENT) > 0,
        ),
    },
    "tasks": {"tasks": _times("kind <> 'none'", lambda row: row["kind"] != "none"), "roots": _times("kind = 'root'", lambda row: row["kind"] == "root")},
    "calls": {
        "calls": _times("kind <> 'twin'", lambda row: row["kind"] != "twin"),
        "running": _times("status = 'running'", lambda row: row["status"] == "running"),
        "failed": _times("status = 'error'", lambda row: row["status"] == "error"),
        "aborted": _times("status = 'aborted' AND kind <> 'twin'", lambda row: row["status"] == "aborted" and row["kind"] != "twin"),
    },
    "tools": {"tools": EVERY},
}
COLUMNS_OF = {table: ", ".join(one.sql for one in sums.values()) for table, sums in SUMS.items()}
QUERIES = {table: f"SELECT {columns} FROM {table}" for table, columns in COLUMNS_OF.items()}
NAMES = {table: tuple(sums) for table, sums in SUMS.items()}
Totals = dict[str, int]
Ask = Callable[[str, Sequence[str] | None], Iterable[Any]]
"""The sums over the rows of a table with these ids; None: over all of them."""


def touched(rows: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for table, id in rows:
        if table in SUMS:
            found.setdefault(table, []).append(id)
    return found


def sums(ask: Ask, ids: dict[str, list[str]]) -> Totals:
    return {name: int(value) for table, some in ids.items() for name, value in zip(NAMES[table], ask(table, some), strict=True)}


def shares(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Totals:
    """The sums over rows that are at hand: their tables and columns."""
    found: Totals = {}
    for table, row in rows:
        for name, one in SUMS[table].items():
            found[name] = found.get(name, 0) + one.share(row)
    return found


def all_sums(ask: Ask) -> Totals:
    return {name: int(value) for table in SUMS for name, value in zip(NAMES[table], ask(table, None), strict=True)}


def moved(totals: Totals, before: Totals, after: Totals) -> Totals:
    return {name: value + after.get(name, 0) - before.get(name, 0) for name, value in totals.items()}


def counted(store: Store) -> Totals:
    """By what every engine can be asked; for one that keeps nothing beside its rows."""
    usage, conversations = NOTHING, 0
    for row in store.docs("conversations"):
        if isinstance(row, Conversation):
            usage, conversations = usage + row.usage, conversations + 1
    counts = {
        "tasks": store.count("tasks", without={"kind": "none"}),
        "roots": store.count("tasks", {"kind": "root"}),
        "calls": store.count("calls", without={"kind": "twin"}),
        "running": store.count("calls", {"status": "running"}),
        "failed": store.count("calls", {"status": "error"}),
        "aborted": store.count("calls", {"status": "aborted"}, {"kind": "twin"}),
        "tools": store.count("tools"),
    }
    spent = {name: getattr(usage, name) for name in SPENT}
    return {"conversations": conversations, "counted": usage.calls, **spent, "cost": usage.cost_nano, "unpriced": usage.unpriced, **counts}
