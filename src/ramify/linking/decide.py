"""From events to links: one event in, then everything it touches is judged again until nothing moves.

Late and doubled arrivals need no special case: each judgement is a function of what is known, and what becomes
known puts the calls that could be judged differently back on the agenda.
"""

from collections.abc import Callable

from msgspec import structs

from ramify.linking import results, rollup
from ramify.linking.chain import Chain, extend
from ramify.linking.compaction import continued_summary, offered_summaries
from ramify.linking.conversation import Verdict, before, by_prefix, by_tool, first_attempt, same_scope, stated
from ramify.linking.place import continuing, follow, place
from ramify.linking.subtask import FAILED, Pairing, asking_session, is_shared, resolve
from ramify.linking.summarised import by_summary
from ramify.linking.world import World, chain_key, key
from ramify.model import ids
from ramify.model.entity import Answered, Call, ToolCall
from ramify.model.entity import Correction as CorrectionRow
from ramify.model.event import ModelAnswered, ModelCalled, Part
from ramify.model.link import Link
from ramify.model.observation import Correction
from ramify.model.prices import Tokens
from ramify.model.usage import NOTHING, Usage

Price = Callable[[str, int, Tokens], int | None]
WORKFLOW_STEP = "[Workflow harness"
LIMIT = 100_000  # judgements for one batch; more would mean that two rules disagree for ever


def asked(world: World, event: ModelCalled, price: Price) -> None:
    id = ids.call_id(event.request)
    call = world.call(id) or Call(id)
    if call.asked:
        return
    scope = event.scope
    call.asked = True
    call.request, call.exchange, call.source = event.request, event.exchange, event.source
    call.project, call.user, call.session = scope.project, scope.user, scope.session
    call.parent_session = scope.parent_session
    call.agent, call.parent_agent, call.agent_type = scope.agent, scope.parent_agent, event.agent_type
    call.started, call.client, call.utility = event.at, event.client, event.utility
    call.model = call.model or event.model
    call.strict, call.previous, call.thread = event.strict, event.previous, event.thread
    call.message_count = len(event.parts)
    _refuse_earlier_end(call)
    if call.response and (seen := world.loader.answered(call.response)):
        call.usage = usage_of(seen, call, price)  # the answer came first, and did not know whose it was
    world.save("calls", call)
    _note_client(world, call)
    if call.utility and call.utility != "compaction":
        call.relation = "helper"
        world.unplaced[call.id] = None
    else:
        read(world, call, world.read_chain(call, event.parts))
        if call.response:
            offer(world, call)
    settle(world)


def _refuse_earlier_end(call: Call) -> None:
    """Clocks of two machines may disagree; nothing ends before it began."""
    if call.ended and call.ended < call.started:
        call.ended = call.started


def _note_client(world: World, call: Call) -> None:
    if not (call.session and call.agent):
        return
    from_session = ids.session_conversation_id(call.project, call.session)
    row = world.conversation(from_session)
    if row is None:
        rollup_row = rollup.new_conversation(call, from_session)
        world.save("conversations", rollup_row)
        row = rollup_row
    if not row.sends_agents:
        row.sends_agents = True
        world.save("conversations", row)
        for _, ref in world.find(key("openings", call.project, call.session)):
            world.openings[ref] = None


def read(world: World, call: Call, chain: Chain) -> None:
    """What the request's words say by themselves, and the keys under which others will look for it."""
    call.atoms, call.end = len(chain.atoms), chain.end
    call.opening = "assistant" not in chain.roles
    call.claims = claims_of(chain) if call.opening or call.agent else ()
    call.own_via = own_via(chain, bool(call.agent))
    _put_answer_chain(call)
    _put_prefill(world, call, chain)
    if chain.atoms:
        world.add(chain_key("end", call.end), call.started, call.id)
        if call.after:
            world.add(chain_key("after", call.after), call.started, call.id)
    world.add(key("strict", call.project, call.strict), call.started, call.id)
    for native in chain.unresolved:
        world.add(key("cleared", call.project, call.session, native), call.started, call.id)
    world.agenda[call.id] = None
    _wake_followers(world, call)
    world.save("calls", call)


def _put_prefill(world: World, call: Call, chain: Chain) -> None:
    length = len(chain.roles)
    while length and chain.roles[length - 1] == "assistant":
        length -= 1
    tail = chain.atoms[length:]
    if length and tail:
        call.base = chain.hashes[length]
        call.prefill = tuple(Answered(atom.digest or b"", atom.head, atom.kind == "use") for atom in tail)
        world.add(chain_key("end", call.base), call.started, call.id)


def claims_of(chain: Chain) -> tuple[bytes, ...]:
    """Each text before the first answer, and all joined: clients wrap a prompt in context of their own."""
    texts: list[str] = []
    for part in chain.parts:
        if part.role == "assistant":
            break
        if part.role == "user":
            texts += [text.normal for text in part.texts if text.normal]
    joined = ("\n".join(texts), "\n\n".join(texts)) if len(texts) > 1 else ()
    found = [prompt_key(words) for words in (*texts, *joined)]
    if any(words.startswith(WORKFLOW_STEP) for words in texts):
        found.append(results.WORKFLOW)
    return tuple(dict.fromkeys(found))


def prompt_key(words: str) -> bytes:
    return ids.digest("prompt", words.strip())


def own_via(chain: Chain, is_agent: bool) -> str:
    """A forked agent's request ends with the result of the very call that started it, and with its directive."""
    last = next((part for part in reversed(chain.parts) if part.atoms), None)
    if last is None or not last.results or not last.results[-1].fork:
        return ""
    directed = any(text.normal.startswith("<fork-boilerplate>") for text in last.texts)
    return last.results[-1].id if is_agent or directed else ""


def _put_answer_chain(call: Call) -> None:
    call.after = extend(call.end, [atom.digest for atom in call.answer]) if call.answer and call.end else b""


def _wake_followers(world: World, call: Call) -> None:
    """Requests that contain this one, and later ones with the same words."""
    later = [
        *world.calls_at(chain_key("watch", call.end)),
        *(world.calls_at(chain_key("watch", call.base)) if call.base else ()),
        *world.calls_at(key("strict", call.project, call.strict)),
    ]
    for other in later:
        if other.id != call.id and before(call, other):
            world.agenda[other.id] = None


def answered(world: World, event: ModelAnswered, price: Price, version: str) -> None:
    id = ids.call_id(event.request)
    call = world.call(id) or Call(id, project=event.project, request=event.request)
    if call.response and (event.lost or not call.lost):
        return  # the first answer stays, unless it only said that none was known
    call.response, call.lost = event.response, event.lost
    call.ended, call.first_byte = event.at, event.first_byte
    call.status, call.http_status, call.error = event.status, event.http_status, event.error
    call.message, call.request_id = event.message, event.request_id
    call.model = event.model or call.model
    call.stop_reason = event.stop_reason
    call.answer = tuple(
        Answered(atom.digest, atom.head, atom.kind == "use")
        for atom in (event.part.atoms if event.part else ())
        if atom.digest is not None
    )
    call.uses = tuple(use.id for use in event.part.uses) if event.part else ()
    _refuse_earlier_end(call)
    _put_answer_chain(call)
    before_usage = rollup.counted(call)
    call.usage = usage_of(event, call, price)
    call.price_version = version if event.tokens else ""
    world.save("calls", call)
    if call.asked:
        rollup.change(world, call, before_usage, 0)
        rollup.recount(world, first_attempt(call))
        if call.relation != "helper":
            offer(world, call, event.part)
            _wake_followers(world, call)
            world.agenda[call.id] = None
    settle(world)


def usage_of(event: ModelAnswered, call: Call, price: Price) -> Usage:
    """A call counts when it was answered; a cut stream has still reported its input."""
    if not call.asked:
        return NOTHING
    calls = 1 if event.status == "ok" and call.utility != "count_tokens" else 0
    if event.tokens is None or call.utility == "count_tokens":
        return Usage(calls=calls) if calls else NOTHING
    total = Usage(calls=calls)
    for model, tokens in ((call.model, event.tokens), *event.extra_tokens):
        cost = price(model, call.started, tokens)
        total = total + Usage(
            0,
            tokens.input,
            tokens.output,
            tokens.cache_read,
            tokens.write_5m + tokens.write_1h,
            cost or 0,
            int(cost is None),
        )
    return total


def offer(world: World, call: Call, part: Part | None = None) -> None:
    """What an answer makes possible: continuations by id, sub-tasks by prompt, a line after a summary."""
    if part is None:
        seen = world.loader.answered(call.response)
        part = seen.part if seen else None
    if call.after:
        world.add(chain_key("after", call.after), call.started, call.id)
    if call.message:
        world.add(key("message", call.project, call.message), call.started, call.id)
        for waiting in world.calls_at(key("waits-message", call.project, call.message)):
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
    places = [key("waits-summary", call.project, call.session)]
    places += [key("waits-words", call.project, summary) for summary in found]  # whatever its session
    for waiting in (one for place in places for one in world.calls_at(place)):
        if before(call, waiting):
            world.agenda[waiting.id] = None
    world.save("calls", call)


def corrected(world: World, seen: Correction) -> None:
    row = world.correction(seen.child)
    if row is not None and (row.at, row.observation) >= (seen.at, seen.id):
        return
    world.correct(CorrectionRow(seen.child, seen.act, seen.parent, seen.id, seen.at))
    task = world.task(seen.child)
    if task is not None:
        world.unplaced[task.first] = None
    settle(world)


# -- judging ---------------------------------------------------------------------------------------------------------


def settle(world: World) -> None:
    for _ in range(LIMIT):
        if world.agenda:
            call = world.call(_pop(world.agenda))
            if call is not None and call.asked and call.relation != "helper":
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
    known = (call.new_message, call.new_block)
    _apply(world, call, chain, verdict)
    if known < (call.new_message, call.new_block):
        results.give_back(world, call, chain)
    results.take(world, call, chain)
    if call.relation in ("opening", "agent"):
        _put_claim(world, call)
        world.openings[call.id] = None
    else:
        _set_attempt(world, call, _attempt_first(world, call))
    world.unplaced[call.id] = None


def _changed_by_results(world: World, call: Call, chain: Chain) -> bool:
    """A result that the client cleared has become known: the request is read again."""
    if not any(world.result_atom(call, native) for native in chain.unresolved):
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
    for at in range(max(lowest, 1), len(chain.atoms)):
        world.add(chain_key("watch", chain.hashes[at]), call.started, call.id)
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
            for _, ref in continuing(world, first_attempt(row)):
                world.unplaced[ref] = None
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
        for other in world.calls_at(key("strict", call.project, call.strict))
        if other.id != call.id
        and other.strict == call.strict
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
    for group in sorted(groups):
        rollup.recount(world, group)
    for other in world.calls_at(key("strict", call.project, call.strict)):
        if before(call, other):
            world.agenda[other.id] = None
    parent = world.call(call.parent)
    if parent is not None:
        for _, ref in continuing(world, first_attempt(parent)):
            world.unplaced[ref] = None
    follow(world, call)


def _apply_pairing(world: World, call: Call, pairing: Pairing) -> None:
    offer = pairing.offer
    link = None
    if offer is not None:
        evidence = [call.request, offer.caller.response]
        if pairing.rule == "agent-id-in-result":
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
    if call.offer != tool:
        old = world.tool(call.offer)
        if old is not None and old.child == call.task:
            _set_child(world, old, "")
    if (call.offer, call.link) != (tool, link):
        call.offer, call.link = tool, link
        world.save("calls", call)
        world.unplaced[call.id] = None
    if offer is not None:
        child = ids.agent_task_id(call.project, call.session, call.agent) if call.agent else ids.opened_task_id(call.id)
        if not is_shared(offer):
            _set_child(world, offer.tool, child)
    _set_attempt(world, call, pairing.attempt_of)


def _set_child(world: World, tool: ToolCall, child: str) -> None:
    if tool.child != child:
        tool.child = child
        world.save("tools", tool)
        results.settle_outcome(world, tool)
