"""Ancestors and descendants of tasks, level by level: one read for each level, whatever the number of tasks."""

from collections.abc import Iterable, Mapping, Sequence

from ramify.model.entity import Task
from ramify.model.sketch import Sketch
from ramify.model.standing import task_status
from ramify.model.usage import Usage
from ramify.storage.base import Store, Wish

DEEPEST = 200
Under = Mapping[str, Sequence[Task | Sketch]]  # children by parent


def wishes(tasks: Sequence[Task]) -> list[Wish]:
    """What is needed of those around them: their children, their parents, and the lines on which they stand."""
    known = {task.id for task in tasks}
    above = sorted({task.parent for task in tasks if task.parent} - known)
    return [Wish("tasks", "parent", sorted(known)), Wish("tasks", "id", above), on_lines(tasks)]


def on_lines(tasks: Sequence[Task]) -> Wish:
    return Wish("lines", "conversation", sorted({task.conversation for task in tasks if task.conversation}))


def spawning_order(store: Store, tasks: list[Task]) -> dict[str, tuple[int, int]]:
    from ramify.model.entity import Line

    lines = store.among("lines", "id", [task.id for task in tasks])
    return {line.id: (line.order, line.position) for line in lines if isinstance(line, Line)}


def descend(store: Store, roots: list[Task]) -> dict[str, list[Task]]:
    """Everything under the roots by its parent, in the order of the spawning calls."""
    family = gathered(store, roots)
    order = spawning_order(store, [task for tasks in family.values() for task in tasks])
    return {parent: sorted(tasks, key=lambda task: (order.get(task.id, (task.opened, 0)), task.id)) for parent, tasks in family.items()}


def gathered(store: Store, roots: list[Task]) -> dict[str, list[Task]]:
    """The same in no order, for who adds up. The roots may stand under each other as they do in a list of tasks.

    A cycle, which only corrections by hand could make, ends where it closes.
    """
    family: dict[str, list[Task]] = {}
    known = {task.id: task for task in roots}
    level = list(known)
    while level:
        found: dict[str, list[Task]] = {}
        for task in store.among("tasks", "parent", sorted(level)):
            if isinstance(task, Task):
                found.setdefault(task.parent, []).append(task)
        level = []
        for parent, tasks in found.items():
            family[parent] = [task for task in tasks if task.id not in known or not _stands_under(parent, task.id, known)]
            fresh = {task.id: task for task in family[parent] if task.id not in known}
            known |= fresh
            level += fresh
    return family


def _stands_under(id: str, above: str, known: dict[str, Task]) -> bool:
    passed: set[str] = set()
    while id in known and id not in passed:
        if id == above:
            return True
        passed.add(id)
        id = known[id].parent
    return False


def unattached(store: Store, tasks: list[Task], roots: list[Task]) -> list[Task]:
    """Tasks that no root leads to: their parent is not known, was never seen, or stands under them."""
    reached = {task.id for task in roots} | {task.id for under in gathered(store, roots).values() for task in under}
    known = {task.id for task in store.among("tasks", "id", sorted({task.parent for task in tasks if task.parent}))}
    found = [task for task in tasks if task.id not in reached and task.parent not in known]
    reached |= {task.id for task in found} | {task.id for under in gathered(store, found).values() for task in under}
    here = {"", *(task.id for task in tasks)}
    for task in tasks:  # what remains goes round in a circle: the oldest of it stands for it
        if task.id not in reached and task.parent in here:
            found.append(task)
            reached |= {task.id} | {one.id for under in gathered(store, [task]).values() for one in under}
    return found


def flat(family: Mapping[str, Sequence[Task]], root: str) -> list[Task]:
    """All that is under it in pre-order: each task before its children."""
    found: list[Task] = []
    waiting = list(reversed(family.get(root, [])))
    while waiting:
        task = waiting.pop()
        found.append(task)
        waiting += reversed(family.get(task.id, []))
    return found


def tree_usage(task: Task, family: Under) -> Usage:
    total = Usage()
    waiting: list[Task | Sketch] = [task]
    while waiting:
        one = waiting.pop()
        total = total + one.usage
        waiting += family.get(one.id, [])
    return total


def is_busy(task: Task, family: Under) -> bool:
    """Whether anybody under it works."""
    waiting, passed = list(family.get(task.id, [])), {task.id}
    while waiting:
        one = waiting.pop()
        if task_status(one) == "working":
            return True
        if one.id not in passed:
            passed.add(one.id)
            waiting += family.get(one.id, [])
    return False


def ancestry(store: Store, tasks: Iterable[Task]) -> dict[str, list[str]]:
    """For each task the ids from its parent up to its root."""
    known = {task.id: task for task in tasks}
    wanted = {task.parent for task in known.values() if task.parent} - set(known)
    for _ in range(DEEPEST):
        if not wanted:
            break
        found = [task for task in store.among("tasks", "id", sorted(wanted)) if isinstance(task, Task)]
        known.update({task.id: task for task in found})
        wanted = {task.parent for task in found if task.parent} - set(known)
    paths: dict[str, list[str]] = {}
    for id in known:
        path: dict[str, None] = {}
        parent = known[id].parent
        while parent and parent in known and parent not in path and parent != id:
            path[parent] = None
            parent = known[parent].parent
        paths[id] = list(path)
    return paths
