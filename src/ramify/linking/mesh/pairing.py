"""Which tool call started which task: by the result, by the call's id and name, or by being the nearest that fits.

A pure function of the calls and the children of one bucket, so the order in which they come does not matter.
"""

from msgspec import structs

from ramify.linking import adoption
from ramify.linking.mesh import names
from ramify.linking.world import World, key
from ramify.model.entity import Task, ToolCall

Bucket = tuple[str, ...]
"""The parent's row, the tool's name, and the call's id where the child names one; or a child alone."""
Mark = tuple[int, int, str]
PEER, WORKFLOW = "peer_", "workflow_"
MILLISECOND = 1000  # requests carry no finer time


# -- what is noted of calls and children -------------------------------------------------------------------------------


def offered(world: World, before: ToolCall | None, after: ToolCall | None) -> set[Bucket]:
    """A call that changed, came or went; gives what must be paired again because of it."""
    for id in {tool.id for tool in (before, after) if tool}:
        world.called.setdefault(id, {})
        for child in world.corrected_under(id) if before is None or after is None else ():
            adoption.again(world, child)
    note(world, *(offer_marks(tool) if tool else set() for tool in (before, after)))
    return {bucket for tool in (before, after) if tool for bucket in tool_buckets(world, tool)}


def claimed(world: World, before: Mark | None, task: Task, earlier: Bucket | None) -> set[Bucket]:
    """A child whose request came, or is another now."""
    now = standing(task)
    note(world, {before} if before else set(), {now} if now else set())
    return {bucket for bucket in (earlier, bucket_of(task), (task.id,)) if bucket}


def note(world: World, before: set[Mark], after: set[Mark]) -> None:
    for mark in before - after:
        world.unmark(*mark)
    for mark in after - before:
        world.mark(*mark)


def offer_marks(tool: ToolCall) -> set[Mark]:
    marks: set[Mark] = set()
    if (bucket := tool_bucket(tool)) is not None:
        marks.add((key("sam-offers", *bucket), tool.opened, tool.id))
    if tool.details.get("child"):
        marks.add((key("sam-results", child_of(tool)), tool.opened, tool.id))
    return marks


def tool_bucket(tool: ToolCall) -> Bucket | None:
    if tool.name.startswith(WORKFLOW):
        return tool.task, tool.name, ""
    return (tool.task, tool.name, tool.native) if tool.name.startswith(PEER) else None


def tool_buckets(world: World, tool: ToolCall) -> list[Bucket]:
    own = tool_bucket(tool)
    named = world.task(child_of(tool)) if tool.details.get("child") else None
    found = [own, (child_of(tool),) if tool.details.get("child") else None, bucket_of(named) if named else None]
    return [bucket for bucket in found if bucket is not None]


def child_of(tool: ToolCall) -> str:
    return names.task_id(tool.project, tool.details["child"])


def bucket_of(task: Task) -> Bucket | None:
    """Only a request says which call it follows from; a node of a workflow follows from none."""
    if task.found is None or task.found.rule != "parentTaskId" or "node_id" in task.native:
        return None
    call = task.native.get("function_call_id", "")
    return (task.found.parent, PEER + task.agent, call) if call else (task.found.parent, WORKFLOW + task.agent, "")


def standing(task: Task) -> Mark | None:
    bucket = bucket_of(task)
    return (key("sam-children", *bucket), task.opened, f"{task.place:016x} {task.id}") if bucket else None


# -- pairing -----------------------------------------------------------------------------------------------------------


def pair(world: World, bucket: Bucket) -> None:
    if len(bucket) == 1:
        child = world.task(bucket[0])
        if child is not None and bucket_of(child) is None:
            attach(world, child, exact(world, child))
        return
    kids = [kid for _, ref in world.span(key("sam-children", *bucket)) if (kid := world.task(ref.split(" ")[1]))]
    tools = [tool for _, id in world.span(key("sam-offers", *bucket)) if (tool := world.tool(id))]
    found = {kid.id: tool for kid in kids if (tool := exact(world, kid))}
    taken = {tool.id for tool in found.values()}
    free = sorted((tool for tool in tools if tool.id not in taken and not tool.details.get("child")), key=moment)
    waiting = [kid for kid in kids if kid.id not in found]
    found |= in_order(free, waiting) if bucket[1].startswith(PEER) else nearest(free, waiting)
    for kid in kids:
        attach(world, kid, found.get(kid.id))


def moment(tool: ToolCall) -> tuple[int, int, str]:
    return tool.opened, tool.block, tool.id


def exact(world: World, child: Task) -> ToolCall | None:
    """The call whose result is the child's end."""
    if child.found is None:
        return None
    rows = [tool for _, id in world.span(key("sam-results", child.id)) if (tool := world.tool(id))]
    return min((tool for tool in rows if tool.task == child.found.parent), key=moment, default=None)


def in_order(tools: list[ToolCall], kids: list[Task]) -> dict[str, ToolCall]:
    return {kid.id: tool for kid, tool in zip(kids, tools, strict=False)}


def nearest(tools: list[ToolCall], kids: list[Task]) -> dict[str, ToolCall]:
    """From the last request backwards: the nearest start before it that no later one has. Requests may go out before
    their calls are said to have started: where each call has one, and was decided before it, they go together in order."""
    found: dict[str, ToolCall] = {}
    free = sorted(tools, key=lambda tool: (tool.begun or tool.opened, tool.block, tool.id))
    if len(free) == len(kids) and all(tool.opened < kid.opened + MILLISECOND for tool, kid in zip(free, kids, strict=True)):
        return in_order(free, kids)
    for kid in reversed(kids):
        before = [tool for tool in free if (tool.begun or tool.opened) < kid.opened + MILLISECOND]
        if before:
            found[kid.id] = before[-1]
            free.remove(before[-1])
    return found


def attach(world: World, child: Task, tool: ToolCall | None) -> None:
    link = child.found
    via, via_id = (tool.native, tool.id) if tool is not None else ("", "")
    if link is not None and link.via_id != via_id:
        adoption.put(world, child, structs.replace(link, via=via, via_id=via_id))


def settle(world: World) -> None:
    """What came of a call is what stands under it in the end: a person may have said so, or otherwise."""
    for id, moved in world.called.items():
        tool = world.tool(id)
        known = [kid for one in {*moved, *(tool.children if tool is not None else ())} if (kid := world.task(one)) is not None]
        for kid in known:
            name_caller(world, kid)
        own = sorted((kid for kid in known if kid.link is not None and kid.link.via_id == id), key=lambda kid: (kid.opened, kid.place, kid.id))
        children = tuple(kid.id for kid in own)
        if tool is not None and tool.protocol == names.PROTOCOL and tool.children != children:
            world.save("tools", structs.replace(tool, children=children))


def name_caller(world: World, task: Task) -> None:
    tool = world.tool(task.link.via_id) if task.link is not None else None
    caller = tool.call if tool is not None else ""
    if task.protocol == names.PROTOCOL and task.caller != caller:
        task.caller = caller
        world.save("tasks", task)
