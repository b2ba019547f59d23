"""A push to an operation that nobody has opened waits in the local session; whoever opens the operation gets it."""

from ramify.linking import adoption
from ramify.linking.operations.sessions import forget, scope_of, session_id
from ramify.linking.operations.subject import place, read
from ramify.linking.operations.sums import operation_id, writers
from ramify.linking.operations.turn import Turn
from ramify.linking.world import World, key
from ramify.model.entity import EventSession, Logged, Operation
from ramify.model.operation_event import LOCAL, Heading


def waits(project: str, native: str) -> int:
    return key("unsolicited", project, native)


def note(turn: Turn) -> None:
    """It may belong to somebody who has not said so yet."""
    heading = turn.heading
    if heading.session == LOCAL and heading.is_told and heading.operation:
        turn.world.mark(waits(heading.project, heading.operation), turn.logged.seq, turn.logged.id)


def given_over(world: World, heading: Heading) -> list[str]:
    """The observations that move to the session of this event, taken from where they waited."""
    if heading.session == LOCAL or heading.is_told or not heading.operation:
        return []
    waiting = world.span(waits(heading.project, heading.operation))
    local = world.get("sessions", session_id(heading.project, LOCAL)) if waiting else None
    if not isinstance(local, EventSession):
        return []
    operation = world.get("operations", operation_id(heading.project, scope_of(local), heading.operation))
    if not isinstance(operation, Operation) or operation.details["asked"]:
        return []
    moved = [row for _, id in waiting if isinstance(row := world.get("events", id), Logged) and row.session == local.id]
    take_away(world, local, operation)
    for row in moved:
        forget(world, local, row, for_good=False)
        world.unmark(waits(heading.project, heading.operation), row.seq, row.id)
    world.save("sessions", local)
    return [row.observation for row in moved]


def take_away(world: World, local: EventSession, operation: Operation) -> None:
    scope = scope_of(local)
    for seq, id in world.span(place("tasks", scope, operation.native)):
        subject = read(world, id)
        if subject is not None and subject.counted:
            local.tasks -= 1
            local.open -= subject.status not in ("completed", "failed", "rejected", "canceled")
        adoption.remove(world, id)
        world.unmark(key("open-tasks", operation.project), seq, id)
        world.drop("sheets", id)
        world.unmark(place("tasks", scope, operation.native), seq, id)
    world.unmark(writers(operation.project, operation.native), operation.details["recorded"], local.name)
    world.drop("operations", operation.id)
    local.operations -= 1
