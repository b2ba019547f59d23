"""A tree as columns in pre-order, straight from the rows: tens of thousands of tasks in a fraction of a second."""

from collections.abc import Sequence
from typing import Any

from ramify.model.entity import Conversation, Task
from ramify.model.moment import iso
from ramify.query.forest import CELLS, OPENED, Forest
from ramify.query.related import related
from ramify.storage.base import Store

TITLES = 540_000  # characters of all titles: a tree of very many must still be small on the wire
NONE: list[str] = []
ORPHAN = ["orphan"]
LETTERS = {
    "pending": "p", "submitted": "s", "working": "w", "input-required": "i", "auth-required": "a", "completed": "c",
    "failed": "f", "canceled": "x", "rejected": "r", "unknown": "u",
}  # fmt: skip
Columns = dict[str, Sequence[Any]]


def outline(store: Store, subject: Task | Conversation) -> dict[str, Any]:
    """Of a task: it and everything under it. Of a conversation: its roots, and apart what no root leads to."""
    forest = Forest(related(store, subject.conversation if isinstance(subject, Task) else subject.id))
    forest.sort(store)
    placed = forest.descend([forest.place[subject.id]]) if isinstance(subject, Task) else forest.reached()
    loose = forest.descend([]) if isinstance(subject, Task) else forest.unreached()
    tops = [at for order, depths in (placed, loose) for at, depth in zip(order, depths, strict=True) if not depth]
    first = min((forest.rows[at][OPENED] for at in tops), default=0)
    return {
        "base": iso(first),
        "n": len(placed[0]) + len(loose[0]),
        "agents": list(forest.agents),
        "rows": columns(forest, *placed, first),
        "unattached": columns(forest, *loose, first),
    }


def columns(forest: Forest, order: list[int], depths: list[int], first: int) -> Columns:
    taken = zip(*map(forest.rows.__getitem__, order), strict=True) if order else ((),) * len(CELLS)
    cells: Columns = dict(zip(CELLS, taken, strict=True))
    longest = TITLES // max(1, len(order))
    opened, closed = cells.pop("opened"), cells.pop("closed")
    still = [row for row, end in enumerate(closed) if not end]
    return cells | {
        "depth": depths,
        "size": sizes(depths),
        "title": [title[:longest] for title in cells["title"]],
        "status": [LETTERS[word] for word in cells["status"]],
        "start": [(at - first) // 1000 for at in opened],
        "ms": [(end - at) // 1000 if end else None for end, at in zip(closed, opened, strict=True)],
        "open": still,
        "active": [(forest.active[order[row]] - first) // 1000 for row in still],
        "certainty": [1 if one == 1.0 else one for one in cells["certainty"]],  # two bytes less for each of many
        "flags": [ORPHAN if at in forest.orphans else NONE for at in order],
    }


def sizes(depths: list[int]) -> list[int]:
    """Nodes of each subtree: the next sibling of row i is i + size[i]."""
    found = [1] * len(depths)
    open_at: list[int] = []
    for at, depth in enumerate(depths):
        while len(open_at) > depth:
            start = open_at.pop()
            found[start] = at - start
        open_at.append(at)
    for start in open_at:
        found[start] = len(depths) - start
    return found
