"""A person's corrections: ids of any kind become the task that is meant and where it belongs."""

from typing import Any, Literal

from ramify.linking.conversation import before
from ramify.model import ids
from ramify.model.entity import Call, Task, ToolCall
from ramify.model.entity import Correction as Word
from ramify.model.observation import Correction
from ramify.model.usage import NOTHING, Usage
from ramify.query.errors import BadQuestion
from ramify.query.family import ancestry, gathered
from ramify.query.resolve import resolve
from ramify.query.shapes import usage_shape
from ramify.storage.base import Store
from ramify.wiring import now

Act = Literal["link", "unlink", "withdraw"]


def correction(store: Store, act: Act, child: str, parent: str = "") -> Correction:
    """Ids of any kind become the task that is meant and the task or tool call it belongs under."""
    task = task_named(store, child)
    target = ""
    if act == "link":
        above = parent_named(store, parent)
        target = above.id
        anchor = above if isinstance(above, Task) else caller_of(store, above)
        if above.project != task.project:
            raise BadQuestion(f"{child!r} is in the project {task.project!r} and {parent!r} in {above.project!r}: nothing links across projects")
        path = [anchor.id, *ancestry(store, [anchor])[anchor.id]]
        if task.id in path:
            raise BadQuestion(f"{parent!r} is {child!r} itself or stands under it: a task cannot be its own ancestor")
        if began_before(store, task, above):
            raise BadQuestion(f"{child!r} began before {parent!r}: nothing is started by what came later")
    at = now()
    return Correction(ids.observation_id("correction", act, task.id, target, at), task.project, at, "person", act, task.id, target)


def began_before(store: Store, task: Task, above: Task | ToolCall) -> bool:
    first = store.load("calls", task.first)
    caller = store.load("calls", above.first if isinstance(above, Task) else above.call)
    return isinstance(first, Call) and isinstance(caller, Call) and not before(caller, first)


def task_named(store: Store, id: str) -> Task:
    _, row = resolve(store, id, ("tasks", "calls"))
    if isinstance(row, Call):
        found = store.load("tasks", row.task)
        if not isinstance(found, Task):
            raise BadQuestion(f"the call {id!r} belongs to no task; only tasks are linked")
        return found
    assert isinstance(row, Task)
    return row


def parent_named(store: Store, id: str) -> Task | ToolCall:
    _, row = resolve(store, id, ("tasks", "tools", "calls"))
    if isinstance(row, ToolCall):
        return row
    return task_named(store, row.id)


def caller_of(store: Store, tool: ToolCall) -> Task:
    call = store.load("calls", tool.call)
    task = store.load("tasks", tool.task or (call.task if isinstance(call, Call) else ""))
    if not isinstance(task, Task):
        raise BadQuestion(f"the tool call {tool.native!r} belongs to no known task")
    return task


# -- what an act would move, before it is done -----------------------------------------------------------------------------

Answer = dict[str, Any]


def preview(store: Store, children: list[str], parent: str) -> Answer:
    """What goes where, with everything under it, each task once; and for each child what a person said before.

    A child that stands under another of them goes along with that one. Without a parent they would belong to nothing.
    """
    tasks = list({task.id: task for task in (task_named(store, child) for child in children)}.values())
    above = ancestry(store, tasks)
    heads = [task for task in tasks if not {one.id for one in tasks} & set(above[task.id])]
    moves = [_move(store, task, parent) for task in heads]
    target = parent_named(store, parent) if parent else None
    going = [move for move in moves if move["refused"] is None]
    return {
        "parent": _named(store, target),
        "moves": [{**move, "usage": usage_shape(move["usage"])} for move in moves],
        "tasks": sum(move["tasks"] for move in going),
        "usage": usage_shape(sum((move["usage"] for move in going), NOTHING)),
    }


def _move(store: Store, task: Task, parent: str) -> Answer:
    family = [task, *(one for under in gathered(store, [task]).values() for one in under)]
    usage: Usage = sum((one.usage for one in family), NOTHING)
    said = store.load("corrections", task.id)
    return {
        "child": task.id,
        "title": task.title,
        "from": _named(store, store.load("tasks", task.parent)),
        "tasks": len(family),
        "usage": usage,
        "refused": _refusal(store, task, parent),
        "before": {"act": said.act, "parent": said.parent or None} if isinstance(said, Word) and said.act != "withdraw" else None,
    }


def _refusal(store: Store, task: Task, parent: str) -> str | None:
    try:
        correction(store, "link" if parent else "unlink", task.id, parent)
    except BadQuestion as why:
        return str(why)
    return None


def _named(store: Store, row: object) -> Answer | None:
    if isinstance(row, ToolCall):
        return {"id": row.id, "title": row.title or row.name}
    return {"id": row.id, "title": row.title} if isinstance(row, Task) else None
