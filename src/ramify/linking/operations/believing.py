"""Whose word counts: a claim is added to what is known of a task, and whatever came too late or was not believed is marked."""

from ramify.linking.operations.evidence import Evidence, add, ends, standing
from ramify.linking.operations.rows import evidence_of
from ramify.linking.operations.subject import Subject
from ramify.linking.operations.turn import Turn, flag_event
from ramify.model.operation_event import ENDED, RANKS


def believe(turn: Turn, subject: Subject, kind: str, status: str, native: str, *, of_work: bool) -> None:
    """A word that nobody has agreed on moves nothing; that a call broke is a state."""
    if not status or (not RANKS[status] and kind != "answer"):
        return
    before = evidence_of(turn, subject)
    claim = turn.claim(status, native)
    if of_work:
        subject.own = add(subject.own, kind, claim)
    else:
        subject.wire = add(subject.wire, kind, claim)
    if of_work or not subject.work or subject.work == subject.transport:
        judge(turn, subject, before, kind, status)
    turn.touch(subject)


def judge(turn: Turn, subject: Subject, before: Evidence, kind: str, status: str) -> None:
    """Marks what came too late, and whichever of two ends was not believed."""
    was, now = standing(before), standing(evidence_of(turn, subject))
    if was is None:
        return
    # A push that waited for its operation is told anew, behind what came after it: that does not make it late.
    if kind == "push" and RANKS[status] < RANKS[was.status] and was.at <= turn.heading.at:
        late(turn, subject)
    if RANKS[status] == ENDED and now is not None and now.status != status:
        contradicted(turn, subject)
    if RANKS[was.status] == ENDED and now is not None and now.status != was.status:
        contradicted(turn, subject, [claim.event for claim in ends(before) if claim.status != now.status])


def late(turn: Turn, subject: Subject) -> None:
    turn.flag("late")
    subject.flags = tuple(sorted({*subject.flags, "late"}))


def contradicted(turn: Turn, subject: Subject, events: list[str] | None = None) -> None:
    subject.flags = tuple(sorted({*subject.flags, "conflict"}))
    if events is None:
        turn.flag("conflict")
    for event in events or ():
        flag_event(turn.world, event, "conflict")
