"""Judges calls until nothing moves: what each goes on from, whose sub-task it is, where it stands."""

from msgspec import structs

from ramify.linking import asking, hooked, results, silent
from ramify.linking.agents import begins_key
from ramify.linking.attempts import earlier_attempt, place_again, set_attempt, wake_equal
from ramify.linking.chain import Chain
from ramify.linking.compaction import continued_summary
from ramify.linking.conversation import Verdict, await_message, before, by_prefix, by_tool, first_attempt, stated
from ramify.linking.homing import bring_home
from ramify.linking.pairing import apply_pairing, put_claim, release
from ramify.linking.place import place
from ramify.linking.reading import read, wake_followers
from ramify.linking.renaming import rename
from ramify.linking.retelling import retell
from ramify.linking.saying import judge_again, show
from ramify.linking.subtask import resolve
from ramify.linking.summarised import by_summary, wake_behind
from ramify.linking.toolcalls import wake_offers
from ramify.linking.world import World, chain_key, children_of, key
from ramify.model import ids
from ramify.model.entity import Call

LIMIT = 100_000  # judgements for one batch; more would mean that two rules disagree for ever


def settle(world: World) -> None:
    for _ in range(LIMIT):
        if world.homeless:
            bring_home(world, _pop(world.homeless))
        elif world.agenda:
            call = world.call(_pop(world.agenda))
            if call is not None and call.asked and call.relation not in ("helper", "seen"):
                judge(world, call)
        elif world.openings:
            seeds = list(world.openings)
            world.openings.clear()
            for claim, pairing in resolve(world, seeds).values():
                apply_pairing(world, claim, pairing)
        elif world.unplaced:
            call = world.call(_pop(world.unplaced))
            if call is not None and call.asked:
                place(world, call)
        elif world.renamed:
            tool = next(iter(world.renamed))
            rename(world, *tool, world.renamed.pop(tool))
        elif world.doubted:
            judge_again(world, _pop(world.doubted))
        elif world.asking:
            asking.settle(world, _pop(world.asking))
        elif world.retold:
            retell(world, _pop(world.retold))
        elif world.silent:
            session = next(iter(world.silent))
            del world.silent[session]
            for row in hooked.judge(world, *session):
                show(world, row, not row.echo)
            silent.judge(world, *session)
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
    taken = results.new_since(world, call) if call.relation else None
    _apply(world, call, chain, verdict)
    results.take(world, call, chain, taken)
    _await_results(world, call, chain)
    if call.relation in ("opening", "agent"):
        put_claim(world, call)
        world.openings[call.id] = None
    else:
        set_attempt(world, call, earlier_attempt(world, call))
    world.unplaced[call.id] = None


def _changed_by_results(world: World, call: Call, chain: Chain) -> bool:
    """A result that the client cleared has become known: the request is read again.

    A chain that was not remembered knows it already; then only its end tells.
    """
    current = all(world.result_atom(call, native) == atom for native, atom in chain.cleared.items())
    if chain.end == call.end and current:
        return False
    wake_followers(world, call)  # some have found it, or weighed it, by the words it seemed to have
    world.remove(chain_key("end", call.end), call.started, call.id)
    if call.after:
        world.remove(chain_key("after", call.after), call.started, call.id)
    world.forget_chain(call)
    read(world, call, world.chain(call))
    for other in world.calls_at(children_of(call)):
        world.agenda[other.id] = None  # what is cleared here is cleared there as well
    return True


def _await_results(world: World, call: Call, chain: Chain) -> None:
    """Where its parent knows the result too, a change is heard of through the parent."""
    if not chain.cleared:
        return
    parent = world.call(call.parent)
    shared = world.chain(parent).cleared if parent is not None else {}
    for native, atom in chain.cleared.items():
        if atom is None or native not in shared:
            world.add(key("cleared", call.project, call.session, native), call.started, call.id)


def _verdict(world: World, call: Call, chain: Chain) -> Verdict:
    if call.previous:
        await_message(world, call)
        if found := stated(world, call):
            return found
        if call.thread:
            return Verdict("root")
    if call.agent and _is_first(world, call):
        return Verdict("agent", consumed=_inherited(chain) if call.own_via else 0)
    if call.own_via and not call.agent:
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
    """Of its agent's calls on the wire: a report of an earlier answer says nothing about what this one goes on from."""
    id = ids.agent_task_id(call.project, call.session, call.agent)
    place = begins_key(id)
    others = [one for _, ref in world.span(place) if (one := world.call(ref)) is not None and one.id != call.id]
    if any(before(one, call) for one in others):
        world.unmark(place, call.started, call.id)
        return False
    world.mark(place, call.started, call.id)
    for one in others:
        world.agenda[one.id] = None
    task = world.task(id)
    first = world.call(task.first) if task else None
    if task is not None and first is not None and before(call, first):
        task.first = call.id
        world.save("tasks", task)
    return True


def _watch(world: World, call: Call, chain: Chain, verdict: Verdict) -> None:
    """Prefixes that some call not seen yet may turn out to have asked for."""
    continued = verdict.relation == "continued"
    by_words = continued and verdict.link is not None and verdict.link.rule == "prefix-match"
    lowest = _first_of_answer(chain, verdict.length) if continued else 0
    if chain.atoms and verdict.consumed == len(chain.atoms):
        world.add(chain_key("watch", chain.end), call.started, call.id)
    asked = False
    for at in range(max(lowest, 1), len(chain.atoms)):
        # Who ends within an answer also ends before it (`base`), and is awaited there.
        if chain.roles[at - 1] != "assistant" or not asked:
            world.add(chain_key("watch", chain.hashes[at]), call.started, call.id)
        asked = asked or chain.roles[at - 1] != "assistant"
        atom = chain.atoms[at]
        if atom.kind == "use" and (not by_words or at >= verdict.consumed):
            world.add(key("waits-tool", call.project, call.session, atom.tool), call.started, call.id)
    if by_words:
        return
    summary = continued_summary(chain.parts)
    if summary is not None:
        world.add(key("waits-summary", call.project, call.session), call.started, call.id)
        world.add(key("waits-words", call.project, summary), call.started, call.id)


def _first_of_answer(chain: Chain, at: int) -> int:
    """A call that was found by a tool in its answer may lose to one that asked before the words in front of it."""
    while 0 < at < len(chain.roles) and chain.roles[at - 1] == chain.roles[at] == "assistant":
        at -= 1
    return at


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
        wake_equal(world, call)
        if call.parent == verdict.parent and (parent := world.call(call.parent)):
            wake_offers(world, parent)
    call.relation, call.parent, call.link, call.new_message, call.new_block = new
    if verdict.relation not in ("opening", "agent"):
        release(world, call)
    wake_behind(world, call)
    world.save("calls", call)


def _position(chain: Chain, consumed: int) -> tuple[int, int]:
    if not consumed:
        return 0, 0
    message, block = chain.places[consumed - 1]
    return message, block + 1


def _move_child(world: World, call: Call, parent: str) -> None:
    was, now = (world.call(id) if id else None for id in (call.parent, parent))
    if was is not None:
        world.remove(children_of(was), call.started, call.id)
    for other in (was, now):
        if other is not None:
            place_again(world, first_attempt(other))
            wake_offers(world, other)
    if now is not None:
        world.add(children_of(now), call.started, call.id)
