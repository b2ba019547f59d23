"""Sessions that one trace runs through: a client that was started inside another's shell inherits its trace."""

from ramify.linking.conversation import before
from ramify.linking.otel import outside
from ramify.linking.world import World, key
from ramify.model.entity import Call
from ramify.model.link import Link

LATEST = 64
SAME_TRACE = 0.5  # the trace says that it happened inside the other, not by which call


def note(world: World, call: Call) -> None:
    if call.trace and not call.utility:
        world.mark(key("trace", call.project, call.trace), call.started, call.id)
        wake(world, call)


def wake(world: World, call: Call) -> None:
    """Whoever shares the trace may have been started inside this call's session."""
    for _, ref in world.span(key("trace", call.project, call.trace), limit=LATEST):
        other = world.call(ref)
        if other is not None and (other.session != call.session or not call.session):
            world.unplaced[other.id] = None
            if other.task:
                world.retold[other.task] = None


def link_of(world: World, call: Call | None) -> tuple[Link | None, str]:
    """To the span inside which the session was started; else to the session in which the trace began, with its first call."""
    if call is None or call.agent:
        return None, ""
    if call.session and (link := outside.link_of(world, call)) is not None:
        return link, ""
    if not call.trace:
        return None, ""
    first = next(iter(world.span(key("trace", call.project, call.trace), limit=1)), None)
    origin = world.call(first[1]) if first else None
    if origin is None or not origin.task or not apart(origin, call) or not before(origin, call):
        return None, ""
    link = Link("spawned", origin.task, "same-trace", SAME_TRACE, evidence=(call.request, origin.request))
    return link, origin.id


def apart(one: Call, other: Call) -> bool:
    """Of two sessions; or, where clients have none, of two conversations."""
    if one.session or other.session:
        return one.session not in ("", other.session) and other.session != ""
    return one.conversation != other.conversation and one.origin != other.origin
