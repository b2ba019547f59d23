"""Sessions of the event log: the numbers of their events, their bounds, and how one is emptied."""

from ramify.linking import adoption
from ramify.linking.operations.subject import place
from ramify.linking.operations.turn import Turn
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import EventSession, Logged, Operation
from ramify.model.operation_event import Heading


def session_id(project: str, name: str) -> str:
    return ids.short("sess", project, name)


def scope_of(session: EventSession) -> str:
    """Nothing that came before a session was emptied is found by what comes after."""
    return f"{session.id}.{session.epoch}"


def conversation_of(project: str, scope: str) -> str:
    """The session is the conversation of its tasks."""
    return ids.short("conv", project, "events", scope)


def session_of(world: World, heading: Heading) -> EventSession:
    id = session_id(heading.project, heading.session)
    found = world.get("sessions", id)
    if isinstance(found, EventSession):
        return found
    return EventSession(id, heading.project, heading.session, opened=heading.recorded)


def taken(world: World, session: EventSession, heading: Heading) -> Turn:
    """The event gets its number and its row."""
    session.seq += 1
    session.active = max(session.active, heading.recorded)
    again = session.cleared and not session.events and not session.objects
    session.events += heading.sort == "event"
    session.objects += heading.sort == "object"
    session.bytes += heading.size
    logged = Logged(
        heading.observation, heading.project, session.id, session.seq, heading.sort, heading.type, heading.operation,
        heading.agent, heading.task_type, heading.work, heading.status, heading.source, heading.recorded, heading.at, "",
        heading.observation, heading.event, heading.digest, heading.size,
        tuple(sorted({*heading.flags, *(("reopened",) if again else ())})), heading.native,
    )  # fmt: skip
    world.mark(key("logged", session.id), session.seq, logged.id)
    return Turn(world, session, scope_of(session), heading, logged)


def keep_in_bounds(turn: Turn) -> None:
    """The oldest events go; what was folded of them stays."""
    session, bounds = turn.session, turn.world.rules.events
    while session.first < session.seq and (
        (bounds.per_session and session.events + session.objects > bounds.per_session)
        or (bounds.session_bytes and session.bytes > bounds.session_bytes)
    ):
        drop_oldest(turn.world, session)
    turn.world.save("sessions", session)


def drop_oldest(world: World, session: EventSession) -> None:
    found = world.span(key("logged", session.id), low=session.first, limit=1)
    row = world.get("events", found[0][1]) if found else None
    if not isinstance(row, Logged):
        session.first = session.seq
        return
    forget(world, session, row)
    session.first = row.seq + 1
    session.dropped += 1


def forget(world: World, session: EventSession, row: Logged, for_good: bool = True) -> None:
    session.events -= row.sort == "event"
    session.objects -= row.sort == "object"
    session.bytes -= row.size
    world.unmark(key("logged", session.id), row.seq, row.id)
    world.drop("events", row.id)
    if for_good and world.rules.events.forgetful:
        world.forgotten.append(row.observation)


def clear(world: World, session: EventSession, heading: Heading, reason: str) -> None:
    """Everything of the session goes; its numbers go on."""
    scope = scope_of(session)
    for _, id in world.span(key("logged", session.id)):
        if isinstance(row := world.get("events", id), Logged):
            forget(world, session, row)
    for _, id in world.span(place("operations", scope)):
        if isinstance(operation := world.get("operations", id), Operation):
            world.unmark(key("writers", operation.project, operation.native), operation.details["recorded"], session.name)
            world.drop("operations", id)
    adoption.empty(world, conversation_of(session.project, scope))
    for seq, id in world.span(place("sheets", scope)):
        world.unmark(key("open-tasks", session.project), seq, id)
        world.drop("sheets", id)
    world.wipe(place("sheets", scope))
    session.epoch += 1
    session.first = session.seq + 1
    session.events = session.objects = session.operations = session.tasks = session.open = session.bytes = 0
    session.cleared, session.reason = heading.recorded, reason
    session.active = max(session.active, heading.recorded)
    world.save("sessions", session)
