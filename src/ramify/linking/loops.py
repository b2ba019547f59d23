"""How often a task did the same thing in a row: calls of a model that ask for the same tools with the same input.

A call at the end of its task, which nearly every call is when it comes, goes on from what is known of the end. Whatever
else happens puts the task in doubt, and then it is counted from its beginning, once for all that came together.
"""

from collections.abc import Iterable

from ramify.linking.conversation import in_time
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, Task

Step = tuple[bytes, int]
"""What a call asked for, and how often: side by side it may ask for one thing several times."""


def step_of(call: Call) -> Step:
    if len(set(call.signs)) == 1:
        return call.signs[0], len(call.signs)
    return ids.digest(*sorted(call.signs))[:8], 1


def signed(known: Iterable[tuple[str, bytes]]) -> tuple[tuple[str, ...], tuple[bytes, ...]]:
    """The uses of a reported call and their signs: told by several sources, each is there once."""
    found: dict[str, bytes] = {}
    for id, sign in known:
        found[id] = max(found.get(id, b""), sign)
    uses = tuple(sorted(found))
    return uses, tuple(found[id] for id in uses)


def go_on(task: Task, call: Call) -> None:
    """It is the newest of its task, and was not counted before."""
    sign, times = step_of(call)
    task.tail_run = times + (task.tail_run if sign == task.tail else 0)
    task.tail = sign
    task.loops = max(task.loops, task.tail_run)


def join(world: World, task: Task, call: Call, newest: bool) -> None:
    if not any(call.signs):
        return
    if newest:
        go_on(task, call)
    else:
        doubt(world, task.id)


def doubt(world: World, task: str) -> None:
    world.recalled[task] = None


def count_again(world: World) -> None:
    for id in world.recalled:
        task = world.task(id)
        if task is not None:
            before = task.loops, task.tail, task.tail_run
            task.loops, task.tail, task.tail_run = 0, b"", 0
            for call in _calls_of(world, id):
                go_on(task, call)
            if (task.loops, task.tail, task.tail_run) != before:
                world.save("tasks", task)
    world.recalled.clear()


def _calls_of(world: World, task: str) -> list[Call]:
    found = [call for _, ref in world.span(key("in", task)) if (call := world.call(ref)) is not None]
    return sorted((call for call in found if any(call.signs)), key=in_time)
