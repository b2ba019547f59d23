"""Answers that were reported, not seen on the wire: one call each, however many lines told of it.

Where the wire has the same answer, the reported one counts nowhere: it lends the wire's call what it knows.
"""

from collections.abc import Callable

from ramify.linking import results, rollup, toolcalls, turns
from ramify.linking.statement import INSIDE, SIDE, line_agent, name_origin, note_told, warm_key
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call
from ramify.model.event import ModelAnswered, Scope
from ramify.model.prices import Tokens
from ramify.model.usage import Usage

SEEN = "seen"
Price = Callable[[str, int, Tokens], int | None]


def sighted(world: World, event: ModelAnswered, scope: Scope, price: Price) -> None:
    if not event.message:
        return
    id = ids.seen_call_id(scope.project, event.message)
    known = world.call(id)
    call = known or Call(id, asked=True, status="ok", relation=SEEN, project=scope.project, message=event.message)
    before, tools = rollup.counted(call), len(call.uses)
    _take_place(world, call, event, scope)
    call.sources = tuple(sorted({*call.sources, event.source}))
    call.source = call.sources[0]
    call.model = max(call.model, event.model)
    call.request_id = max(call.request_id, event.request_id)
    call.stop_reason = max(call.stop_reason, event.stop_reason)
    call.response = min(call.response or event.response, event.response)
    call.status = "aborted" if event.status == "aborted" else call.status
    if event.part is not None:
        call.uses = tuple(sorted({*call.uses, *(use.id for use in event.part.uses if use.id)}))
    if event.tokens is not None:
        _take_tokens(call, event, event.tokens, price)
    world.save("calls", call)
    if known is None:
        _find_wire(world, call)
    if event.part is not None and not call.twin:
        results.issue(world, call, event.part)
    _note_shown(world, call, event)
    if known is None and call.agent:
        _wake_warm_up(world, call)
    if not call.twin:
        rollup.change(world, call, before, tools)
    world.unplaced[call.id] = None


def _wake_warm_up(world: World, call: Call) -> None:
    """An agent that says more than one thing was no warm-up."""
    place = warm_key(call.project, call.session, call.agent)
    waiting = [ref for _, ref in world.find(place) if ref != call.id]
    if waiting and not call.agent.startswith(INSIDE):
        world.add(place, 0, call.id)
        for ref in waiting:
            world.unplaced[ref] = None


def _note_shown(world: World, call: Call, event: ModelAnswered) -> None:
    for use in event.part.uses if event.part else ():
        tool = world.tool(ids.tool_call_id(call.project, call.session, use.id))
        if tool is not None and (not tool.shown or event.response < tool.shown):
            tool.shown = event.response
            world.save("tools", tool)


def _take_place(world: World, call: Call, event: ModelAnswered, scope: Scope) -> None:
    """Whose it is and when it began: the earliest word about it. On the main line it is found by its time."""
    if call.session != scope.session and not call.agent and call.started:
        turns.take_off_line(world, call)  # it was a copy's
        call.started = call.order = 0
    started = min(call.started or event.at, event.at)
    place = event.place.position if event.place and event.source == "transcript" else 0
    order = min(call.order or place, place or call.order)
    agent = _surer(world, call, line_agent(world, scope, event.under, event.place))
    if (call.session, call.agent, call.started, call.order) != (scope.session, agent, started, order):
        if call.task:
            rollup.lift(world, call)
        if call.started and not call.agent:
            turns.take_off_line(world, call)
        call.session, call.agent, call.started, call.order = scope.session, agent, started, order
        call.parent_agent = scope.parent_agent
        if not agent:
            turns.put_on_line(world, call)
        if call.twin:
            world.unplaced[call.twin] = None
    if event.under and not scope.agent:
        call.under = event.under
        world.add(key("under", call.project, call.session, event.under), 0, call.id)
        name_origin(world, scope, event.under)
    wire = world.call(call.twin)
    if wire is not None and (wire.told_via != call.under or (call.agent and wire.told_agent != call.agent)):
        lend(world, call, wire)
    call.ended = max(call.ended, event.at)
    note_told(world, scope, event.at)


def _surer(world: World, call: Call, agent: str) -> str:
    """An agent's own id first, then the tool call inside which it ran, then the line that it is on."""
    names = {name: (not name.startswith(INSIDE), not name.startswith(SIDE), name) for name in (agent, call.agent) if name}
    best = max(names, key=lambda name: names[name], default="")
    for name in names:
        if name != best and name.startswith(SIDE):
            task = ids.agent_task_id(call.project, call.session, name)
            world.add(key("absorbed", task), 0, call.id)
            world.retold[task] = None
    return best


def _take_tokens(call: Call, event: ModelAnswered, tokens: Tokens, price: Price) -> None:
    """Lines of one answer repeat its figures; the last one is the largest."""
    cost = price(event.model or call.model, event.at, tokens)
    usage = Usage(
        1, tokens.input, tokens.output, tokens.cache_read, tokens.write_5m + tokens.write_1h, cost or 0, int(cost is None)
    )
    if _weight(event.final, usage) > _weight(call.complete, call.usage):
        call.usage, call.complete = usage, event.final


def _weight(final: bool, usage: Usage) -> tuple[bool, int, int, int, int, int]:
    return final, usage.output, usage.input, usage.cache_read, usage.cache_write, usage.cost_nano


def _find_wire(world: World, call: Call) -> None:
    for other in world.calls_at(key("message", call.project, call.message)):
        if other.relation != SEEN and other.asked:
            join(world, call, other)
            return


def meet(world: World, wire: Call) -> None:
    """An answer came over the wire: has it been reported already?"""
    if not wire.session or not wire.message or wire.twin:
        return
    conversation = world.conversation(turns.conversation_of(wire.project, wire.session))
    if conversation is None or not conversation.told:
        return  # nobody reports about this session: nothing to look for
    seen = world.call(ids.seen_call_id(wire.project, wire.message))
    if seen is not None and not seen.twin:
        join(world, seen, wire)


def lend(world: World, seen: Call, wire: Call) -> None:
    """What a report knows and an old client's wire does not say: whose call it is, or inside which tool call."""
    if not wire.agent:
        wire.told_via = seen.under or wire.told_via
        if wire.told_via:
            tool = ids.tool_call_id(wire.project, wire.session, wire.told_via)
            world.add(key("own", tool), wire.started, wire.id)
        wire.told_agent = "" if seen.agent.startswith(INSIDE) else seen.agent or wire.told_agent
        world.save("calls", wire)
    if wire.relation in ("opening", "agent"):
        world.openings[wire.id] = None
    world.unplaced[wire.id] = None


def join(world: World, seen: Call, wire: Call) -> None:
    seen.twin, wire.twin = wire.id, seen.id
    world.save("calls", seen)
    world.save("calls", wire)
    for native in seen.uses:
        tool = world.tool(ids.tool_call_id(seen.project, seen.session, native))
        if tool is not None and tool.call == seen.id:
            was = toolcalls.remembered(tool)
            tool.call = wire.id
            toolcalls.settle(world, was, tool)
    task = world.task(seen.task)
    if task is not None and task.first == seen.id:
        task.first = wire.id
        world.save("tasks", task)
    if seen.agent.startswith(SIDE):
        task_id = ids.agent_task_id(seen.project, seen.session, seen.agent)
        world.add(key("absorbed", task_id), 0, seen.id)
        world.retold[task_id] = None
    lend(world, seen, wire)
    if wire.agent and wire.relation:
        world.agenda[wire.id] = None  # it may be the first call of its agent now
    world.unplaced[seen.id] = None
    conversation = world.conversation(turns.conversation_of(wire.project, wire.session))
    if conversation is not None and conversation.reported:
        world.recounted[conversation.id] = None
