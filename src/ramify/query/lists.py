"""Lists of tasks, model calls and conversations, newest first, narrowed by a filter.

A filtered page says how many rows were `looked` at for it. It may be short, even empty, with more behind it: then that
was as much as one question may look at, and the next page goes on from there.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ramify.model.entity import Entity, Message, Note, ToolCall
from ramify.model.ids import seen_call_id
from ramify.query.filter import read_filter
from ramify.query.meaning import ORDER, STATES, FindId, Meaning, meaning
from ramify.query.paging import ALL, read_cursor, write_cursor
from ramify.query.resolve import resolve
from ramify.storage.base import Ask, Sifted, Store, Test

Answer = dict[str, Any]
Shapes = Callable[[list[Any]], list[Answer]]
MOST = 20_000  # rows that one question looks at
ROOTS = STATES["tasks"]["root"]
WIRE = ("request", "response")  # sides of hits that are a call's own
KEPT_IN = {"message": "messages", "messages": "messages", "notes": "notes", "tools": "tools"}  # of others: where the row is
HITS = 2_000  # newest hits of the text index that a list of calls is narrowed to


def clock() -> int:
    return time.time_ns() // 1000


def finding(store: Store) -> FindId:
    return lambda table, id: resolve(store, id, (table,))[1].id


class Rows(Protocol):
    """What a list is made of."""

    found: Meaning
    is_filtered: bool

    def page(self, limit: int, place: tuple[int, str] | None, most: int) -> Sifted:
        """At most `limit` rows that pass, looking at no more than `most`."""


class Wanted:
    """What a list is asked for: equal columns, a filter, and further tests."""

    def __init__(self, store: Store, table: str, where: dict[str, str], filter: str | None, tests: Sequence[Test] = ()) -> None:
        self.store = store
        self.table = table
        self.where = where
        self.without = {"kind": {"tasks": "none", "calls": "twin"}[table]} if table in ("tasks", "calls") else {}
        self.found = meaning(read_filter(filter or ""), table, clock(), finding(store))
        if table == "tasks" and ROOTS in self.found.tests:
            self.found.tests.remove(ROOTS)
            self.where = {**where, "kind": "root"}  # there is an index of the roots alone, in the list's order
        self.found.tests += [*tests, *text_tests(store, self.found)]
        self.is_filtered = bool(filter or tests)

    def page(self, limit: int, place: tuple[int, str] | None, most: int) -> Sifted:
        ask = Ask(ORDER[self.table], self.where, limit, place, without=self.without)
        if self.found.tests:
            return self.store.sift(self.table, ask, self.found.tests, most)
        rows = self.store.page(self.table, Ask(ask.order, ask.where, limit + 1, place, without=ask.without))
        more = rows[limit - 1] if len(rows) > limit else None
        return Sifted(rows[:limit], len(rows[:limit]), (getattr(more, ask.order), more.id) if more else None)


def listed(wanted: Rows, shapes: Shapes, limit: int, cursor: str | None) -> Answer:
    limit, most = limit or ALL, MOST if limit else ALL
    items: list[Answer] = []
    looked, place = 0, read_cursor(cursor)
    while True:
        page = wanted.page(limit - len(items), place, most - looked)
        fitting = [shape for shape in shapes(page.rows) if wanted.found.fits(shape.get("flags", []))]
        items += fitting
        looked, place = looked + page.looked, page.place
        if place is None or len(items) >= limit or looked >= most or not wanted.found.flags:
            break
    answer = {"items": items, "next": write_cursor(*place) if place else None}
    return {**answer, "looked": looked} if wanted.is_filtered else answer


def text_tests(store: Store, found: Meaning) -> list[Test]:
    """Calls in which the words were said, as the text index has them: the newest hits."""
    wanted = [said.text for said in found.said if not said.negated]
    tests = [Test("id", "is", calls_with(store, wanted))] if wanted else []
    return tests + [Test("id", "is", calls_with(store, [said.text]), negated=True) for said in found.said if said.negated]


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'  # no engine reads beyond a NUL


def calls_with(store: Store, texts: Sequence[str]) -> tuple[str, ...]:
    query = " ".join(quoted(text) for text in texts)
    hits = [words for _, words in store.search.find(query, HITS, None)]
    found = dict.fromkeys(words.call for words in hits if words.side in WIRE)
    for side, table in KEPT_IN.items():
        rows: list[Entity] = store.among(table, "id", sorted({words.call for words in hits if words.side == side}))
        found |= dict.fromkeys(filter(None, map(call_of, rows)))
    return tuple(found)


def call_of(row: Entity) -> str:
    """The model call that said it, where there is one."""
    match row:
        case Message():
            return seen_call_id(row.project, row.answer) if row.answer else ""
        case Note():
            return str(row.details.get("call") or "")
        case ToolCall():
            return row.call
        case _:
            return ""
