"""From what is known of a subject to the row that people look at: its status, its link, and what it is counted as."""

from ramify.linking import adoption
from ramify.linking.operations import identity
from ramify.linking.operations.evidence import Claim, Evidence, closed, ends, joined, standing
from ramify.linking.operations.sessions import conversation_of
from ramify.linking.operations.subject import Subject, alias, place, save
from ramify.linking.operations.sums import count, operation_id
from ramify.linking.operations.turn import Turn
from ramify.linking.world import key
from ramify.model.entity import NativeRef, Operation, Task
from ramify.model.link import Link
from ramify.model.operation_event import ENDED, RANKS


def open_tasks(project: str) -> int:
    """Where the tasks stand that an agent can be asked about."""
    return key("open-tasks", project)


def settle(turn: Turn) -> None:
    """Writes back everything that the event has changed."""
    for goes in turn.gone:  # which grows meanwhile: their parts may be one as well
        turn.touched.pop(goes.id, None)
        for child in turn.at(place("parts", goes.scope, goes.id)):
            identity.move_part(turn, child, goes.into)
    waiting = [one for one in turn.touched.values() if not one.into]
    # A task before its parts: they stand where it stands.
    for subject in sorted(waiting, key=lambda one: (one.shape == "part", one.seq)):
        show(turn, subject)
        save(turn.world, subject)
    for goes in turn.gone:  # last: then the conversation's newest sign of life is not theirs
        uncount(turn, goes)
        save(turn.world, goes)
    turn.world.save("events", turn.logged)
    turn.world.save("sessions", turn.session)


def uncount(turn: Turn, subject: Subject) -> None:
    count(turn, subject, False, subject.is_root, subject.status, subject.shown, 0)
    turn.world.unmark(open_tasks(subject.project), subject.seq, subject.id)
    if turn.world.task(subject.id) is not None:
        adoption.remove(turn.world, subject.id)
        turn.world.aliases[subject.id] = subject.into
        turn.world.unmark(place("tasks", subject.scope, subject.operation), subject.seq, subject.id)


def show(turn: Turn, subject: Subject) -> None:
    if subject.twin and subject.shape == "shell":  # it is shown by the call that it is taken for
        uncount(turn, subject)
        partner = turn.get(subject.twin)
        if partner is not None and partner.id not in turn.touched:
            show(turn, partner)
            save(turn.world, partner)
        return
    known = evidence_of(turn, subject)
    claim = standing(known)
    task = turn.world.task(subject.id) or Task(subject.id, subject.project, protocol="adcp", home=conversation_of(subject.project, subject.scope))
    status, native = status_of(subject, claim)
    fill(turn, task, subject, known, status, native)
    if not adoption.put(turn.world, task, link_of(turn, subject)):
        adoption.put(turn.world, task, None)
    if not subject.counted:
        turn.world.mark(place("tasks", subject.scope, subject.operation), subject.seq, subject.id)
    if RANKS[status] < ENDED and (subject.work or subject.transport):
        turn.world.mark(open_tasks(subject.project), subject.seq, subject.id)
    elif subject.counted:
        turn.world.unmark(open_tasks(subject.project), subject.seq, subject.id)
    count(turn, subject, True, task.found is None, status, task.flags, task.closed)


def status_of(subject: Subject, claim: Claim | None) -> tuple[str, str]:
    if claim is not None:
        return claim.status, claim.native
    if subject.bare is not None:  # the transport's word: it never ends the work
        status = subject.bare.status
        return (status if status and RANKS[status] < ENDED else "unknown"), subject.bare.native
    return ("pending" if subject.shape == "call" else "unknown"), ""


def fill(turn: Turn, task: Task, subject: Subject, known: Evidence, status: str, native: str) -> None:
    part = subject.shape == "part"
    twin = turn.get(subject.twin) if subject.twin else None
    work, transport = subject.work or (twin.work if twin else ""), subject.transport or (twin.transport if twin else "")
    task.title = subject.call if part else subject.task_type
    task.agent, task.operation = subject.agent, subject.operation
    task.opened, task.active = subject.opened, max(subject.active, twin.active if twin else 0)
    task.status, task.native_status = status, native
    task.closed = max(closed(known), subject.opened) if RANKS[status] == ENDED else 0
    task.flags = tuple(sorted(flags_of(turn, subject, known)))
    task.native = {
        "taskType": subject.task_type, "agentTaskId": work or None, "transportTaskId": transport or None,
        "callId": None if part else subject.call or None, "contextId": subject.context or None,
        "protocol": subject.protocol or None,
    }  # fmt: skip
    wire = subject.protocol if subject.protocol in ("a2a", "mcp") else "a2a"
    refs = [("adcp", "task", work), (wire, "task", transport), ("adcp", "call", "" if part else subject.call)]
    task.refs = tuple(NativeRef(*ref, subject.agent) for ref in refs if ref[2])


def flags_of(turn: Turn, subject: Subject, known: Evidence) -> set[str]:
    flags = {*subject.flags}
    if len({claim.status for claim in ends(known)}) > 1:
        flags.add("conflict")
    if subject.twin:
        flags.add("inferred")
    if subject.shape == "orphan":
        flags.add("orphan")
    if subject.shape == "shell" and not opened_by_caller(turn, subject):
        flags.add("unsolicited")
    return flags


def opened_by_caller(turn: Turn, subject: Subject) -> bool:
    row = turn.world.get("operations", operation_id(subject.project, subject.scope, subject.operation))
    return isinstance(row, Operation) and bool(row.details["asked"])


def evidence_of(turn: Turn, subject: Subject) -> Evidence:
    """Its own, that of its ids, and that of the one it is taken for."""
    parts = own_evidence(turn, subject)
    twin = turn.get(subject.twin) if subject.twin else None
    return joined([*parts, *(own_evidence(turn, twin) if twin is not None else ())])


def own_evidence(turn: Turn, subject: Subject) -> list[Evidence]:
    found = [subject.own]
    if not subject.work or subject.work == subject.transport:
        found.append(subject.wire)
    for native in dict.fromkeys((subject.work, subject.transport)):
        if native:
            claimed = alias(turn.world, subject.scope, subject.agent, native)
            found += [claimed.work, claimed.wire] if counts(subject, native) else ()
    return found


def counts(subject: Subject, native: str) -> bool:
    """Once the work has an id of its own, states of the transport's task no longer count: it may end long before."""
    return native == subject.work or not subject.work


def link_of(turn: Turn, subject: Subject) -> Link | None:
    evidence = (subject.evidence,)
    if subject.shape == "part":
        above = turn.get(subject.above)
        return Link("spawned", above.id, "progress", 1.0, evidence=evidence) if above is not None else None
    if not subject.parent:
        return None
    parent = parent_of(turn, subject)
    return Link("spawned", parent, "parentTaskId", 1.0, via=subject.parent, evidence=evidence) if parent else None


def parent_of(turn: Turn, subject: Subject) -> str:
    """An id is unique inside its agent at best: the same operation first, and where two fit, neither."""
    if turn.world.task(subject.parent) is not None:
        return subject.parent
    agent, slash, native = subject.parent.partition("/")
    fitting = turn.at(identity.named(subject.scope, subject.parent))
    if not fitting and slash:
        fitting = [one for one in turn.at(identity.named(subject.scope, native)) if one.agent == agent]
    fitting = [one for one in fitting if one.id != subject.id]
    near = [one for one in fitting if one.operation == subject.operation] or fitting
    return near[0].id if len(near) == 1 else ""
