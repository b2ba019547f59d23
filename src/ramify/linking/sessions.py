"""Sessions that name the session which started them: the topmost is the conversation of all."""

from ramify.linking.world import World, key
from ramify.model.entity import Call


def home(world: World, call: Call) -> str:
    """The session whose conversation a call is in by its headers; the empty string where it has none."""
    if not call.parent_session:
        return call.session
    session, passed = call.parent_session, [call.session]
    while session not in passed:
        world.add(key("started-by", call.project, session), call.started, call.id)
        above = world.calls_at(key("sub-session", call.project, session))
        if not above:
            return session
        passed.append(session)
        session = above[0].parent_session
    return min(passed[passed.index(session) :])  # they name each other


def note(world: World, call: Call) -> None:
    """Calls in sessions that were started by this one, from whatever depth, may have another home now."""
    world.add(key("sub-session", call.project, call.session), call.started, call.id)
    for _, ref in world.find(key("started-by", call.project, call.session)):
        world.unplaced[ref] = None
