"""The event log as one thing: append, ask, empty, follow; the same over every store.

Writing goes to the one writer and comes back when it is stored. What a bounded store (`memory:`) lets go is decided
here for whole sessions, and by the fold for the events of one.
"""

import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ramify.linking.operations.sessions import scope_of
from ramify.linking.operations.sums import operation_id, writers
from ramify.model.entity import EventSession, Logged, Operation
from ramify.model.moment import iso
from ramify.model.observation import Observation, Record
from ramify.model.operation_event import LOCAL
from ramify.protocols.adcp.keep import EVENT_BYTES, Entry, clearing, digest_of, keep, same_receipt
from ramify.protocols.adcp.lines import BadLine
from ramify.protocols.adcp.wire import Line
from ramify.query.assembly import task_shapes
from ramify.query.events import Wanted, event_shapes, events_page, rows_of, session_row
from ramify.query.flags import USUAL
from ramify.query.operations import operation_shape, tasks_of
from ramify.storage.base import Ask, Store, StoreDown

Shape = dict[str, Any]
Commit = Callable[[Sequence[Observation]], None]
"""Comes back when all of it is stored; raises StoreDown when it is not."""
MOST_OF_OPERATION = 10_000


class Bounds(Struct, frozen=True):
    """0: none."""

    sessions: int = 0
    timeout_ms: int = 0
    per_session: int = 0
    event_bytes: int = EVENT_BYTES
    session_bytes: int = 0
    bytes: int = 0


class Outcome(Struct, frozen=True, omit_defaults=False):
    """What became of one event."""

    status: str  # stored, duplicate, conflict, rejected
    seq: int | None = None
    eventId: str | None = None
    reason: str | None = None


class EventLog:
    """Sessions are named by their public short names; who may use which is not decided here."""

    def __init__(self, store: Store, commit: Commit, project: str, clock: Callable[[], int], bounds: Bounds | None = None) -> None:
        self.store = store
        self.project = project
        self.bounds = bounds or Bounds()
        self.patience = USUAL
        self.evicted = 0
        self.commit = commit
        self._clock = clock
        self._active: dict[str, int] = {}  # of a bounded store: who was heard of when, oldest first
        self._followed: dict[str, int] = {}
        self._lock = threading.Lock()
        self._closed = False

    def close(self) -> None:
        self._closed = True

    # -- writing ------------------------------------------------------------------------------------------------------

    def append(self, session: str, event: Line) -> int:
        """The event's number. Raises BadLine for what is no event, and for an id that stands for something else."""
        [outcome] = self.append_many(session, [event])
        if outcome.seq is None or outcome.status == "conflict":
            raise BadLine(outcome.reason or "was not stored")
        return outcome.seq

    def append_many(
        self, session: str, events: Sequence[object], *, place: str = "events", unverified: bool = False
    ) -> list[Outcome]:
        """What became of each, in their order."""
        if self._closed:
            raise StoreDown("the event log is closed")
        self.touch(session)
        row = session_row(self.store, self.project, session)
        entry = Entry(
            self.project, self._clock(), session, row.epoch if row else 0, place=place, unverified=unverified,
            event_bytes=self.bounds.event_bytes,
        )  # fmt: skip
        taken: list[Record | Outcome] = []
        batch: dict[str, Record] = {}
        for number, event in enumerate(events):
            kept = self._kept(event, replace(entry, recorded=entry.recorded + number, identity=secrets.token_hex(12)))
            taken.append(kept)
            if isinstance(kept, Record) and kept.id not in batch and self.store.load("events", kept.id) is None:
                batch[kept.id] = kept
        if batch:
            self.commit(list(batch.values()))
        self._let_go(session)
        return [one if isinstance(one, Outcome) else self._outcome(one, batch) for one in taken]

    def _kept(self, event: object, entry: Entry) -> Record | Outcome:
        try:
            if not isinstance(event, dict):
                raise BadLine("is no JSON object")
            return keep(event, entry)
        except BadLine as problem:
            named = event.get("eventId", event.get("event_id")) if isinstance(event, dict) else None
            return Outcome("rejected", None, named if isinstance(named, str) else None, str(problem))

    def _outcome(self, record: Record, batch: dict[str, Record]) -> Outcome:
        row = self.store.load("events", record.id)
        if not isinstance(row, Logged):  # an agent's address, or a bug of ours: it is in the log
            return Outcome("stored")
        seen = self.store.observation(row.observation)
        if batch.get(record.id) is record and isinstance(seen, Record) and same_receipt(seen, record):
            return Outcome("stored", row.seq, row.native)
        if row.digest == digest_of(record):
            return Outcome("duplicate", row.seq, row.native)
        return Outcome("conflict", row.seq, row.native, "another event has this id")

    def clear_session(self, session: str, reason: str = "cleared") -> int:
        """How many events went."""
        row = session_row(self.store, self.project, session)
        if row is None or not (row.events or row.objects or row.tasks or row.operations):
            return 0
        self.commit([clearing(Entry(self.project, self._clock(), session, row.epoch), reason)])
        return row.events + row.objects

    def writer_of(self, operation: str) -> str:
        """The session that first wrote an event of the operation."""
        found = self.store.span(writers(self.project, operation), 0, 1 << 62, 100, False)
        return next((name for _, name in found if name != LOCAL), found[0][1] if found else LOCAL)

    def flags_of(self, session: str, seq: int) -> tuple[tuple[str, ...], bool]:
        """What the fold said of an event, and whether it repeats an earlier one."""
        row = session_row(self.store, self.project, session)
        found = rows_of(self.store, row, Wanted(after_seq=seq - 1, before_seq=seq + 1)) if row else []
        return (found[0].flags, bool(found[0].same_as)) if found else ((), False)

    # -- asking -------------------------------------------------------------------------------------------------------

    def session(self, session: str) -> EventSession | None:
        self.touch(session)
        return session_row(self.store, self.project, session)

    def get_events(self, session: str, wanted: Wanted | None = None) -> Shape:
        return events_page(self.store, self.session(session), wanted or Wanted())

    def get_object_events(self, session: str, operation: str | None = None, limit: int = MOST_OF_OPERATION) -> list[Shape]:
        row = self.session(session)
        fields = {"operation_id": operation} if operation else {}
        wanted = Wanted(fields, limit=limit, ascending=True, sort="object")
        return event_shapes(self.store, rows_of(self.store, row, wanted)) if row else []

    def get_operations(self, session: str, limit: int = 50) -> list[Shape]:
        """Last updated first."""
        row = self.session(session)
        if row is None:
            return []
        rows = self.store.page("operations", Ask("updated", {"session": row.id}, limit))
        return [operation_shape(one) for one in rows if isinstance(one, Operation)]

    def get_operation(self, session: str, operation: str) -> Shape:
        row = self.session(session)
        found = self.store.load("operations", operation_id(self.project, scope_of(row), operation)) if row else None
        answer: Shape = {"operationId": operation, "exists": False, "operation": None, "events": [], "objectEvents": [], "tasks": [], "eventsTotal": 0}
        if row is None or not isinstance(found, Operation):
            return answer
        events = rows_of(self.store, row, Wanted({"operation_id": operation}, limit=MOST_OF_OPERATION, ascending=True))
        return answer | {
            "exists": True,
            "operation": operation_shape(found),
            "events": event_shapes(self.store, events),
            "eventsTotal": found.details["events"],
            "objectEvents": self.get_object_events(session, operation),
            "tasks": task_shapes(self.store, tasks_of(self.store, found), self.patience),
        }

    def get_tasks(self, session: str) -> list[Shape]:
        row = self.session(session)
        operations = self.store.page("operations", Ask("updated", {"session": row.id}, 1_000_000)) if row else []
        rows = [task for one in operations if isinstance(one, Operation) for task in tasks_of(self.store, one)]
        return task_shapes(self.store, rows, self.patience)

    def sessions(self, limit: int) -> list[Shape]:
        """Those that hold anything, last active first. To be listed is no sign of life."""
        rows = self.store.page("sessions", Ask("active", {"project": self.project}, limit))
        return [self._info(row.name, row) for row in rows if isinstance(row, EventSession)]

    def session_info(self, session: str) -> Shape:
        return self._info(session, self.session(session) or EventSession(""))

    def _info(self, session: str, row: EventSession) -> Shape:
        timeout = self.bounds.timeout_ms * 1000
        active = max(row.active, self._active.get(session, 0))
        there = bool(row.events + row.objects)
        return {
            "session": session,
            "createdAt": iso(row.opened),
            "lastActiveAt": iso(active),
            "expiresAt": iso(active + timeout) if timeout and active else None,
            "eventCount": row.events,
            "objectEventCount": row.objects,
            "operationCount": row.operations,
            "taskCount": row.tasks,
            "openTasks": row.open,
            "firstSeq": row.first if there else 0,
            "lastSeq": row.seq,
            "droppedEvents": row.dropped,
            "dropped": bool(row.dropped),
            "evictedSessions": self.evicted,
            "bytes": row.bytes,
            "limits": limits(self.bounds),
        }

    # -- bounds of sessions --------------------------------------------------------------------------------------------

    def touch(self, session: str) -> None:
        """Somebody wrote or asked; who was silent for too long is emptied before anybody sees anything of it."""
        if not self.bounds.timeout_ms:
            return
        now = self._clock()
        with self._lock:
            expired = [name for name, at in self._active.items() if at + self.bounds.timeout_ms * 1000 < now]
            for name in expired:
                del self._active[name]
            self._active.pop(session, None)
            self._active[session] = now
        for name in expired:
            self.clear_session(name, "expired")

    def _let_go(self, session: str) -> None:
        """Whole sessions, while there are too many or they hold too much; the one that was silent longest first."""
        if not self.bounds.sessions and not self.bounds.bytes:
            return
        while (goes := self._surplus(session)) is not None:
            with self._lock:
                self._active.pop(goes, None)
            self.clear_session(goes, "evicted")
            self.evicted += 1

    def _surplus(self, session: str) -> str | None:
        with self._lock:
            silent = [name for name in self._active if name != session]
        held = {name: row for name in (*silent, session) if (row := session_row(self.store, self.project, name)) and row.events + row.objects}
        many = self.bounds.sessions and len(held) > self.bounds.sessions
        large = self.bounds.bytes and sum(row.bytes for row in held.values()) > self.bounds.bytes
        if not many and not large:
            return None
        candidates = [name for name in silent if name in held]
        return next((name for name in candidates if not self._followed.get(name)), candidates[0] if candidates else None)

    def follows(self, session: str, sign: int) -> None:
        """A live reader of the session came, or went."""
        with self._lock:
            self._followed[session] = self._followed.get(session, 0) + sign
            if self._followed[session] <= 0:
                del self._followed[session]

    def after(self, session: str, seq: int, limit: int = 500) -> tuple[EventSession | None, list[tuple[Logged, Shape]]]:
        """Events and object events behind a number, oldest first."""
        row = self.session(session)
        if row is None or row.seq <= seq:
            return row, []
        found: list[Logged] = []
        for sort in ("event", "object"):
            found += rows_of(self.store, row, Wanted(after_seq=seq, limit=limit, sort=sort))
        found = sorted(found, key=lambda one: one.seq)[:limit]
        return row, list(zip(found, event_shapes(self.store, found), strict=True))


def limits(bounds: Bounds) -> Shape:
    return {
        "maxSessions": bounds.sessions or None,
        "sessionTimeoutMs": bounds.timeout_ms or None,
        "maxEventsPerSession": bounds.per_session or None,
        "maxEventBytes": bounds.event_bytes,
        "maxSessionBytes": bounds.session_bytes or None,
        "maxBytes": bounds.bytes or None,
    }
