"""A person's word about whose child a task is. It counts for more than the rules, unless it cannot be."""

from ramify.linking.conversation import before
from ramify.linking.world import World
from ramify.model.entity import Call, Correction
from ramify.model.link import Link


def word_about(world: World, call: Call | None, task: str) -> Correction | None:
    """What a person said about the task that this call opens, if it can be."""
    said = world.correction(task)
    if said is None or said.act == "withdraw":
        return None
    if said.act != "link":
        return said
    return said if said.parent != task and _can_start(world, said.parent, call) else None


def _can_start(world: World, parent: str, call: Call | None) -> bool:
    """Nobody is started by what came later, which may be there only as long as this is nobody's child."""
    caller, task = caller_in(world, parent), world.task(parent)
    if (tool := world.tool(parent)) is not None and tool.task:
        return True
    if caller is None or call is None:
        return caller is not None or (task is not None and not task.first)  # reports may know a task without its calls
    return before(caller, call)


def caller_in(world: World, parent: str) -> Call | None:
    """A person names a tool call or a task as the parent."""
    if tool := world.tool(parent):
        return world.call(tool.call)
    task = world.task(parent)
    return world.call(task.first) if task else None


def link_of(world: World, said: Correction) -> tuple[Link | None, str]:
    """The link, and the calling model call if one is known."""
    if said.act != "link":
        return None, ""
    evidence = (said.observation,)
    tool = world.tool(said.parent)
    caller = world.call(tool.call) if tool else None
    by = caller.id if caller else ""  # also where it has no task yet: it will say so when it has one
    if tool is not None and (owner := tool.task or (caller.task if caller else "")):
        return Link("spawned", owner, "manual", 1.0, tool.native, tool.id, evidence), by
    return Link("spawned", said.parent, "manual", 1.0, evidence=evidence), by


def wake_under(world: World, parent: str) -> None:
    """A parent that a person named has come, gone or moved."""
    for child in world.corrected_under(parent):
        task = world.task(child)
        if task is not None and not task.protocol:
            world.unplaced[task.first] = None
            if task.stated is not None:
                world.retold[task.id] = None
