"""Turns that a person interrupted: the wire tells it with the next prompt, by a mark of the client in front of that."""

from ramify.linking.world import World, key
from ramify.model.entity import Call, Task

MARK = "[Request interrupted by user"


def note(world: World, call: Call) -> None:
    """Asked again whenever the call, or the one that it goes on from, stands elsewhere."""
    parent = world.call(call.parent)
    cut = ""
    if parent is not None and call.relation == "continued" and call.task != parent.task and _brings_mark(world, call):
        cut = parent.task
    if cut != call.cuts:
        was, call.cuts = call.cuts, cut
        world.save("calls", call)
        if was:
            world.unmark(_place(was), call.started, call.id)
            _settle_at(world, was)
        if cut:
            world.mark(_place(cut), call.started, call.id)
    if cut:
        _settle_at(world, cut)


def settle(world: World, task: Task) -> None:
    """Over at the latest when its last answer was and nothing followed; when the person did it, nobody saw."""
    cutting = [call for _, ref in world.span(_place(task.id), limit=1, newest=True) if (call := world.call(ref))]
    last = world.call(cutting[0].parent) if cutting else None
    outcome = ("canceled", last.ended or last.started) if last is not None else ("", 0)
    if (task.outcome, task.outcome_at) != outcome:
        task.outcome, task.outcome_at = outcome
        world.save("tasks", task)


def _settle_at(world: World, id: str) -> None:
    task = world.task(id)
    if task is not None and task.kind == "root" and not task.protocol:
        settle(world, task)


def _place(task: str) -> int:
    return key("cut-off", task)


def _brings_mark(world: World, call: Call) -> bool:
    parts = world.chain(call).parts
    return any(
        text.normal.startswith(MARK) and (index > call.new_message or text.block >= call.new_block)
        for index in range(call.new_message, len(parts))
        if parts[index].role == "user"
        for text in parts[index].texts
    )
