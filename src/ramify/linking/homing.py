"""Calls that name no session, because a gateway took it off: where a report has the same answer, its session is theirs.

Such a call is taken off everything that it had part in, and enters again as one of that session.
"""

from ramify.linking import delegated, lending, results, rollup, sighting, speaker
from ramify.linking.agents import begins_key
from ramify.linking.attempts import place_again, set_attempt, wake_equal
from ramify.linking.conversation import first_attempt
from ramify.linking.entering import enter
from ramify.linking.otel import joining
from ramify.linking.pairing import release
from ramify.linking.reading import wake_followers
from ramify.linking.subtask import asking_session
from ramify.linking.toolcalls import wake_offers
from ramify.linking.world import World, chain_key, children_of, key
from ramify.model import ids
from ramify.model.entity import Call


def bring_home(world: World, id: str) -> None:
    call = world.call(id)
    seen = world.call(call.twin) if call is not None else None
    if call is None or seen is None or call.session == seen.session or call.parent_session:
        return
    asked = world.loader.called(call.request) if call.told_session or not call.session else None
    if asked is None:
        return  # it says itself whose it is
    _withdraw(world, call)
    call.session, call.told_session = seen.session, bool(seen.session)
    world.save("calls", call)
    enter(world, call, asked.parts)
    sighting.join(world, seen, call)
    lending.lend(world, seen, call)
    joining.note_answer(world, call)


def _withdraw(world: World, call: Call) -> None:
    if call.relation not in ("", "helper"):
        _leave_line(world, call)
    results.withdraw(world, call)
    speaker.unname(world, call)
    _leave_keys(world, call)
    line = call.line
    rollup.lift(world, call)
    if line in (call.id, ids.opened_task_id(call.id)):
        world.drop("lines", line)
    call.relation = call.parent = call.offer = call.origin = call.summary = call.owner = ""
    call.link, call.new_message, call.new_block, call.final = None, 0, 0, b""


def _leave_line(world: World, call: Call) -> None:
    results.leave(world, call, world.chain(call))
    wake_followers(world, call)
    wake_equal(world, call)
    for other in [call, *world.calls_at(key("attempt", call.id))]:
        set_attempt(world, other, "")
        place = world.openings if other.relation in ("opening", "agent") else world.agenda
        place[other.id] = None
    release(world, call)
    for child in world.calls_at(children_of(call)):
        world.remove(children_of(call), child.started, child.id)
        child.parent = ""
        world.save("calls", child)
        world.agenda[child.id] = None
    if (parent := world.call(call.parent)) is not None:
        world.remove(children_of(parent), call.started, call.id)
        place_again(world, first_attempt(parent))
        wake_offers(world, parent)
    if call.agent:
        first = begins_key(ids.agent_task_id(call.project, call.session, call.agent))
        world.unmark(first, call.started, call.id)
        for _, ref in world.span(first):
            world.agenda[ref] = None


def _leave_keys(world: World, call: Call) -> None:
    """Those that others would find it by, in a session that is not its own."""
    project, session = call.project, call.session
    places = [chain_key("end", end) for end in (call.end, call.base) if end] + ([chain_key("after", call.after)] if call.after else [])
    places += [key("strict", project, session, call.strict), key("summaries", project, session, call.agent), key("openings", project, session)]
    places += [key("claim", project, asking_session(call), prompt) for prompt in call.claims]
    if call.own_via:
        places.append(key("own", ids.tool_call_id(project, session, call.own_via)))
    places += [key("soft", tool) for tool in call.soft_offers]
    call.soft_offers = ()
    if call.final:
        places.append(key("final", project, session, call.final))
    for place in places:
        world.remove(place, call.started, call.id)
    delegated.match_final(world, call)
    world.forget_chain(call)
