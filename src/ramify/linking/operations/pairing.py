"""Which call an answer belongs to, where it does not say so itself: the oldest of its kind that waits for one.

Clients tell of a call in up to three steps: it was made, something came back, and the result that the caller was given.
Only the first two may share an id.
"""

from ramify.linking.operations.subject import Subject, call_subject_id, place
from ramify.linking.operations.turn import Turn
from ramify.model.operation_event import Answered, Heading


def opened(turn: Turn, call: str, waits: tuple[str, ...]) -> Subject:
    """A call that nobody knew of; it waits for what is yet to be told."""
    heading = turn.heading
    id = call_subject_id(heading.project, turn.scope, heading.operation, heading.agent, call)
    subject = Subject(
        id, heading.project, turn.scope, heading.operation, heading.agent, heading.task_type, "call", heading.call,
        turn.logged.seq, heading.at, heading.at, evidence=heading.observation,
    )  # fmt: skip
    for kind in waits:
        turn.world.mark(waiting(kind, turn, heading.task_type), subject.seq, id)
    if waits:
        turn.world.mark(waiting("open", turn, ""), subject.seq, id)
    turn.world.mark(waiting("calls", turn, ""), subject.seq, id)
    return turn.open(subject)


def waiting(kind: str, turn: Turn, task_type: str) -> int:
    heading = turn.heading
    return place(kind, turn.scope, heading.meant, heading.agent, task_type)


def called(turn: Turn) -> Subject | None:
    """The call that the event names."""
    heading = turn.heading
    if not heading.call:
        return None
    return turn.get(call_subject_id(heading.project, turn.scope, heading.operation, heading.agent, heading.call))


def known(turn: Turn) -> Subject | None:
    """The task of its operation whose id the event has."""
    heading = turn.heading
    found = [one for native in (heading.work, heading.transport) if native for one in turn.known_as(heading.agent, native)]
    return next((one for one in found if one.operation == heading.operation), None)


def own_call(heading: Heading) -> str:
    """A name for a call that has none."""
    return heading.call or f"@{heading.observation}"


def asked(turn: Turn) -> Subject:
    found = called(turn)
    if found is None:
        return opened(turn, own_call(turn.heading), ("unanswered",))
    return found


def came_back(turn: Turn) -> Subject:
    """The client noticed an answer; what the caller was given is still to come."""
    found = called(turn) or opened(turn, own_call(turn.heading), ())
    settle(turn, found, "unanswered")
    if not found.paired:
        turn.world.mark(waiting("answered", turn, turn.heading.task_type), found.seq, found.id)
        turn.world.mark(waiting("open", turn, ""), found.seq, found.id)
    return found


def answered(turn: Turn, said: Answered) -> Subject:
    found = called(turn) or oldest(turn, said) or opened(turn, own_call(turn.heading), ())
    for kind in ("unanswered", "answered", "open"):
        settle(turn, found, kind)
    found.paired = True
    found.task_type = found.task_type or turn.heading.task_type
    return found


def oldest(turn: Turn, said: Answered) -> Subject | None:
    """A whole answer (one that no earlier notice went before) is rather for a call that nothing came back for."""
    if turn.heading.call:
        return None
    order = ("unanswered", "answered") if said.whole else ("answered", "unanswered") if said.raised else ("answered",)
    for kind in order:
        for task_type in (turn.heading.task_type, ""):  # a sign of life may have opened it without saying what it is
            if found := turn.at(waiting(kind, turn, task_type), 1):
                return found[0]
    if not said.whole:
        return None
    natives = [native for native in (said.work, said.transport) if native]
    known = [one for native in natives for one in turn.known_as(turn.heading.agent, native)]
    return next((one for one in known if one.operation == turn.heading.operation and one.shape == "call"), None)


def settle(turn: Turn, subject: Subject, kind: str) -> None:
    turn.world.unmark(waiting(kind, turn, "" if kind == "open" else subject.task_type), subject.seq, subject.id)


def under_way(turn: Turn) -> Subject | None:
    """What the event names, else the open call of an operation with an agent."""
    found = called(turn) or known(turn)
    if found is not None:
        return found
    if turn.heading.task_type:
        for kind in ("unanswered", "answered"):
            if waits := turn.at(waiting(kind, turn, turn.heading.task_type), 1):
                return waits[0]
    elif waits := turn.at(waiting("open", turn, ""), 1):
        return waits[0]
    return None


def running(turn: Turn) -> Subject:
    """Where a sign of life belongs. A call that nobody told of waits for its result."""
    if found := under_way(turn):
        return found
    last = turn.at(waiting("calls", turn, ""), 1, newest=True)
    fits = last and turn.heading.task_type in ("", last[0].task_type)
    return last[0] if fits else opened(turn, own_call(turn.heading), ("answered",))
