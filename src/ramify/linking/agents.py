"""With which of its calls an agent begins on the wire, where an earlier answer of it was only reported."""

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
