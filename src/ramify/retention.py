"""What is to be forgotten, by id, by age or by size; and that, done."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ramify.belonging import aliases, event_session
from ramify.forgetting import UNSWEPT, Note, Wish, clean, forget, look, weigh
from ramify.ingest import Prices
from ramify.linking.world import DAY, Rules
from ramify.model.entity import Call, Conversation, Entity, EventSession, Operation, Task, ToolCall
from ramify.model.ids import session_conversation_id
from ramify.query.errors import NotFound
from ramify.query.resolve import resolve
from ramify.rebuild import Progress
from ramify.storage.base import Store
from ramify.wiring import now

TABLES = ("conversations", "tasks", "calls", "tools", "operations")
ROUNDS = 3
SLACK = 0.95  # of a limit: the next conversation must not be one too many
Shape = dict[str, Any]


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
        chosen = dict.fromkeys(named(self._store, id, project) for id in ids)
        names = frozenset(name for id in chosen for name in aliases(self._store, id))
        return {"forgotten": list(chosen), **self._forget(Wish(names), dry_run, progress)}

    def prune(self, kept: Kept, dry_run: bool, progress: Progress) -> Shape:
        answer: Shape = {"forgotten": [], "observations": 0, "bytes": 0, "shared": 0, "pieces": 0, "left": "", "dry_run": dry_run}
        if kept.older_than:
            before = self._day_of(now() - kept.older_than * 1_000_000)
            rows = self._aged(kept.project, before)
            projects = frozenset({kept.project} - {""})
            answer = added(answer, self._prune(rows, Wish(frozenset(), before, projects), dry_run, progress))
        if not dry_run and self._store.fact(UNSWEPT):
            answer = added(answer, {"forgotten": [], **clean(self._store)})  # what an earlier time left behind
        for _ in range(1 if dry_run else ROUNDS):
            rows = self._surplus(kept) if kept.max_size else []
            if not rows:
                break
            answer = added(answer, self._prune(rows, Wish(frozenset()), dry_run, progress))
        return answer | {"size": self._store.size()["bytes"]}

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

    def _surplus(self, kept: Kept) -> list[str]:
        """The oldest, until what they took makes up for what is too much. What was seen is larger than what is stored of it."""
        size = self._store.size()
        excess = size["bytes"] - kept.max_size * SLACK
        if size["bytes"] <= kept.max_size:
            return []
        weights = weigh(self._store)
        share = size["bytes"] / max(1, sum(weights.values()))
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

