"""Tool calls of which telemetry tells by themselves: which answer asked for them.

Nobody has shown that answer. Its request says which it was; where that is not told, it is the newest in the same span that
ended with a tool call. Whoever shows the answer itself knows better.
"""

from ramify.linking import hooked, loops, rollup, toolcalls
from ramify.linking.sighting import TELEMETRY, id_of
from ramify.linking.world import FOREVER, World, key
from ramify.model import ids
from ramify.model.entity import Call, ToolCall
from ramify.model.event import ModelAnswered, Scope, ToolCalled

ASKS = ("tool_use", "")
"""How an answer ends that may have asked for a tool; not everybody says."""


def note_answer(world: World, event: ModelAnswered, scope: Scope) -> None:
    if event.source != TELEMETRY or not event.request_id:
        return
    _note(world, scope, event.request_id, 0, id_of(event))
    if event.within and event.status == "ok" and event.stop_reason in ASKS and not event.utility:
        _note(world, scope, event.within, event.began, id_of(event))


def note_use(world: World, event: ToolCalled) -> None:
    if event.asked and event.use.id:
        id = ids.tool_call_id(event.scope.project, event.scope.session, event.use.id)
        world.mark(_uses_key(event.scope.project, event.scope.session, event.asked), event.at, id)
        world.asking[id] = None


def _note(world: World, scope: Scope, place: str, at: int, call: str) -> None:
    """Whatever was asked for from here to the next answer may be its doing."""
    answers = _answers_key(scope.project, scope.session, place)
    world.mark(answers, at, call)
    following = world.span(answers, at + 1, limit=1)
    until = following[0][0] if following else FOREVER
    for _, tool in world.span(_uses_key(scope.project, scope.session, place), at, until):
        world.asking[tool] = None


def settle(world: World, id: str) -> None:
    tool = world.tool(id)
    if tool is None:
        return
    hooked.place(world, tool)
    if not (tool.asked_in or tool.guess):
        return
    was = toolcalls.remembered(tool)
    known = bool(tool.shown) or tool.call not in ("", tool.guess)
    asker = None if known else _asker(world, tool)
    guess = asker.id if asker is not None else ""
    if tool.call in ("", tool.guess):
        tool.call = guess
    tool.guess = guess
    if was.guess != guess:
        _count(world, world.call(was.guess), tool.native, -1)
        _count(world, asker, tool.native, 1)
    toolcalls.settle(world, was, tool)


def _asker(world: World, tool: ToolCall) -> Call | None:
    found = [
        entry
        for place in tool.asked_in
        for entry in world.span(_answers_key(tool.project, tool.session, place), 0, tool.opened, 1, newest=True)
    ]
    calls = [call for _, ref in sorted(found) if (call := world.call(ref)) is not None]
    return calls[0] if calls and not calls[0].twin else None


def _count(world: World, call: Call | None, native: str, sign: int) -> None:
    if call is None or (native in call.uses) == (sign > 0):
        return
    before = len(call.uses)
    told = [(use, mark) for use, mark in zip(call.uses, call.signs, strict=True) if use != native]
    call.uses, call.signs = loops.signed([*told, (native, b"")] if sign > 0 else told)
    world.save("calls", call)
    rollup.change(world, call, rollup.counted(call), before)


def _answers_key(project: str, session: str, place: str) -> int:
    return key("asker-in", project, session, place)


def _uses_key(project: str, session: str, place: str) -> int:
    return key("asked-in", project, session, place)
