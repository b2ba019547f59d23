"""Files that a task's tools were about, counted over the tree: each path once."""

from ramify.model.entity import Call, Task, ToolCall
from ramify.query import family
from ramify.storage.base import Store


def count(store: Store, roots: list[Task]) -> dict[str, int]:
    under = family.gathered(store, roots)
    every = {task.id: task for task in (*roots, *(one for tasks in under.values() for one in tasks))}
    task_of = {call.id: call.task for call in store.among("calls", "task", list(every)) if isinstance(call, Call)}
    own: dict[str, set[str]] = {id: set() for id in every}
    for tool in store.among("tools", "call", list(task_of)):
        if isinstance(tool, ToolCall) and tool.path:
            own[task_of[tool.call]].add(tool.path)
    return {id: len(_of_tree(id, own, under)) for id in every}


def _of_tree(id: str, own: dict[str, set[str]], under: dict[str, list[Task]]) -> set[str]:
    found: set[str] = set()
    waiting = [id]
    while waiting:
        one = waiting.pop()
        found |= own.get(one, set())
        waiting += [child.id for child in under.get(one, [])]
    return found
