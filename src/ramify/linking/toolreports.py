"""What reports tell of a tool call: that it was asked for, what came back, which agent it started."""

from ramify.linking import hooked, results, toolcalls
from ramify.linking.cut import is_lent
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, NamedAgent, Returned, ToolCall
from ramify.model.event import Event, ModelAnswered, Part, Scope, TaskReferred, ToolCalled, ToolReturned

Telling = ModelAnswered | ToolCalled | ToolReturned | TaskReferred


def tell(world: World, event: Telling, scope: Scope) -> None:
    for native in natives(event):
        id = ids.tool_call_id(scope.project, scope.session, native)
        tool = world.tool(id) or ToolCall(id, native, scope.project, scope.session)
        was = toolcalls.remembered(tool)
        world.mark(key("tellers", id), 0, _observation(event))
        _tell(world, tool, event)
        toolcalls.settle(world, was, tool)
        hooked.settle(world, was, tool)


def take_back(world: World, event: Telling, scope: Scope) -> None:
    """One report turned out to be a copy of another session's: the others tell the row again."""
    for native in natives(event):
        tool = world.tool(ids.tool_call_id(scope.project, scope.session, native))
        if tool is None:
            continue
        world.unmark(key("tellers", tool.id), 0, _observation(event))
        tell_again(world, tool)


def tell_again(world: World, tool: ToolCall) -> None:
    was = toolcalls.remembered(tool)
    _forget(world, tool)
    results.tell_again(world, tool)
    for _, teller in world.span(key("tellers", tool.id)):
        for other in world.loader.told(teller):
            if isinstance(other, Telling) and tool.native in natives(other):
                _tell(world, tool, other)
    toolcalls.settle(world, was, tool)
    hooked.settle(world, was, tool)


def natives(event: Event) -> list[str]:
    """The tool calls that a report tells of."""
    match event:
        case ModelAnswered():
            return [native for native in dict.fromkeys((_origin(event), *_uses(event))) if native]
        case ToolCalled():
            return [event.use.id] if event.use.id else []
        case ToolReturned():
            return [event.result.id] if event.result.id else []
        case TaskReferred():
            return [event.tool] if event.tool and event.scope.agent else []
        case _:
            return []


def _uses(event: ModelAnswered) -> list[str]:
    return [use.id for use in event.part.uses] if event.part is not None else []


def _origin(event: ModelAnswered) -> str:
    """Whoever ran inside a call is a task of it, named or not."""
    return event.under if event.scope is not None and not event.scope.agent else ""


def _observation(event: Telling) -> str:
    return event.response if isinstance(event, ModelAnswered) else event.observation


def _forget(world: World, tool: ToolCall) -> None:
    """Everything that only reports told."""
    tool.told = tool.closing = tool.told_agent = None
    tool.started, tool.asked_in, tool.asker = False, (), ""
    tool.named, tool.shown, tool.shown_at, tool.shown_by = False, "", 0, ""
    if _is_told(world, tool):
        toolcalls.disclaim(tool)


def _tell(world: World, tool: ToolCall, event: Telling) -> None:
    match event:
        case ModelAnswered():
            tool.named = tool.named or tool.native == _origin(event)
            if event.part is not None and tool.native in _uses(event):
                _show(world, tool, event, event.part)
        case ToolCalled():
            _introduce(tool, event)
            _note_asker(tool, event)
        case ToolReturned():
            _return(tool, event)
            _note_asker(tool, event)
        case TaskReferred():
            tool.named = True
            results.report_agent(tool, NamedAgent(event.at, event.observation, event.scope.agent, event.rule))


def _show(world: World, tool: ToolCall, event: ModelAnswered, part: Part) -> None:
    """Where the wire has the same answer, its word about the call counts; else a transcript's before a stream's."""
    if tool.shown and _order(tool.shown_by, tool.shown_at, tool.shown) <= _order(event.source, event.at or event.began, event.response):
        return
    tool.shown, tool.shown_at, tool.shown_by = event.response, event.at or event.began, event.source
    call = world.call(ids.seen_call_id(tool.project, event.message or event.request_id))
    asker = _asker(world, tool, call) if call is not None else None
    if asker is None or not _is_told(world, tool):
        return
    tool.call, tool.opened = asker.id, event.at or event.began
    if tool.guess == asker.id:
        tool.guess = ""  # it is known now
    results.describe(world, tool, part, next(use for use in part.uses if use.id == tool.native))


def _asker(world: World, tool: ToolCall, call: Call) -> Call | None:
    """Where the wire has the same answer, its call, if the stream was cut before this; else that answer shows what it asked for itself."""
    wire = world.call(call.twin)
    if wire is None or wire.relation == "helper":
        return call if call.session == tool.session else None
    return wire if wire.session == tool.session and is_lent(world, wire, tool.native) else None


def _is_told(world: World, tool: ToolCall) -> bool:
    """Nobody is known to have asked for it, or only reports say who."""
    owner = world.call(tool.call)
    return owner is None or owner.relation == "seen" or is_lent(world, owner, tool.native)


def _order(source: str, at: int, observation: str) -> tuple[bool, int, str]:
    return source != "transcript", at, observation


def _introduce(tool: ToolCall, event: ToolCalled) -> None:
    """Reported by itself: it fills in what is not known yet, and asks for nothing."""
    if event.asked:
        tool.asked_in = tuple(sorted({*tool.asked_in, event.asked}))
    if tool.call in ("", tool.guess) and (not tool.opened or (event.at, event.use.name) < (tool.opened, tool.name)):
        tool.name, tool.opened = event.use.name, event.at
        tool.title, tool.agent_type = event.use.title, event.use.agent_type


def _note_asker(tool: ToolCall, event: ToolCalled | ToolReturned) -> None:
    if event.source == hooked.SOURCE:
        tool.asker = max(tool.asker, event.scope.agent or hooked.MAIN)


def _return(tool: ToolCall, event: ToolReturned) -> None:
    result = event.result
    status = event.status or ("error" if result.error else "ok")
    told = Returned(event.at, event.observation, status, result.receipt, event.source)
    if tool.told is None or _earlier(told, tool.told):
        tool.told = told
    tool.started = tool.started or result.receipt
    if not result.receipt and (tool.closing is None or _earlier(told, tool.closing)):
        tool.closing = told
    if result.agent:
        results.report_agent(tool, NamedAgent(event.at, event.observation, result.agent))


def _earlier(one: Returned, other: Returned) -> bool:
    """A transcript or a stream has the result's own words, a hook only what its tool handed over."""
    return (one.source == hooked.SOURCE, one.at, one.observation) < (other.source == hooked.SOURCE, other.at, other.observation)
