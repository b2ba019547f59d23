"""From events to links: one event in, then everything it touches is judged again until nothing moves.

Late and doubled arrivals need no special case: each judgement is a function of what is known, and what becomes
known puts the calls that could be judged differently back on the agenda.
"""

from collections.abc import Callable

from ramify.linking import adoption, rollup, sighting, summarised
from ramify.linking.conversation import first_attempt
from ramify.linking.entering import enter, note_helper, offer
from ramify.linking.judging import settle
from ramify.linking.otel import joining
from ramify.linking.reading import put_answer_chain, wake_followers
from ramify.linking.world import World, children_of, key
from ramify.model import ids
from ramify.model.entity import Answered, Call
from ramify.model.entity import Correction as CorrectionRow
from ramify.model.event import ModelAnswered, ModelCalled
from ramify.model.observation import Correction
from ramify.model.prices import Tokens
from ramify.model.usage import NOTHING, Usage

Price = Callable[[str, int, Tokens], int | None]


def asked(world: World, event: ModelCalled, price: Price) -> None:
    id = ids.call_id(event.request)
    known = world.call(id)
    call = known or Call(id)
    if call.asked and not is_alone(call):
        return
    scope = event.scope
    call.asked = True
    call.relation = ""
    call.request, call.exchange, call.source = event.request, event.exchange, event.source
    call.project, call.user, call.session = scope.project, scope.user, scope.session
    call.parent_session = scope.parent_session
    call.agent, call.parent_agent, call.agent_type = scope.agent, scope.parent_agent, event.agent_type
    call.started, call.client, call.utility = event.at, event.client, event.utility
    call.trace, call.span = event.trace, event.span
    call.model = call.model or event.model
    call.strict, call.previous, call.thread = event.strict, event.previous, event.thread
    call.message_count = len(event.parts)
    _refuse_earlier_end(call)
    if call.response and (seen := world.loader.answered(call.response)):
        call.usage = usage_of(seen, call, price)  # the answer came first, and did not know whose it was
    world.save("calls", call)
    if known is None:
        world.is_new(call)
    enter(world, call, event.parts)
    if call.message or call.request_id:
        sighting.meet(world, call)
        joining.note_answer(world, call)
    settle(world)


def is_alone(call: Call) -> bool:
    """A line of a batch's results of which nobody has seen the request yet: it stands nowhere, like a helper."""
    return call.relation == "helper" and not call.utility


def _stand_alone(world: World, call: Call, event: ModelAnswered) -> None:
    call.asked, call.relation = True, "helper"
    call.exchange, call.source, call.started = event.entry, event.source, event.at
    world.unplaced[call.id] = None


def _refuse_earlier_end(call: Call) -> None:
    """Clocks of two machines may disagree; nothing ends before it began."""
    if call.ended and call.ended < call.started:
        call.ended = call.started


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
    call.signs = tuple(use.sign for use in event.part.uses) if event.part else ()
    if event.entry and not call.asked:
        _stand_alone(world, call, event)
    _refuse_earlier_end(call)
    put_answer_chain(call)
    if call.request_id:
        world.add(key("request", call.project, call.request_id), 0, call.id)
    before_usage = rollup.counted(call)
    call.usage = usage_of(event, call, price)
    call.price_version = version if event.tokens else ""
    world.save("calls", call)
    if call.asked:
        rollup.change(world, call, before_usage, 0)
        note_helper(world, call)
        sighting.meet(world, call)
        joining.note_answer(world, call)
        rollup.recount(world, first_attempt(call))
        if call.relation != "helper":
            offer(world, call, event.part)
            wake_followers(world, call)
            for other in world.calls_at(children_of(call)):
                summarised.wake_behind(world, other)
            if call.relation in ("opening", "agent"):  # whether it failed decides what it was
                world.openings[call.id] = None
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


def corrected(world: World, seen: Correction) -> None:
    row = world.correction(seen.child)
    if row is not None and (row.at, row.observation) >= (seen.at, seen.id):
        return
    world.correct(CorrectionRow(seen.child, seen.act, seen.parent, seen.id, seen.at))
    task = world.task(seen.child)
    if task is not None and task.protocol:
        adoption.again(world, task.id)
    elif task is not None:
        world.unplaced[task.first] = None
    settle(world)
