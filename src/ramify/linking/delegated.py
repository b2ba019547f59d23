"""Tools of one's own: a string of the input opened the child, and the child's last words came back."""

from ramify.linking.conversation import same_scope
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, ToolCall
from ramify.model.event import Part


def final_words(part: Part) -> bytes | None:
    texts = [text.normal for text in part.texts if text.normal]
    if not texts or part.uses:
        return None
    return ids.digest("prompt", "\n".join(texts))


def words_back(world: World, tool: ToolCall) -> bytes:
    """The words by which a child would be known; a tool that is known to start agents has better ones."""
    return b"" if tool.prompt or tool.name in world.rules.spawn_tools else tool.result_text


def match_final(world: World, call: Call) -> None:
    """Asked again whenever the call moves: its line may have another beginning then."""
    if call.final:
        for tool in world.tools_at(key("result", call.project, call.session, call.final)):
            _match(world, tool, tool)


def match_again(world: World, was: ToolCall, tool: ToolCall) -> None:
    if _told(world, was) != _told(world, tool):
        _match(world, was, tool)


def _told(world: World, tool: ToolCall) -> tuple[object, ...]:
    return (words_back(world, tool), tool.call, tool.closed)


def _match(world: World, was: ToolCall, tool: ToolCall) -> None:
    """Which openings fit is asked as a whole, so that one that fits no longer is forgotten."""
    words = words_back(world, tool)
    last = world.calls_at(key("final", tool.project, tool.session, words)) if words and tool.call else []
    if not last and not words_back(world, was):
        return  # nothing matched before it had a result
    fitting = {opening.id: opening for opening in _fitting(world, tool, last)}
    had = {opening.id: opening for opening in world.calls_at(key("soft", tool.id))}
    for id, opening in sorted({**had, **fitting}.items()):
        if (id in had) != (id in fitting):
            _put(world, tool, opening, id in fitting)


def _fitting(world: World, tool: ToolCall, last: list[Call]) -> list[Call]:
    caller = world.call(tool.call)
    if caller is None or not last:
        return []
    asked = world.loader.answered(caller.response)
    use = next((use for use in (asked.part.uses if asked and asked.part else ()) if use.id == tool.native), None)
    if use is None:
        return []
    found = [(world.call(call.origin), call) for call in last]
    return [
        opening
        for opening, call in found
        if opening is not None
        and not (opening.agent or opening.told_agent)
        and opening.id != caller.id
        and caller.started <= opening.started
        and call.started < tool.closed
        and same_scope(caller, opening)
        and set(use.strings) & set(opening.claims)
    ]


def _put(world: World, tool: ToolCall, opening: Call, fits: bool) -> None:
    offers = {*opening.soft_offers, tool.id} if fits else {*opening.soft_offers} - {tool.id}
    opening.soft_offers = tuple(sorted(offers))
    if fits:
        world.add(key("soft", tool.id), opening.started, opening.id)
    else:
        world.remove(key("soft", tool.id), opening.started, opening.id)
    world.save("calls", opening)
    world.openings[opening.id] = None
