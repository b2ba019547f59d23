"""What an operation and a session hold, kept by difference: an event costs the same whatever came before it."""

from typing import Any

from ramify.linking.operations.subject import Subject, place
from ramify.linking.operations.turn import Turn
from ramify.linking.world import key
from ramify.model import ids
from ramify.model.entity import Operation
from ramify.model.operation_event import ENDED, RANKS

Counts = dict[str, int]


def operation_id(project: str, scope: str, native: str) -> str:
    return ids.short("oper", project, scope, native)


def operation_of(turn: Turn, native: str) -> Operation:
    id = operation_id(turn.heading.project, turn.scope, native)
    found = turn.world.get("operations", id)
    if isinstance(found, Operation):
        return found
    details: dict[str, Any] = {
        "tasks": 0, "subtasks": 0, "events": 0, "objects": 0, "counts": {}, "flags": {}, "types": {}, "agents": {}, "closed": 0,
        "asked": False, "session": turn.session.name, "scope": turn.scope, "recorded": turn.heading.recorded,
    }  # fmt: skip
    row = Operation(id, turn.heading.project, turn.session.id, native, turn.heading.at, turn.heading.at, details)
    turn.session.operations += 1
    turn.world.mark(place("operations", turn.scope), turn.logged.seq, id)
    turn.world.mark(writers(row.project, native), turn.heading.recorded, turn.session.name)
    return row


def note_event(turn: Turn) -> None:
    """Every event of an operation, whatever follows from it."""
    heading = turn.heading
    if not heading.operation:
        return
    row = operation_of(turn, heading.operation)
    row.details["objects" if heading.sort == "object" else "events"] += 1
    if heading.sort == "object":
        change(row.details.setdefault("object_types", {}), heading.type, 1)
    row.opened, row.updated = min(row.opened, heading.at), max(row.updated, heading.at)
    row.details["asked"] = row.details["asked"] or not heading.is_told
    turn.world.save("operations", row)


def count(turn: Turn, subject: Subject, is_there: bool, is_root: bool, status: str, flags: tuple[str, ...], closed: int) -> None:
    """One task, as it was counted before and as it is now."""
    before = (subject.counted, subject.is_root, subject.status, subject.shown)
    if before == (is_there, is_root, status, flags) and not closed:
        return note_times(turn, subject, closed)
    if subject.counted:
        book(turn, subject, -1)
    subject.counted, subject.is_root, subject.status, subject.shown = is_there, is_root, status, flags
    if is_there:
        book(turn, subject, 1)
    return note_times(turn, subject, closed)


def book(turn: Turn, subject: Subject, sign: int) -> None:
    turn.session.tasks += sign
    turn.session.open += sign if RANKS[subject.status] < ENDED else 0
    if not subject.operation:
        return
    row = operation_of(turn, subject.operation)
    for flag in subject.shown:
        change(row.details["flags"], flag, sign)
    if subject.is_root:
        row.details["tasks"] += sign
        change(row.details["counts"], subject.status, sign)
        change(row.details["types"], subject.task_type, sign)
        agent = row.details["agents"].setdefault(subject.agent, {"tasks": 0, "counts": {}, "first": subject.opened, "last": 0, "closed": 0})
        agent["tasks"] += sign
        change(agent["counts"], subject.status, sign)
        if not agent["tasks"]:
            del row.details["agents"][subject.agent]
    else:
        row.details["subtasks"] += sign
    turn.world.save("operations", row)


def note_times(turn: Turn, subject: Subject, closed: int) -> None:
    if not subject.operation or not subject.counted:
        return
    row = operation_of(turn, subject.operation)
    agent = row.details["agents"].get(subject.agent)
    row.details["closed"] = max(row.details["closed"], closed)
    if agent is not None and subject.is_root:
        agent["first"], agent["last"] = min(agent["first"], subject.opened), max(agent["last"], subject.active)
        agent["closed"] = max(agent["closed"], closed)
        if subject.milliseconds is not None:
            agent["ms"] = subject.milliseconds
        if subject.skew:
            agent["skew"] = subject.skew
    turn.world.save("operations", row)


def change(counts: Counts, name: str, sign: int) -> None:
    counts[name] = counts.get(name, 0) + sign
    if not counts[name]:
        del counts[name]


def writers(project: str, native: str) -> int:
    """Where the sessions stand that wrote to an operation of that name."""
    return key("writers", project, native)
