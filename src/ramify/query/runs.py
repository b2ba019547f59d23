"""Root tasks with how far the work under them has come: the list that people look at first."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ramify.model.entity import Task
from ramify.model.sketch import Sketch
from ramify.model.usage import NOTHING
from ramify.query.branches import branch_names
from ramify.query.flags import USUAL, Patience, flags_of, is_stalled
from ramify.query.paging import read_cursor, write_cursor
from ramify.query.related import by_parent, related, walk
from ramify.query.resolve import resolve
from ramify.query.shapes import DONE, task_shape, task_status, usage_shape
from ramify.storage.base import Ask, Store

Shape = dict[str, Any]


class Wanted(NamedTuple):
    """Which runs: of one conversation or project, with a status, with some words in what was asked."""

    conversation: str | None = None
    project: str | None = None
    status: str | None = None
    words: str | None = None


def runs(store: Store, wanted: Wanted, limit: int, cursor: str | None, patience: Patience = USUAL) -> Shape:
    """What is filtered is judged, not stored: pages are read until one is full. `hidden` were left out on the way."""
    where = {"kind": "root"} | ({"project": wanted.project} if wanted.project else {})
    if wanted.conversation:
        where["conversation"] = resolve(store, wanted.conversation, ("conversations",))[1].id
    fits = fitting(wanted.status, wanted.words)
    items: list[Shape] = []
    hidden = 0
    while True:
        rows = store.page("tasks", Ask("opened", where, limit, read_cursor(cursor)))
        shapes = run_shapes(store, [row for row in rows if isinstance(row, Task)], patience.since())
        kept = [shape for shape in shapes if fits(shape)]
        hidden += len(shapes) - len(kept)
        items += kept
        last = rows[-1] if len(rows) == limit else None
        cursor = write_cursor(last.opened, last.id) if isinstance(last, Task) else None
        if cursor is None or len(items) >= limit:
            return {"items": items, "next": cursor, "hidden": hidden}


def fitting(status: str | None, words: str | None) -> Callable[[Shape], bool]:
    wanted = (words or "").lower().split()

    def fits(shape: Shape) -> bool:
        if status not in (None, shape["status"]):
            return False
        text = " ".join(str(shape[name] or "") for name in ("title", "prompt", "agent", "agent_type")).lower()
        return all(word in text for word in wanted)

    return fits


def run_shapes(store: Store, roots: list[Task], since: int) -> list[Shape]:
    conversations = {task.conversation for task in roots}
    under = {one: by_parent(related(store, one)) for one in conversations}
    names = branch_names(store, conversations)
    return [run_shape(root, names.get(root.line), under[root.conversation], since) for root in roots]


def run_shape(root: Task, branch: str | None, under: dict[str, list[Sketch]], since: int) -> Shape:
    family = list(walk(root, under))
    usage = sum((task.usage for task in family), NOTHING)
    far = progress([task_status(task) for task in family[1:]])
    return {
        **task_shape(root, branch),
        "flags": flags_of(root, is_stalled(root, task_status(root), far["working"] > 0, since)),
        "subtasks": len(under.get(root.id, ())),
        "tree_usage": usage_shape(usage),
        "progress": far,
    }


def progress(statuses: list[str]) -> Shape:
    return {
        "tasks": len(statuses),
        "done": sum(word in DONE for word in statuses),
        "working": sum(word == "working" for word in statuses),
        "failed": sum(word in ("failed", "rejected") for word in statuses),
    }
