"""Why things are linked: rule, certainty, evidence, who witnessed it, and the candidates that lost."""

from collections.abc import Sequence
from typing import Any

from ramify.model.entity import Call, Conversation, Entity, Task, ToolCall
from ramify.model.link import Link
from ramify.model.rules import RULES
from ramify.query import witnesses
from ramify.query.shapes import candidate_shapes, explained_link
from ramify.storage.base import Store

Answer = dict[str, Any]


def why(store: Store, row: Entity) -> Answer:
    """A tool call answers for the task that it started."""
    if isinstance(row, ToolCall):
        child = store.load("tasks", row.child)
        if not isinstance(child, Task):
            return {"id": row.id, "links": [], "candidates": [], "witnesses": []}
        row = child
    links = [row.link] if isinstance(row, Task | Call) and row.link is not None else []
    links += row.refers if isinstance(row, Task) else ()
    overruled = _overruled(row, row.found) if isinstance(row, Task) and row.found is not None else []
    first = store.load("calls", row.first) if isinstance(row, Task) else None
    if isinstance(row, Task) and isinstance(first, Call) and first.link is not None:
        if first.link.kind == "spawned":
            overruled = _overruled(row, first.link)
        elif first.link not in links:
            links.append(first.link)
    return {
        "id": row.id,
        "links": [shape for link in links if (shape := explained_link(link)) is not None],
        "candidates": [*overruled, *candidate_shapes(links)],
        "witnesses": witnesses.of(store, row, links),
    }


def _overruled(task: Task, found: Link) -> list[Answer]:
    """What the rules had found, where a person said otherwise."""
    if task.link is not None and task.link.rule != "manual":
        return []
    return [
        {
            "parent": found.via_id or found.parent,
            "rule": found.rule,
            "explanation": RULES.get(found.rule),
            "certainty": found.certainty,
            "rejected_because": "a person said otherwise",
        }
    ]


def why_all(row: Conversation, tasks: Sequence[Task]) -> Answer:
    """Each link says whose it is: a conversation has none of its own."""
    linked = [(task.id, task.link) for task in tasks if task.link is not None]
    shapes = [{**shape, "child": child} for child, link in linked if (shape := explained_link(link)) is not None]
    candidates = candidate_shapes([link for _, link in linked])
    return {"id": row.id, "links": shapes, "candidates": candidates, "witnesses": []}
