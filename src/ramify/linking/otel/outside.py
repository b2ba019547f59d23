"""A session of the Claude client that was started inside a span of somebody else."""

from ramify.linking.otel.nodes import Node, is_client_run, load, trace_of
from ramify.linking.otel.traces import stand_in
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call
from ramify.model.link import Link

HIGHEST = 256


def link_of(world: World, call: Call) -> Link | None:
    """To the task that the span around the session belongs to."""
    if not call.span or not world.find(key("otel-any", call.project)):
        return None
    node = load(world, call.project, call.span)
    evidence = [node.seen.observation] if node is not None else []
    for _ in range(HIGHEST):
        if node is None or not (is_client_run(node) and node.seen.session == call.session):
            break
        node = load(world, call.project, node.seen.parent)
    if node is None:
        return None
    evidence.append(node.seen.observation)
    task, via, via_id = owner_of(world, node)
    if not task or world.task(task) is None:
        return None
    return Link("spawned", task, "traceparent", 1.0, via, via_id, tuple(dict.fromkeys(evidence)))


def owner_of(world: World, node: Node) -> tuple[str, str, str]:
    """The task, and the tool call on the way to it, as the spans were judged last."""
    via = via_id = ""
    above: Node | None = node
    for _ in range(HIGHEST):
        if above is None:
            break
        if is_client_run(above):
            return owner_in_client(world, above)
        if above.table == "tools" and not via_id:
            via, via_id = above.seen.tool_call or above.seen.place.partition("-")[2], above.row
        if above.task:
            return above.task, via, via_id
        above = load(world, above.seen.project, above.seen.parent)
    return stand_in(node.seen.project, trace_of(node.seen.place)), via, via_id


def owner_in_client(world: World, node: Node) -> tuple[str, str, str]:
    seen = node.seen
    tool = world.tool(ids.tool_call_id(seen.project, seen.session, seen.tool_call)) if seen.tool_call else None
    caller = world.call(tool.call) if tool is not None else None
    via, via_id = (tool.native, tool.id) if tool is not None else ("", "")
    if caller is not None and caller.task:
        return caller.task, via, via_id
    if seen.agent:
        return ids.agent_task_id(seen.project, seen.session, seen.agent), via, via_id
    roots = [ref for at, ref in world.find(key("roots", ids.session_conversation_id(seen.project, seen.session))) if at <= seen.opened]
    return (roots[-1] if roots else ""), via, via_id
