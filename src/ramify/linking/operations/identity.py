"""Which subjects are the same task.

An id is unique inside its agent at best. Inside one operation two subjects that get the same id are one task; the first
call stays, what a push alone has opened goes into it. A call that broke and left no id, and the only push that fits
nothing else, are taken for one as long as neither has a rival.
"""

from ramify.linking.operations.evidence import Evidence, joined
from ramify.linking.operations.subject import Subject, alias, place, save_alias
from ramify.linking.operations.turn import Turn
from ramify.model import ids

SHAPES = ("call", "shell", "orphan", "part")
"""Who stays when two turn out to be one: a call before what a push opened, and that before what nobody asked for."""


def learn(turn: Turn, subject: Subject, work: str, transport: str) -> Subject:
    """Its ids become known; gives the one that it is now."""
    fresh: list[str] = []
    if transport and not subject.transport:
        subject.transport = transport
        fresh.append(transport)
    if transport and transport == subject.transport and work in ("", transport):
        work = alias(turn.world, subject.scope, subject.agent, transport).carries or work
    # Where nothing better was known the transport's task stood for the work.
    stood_in = subject.work == subject.transport and work != transport
    if work and work != subject.work and (not subject.work or stood_in):
        subject.work = work
        fresh.append(work)
    turn.touch(subject)
    if fresh and subject.lost:
        no_longer_lost(turn, subject)
    for native in dict.fromkeys(fresh):
        subject = name(turn, subject, native)
    return subject


def carries(turn: Turn, transport: str, work: str) -> None:
    """A transport's task names the work that rides in it: whoever has the one has the other, or will."""
    agent = turn.heading.agent
    found = alias(turn.world, turn.scope, agent, transport)
    if not found.carries:
        found.carries = work
        save_alias(turn.world, turn.scope, agent, transport, found)
    for one in turn.known_as(agent, transport):
        if one.transport == transport:
            learn(turn, one, work, transport)


def name(turn: Turn, subject: Subject, native: str) -> Subject:
    world = turn.world
    world.mark(place("known-as", subject.scope, subject.agent, native), subject.seq, subject.id)
    is_called(turn, subject, native)
    for other in turn.known_as(subject.agent, native):
        same = other.operation == subject.operation or "orphan" in (other.shape, subject.shape)
        if other.id != subject.id and same:
            subject = become_one(turn, subject, other)
    return subject


def is_called(turn: Turn, subject: Subject, native: str) -> None:
    """Whoever names its parent so may have been heard of before."""
    turn.world.mark(named(subject.scope, native), subject.seq, subject.id)
    for child in turn.at(wanted(subject.scope, native)):
        turn.touch(child)


def named(scope: str, native: str) -> int:
    return place("named", scope, native)


def wanted(scope: str, native: str) -> int:
    """Children that were given by a task of that name."""
    return place("wanted", scope, native)


def become_one(turn: Turn, one: Subject, other: Subject) -> Subject:
    stays, goes = sorted((one, other), key=lambda subject: (SHAPES.index(subject.shape), subject.seq))
    leave(turn, goes)
    if stays.work == stays.transport and goes.work != goes.transport:  # it only stood in for the work that the other knows
        stays.work = goes.work or stays.work
    for field in ("work", "transport", "context", "protocol", "parent"):
        if not getattr(stays, field):
            setattr(stays, field, getattr(goes, field))
    stays.own, stays.wire = joined((stays.own, goes.own)), joined((stays.wire, goes.wire))
    stays.bare = stays.bare or goes.bare
    stays.flags = tuple(sorted({*stays.flags, *goes.flags} - {"orphan"}))
    stays.active = max(stays.active, goes.active)
    stays.skew = stays.skew or goes.skew
    if goes.shape == "call":
        stays.opened = min(stays.opened, goes.opened)
    for native in dict.fromkeys((goes.work, goes.transport)):
        if native:
            turn.world.mark(place("known-as", stays.scope, stays.agent, native), stays.seq, stays.id)
            turn.world.mark(named(stays.scope, native), stays.seq, stays.id)
    goes.into, goes.own, goes.wire = stays.id, Evidence(), Evidence()
    turn.world.mark(place("been", stays.scope, stays.id), goes.seq, goes.id)
    turn.gone.append(goes)
    turn.touch(stays)
    return stays


def leave(turn: Turn, goes: Subject) -> None:
    if goes.lost:
        no_longer_lost(turn, goes)
    if goes.shape == "shell":
        turn.world.unmark(group("shells", goes), goes.seq, goes.id)
        infer(turn, goes)


# -- parts -------------------------------------------------------------------------------------------------------------


def part_id(above: str, title: str) -> str:
    return ids.short("task", above, "progress", title)


def part_of(turn: Turn, above: str, title: str) -> Subject | None:
    """The part of that name, whichever of the calls that became this one it was opened by."""
    found = turn.get(part_id(above, title))
    return found or next(iter(turn.at(place("part", turn.scope, above, title), 1)), None)


def is_part(turn: Turn, part: Subject) -> None:
    turn.world.mark(place("parts", part.scope, part.above), part.seq, part.id)
    turn.world.mark(place("part", part.scope, part.above, part.call), part.seq, part.id)


def move_part(turn: Turn, part: Subject, above: str) -> None:
    there = part_of(turn, above, part.call)
    part.above = above
    is_part(turn, part)
    turn.touch(part)
    if there is not None and there.id != part.id:
        become_one(turn, part, there)


# -- what nothing but the lack of a rival makes one --------------------------------------------------------------------


def group(kind: str, subject: Subject) -> int:
    return place(kind, subject.scope, subject.operation, subject.agent, subject.task_type)


def is_shell(turn: Turn, subject: Subject) -> None:
    turn.world.mark(group("shells", subject), subject.seq, subject.id)
    infer(turn, subject)


def is_lost(turn: Turn, subject: Subject) -> None:
    if subject.lost or subject.work or subject.transport:
        return
    subject.lost = True
    turn.touch(subject)
    turn.world.mark(group("lost", subject), subject.seq, subject.id)
    infer(turn, subject)


def no_longer_lost(turn: Turn, subject: Subject) -> None:
    subject.lost = False
    turn.world.unmark(group("lost", subject), subject.seq, subject.id)
    part(turn, subject)
    infer(turn, subject)


def infer(turn: Turn, subject: Subject) -> None:
    """Two of either kind are enough to know that nothing can be told."""
    lost, shells = turn.at(group("lost", subject), 2), turn.at(group("shells", subject), 2)
    alone = len(lost) == len(shells) == 1
    for one in lost:
        if one.twin and not (alone and one.twin == shells[0].id):
            part(turn, one)
    if alone and not lost[0].twin:
        lost[0].twin, shells[0].twin = shells[0].id, lost[0].id
        turn.touch(lost[0])
        turn.touch(shells[0])


def part(turn: Turn, subject: Subject) -> None:
    other = turn.get(subject.twin)
    subject.twin = ""
    turn.touch(subject)
    if other is not None and other.twin == subject.id:
        other.twin = ""
        turn.touch(other)
