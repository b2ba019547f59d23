"""A person's corrections: ids of any kind become the task that is meant and where it belongs."""

from ramify.linking.conversation import before
from ramify.model import ids
from ramify.model.entity import Call, Task, ToolCall
from ramify.model.observation import Correction
from ramify.query.errors import BadQuestion
from ramify.query.family import ancestry
from ramify.query.resolve import resolve
from ramify.storage.base import Store
from ramify.wiring import now


def correction(store: Store, act: str, child: str, parent: str) -> Correction:
    """Ids of any kind become the task that is meant and the task or tool call it belongs under."""
    task = task_named(store, child)
    target = ""
    if act == "link":
        above = parent_named(store, parent)
        target = above.id
        anchor = above if isinstance(above, Task) else caller_of(store, above)
        path = [anchor.id, *ancestry(store, [anchor])[anchor.id]]
        if task.id in path:
            raise BadQuestion(f"{parent!r} is {child!r} itself or stands under it: a task cannot be its own ancestor")
        if began_before(store, task, above):
            raise BadQuestion(f"{child!r} began before {parent!r}: nothing is started by what came later")
    at = now()
    return Correction(
        ids.observation_id("correction", act, task.id, target, at), task.project, at, "person",
        "link" if act == "link" else "unlink", task.id, target,
    )


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
    task = store.load("tasks", call.task) if isinstance(call, Call) else None
    if not isinstance(task, Task):
        raise BadQuestion(f"the tool call {tool.native!r} belongs to no known task")
    return task
