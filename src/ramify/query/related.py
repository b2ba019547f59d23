"""Everything that stands in one conversation, read at once, and what lies under what in it."""

from collections.abc import Iterable, Iterator

from ramify.model.entity import Correction, Task
from ramify.model.sketch import Sketch
from ramify.storage.base import Store


def related(store: Store, conversation: str) -> Iterator[Sketch]:
    """The tasks of a conversation as they began, then those of conversations that stand in it."""
    for one in joined(store, conversation):
        yield from store.sketches(one)


def joined(store: Store, conversation: str) -> list[str]:
    """The conversation first. A person's link leads from one into another, as does a run that began inside another's
    shell; and by way of a third."""
    moved = [row.id for row in store.docs("corrections") if isinstance(row, Correction) and row.act == "link"]
    strays = [task for task in store.among("tasks", "id", moved) if isinstance(task, Task)]
    above = store.among("tasks", "id", sorted({task.parent for task in strays}))
    home = {task.id: task.conversation for task in above if isinstance(task, Task) and task.kind != "none"}
    leads = {(home[task.parent], task.conversation) for task in strays if task.parent in home} | set(store.inside())
    found = [conversation]
    for one in found:  # which grows meanwhile
        found += sorted({to for start, to in leads if start == one} - set(found))
    return found


def by_parent(tasks: Iterable[Sketch]) -> dict[str, list[Sketch]]:
    """Children by parent, in the order in which they began."""
    found: dict[str, list[Sketch]] = {}
    for task in tasks:
        if task.parent:
            found.setdefault(task.parent, []).append(task)
    return found


def walk(root: Task | Sketch, under: dict[str, list[Sketch]]) -> Iterator[Task | Sketch]:
    seen, waiting = set[str](), [root]
    while waiting:
        task = waiting.pop()
        if task.id not in seen:
            seen.add(task.id)
            yield task
            waiting += under.get(task.id, ())
