"""Root tasks with how far the work under them has come: the list that people look at first."""

from typing import Any, NamedTuple

from ramify.model.entity import Task
from ramify.model.sketch import Sketch
from ramify.model.standing import DONE, task_status
from ramify.model.usage import NOTHING
from ramify.query.branches import branch_names
from ramify.query.flags import USUAL, Patience, flags_of, is_stalled
from ramify.query.lists import Wanted, listed
from ramify.query.related import by_parent, related, walk
from ramify.query.resolve import resolve
from ramify.query.shapes import task_shape, usage_shape
from ramify.storage.base import Store, Test

Shape = dict[str, Any]


class Runs(NamedTuple):
    """Which runs: of one conversation or project, with a status, with some words in what was asked, by a filter."""

    conversation: str | None = None
    project: str | None = None
    status: str | None = None
    words: str | None = None
    filter: str | None = None


def runs(store: Store, asked: Runs, limit: int, cursor: str | None, patience: Patience = USUAL) -> Shape:
    """`hidden` of the rows that were looked at were left out."""
    where = {"kind": "root"} | ({"project": asked.project} if asked.project else {})
    if asked.conversation:
        where["conversation"] = resolve(store, asked.conversation, ("conversations",))[1].id
    tests = [Test("status", "is", (asked.status,))] if asked.status else []
    tests += [Test("words", "has", (word,)) for word in (asked.words or "").split()]
    wanted = Wanted(store, "tasks", where, asked.filter, tests)
    answer = listed(wanted, lambda rows: run_shapes(store, rows, patience.since()), limit, cursor)
    return {**answer, "hidden": max(answer.get("looked", 0) - len(answer["items"]), 0)}


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
        "waiting": sum(word in ("input-required", "auth-required") for word in statuses),
    }


def progress_under(id: str, under: dict[str, list[Task]]) -> Shape:
    """Of everything under a task, itself not counted."""
    found: list[str] = []
    waiting = [id]
    while waiting:
        children = under.get(waiting.pop(), ())
        found += [task_status(child) for child in children]
        waiting += [child.id for child in children]
    return progress(found)
