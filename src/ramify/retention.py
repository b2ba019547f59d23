"""What is to be forgotten, by id, by age or by size; and that, done."""

import logging
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ramify.belonging import aliases, event_session
from ramify.forgetting import UNSWEPT, Note, Wish, clean, forget, look, notes, weigh
from ramify.indexing import Indexer
from ramify.ingest import Prices
from ramify.linking.world import DAY, Rules
from ramify.model.entity import Call, Conversation, Entity, EventSession, Operation, Task, ToolCall
from ramify.model.ids import session_conversation_id
from ramify.model.moment import iso
from ramify.query.errors import NotFound
from ramify.query.resolve import resolve
from ramify.rebuild import Progress
from ramify.storage.base import Store, StoreDown
from ramify.wiring import now

TABLES = ("conversations", "tasks", "calls", "tools", "operations")
ROUNDS = 8  # what all conversations share, and tables that hold nothing yet, does not go with any: the first may take too few
SLACK = 0.95  # of a limit: the next conversation must not be one too many
Shape = dict[str, Any]
log = logging.getLogger("ramify")


class Kept(Struct, frozen=True):
    """What may stay: younger than `older_than` seconds, within `max_size` bytes; 0: no bound. Only of a project, if it is named."""

    older_than: int = 0
    max_size: int = 0
    project: str = ""


class Keeper:
    """Forgets in one store. `by` is who asked: command, api, retention."""

    def __init__(self, store: Store, rules: Rules, prices: Prices, by: str) -> None:
        self._store = store
        self._rules = rules
        self._prices = prices
        self._by = by

    def forget(self, ids: Sequence[str], project: str, dry_run: bool, progress: Progress) -> Shape:
        if not dry_run:
            self._clean_up()
        chosen = dict.fromkeys(self._named(id, project) for id in ids)
        names = frozenset(name for id in chosen for name in aliases(self._store, id))
        return {"forgotten": list(chosen), **self._forget(Wish(names), dry_run, progress)}

    def _named(self, id: str, project: str) -> str:
        try:
            return named(self._store, id, project)
        except NotFound:
            if note := dict(notes(self._store)).get(id):
                raise NotFound(f"{id!r} was forgotten already, at {iso(note.at)}; ramify forget --list says what was") from None
            raise

    def prune(self, kept: Kept, dry_run: bool, progress: Progress) -> Shape:
        answer: Shape = {"forgotten": [], "observations": 0, "bytes": 0, "shared": 0, "pieces": 0, "left": "", "dry_run": dry_run}
        if kept.older_than:
            before = self._day_of(now() - kept.older_than * 1_000_000)
            rows = self._aged(kept.project, before)
            projects = frozenset({kept.project} - {""})
            answer = added(answer, self._prune(rows, Wish(frozenset(), before, projects), dry_run, progress))
        if not dry_run:
            answer = added(answer, self._clean_up())
        if kept.max_size:
            answer = self._within(kept, dry_run, progress, answer)
        return answer | {"size": self._store.size()["bytes"]}

    def _clean_up(self) -> Shape:
        """What an earlier time left behind: it was cut, or the store was not there any more."""
        return {"forgotten": [], **(clean(self._store) if self._store.fact(UNSWEPT) else {})}

    def _within(self, kept: Kept, dry_run: bool, progress: Progress, answer: Shape) -> Shape:
        """A round takes something only where what is stored is too large, with the index as it will be: a file that is as large as
        ever may have room in it."""
        weights: dict[str, int] = {}
        for _ in range(1 if dry_run else ROUNDS):
            if not (dry_run or self._is_indexed()) or self._store.in_use() <= kept.max_size:
                break
            weights = weights or weigh(self._store)
            rows = self._surplus(kept, weights)
            if not rows:
                break
            answer = added(answer, self._prune(rows, Wish(frozenset()), dry_run, progress))
            weights = {id: weight for id, weight in weights.items() if id not in rows}
        return answer | {"in_use": self._store.in_use()}

    def _is_indexed(self) -> bool:
        try:
            Indexer(self._store).catch_up()
        except StoreDown as problem:
            log.warning("the search index lags behind: %s; nothing more is forgotten until it is known how large it is", problem)
            return False
        return True

    def _day_of(self, before: int) -> int:
        """As time goes by, whole days go (UTC): an engine that keeps a table a day drops it. Who asks is taken at their word."""
        return before - before % DAY if self._by == "retention" else before

    def _prune(self, rows: list[str], wish: Wish, dry_run: bool, progress: Progress) -> Shape:
        """Nothing is read where no conversation goes: what tells of nobody goes with the next one."""
        if not rows:
            return {"forgotten": []}
        names = frozenset(name for id in rows for name in aliases(self._store, id) if name == id or not name.startswith("sess_"))
        return {"forgotten": rows, **self._forget(Wish(names, wish.before, wish.projects), dry_run, progress)}

    def _aged(self, project: str, before: int) -> list[str]:
        return [id for active, id in self._all(project) if active < before]

    def _surplus(self, kept: Kept, weights: dict[str, int]) -> list[str]:
        """The oldest, until what came with them makes up for what is too much."""
        used = self._store.in_use()
        excess = used - kept.max_size * SLACK
        share = used / max(1, sum(weights.values()))
        found: list[str] = []
        for _, id in sorted(self._all(kept.project)):
            if excess <= 0:
                break
            found.append(id)
            excess -= weights.get(id, 0) * share
        return found

    def _all(self, project: str) -> list[tuple[int, str]]:
        """Conversations and sessions of the event log, by their last sign of life. Of a program's tasks the session counts."""
        found: list[tuple[int, str]] = []
        for table in ("conversations", "sessions"):
            for row in self._store.docs(table):
                fits = isinstance(row, EventSession) or (isinstance(row, Conversation) and row.protocol != "adcp")
                if fits and isinstance(row, EventSession | Conversation) and project in ("", row.project):
                    found.append((row.active, row.id))
        return found

    def _forget(self, wish: Wish, dry_run: bool, progress: Progress) -> Shape:
        if dry_run:
            return {**look(self._store, wish), "dry_run": True}
        marks = self._marks(wish.ids)
        answer = forget(self._store, self._rules, self._prices, wish, Note(now(), self._by), progress)
        self._store.drop_facts(marks)
        return {**answer, "dry_run": False}

    def _marks(self, ids: frozenset[str]) -> list[str]:
        """How far transcripts of forgotten sessions were read: whoever imports one again wants all of it."""
        rows = [self._store.load("conversations", id) for id in ids]
        sessions = {row.session for row in rows if isinstance(row, Conversation) and row.session}
        return [name for name in self._store.facts("mark:") if any(session in name for session in sessions)]


def added(one: Shape, other: Shape) -> Shape:
    sums = {name: one[name] + other.get(name, 0) for name in ("observations", "bytes", "shared", "pieces")}
    return {**one, **sums, "left": other.get("left") or one["left"], "forgotten": [*one["forgotten"], *other["forgotten"]]}


def conversation_of(store: Store, row: Entity | None) -> str:
    """A helper's call belongs to no task, but it names its session."""
    if isinstance(row, Call) and not row.conversation:
        return session_conversation_id(row.project, row.session) if row.session else ""
    return row.conversation if isinstance(row, Call | Task) else ""


def named(store: Store, id: str, project: str) -> str:
    """The conversation, or the session of the event log, that any id means."""
    if session := event_session(store, project, id):
        return session
    _, row = resolve(store, id, TABLES)
    match row:
        case Operation():
            return row.session
        case ToolCall():
            found = conversation_of(store, store.load("calls", row.call) or store.load("tasks", row.task))
        case Call() | Task():
            found = conversation_of(store, row)
        case _:
            found = row.id
    if not found:
        raise NotFound(f"{id!r} belongs to no conversation; ramify prune --older-than forgets it by its age")
    return found

