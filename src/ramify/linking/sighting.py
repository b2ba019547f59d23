"""Answers that were reported, not seen on the wire: one call each, however many lines told of it.

Where the wire has the same answer, the reported one counts nowhere: it lends the wire's call what it knows.
"""

from collections.abc import Callable

from msgspec import structs

from ramify.linking import lending, loops, results, rollup, speaker, toolcalls, toolreports, turns, warmups
from ramify.linking.agents import wake_spawned
from ramify.linking.cut import is_lent
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call
from ramify.model.event import ModelAnswered, Scope
from ramify.model.prices import Tokens
from ramify.model.usage import NOTHING, Usage

SEEN = "seen"
TELEMETRY = "otel"
WORSE = ("running", "ok", "aborted", "error")
Price = Callable[[str, int, Tokens], int | None]


def sighted(world: World, event: ModelAnswered, scope: Scope, price: Price) -> None:
    if not (event.message or event.request_id):
        return
    _sight(world, id_of(event), event, scope, price)
    told = world.call(id_of(event))
    if told is not None and not told.message and (better := world.call(told.twin)) is not None and better.relation == SEEN:
        _sight(world, better.id, event, scope, price)


def _sight(world: World, id: str, event: ModelAnswered, scope: Scope, price: Price) -> None:
    known = world.call(id)
    call = known or Call(id, asked=True, status="ok", relation=SEEN, project=scope.project, message=event.message)
    was = structs.replace(call)
    world.mark(key("tellers", id), 0, event.response)
    _tell(call, event, scope)
    if known is None or was.model == call.model:
        _count(call, event, price)
    else:
        _count_again(world, call, price)
    _settle(world, was, call)
    if call.message and call.request_id and call.request_id != was.request_id:
        world.add(key("request", call.project, call.request_id), 0, call.id)
        meet_request(world, call, price)
    if known is None and call.message:
        _find_wire(world, call)
    elif known is None:
        meet_request(world, call, price)


def id_of(event: ModelAnswered) -> str:
    """Telemetry knows an answer by its request alone."""
    return ids.seen_call_id(event.project, event.message or event.request_id)


def take_back(world: World, event: ModelAnswered, price: Price) -> None:
    """One report turned out to be a copy: the others tell the call again."""
    call = world.call(id_of(event))
    if call is None:
        return
    was = structs.replace(call)
    world.unmark(key("tellers", call.id), 0, event.response)
    call.started = call.ended = call.order = 0
    call.session = call.told_agent = call.parent_agent = call.under = call.beside = ""
    call.model = call.request_id = call.stop_reason = call.response = ""
    call.sources, call.uses, call.signs, call.status = (), (), (), "ok"
    call.error, call.utility, call.first_byte = "", "", 0
    for other in _tellers(world, call):
        if other.scope is not None:
            _tell(call, other, other.scope)
    _count_again(world, call, price)
    _settle(world, was, call)


def _tellers(world: World, call: Call) -> list[ModelAnswered]:
    told = [event for _, teller in world.span(key("tellers", call.id)) for event in world.loader.told(teller)]
    return [event for event in told if isinstance(event, ModelAnswered) and _is_about(event, call)]


def _is_about(event: ModelAnswered, call: Call) -> bool:
    return id_of(event) == call.id or (not event.message and bool(call.request_id) and event.request_id == call.request_id)


def _count_again(world: World, call: Call, price: Price) -> None:
    """Some reports have figures and no model: their price is known when another names it."""
    call.usage, call.complete = NOTHING, False
    for event in _tellers(world, call):
        _count(call, event, price)


def _tell(call: Call, event: ModelAnswered, scope: Scope) -> None:
    """Each fact by itself, so that the order of the reports does not matter."""
    began = event.began or event.at
    if not call.started or (began, scope.session) < (call.started, call.session):
        call.started, call.session = began, scope.session
    call.ended = max(call.ended, event.at)
    place = event.place.position if event.place and event.source == "transcript" else 0
    call.order = min(call.order or place, place or call.order)
    call.told_agent = max(call.told_agent, scope.agent)
    call.parent_agent = max(call.parent_agent, scope.parent_agent)
    if not scope.agent:
        call.under = max(call.under, event.under)
    if event.place is not None and event.place.side and not scope.agent:
        call.beside = max(call.beside, ids.message_id(scope.project, event.place.id))
    call.sources = tuple(sorted({*call.sources, event.source}))
    call.source = call.sources[0]
    call.model = max(call.model, event.model)
    call.request_id = max(call.request_id, event.request_id)
    call.span = max(call.span, event.span)
    call.stop_reason = max(call.stop_reason, event.stop_reason)
    call.response = min(call.response or event.response, event.response)
    call.status = max(call.status, event.status, key=WORSE.index)
    call.error = max(call.error, event.error)
    if event.first_byte:
        call.first_byte = min(call.first_byte or event.first_byte, event.first_byte)
    if event.utility:
        call.utility = max(call.utility, event.utility)
    if event.part is not None:
        fresh = [(use.id, use.sign) for use in event.part.uses if use.id]
        call.uses, call.signs = loops.signed([*zip(call.uses, call.signs, strict=True), *fresh])


def _count(call: Call, event: ModelAnswered, price: Price) -> None:
    """Lines of one answer repeat its figures; the last one is the largest. A cost that was stated goes before ours."""
    if event.cost_nano is not None:
        call.details["cost_nano"] = max(call.details.get("cost_nano", 0), event.cost_nano)
    tokens = event.tokens
    if tokens is None:
        return
    cost = price(call.model, event.at, tokens)
    usage = Usage(
        1, tokens.input, tokens.output, tokens.cache_read, tokens.write_5m + tokens.write_1h, cost or 0, int(cost is None)
    )
    if lending.weight(event.final, usage) > lending.weight(call.complete, call.usage):
        call.usage, call.complete = usage, event.final
    if "cost_nano" in call.details and call.usage != NOTHING:
        call.usage = structs.replace(call.usage, cost_nano=call.details["cost_nano"], unpriced=0)


# -- where it stands ---------------------------------------------------------------------------------------------------


def name_again(world: World, call: Call) -> None:
    """The name of whoever gave it may be known by now."""
    _settle(world, structs.replace(call), call)


def _settle(world: World, was: Call, call: Call) -> None:
    named = speaker.name_side(world, call)
    call.agent = speaker.of_call(world, call)
    world.save("calls", call)
    _note_under(world, was, call)
    if named:
        world.renamed.setdefault((call.project, call.session, call.under), "" if speaker.is_stand_in(call.agent) else call.agent)
    warmups.note(world, was, call)
    _leave_side_line(world, call)
    if _place(was) != _place(call):
        if was.task:
            rollup.lift(world, was)
            call.conversation = call.line = call.task = ""
        if was.started and not was.agent:
            turns.take_off_line(world, was)
        if not call.agent:
            turns.put_on_line(world, call)
    elif not call.twin:
        rollup.change(world, call, rollup.counted(was), len(was.uses))
        if was.uses and was.signs != call.signs:
            loops.doubt(world, call.task)
    world.unplaced[call.id] = None
    if was.response and (was.started, was.response) != (call.started, call.response):  # as evidence, and as what was before
        toolcalls.wake_offers(world, call)
        wake_spawned(world, call)
    if was.session and was.session != call.session:
        _tell_uses_again(world, call)
    if wire := world.call(call.twin):
        world.unplaced[wire.id] = None
        speaker.name_wire(world, wire)
        lending.lend(world, call, wire)
        if was.session != call.session:
            world.homeless[wire.id] = None


def _tell_uses_again(world: World, call: Call) -> None:
    """Another session's copy seemed to have asked for tools, or does so now."""
    for event in _tellers(world, call):
        for use in event.part.uses if event.part is not None and event.scope is not None else ():
            tool = world.tool(ids.tool_call_id(event.project, event.scope.session, use.id)) if event.scope is not None else None
            if tool is not None:
                toolreports.tell_again(world, tool)


def _place(call: Call) -> tuple[str, str, int, int]:
    return call.session, call.agent, call.started, call.order


def _note_under(world: World, was: Call, call: Call) -> None:
    if (was.session, was.under) == (call.session, call.under):
        return
    if was.under:
        world.unmark(key("under", was.project, was.session, was.under), 0, was.id)
    if call.under:
        world.mark(key("under", call.project, call.session, call.under), 0, call.id)


def _leave_side_line(world: World, call: Call) -> None:
    """A side line whose answers are known by a better name, or from the wire, is no task of its own."""
    side = speaker.side_of_call(world, call)
    if side and (call.twin or call.agent != side):
        task = ids.agent_task_id(call.project, call.session, side)
        world.add(key("absorbed", task), 0, call.id)
        world.retold[task] = None


# -- the same answer on the wire ---------------------------------------------------------------------------------------


def _find_wire(world: World, call: Call) -> None:
    for other in world.calls_at(key("message", call.project, call.message)):
        if other.relation != SEEN and other.asked:
            join(world, call, other)
            return


def meet(world: World, wire: Call) -> None:
    """An answer came over the wire: has it been reported already?"""
    if not world.find(key("reports-of", wire.project)):
        return  # nobody reports anything: nothing to look for
    meet_request(world, wire, None)
    known = world.call(wire.twin)
    if known is not None:
        lending.lend(world, known, wire)
    if not wire.message or (known is not None and known.message):
        return
    seen = world.call(ids.seen_call_id(wire.project, wire.message))
    if seen is not None and not seen.twin:
        join(world, seen, wire)


def meet_request(world: World, call: Call, price: Price | None) -> None:
    """An answer that is known by its request alone is hidden by one that is known better: a report before the wire, which
    that report has met or will meet by itself. The report learns what the other tells."""
    told = world.call(ids.seen_call_id(call.project, call.request_id)) if call.request_id else None
    if told is None or told.message or not told.request_id:
        return
    known = world.calls_at(key("request", call.project, call.request_id))
    others = [one for one in known if one.id != told.id and (one.asked or one.relation == SEEN) and _fits(told, one)]  # an answer alone stands nowhere
    best = min(others, key=lambda one: (one.relation != SEEN, one.id), default=None)
    if best is None or told.twin == best.id:
        return
    if best.relation != SEEN and not best.twin:
        join(world, told, best)
        return
    told.twin = best.id
    world.save("calls", told)
    _doubt_uses(world, told)
    if price is not None and best.relation == SEEN:
        for event in _tellers(world, told):
            if event.scope is not None and not event.message:
                _sight(world, best.id, event, event.scope, price)
    task = world.task(told.task)
    if task is not None and task.first == told.id:
        task.first = best.id
        world.save("tasks", task)
    world.unplaced[told.id] = None


def _fits(told: Call, other: Call) -> bool:
    """An id that would join different models or sessions joins nothing."""
    sessions = {told.session, other.session} - {""}
    models = sorted({told.model, other.model} - {""})
    return len(sessions) < 2 and (len(models) < 2 or models[1].startswith(models[0]))


def _doubt_uses(world: World, told: Call) -> None:
    """What it seemed to have asked for, whoever has the answer itself shows."""
    if TELEMETRY in told.sources:
        for native in told.uses:
            world.asking[ids.tool_call_id(told.project, told.session, native)] = None


def join(world: World, seen: Call, wire: Call) -> None:
    if seen.session and not wire.session:
        world.homeless[wire.id] = None
    seen.twin, wire.twin = wire.id, seen.id
    world.save("calls", seen)
    world.save("calls", wire)
    _doubt_uses(world, seen)
    if wire.relation != "helper":
        results.issue_again(world, wire, seen)
        lending.lend(world, seen, wire)
        _tell_rest(world, seen, wire)
    task = world.task(seen.task)
    if task is not None and task.first == seen.id:
        task.first = wire.id
        world.save("tasks", task)
    _leave_side_line(world, seen)
    speaker.name_wire(world, wire)
    if wire.agent and wire.relation:
        world.agenda[wire.id] = None  # it may be the first call of its agent now
    if wire.relation in ("opening", "agent"):
        world.openings[wire.id] = None
    world.unplaced[seen.id] = None
    world.unplaced[wire.id] = None
    conversation = world.conversation(turns.conversation_of(wire.project, wire.session))
    if conversation is not None and conversation.summed:
        world.recounted[conversation.id] = None


def _tell_rest(world: World, seen: Call, wire: Call) -> None:
    """Tool calls that the wire's own answer does not have. If it was cut, they are the call's all the same."""
    for session, native in ((session, native) for session in sorted({seen.session, wire.session}) for native in seen.uses):
        tool = world.tool(ids.tool_call_id(seen.project, session, native))
        if tool is not None and (tool.call == seen.id or is_lent(world, wire, native)):
            toolreports.tell_again(world, tool)
