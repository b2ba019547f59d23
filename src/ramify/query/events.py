"""The event log, asked: pages of events by their numbers, in the words in which they came."""

from typing import Any

import msgspec
from msgspec import Struct

from ramify.linking.operations.sessions import scope_of, session_id
from ramify.linking.operations.subject import place, subject_of
from ramify.linking.operations.sums import operation_id
from ramify.model.entity import EventSession, Logged, Operation, Sheet, Task
from ramify.model.moment import iso
from ramify.model.observation import Record
from ramify.protocols.adcp.lines import BadLine, stored
from ramify.protocols.adcp.wire import Line
from ramify.protocols.adcp.words import status_word
from ramify.query.paging import ALL, read_cursor, write_cursor
from ramify.query.resolve import resolve
from ramify.storage.base import Ask, Store

Shape = dict[str, Any]
FOREVER = (1 << 63) - 1
FILTERS = {
    "operation_id": "operation", "agent_id": "agent", "agent_task_id": "agent_task_id", "event_type": "type",
    "task_type": "task_type", "status": "status", "source": "source",
}  # fmt: skip
ALWAYS = ("eventType", "operationId", "agentId", "agentTaskId", "taskType", "timestamp")


class Wanted(Struct, frozen=True):
    """Which events: equal fields (by the names that callers use), and stretches of numbers and times, in microseconds."""

    fields: dict[str, str] = {}
    since: int = 0
    until: int = FOREVER
    after_seq: int | None = None
    before_seq: int | None = None
    limit: int = 100
    ascending: bool | None = None
    sort: str = "event"

    @property
    def oldest_first(self) -> bool:
        return self.after_seq is not None if self.ascending is None else self.ascending


def session_row(store: Store, project: str, name: str) -> EventSession | None:
    row = store.load("sessions", session_id(project, name))
    return row if isinstance(row, EventSession) else None


def rows_of(store: Store, session: EventSession, wanted: Wanted) -> list[Logged]:
    low = max(session.first, (wanted.after_seq or 0) + 1)
    high = min(session.seq, (wanted.before_seq - 1) if wanted.before_seq is not None else session.seq)
    where = {"session": session.id, "sort": wanted.sort} | columns(wanted.fields)
    within = {"seq": (low, high)}
    if wanted.since or wanted.until != FOREVER:
        within["recorded"] = (wanted.since, wanted.until)
    ask = Ask("seq", where, wanted.limit, ascending=wanted.oldest_first, within=within)
    return [row for row in store.page("events", ask) if isinstance(row, Logged)]


def columns(fields: dict[str, str]) -> dict[str, str]:
    """A status is looked for by its meaning, in whichever spelling."""
    return {FILTERS[name]: status_word(value) or value if name == "status" else value for name, value in fields.items()}


def events_page(store: Store, session: EventSession | None, wanted: Wanted) -> Shape:
    if session is None:
        return {"events": [], "firstSeq": 0, "lastSeq": 0}
    answer = {
        "events": event_shapes(store, rows_of(store, session, wanted)),
        "firstSeq": session.first if session.events + session.objects else 0,
        "lastSeq": session.seq,
    }
    gap = gap_after(session, wanted.after_seq)
    return answer | ({"gap": gap} if gap else {})


def gap_after(session: EventSession, after_seq: int | None) -> dict[str, int] | None:
    """What a reader that asks from here on can no longer be given."""
    if after_seq is None or after_seq + 1 >= session.first:
        return None
    return {"from": after_seq + 1, "to": session.first - 1}


# -- shapes ------------------------------------------------------------------------------------------------------------


def event_shapes(store: Store, rows: list[Logged]) -> list[Shape]:
    unasked, tasks = unsolicited(store, rows), tasks_now(store, rows)
    return [event_shape(store, row, row.id in unasked) | {"task": tasks.get(row.subject)} for row in rows]


def tasks_now(store: Store, rows: list[Logged]) -> dict[str, str]:
    """What an event was about, by what that has turned out to be: a push that came first, and its call, are one task."""
    subjects = sorted({row.subject for row in rows if row.subject})
    there = {task.id for task in store.among("tasks", "id", subjects)}
    return {subject: subject if subject in there else became(store, subject) for subject in subjects}


def became(store: Store, subject: str) -> str:
    passed: set[str] = set()
    while subject not in passed and isinstance(sheet := store.load("sheets", subject), Sheet):
        passed.add(subject)
        found = subject_of(sheet)
        if isinstance(store.load("tasks", subject), Task):
            break
        subject = found.into or found.twin or subject
    return subject


def unsolicited(store: Store, rows: list[Logged]) -> set[str]:
    """Pushes to an operation that nobody has opened so far."""
    pushed = [row for row in rows if row.source == "webhook" and row.operation]
    if not pushed:
        return set()
    sessions = {row.id: row for row in store.among("sessions", "id", sorted({row.session for row in pushed}))}
    found: set[str] = set()
    for row in pushed:
        session = sessions.get(row.session)
        scope = scope_of(session) if isinstance(session, EventSession) else ""
        operation = store.load("operations", operation_id(row.project, scope, row.operation))
        if isinstance(operation, Operation) and not operation.details["asked"]:
            found.add(row.id)
    return found


def event_shape(store: Store, row: Logged, unasked: bool = False) -> Shape:
    """As it came, in our spelling, with what the store has added."""
    line = view_of(store, row)
    if row.same_as:
        line = {name: value for name, value in line.items() if name not in ("payload", "result")} | {"duplicateOf": row.same_as}
    shape = {name: line.get(name) for name in ALWAYS} if row.sort == "event" else {}
    shape |= {name: value for name, value in line.items() if value is not None}
    native = line.get("status")
    if isinstance(native, str) and status_word(native) != native and row.sort == "event":
        shape |= {"status": status_word(native), "native_status": native}
    elif row.status and native is None:
        shape["status"] = row.status
    return shape | {
        "eventId": row.native,
        "seq": row.seq,
        "source": row.source,
        "recordedAt": iso(row.recorded),
        "observedAt": iso(row.at),
        "flags": sorted({*row.flags, *(("unsolicited",) if unasked else ())}),
        "observation": row.observation,
    }


def view_of(store: Store, row: Logged) -> Line:
    seen = store.observation(row.observation)
    if not isinstance(seen, Record):
        return {}
    try:
        line = msgspec.json.decode(seen.body)
        return stored(line)
    except (BadLine, ValueError):
        return {}


# -- the operator's lists, over all sessions ---------------------------------------------------------------------------


def sessions_named(store: Store, project: str | None, name: str | None) -> list[EventSession]:
    rows = store.page("sessions", Ask("active", {"project": project} if project else {}, ALL))
    return [row for row in rows if isinstance(row, EventSession) and name in (None, row.name)]


def listed_events(
    store: Store, project: str | None, session: str | None, fields: dict[str, str], limit: int, cursor: str | None
) -> Shape:
    """Newest first, by the time at which the store took them."""
    names = {row.id: row.name for row in sessions_named(store, project, session)}
    where = {"sort": "event"} | ({"project": project} if project else {}) | columns(fields)
    limit = limit or ALL
    if session is not None:
        if not names:
            return {"items": [], "next": None}
        where["session"] = next(iter(names))
    rows = store.page("events", Ask("recorded", where, limit + 1, read_cursor(cursor)))
    found = [row for row in rows[:limit] if isinstance(row, Logged) and row.session in names]
    after = write_cursor(found[-1].recorded, found[-1].id) if len(rows) > limit and found else None
    items = [{"session": names[row.session], **shape} for row, shape in zip(found, event_shapes(store, found), strict=True)]
    return {"items": items, "next": after}


def task_events(store: Store, id: str) -> Shape:
    """What was said about one task, oldest first; also what came before it was known for the same."""
    _, row = resolve(store, id, ("tasks",))
    assert isinstance(row, Task)
    subjects = [row.id, *earlier_names(store, row)]
    rows = [one for one in store.among("events", "subject", subjects) if isinstance(one, Logged)]
    return {"items": event_shapes(store, sorted(rows, key=lambda one: one.seq)), "next": None}


def earlier_names(store: Store, task: Task) -> list[str]:
    """Of what turned out to be this task, and of what that had turned out to be."""
    sheet = store.load("sheets", task.id)
    scope = subject_of(sheet).scope if isinstance(sheet, Sheet) and sheet.kind == "subject" else ""
    found = [task.id]
    for one in found:  # which grows meanwhile
        found += [ref for _, ref in store.span(place("been", scope, one), 0, FOREVER, 1000, False) if ref not in found]
    return found[1:]
