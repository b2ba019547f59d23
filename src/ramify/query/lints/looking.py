"""Findings of one run, or of the newest runs of a store: so many at a time, and each run only when it has changed."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ramify.model.entity import Call, Conversation, Entity, Task
from ramify.query.cache import Pricer
from ramify.query.errors import BadQuestion
from ramify.query.flags import Patience
from ramify.query.lints import BY_NAME, CHECKS
from ramify.query.lints.check import RANK, finding
from ramify.query.lints.run import Run
from ramify.query.paging import read_cursor, write_cursor
from ramify.query.resolve import resolve
from ramify.storage.base import Ask, Store

Shape = dict[str, Any]
MOST_CALLS = 5_000  # of one run, where many are looked at
ROOM = 20_000  # tasks that are looked at for one page
REMEMBERED = 5_000
MOST_RUNS = 500


class Lints:
    """`changed` must be told what was written, by whoever keeps one of these; otherwise nothing is remembered."""

    def __init__(self, store: Store, patience: Patience, price: Pricer) -> None:
        self._store = store
        self._patience = patience
        self._price = price
        self._lock = threading.Lock()
        self._known: dict[str, list[Shape]] | None = None  # of runs in which nobody works
        self._written = 0

    # -- remembering -----------------------------------------------------------------------------------------------------

    def remember(self) -> None:
        self._known = {}

    def changed(self, rows: Mapping[tuple[str, str], Entity | None] | None) -> None:
        """None: that is not known."""
        if self._known is None:
            return
        with self._lock:
            self._written += 1
            for (table, _), row in rows.items() if rows is not None else ((("tasks", ""), None),):
                if row is None and table in ("tasks", "calls"):
                    self._known.clear()
                elif isinstance(row, Task | Call):
                    self._known.pop(row.conversation, None)

    def _of(self, conversation: str) -> tuple[list[Shape], int]:
        """And how many tasks had to be looked at."""
        with self._lock:
            known, written = (self._known or {}).get(conversation), self._written
        if known is not None:
            return known, 0
        run = Run(self._store, conversation, self._patience, self._price, MOST_CALLS)
        found = looked_at(run)
        with self._lock:
            settled = self._known is not None and written == self._written and "working" not in run.status.values()
            if self._known is not None and settled and len(self._known) < REMEMBERED:
                self._known[conversation] = found
        return found, len(run.tasks)

    # -- asking ----------------------------------------------------------------------------------------------------------

    def of(self, id: str, check: str | None = None) -> Shape:
        """Of a task with everything under it, or of a conversation; whole, however large."""
        _, row = resolve(self._store, id, ("tasks", "conversations"))
        conversation = row.conversation if isinstance(row, Task) else row.id
        run = Run(self._store, conversation, self._patience, self._price)
        found = looked_at(run)
        if isinstance(row, Task):
            within = below(run, row.id)
            found = [one for one in found if one["task"] in within]
        return shaped(chosen(found, check), None, 1)

    def since(self, at: int) -> list[Shape]:
        """Of all runs that were active since then, and of those in which somebody still works."""
        rows = self._store.page("conversations", Ask("active", {}, MOST_RUNS, within={"active": (at, 1 << 62)}))
        working = self._store.page("tasks", Ask("opened", {"status": "working"}, MOST_RUNS))
        ids = dict.fromkeys([*(row.id for row in rows), *(task.conversation for task in working if isinstance(task, Task))])
        return [one for id in ids for one in self._of(id)[0]]

    def recent(self, limit: int, cursor: str | None = None, project: str | None = None, check: str | None = None) -> Shape:
        """Of the runs that were active last."""
        where = {"project": project} if project else {}
        rows = self._store.page("conversations", Ask("active", where, limit + 1, read_cursor(cursor)))
        found: list[Shape] = []
        room, looked, last = ROOM, 0, None
        for row in rows[:limit]:
            if not isinstance(row, Conversation):
                continue
            own, cost = self._of(row.id)
            found += own
            room, looked, last = room - cost, looked + 1, row
            if room <= 0:
                break
        more = last is not None and looked < len(rows)
        return shaped(chosen(found, check), write_cursor(last.active, last.id) if more and last is not None else None, looked)


def looked_at(run: Run) -> list[Shape]:
    return [finding(check, found) for check in CHECKS for found in check.find(run)]


def below(run: Run, id: str) -> set[str]:
    found, waiting = set[str](), [id]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [child.id for child in run.under.get(one, ())]
    return found


def chosen(found: list[Shape], check: str | None) -> list[Shape]:
    """The worst first, of these the newest."""
    if check and check not in BY_NAME:
        raise BadQuestion(f"there is no check {check!r}: known are {', '.join(BY_NAME)}")
    kept = [one for one in found if not check or one["check"] == check]
    newest = sorted(kept, key=lambda one: one["since"] or "", reverse=True)
    return sorted(newest, key=lambda one: RANK[one["severity"]])


def shaped(found: Sequence[Shape], after: str | None, looked: int) -> Shape:
    return {"items": list(found), "next": after, "looked": looked, "checks": [check.shape() for check in CHECKS]}
