"""The row of a tool call: told by the call that asked for it and by the requests that bring what came back.

Whoever changes a row hands it over with what it was: keys, those who may be its child, and results that clients
cleared follow from the difference.
"""

from msgspec import structs

from ramify.linking import corrected, delegated, warmups
from ramify.linking.agents import first_on_wire, wake
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, Returned, ToolCall

STAND_IN = "@"  # before the name of a tool call that stands for whoever ran inside it
RESULTS = {"ok": "completed", "error": "failed"}
OUTCOMES = {"completed": "completed", "failed": "failed", "killed": "canceled", "stopped": "canceled"}


def tool_of(world: World, call: Call, native: str) -> ToolCall:
    id = ids.tool_call_id(call.project, call.session, native)
    return world.tool(id) or ToolCall(id, native, call.project, call.session)


def remembered(tool: ToolCall) -> ToolCall:
    return structs.replace(tool)


def settle(world: World, was: ToolCall, tool: ToolCall) -> None:
    if was == tool:
        return
    if is_told(tool):
        world.save("tools", tool)
    else:
        world.drop("tools", tool.id)
    _put_keys(world, was, tool)
    if was.call != tool.call:
        corrected.wake_under(world, tool.id)
        if tool.guess:
            world.asking[tool.id] = None
    if (was.result_atom, was.closed) != (tool.result_atom, tool.closed):
        for waiting in world.calls_at(key("cleared", tool.project, tool.session, tool.native)):
            world.agenda[waiting.id] = None
    if _offered(was) != _offered(tool):
        wake_claimants(world, was)
        if (was.prompt, was.agent, was.name, was.named) != (tool.prompt, tool.agent, tool.name, tool.named):
            wake_claimants(world, tool)
        _wake_told(world, tool)
        _wake_lines(world, was)
    if was.block != tool.block:
        wake(world, world.task(tool.child))  # it stands among its siblings by that
    if _offered(was) != _offered(tool) or was.told != tool.told:
        _wake_lines(world, tool)
    if was.agent != tool.agent:  # reports may say only inside which tool call something happened
        world.renamed.setdefault((tool.project, tool.session, tool.native), was.agent)
        for agent in (was.agent, tool.agent):
            warmups.wake(world, tool.project, tool.session, agent)
    delegated.match_again(world, was, tool)
    settle_outcome(world, tool)


def disclaim(tool: ToolCall) -> None:
    """What the answer said that seemed to have asked for it."""
    tool.call, tool.block, tool.name, tool.opened = "", 0, "", 0
    tool.title, tool.agent_type, tool.path = "", "", ""
    tool.prompt, tool.prompt_text, tool.server = b"", "", False


def is_told(tool: ToolCall) -> bool:
    """Somebody asked for it, or something came back."""
    seen = tool.call or tool.closed or tool.agent or tool.notice_status
    return bool(seen or tool.opened or tool.told or tool.named or tool.shown)


def _offered(tool: ToolCall) -> tuple[object, ...]:
    """What decides whose caller it may be."""
    return (
        tool.call, tool.block, tool.name, tool.prompt, tool.opened, tool.closed, tool.shut, tool.agent, tool.agent_evidence,
        tool.agent_rule, tool.named,
    )


def _put_keys(world: World, was: ToolCall, tool: ToolCall) -> None:
    """A key of what is no longer so would be found for ever."""
    if _indexed(was) == _indexed(tool):
        return
    old, new = _keys(world, was), _keys(world, tool)
    for gone in old - new:
        world.remove(*gone, tool.id)
    for come in new - old:
        world.add(*come, tool.id)


def _indexed(tool: ToolCall) -> tuple[object, ...]:
    return (tool.call, tool.opened, tool.name, tool.prompt, tool.agent, tool.agent_at, tool.result_text, tool.closed)


def _keys(world: World, tool: ToolCall) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    if tool.prompt and tool.call:
        found.add((key("offer", tool.project, tool.session, tool.prompt), tool.opened))
    if tool.agent:
        found.add((key("agent", tool.project, tool.session, tool.agent), tool.agent_at))
    if words := delegated.words_back(world, tool):
        found.add((key("result", tool.project, tool.session, words), tool.closed))
    return found


def wake_claimants(world: World, tool: ToolCall) -> None:
    for claim in claimants(world, tool):
        world.openings[claim.id] = None
    if tool.agent and world.task(agent := ids.agent_task_id(tool.project, tool.session, tool.agent)):
        world.retold[agent] = None


def wake_offers(world: World, call: Call) -> None:
    """Its line goes on, or no longer: whoever began after that is rather somebody else's."""
    for native in call.uses:
        tool = world.tool(ids.tool_call_id(call.project, call.session, native))
        if tool is not None and tool.prompt and tool.call == call.id:
            wake_claimants(world, tool)


def claimants(world: World, tool: ToolCall) -> list[Call]:
    """Everybody who may turn out to be its child."""
    found = named_agent(world, tool)
    places = [key("claim", tool.project, tool.session, tool.prompt)] if tool.prompt else []
    if tool.prompt or tool.named or tool.name in world.rules.spawn_tools:
        places.append(key("own", tool.id))
    elif tool.result_text:
        places.append(key("soft", tool.id))
    if places:
        world.prefetch(places)
        found += [claim for place in places for claim in world.calls_at(place)]
    return found


def named_agent(world: World, tool: ToolCall) -> list[Call]:
    if not tool.agent:
        return []
    task = world.task(ids.agent_task_id(tool.project, tool.session, tool.agent))
    first = first_on_wire(world, task) if task else None
    told = [one for _, ref in world.span(told_key(tool.project, tool.session, tool.agent)) if (one := world.call(ref)) is not None]
    return [*([first] if first else []), *told]


def told_key(project: str, session: str, agent: str) -> int:
    """Calls of clients that name no agent, by the one that a report names."""
    return key("told-as", project, session, agent)


def adopt(world: World, tool: ToolCall, task: str) -> None:
    """Reports say that it started this task."""
    if tool.told_child != task:
        tool.told_child = task
        world.save("tools", tool)
    put_child(world, tool)


def disown(world: World, tool: ToolCall, task: str) -> None:
    """They say so no longer: whoever else is said to be its child may be."""
    if tool.told_child != task:
        return
    tool.told_child = ""
    world.save("tools", tool)
    put_child(world, tool)
    _wake_told(world, tool)
    _wake_lines(world, tool)


def _wake_told(world: World, tool: ToolCall) -> None:
    """Tasks that reports give to this call, by whatever name."""
    if _is_told(world, tool):
        wake_named(world, tool)
        world.retold[ids.agent_task_id(tool.project, tool.session, STAND_IN + tool.native)] = None


def wake_named(world: World, tool: ToolCall) -> None:
    for _, ref in world.find(key("via", tool.project, tool.session, tool.native)):
        world.retold[ref] = None


def _is_told(world: World, tool: ToolCall) -> bool:
    conversation = world.conversation(ids.session_conversation_id(tool.project, tool.session)) if tool.session else None
    return conversation is not None and conversation.told


def put_child(world: World, tool: ToolCall) -> None:
    """The task that it started: what the wire shows counts for more than what reports name."""
    claim = world.call(tool.paired)
    child = begun_by(claim) if claim is not None else tool.told_child
    if tool.child == child:
        return
    left = world.task(tool.child)
    if left is not None and left.outcome:
        left.outcome, left.outcome_at = "", 0
        world.save("tasks", left)
    tool.child = child
    world.save("tools", tool)
    settle_outcome(world, tool)
    _wake_lines(world, tool)


def begun_by(call: Call) -> str:
    """The task that begins with a call."""
    agent = call.agent or call.told_agent
    return ids.agent_task_id(call.project, call.session, agent) if agent else ids.opened_task_id(call.id)


def _wake_lines(world: World, tool: ToolCall) -> None:
    """A line that a report tells of, without naming its agent, may be the same task."""
    if tool.prompt and _is_told(world, tool):
        for _, ref in world.find(key("lines", tool.project, tool.session, tool.prompt)):
            world.retold[ref] = None


def _only_started(tool: ToolCall, closing: Returned) -> bool:
    """Telemetry says when a tool came back, and not with what: others may know that it was a mere receipt."""
    return closing.source == "otel" and (tool.started or bool(tool.closed))


def settle_outcome(world: World, tool: ToolCall) -> None:
    """What the caller's side says about the child: the report, or a notice."""
    task = world.task(tool.child)
    if task is None:
        return
    outcome, at = "", 0
    if tool.notice_status in OUTCOMES:
        outcome, at = OUTCOMES[tool.notice_status], tool.notice_at
    elif tool.shut:
        outcome, at = RESULTS.get(tool.status, "canceled"), tool.shut
    elif tool.closing is not None and not _only_started(tool, tool.closing):
        outcome, at = RESULTS.get(tool.closing.status, "canceled"), tool.closing.at
    if (task.outcome, task.outcome_at) != (outcome, at):
        task.outcome, task.outcome_at = outcome, at
        world.save("tasks", task)
