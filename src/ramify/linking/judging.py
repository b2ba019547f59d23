"""Judges calls until nothing moves: what each goes on from, whose sub-task it is, where it stands."""


from msgspec import structs

from ramify.linking import results, rollup
from ramify.linking.chain import Chain
from ramify.linking.compaction import continued_summary
from ramify.linking.conversation import (
    FAILED,
    Verdict,
    before,
    by_prefix,
    by_tool,
    earlier_alike,
    first_attempt,
    later_alike,
    repeats_words,
    same_scope,
    stated,
)
from ramify.linking.place import continuing, follow, place
from ramify.linking.reading import read
from ramify.linking.retelling import retell
from ramify.linking.subtask import Pairing, asking_session, is_shared, resolve
from ramify.linking.summarised import by_summary
from ramify.linking.sums import compare
from ramify.linking.world import NEWEST, World, chain_key, key
from ramify.model import ids
from ramify.model.entity import Call, ToolCall
from ramify.model.link import Link

LIMIT = 100_000  # judgements for one batch; more would mean that two rules disagree for ever



def settle(world: World) -> None:
    for _ in range(LIMIT):
        if world.agenda:
            call = world.call(_pop(world.agenda))
            if call is not None and call.asked and call.relation not in ("helper", "seen"):
                judge(world, call)
        elif world.openings:
            seeds = list(world.openings)
            world.openings.clear()
            for claim, pairing in resolve(world, seeds).values():
                _apply_pairing(world, claim, pairing)
        elif world.unplaced:
            call = world.call(_pop(world.unplaced))
            if call is not None and call.asked:
                place(world, call)
        elif world.retold:
            retell(world, _pop(world.retold))
        elif world.recounted:
            compare(world, _pop(world.recounted))
        else:
            return
    raise RuntimeError("linking does not settle: two rules disagree")


def _pop(waiting: dict[str, None]) -> str:
    first = next(iter(waiting))
    del waiting[first]
    return first


def judge(world: World, call: Call) -> None:
    chain = world.chain(call)
    if _changed_by_results(world, call, chain):
        return
    verdict = _verdict(world, call, chain)
    _watch(world, call, chain, verdict)
    judged, known = bool(call.relation), (call.new_message, call.new_block)
    _apply(world, call, chain, verdict)
    if judged and known < (call.new_message, call.new_block):
        results.give_back(world, call, chain)
    results.take(world, call, chain)
    if call.relation in ("opening", "agent"):
        _put_claim(world, call)
        world.openings[call.id] = None
    else:
        _set_attempt(world, call, _attempt_first(world, call))
    world.unplaced[call.id] = None


def _changed_by_results(world: World, call: Call, chain: Chain) -> bool:
    """A result that the client cleared has become known: the request is read again.

    A chain that was not remembered knows it already; then only its end tells.
    """
    if chain.end == call.end and not any(world.result_atom(call, native) for native in chain.unresolved):
        return False
    world.remove(chain_key("end", call.end), call.started, call.id)
    if call.after:
        world.remove(chain_key("after", call.after), call.started, call.id)
    world.forget_chain(call)
    read(world, call, world.chain(call))
    return True


def _verdict(world: World, call: Call, chain: Chain) -> Verdict:
    if call.previous:
        world.add(key("waits-message", call.project, call.previous), call.started, call.id)
        if found := stated(world, call):
            return found
        if call.thread:
            return Verdict("root")
    if call.agent and _is_first(world, call):
        return Verdict("agent", consumed=_inherited(chain) if call.own_via else 0)
    if call.own_via:
        return Verdict("opening", consumed=_inherited(chain))
    prefix = by_prefix(world, call, chain)
    if prefix is not None and prefix.relation == "continued":
        return by_tool(world, call, chain, prefix.consumed) or prefix
    if summary := by_summary(world, call, chain):
        return summary
    if not call.opening and (tool := by_tool(world, call, chain, 0)):
        # What was carried over names the line; that the words before it were summed up says the rest.
        return tool if continued_summary(chain.parts) is None else structs.replace(tool, relation="compacted")
    if call.opening and not call.agent:
        return Verdict("opening")
    return prefix or Verdict("root")


def _inherited(chain: Chain) -> int:
    """A forked agent's own words begin behind the result of its own call."""
    for at in range(len(chain.atoms) - 1, -1, -1):
        if chain.atoms[at].kind == "result":
            return at
    return 0


def _is_first(world: World, call: Call) -> bool:
    task = world.task(ids.agent_task_id(call.project, call.session, call.agent))
    first = world.call(task.first) if task else None
    if first is None or first.id == call.id:
        return True
    if task is not None and before(call, first):
        task.first = call.id
        world.save("tasks", task)
        world.agenda[first.id] = None
        return True
    return False


def _watch(world: World, call: Call, chain: Chain, verdict: Verdict) -> None:
    """Prefixes that some call not seen yet may turn out to have asked for."""
    lowest = verdict.length if verdict.relation == "continued" else 0
    if chain.atoms and verdict.consumed == len(chain.atoms):
        world.add(chain_key("watch", chain.end), call.started, call.id)
    asked = False
    for at in range(max(lowest, 1), len(chain.atoms)):
        # Who ends within an answer also ends before it (`base`), and is awaited there.
        if chain.roles[at - 1] != "assistant" or not asked:
            world.add(chain_key("watch", chain.hashes[at]), call.started, call.id)
        asked = asked or chain.roles[at - 1] != "assistant"
        atom = chain.atoms[at]
        if atom.kind == "use" and at >= verdict.consumed:
            world.add(key("waits-tool", call.project, call.session, atom.tool), call.started, call.id)
    if verdict.link is not None and verdict.link.rule == "prefix-match":
        return
    summary = continued_summary(chain.parts)
    if summary is not None:
        world.add(key("waits-summary", call.project, call.session), call.started, call.id)
        world.add(key("waits-words", call.project, summary), call.started, call.id)


def _apply(world: World, call: Call, chain: Chain, verdict: Verdict) -> None:
    message, block = _position(chain, verdict.consumed)
    link = verdict.link
    if verdict.relation in ("opening", "agent") and call.link is not None and call.link.kind == "spawned":
        link = call.link  # pairing has the word here
    old = (call.relation, call.parent, call.link, call.new_message, call.new_block)
    new = (verdict.relation, verdict.parent, link, message, block)
    if old == new:
        return
    if call.parent != verdict.parent:
        _move_child(world, call, verdict.parent)
    if call.relation and (call.relation, call.parent) != (verdict.relation, verdict.parent):
        _wake_equal(world, call)
    call.relation, call.parent, call.link, call.new_message, call.new_block = new
    if verdict.relation not in ("opening", "agent"):
        _release(world, call)
    world.save("calls", call)


def _position(chain: Chain, consumed: int) -> tuple[int, int]:
    if not consumed:
        return 0, 0
    message, block = chain.places[consumed - 1]
    return message, block + 1


def _move_child(world: World, call: Call, parent: str) -> None:
    if call.parent:
        world.remove(key("child", call.parent), call.started, call.id)
    for other in (call.parent, parent):
        if other and (row := world.call(other)):
            _place_again(world, first_attempt(row))
    if parent:
        world.add(key("child", parent), call.started, call.id)


def _put_claim(world: World, call: Call) -> None:
    for prompt in call.claims:
        world.add(key("claim", call.project, asking_session(call), prompt), call.started, call.id)
    if not call.agent:
        world.add(key("openings", call.project, call.session), call.started, call.id)


def _release(world: World, call: Call) -> None:
    """It is no opening after all: its offer is free for another."""
    tool = world.tool(call.offer)
    call.offer = ""
    if tool is not None:
        _set_child(world, tool, "")
        _reopen(world, tool)


def _reopen(world: World, tool: ToolCall) -> None:
    if tool.prompt:
        for other in world.calls_at(key("claim", tool.project, tool.session, tool.prompt)):
            world.openings[other.id] = None


def _attempt_first(world: World, call: Call) -> str:
    """An equal request after the earlier one ended is a further attempt of it."""
    same = [
        other
        for other in earlier_alike(world, call, NEWEST)
        if other.id != call.id
        and repeats_words(other, call)
        and other.agent == call.agent
        and other.utility == call.utility
        and before(other, call)
        and 0 < other.ended <= call.started
        and same_scope(other, call)
        and other.session == call.session
        and other.relation not in ("opening", "helper")
        and _same_parent(world, other, call)
    ]
    if call.relation == "root":
        same = [other for other in same if other.status in FAILED or (call.session and other.session == call.session)]
    return first_attempt(same[-1]) if same else ""


def _same_parent(world: World, one: Call, other: Call) -> bool:
    """The same words behind another call are another line's."""
    if one.parent == other.parent:
        return True
    above, beside = world.call(one.parent), world.call(other.parent)
    return above is not None and beside is not None and first_attempt(above) == first_attempt(beside)


def _set_attempt(world: World, call: Call, first: str) -> None:
    if call.attempt_of == first:
        return
    if call.attempt_of:
        world.remove(key("attempt", call.attempt_of), call.started, call.id)
    if first:
        world.add(key("attempt", first), call.started, call.id)
    groups = {first_attempt(call), first or call.id}
    call.attempt_of = first
    world.save("calls", call)
    world.unplaced[call.id] = None
    for group in sorted(groups):
        rollup.recount(world, group)
        _place_again(world, group)
    for other in world.calls_at(key("child", call.id)):
        world.agenda[other.id] = None  # an equal request may have the same parent now
    _wake_equal(world, call)
    parent = world.call(call.parent)
    if parent is not None:
        _place_again(world, first_attempt(parent))
    follow(world, call)


def _place_again(world: World, group: str) -> None:
    """Which of the calls that go on from one call came first decides who stays on its line."""
    for _, ref in continuing(world, group):
        world.unplaced[ref] = None


def _wake_equal(world: World, call: Call) -> None:
    for other in later_alike(world, call):
        if before(call, other):
            world.agenda[other.id] = None


def _apply_pairing(world: World, call: Call, pairing: Pairing) -> None:
    offer = pairing.offer
    link = None
    if offer is not None:
        evidence = [call.request, offer.caller.response]
        if pairing.certainty == 1.0 and pairing.rule != "own-result":
            evidence = [offer.tool.agent_evidence, call.request]
        link = Link(
            "spawned",
            offer.caller.id,
            pairing.rule,
            pairing.certainty,
            offer.tool.native,
            offer.tool.id,
            tuple(seen for seen in evidence if seen),
            pairing.candidates,
        )
    elif pairing.candidates:
        link = Link("", "", "", 0.0, candidates=pairing.candidates)
    tool = offer.tool.id if offer else ""
    if not call.agent and not call.twin:  # an old client: a report may know the agent that the call started
        agent = offer.tool.agent if offer is not None and offer.tool.named else ""
        if call.told_agent != agent:
            call.told_agent = agent
            world.save("calls", call)
            world.unplaced[call.id] = world.openings[call.id] = None
    if call.offer != tool:
        old = world.tool(call.offer)
        if old is not None and old.child == call.task:
            _set_child(world, old, "")
    if (call.offer, call.link) != (tool, link):
        call.offer, call.link = tool, link
        world.save("calls", call)
        world.unplaced[call.id] = None
    if offer is not None:
        agent = call.agent or call.told_agent
        child = ids.agent_task_id(call.project, call.session, agent) if agent else ids.opened_task_id(call.id)
        if not is_shared(offer):
            _set_child(world, offer.tool, child)
    _set_attempt(world, call, pairing.attempt_of)


def _wake_lines(world: World, tool: ToolCall) -> None:
    """A line that a report tells of, without naming its agent, may be the same task."""
    conversation = world.conversation(ids.session_conversation_id(tool.project, tool.session)) if tool.session else None
    if conversation is not None and conversation.told and tool.prompt:
        for _, ref in world.find(key("lines", tool.project, tool.session, tool.prompt)):
            world.retold[ref] = None


def _set_child(world: World, tool: ToolCall, child: str) -> None:
    if tool.child != child:
        tool.child = child
        world.save("tools", tool)
        results.settle_outcome(world, tool)
        _wake_lines(world, tool)
