"""A call takes its place among the others: the keys by which they find it, and what its answer makes possible."""

from ramify.linking import results, summarised, trace
from ramify.linking.compaction import offered_summaries
from ramify.linking.conversation import any_waits
from ramify.linking.otel import joining
from ramify.linking.reading import read
from ramify.linking.world import World, chain_key, key
from ramify.model import ids
from ramify.model.entity import Call, Conversation
from ramify.model.event import Part


def enter(world: World, call: Call, parts: tuple[Part, ...]) -> None:
    conversation = world.conversation(ids.session_conversation_id(call.project, call.session)) if call.session else None
    if conversation is not None and conversation.told:
        world.silent[call.project, call.session] = None
    _note_client(world, call)
    trace.note(world, call)
    joining.note_request(world, call)
    if call.utility and call.utility != "compaction":
        call.relation = "helper"
        world.unplaced[call.id] = None
        note_helper(world, call)
        return
    read(world, call, world.read_chain(call, parts))
    if call.response:
        offer(world, call)


def _note_client(world: World, call: Call) -> None:
    if not (call.session and call.agent) or call.told_session:
        return
    from_session = ids.session_conversation_id(call.project, call.session)
    row = world.conversation(from_session)
    if row is None:
        row = Conversation(from_session, call.project, call.session)
    if not row.sends_agents:
        row.sends_agents = True
        world.save("conversations", row)
        for _, ref in world.find(key("openings", call.project, call.session)):
            world.openings[ref] = None


def note_helper(world: World, call: Call) -> None:
    """A helper goes on from nothing and offers nothing; only a report may tell of it too."""
    if call.relation == "helper" and call.message:
        world.add(key("message", call.project, call.message), call.started, call.id)


def offer(world: World, call: Call, part: Part | None = None) -> None:
    """What an answer makes possible: continuations by id, sub-tasks by prompt, a line after a summary."""
    if part is None:
        seen = world.loader.answered(call.response)
        part = seen.part if seen else None
    world.prefetch(results.needs(world, call, part))
    if call.after:
        world.add(chain_key("after", call.after), call.started, call.id)
    if call.message:
        world.add(key("message", call.project, call.message), call.started, call.id)
        for waiting in world.calls_at(key("waits-message", call.project, call.message)) if any_waits(world, call.project) else ():
            world.agenda[waiting.id] = None
    if part is None:
        return
    if call.utility == "compaction" or part.compaction or any("<summary>" in text.raw for text in part.texts):
        _offer_summary(world, call, part)
    results.issue(world, call, part)


def _offer_summary(world: World, call: Call, part: Part) -> None:
    found = offered_summaries(part)
    call.summary = max(found, key=len, default="")[:100_000]
    for summary in found:
        world.add(key("summary", call.project, summary), call.started, call.id)
    if call.utility == "compaction":
        world.add(key("summaries", call.project, call.session, call.agent), call.started, call.id)
    summarised.wake_waiting(world, call, found)
    world.save("calls", call)
