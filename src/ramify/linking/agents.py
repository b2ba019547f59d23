"""With which of its calls an agent begins on the wire, where an earlier answer of it was only reported; and who rests on a call."""

from ramify.linking.world import World, key
from ramify.model.entity import Call, Task


def begins_key(task: str) -> int:
    """The first of its calls there; while others are judged perhaps some more."""
    return key("begins-agent", task)


def first_on_wire(world: World, task: Task) -> Call | None:
    first = world.call(task.first)
    if first is not None and first.relation != "seen":
        return first
    found = world.span(begins_key(task.id), limit=1)
    call = world.call(found[0][1]) if found else None
    return call if call is not None and call.relation == "agent" and call.task == task.id else None


def wake_spawned(world: World, call: Call) -> None:
    """The tasks that it spawned: where it stands, or when it was, is part of what they say."""
    for _, ref in world.find(key("spawned", call.id)):
        wake(world, world.task(ref))


def wake(world: World, task: Task | None) -> None:
    """Whoever puts it together does so again."""
    first = world.call(task.first) if task else None
    if first is not None and first.relation != "seen":
        world.unplaced[first.id] = None
    if task is not None and (task.stated is not None or first is None or first.relation == "seen"):
        world.retold[task.id] = None
