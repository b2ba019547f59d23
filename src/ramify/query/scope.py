"""What an id names, as a whole: the tree, and every task of it, each before those that it gave."""

from typing import Any

from msgspec import Struct

from ramify.model.entity import Task
from ramify.query.family import ancestry
from ramify.query.service import Questions

Shape = dict[str, Any]


class Scope(Struct, frozen=True):
    """`tree` is what `Questions.tree` answers; `tasks` are its tasks without what is under them, with `unattached` last."""

    entity: str  # task, conversation, operation
    id: str
    title: str
    tree: Shape
    tasks: tuple[Shape, ...]

    @property
    def ids(self) -> list[str]:
        return [task["id"] for task in self.tasks]

    @property
    def conversations(self) -> set[str]:
        found = {task["conversation"] for task in self.tasks if task["conversation"]}
        return found | {self.id} if self.entity == "conversation" else found


def scope(questions: Questions, id: str) -> Scope:
    """Of a call or a tool call: the task that it belongs to."""
    tree = questions.tree(id)
    entity = "task" if "roots" not in tree else "conversation" if "conversation" in tree else "operation"
    named = tree if entity == "task" else tree[entity]
    tasks = tuple(each_task([tree] if entity == "task" else [*tree["roots"], *tree["unattached"]]))
    title = named.get("title") or named.get("operationId") or (tasks[0]["title"] if tasks else "")
    return Scope(entity, named["id"], title, tree, tasks)


def each_task(roots: list[Shape]) -> list[Shape]:
    """Pre-order, each once, without recursion: agents may nest deeply."""
    found: dict[str, Shape] = {}
    waiting = list(reversed(roots))
    while waiting:
        one = waiting.pop()
        if one["id"] not in found:
            found[one["id"]] = {name: value for name, value in one.items() if name != "children"}
            waiting += reversed(one["children"])
    return list(found.values())


def conversations_above(questions: Questions, scope: Scope) -> set[str]:
    """Of the tasks that the tree hangs under, which may be in other conversations."""
    store = questions.store
    rows = [row for row in store.among("tasks", "id", scope.ids) if isinstance(row, Task)]
    above = {id for path in ancestry(store, rows).values() for id in path} - set(scope.ids)
    return {row.conversation for row in store.among("tasks", "id", sorted(above)) if isinstance(row, Task)} - {""}

