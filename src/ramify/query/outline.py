"""A tree as columns in pre-order, straight from the rows: tens of thousands of tasks in a fraction of a second."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ramify.model.entity import Conversation, Task
from ramify.model.moment import iso
from ramify.query.flags import Patience
from ramify.query.forest import CELLS, OPENED, STATUS, TITLE, Forest, cut
from ramify.query.related import related
from ramify.storage.base import Store

TITLES = 400_000  # characters of all titles: a tree of very many must still be small on the wire
NONE: list[str] = []
STALLED = ["stalled"]
LETTERS = {
    "pending": "p", "submitted": "s", "working": "w", "input-required": "i", "auth-required": "a", "completed": "c",
    "failed": "f", "canceled": "x", "rejected": "r", "unknown": "u",
}  # fmt: skip
Columns = dict[str, Sequence[Any]]


def outline(store: Store, subject: Task | Conversation, patience: Patience) -> dict[str, Any]:
    """Of a task: it and everything under it. Of a conversation: its roots, and apart what no root leads to."""
    forest = Forest(related(store, subject.conversation if isinstance(subject, Task) else subject.id))
    forest.sort(store)
    placed = forest.descend([forest.place[subject.id]]) if isinstance(subject, Task) else forest.reached()
    loose = forest.descend([]) if isinstance(subject, Task) else forest.unreached()
    tops = [at for order, depths in (placed, loose) for at, depth in zip(order, depths, strict=True) if not depth]
    since = patience.since()
    longest = min(TITLE, TITLES // max(1, len(placed[0]) + len(loose[0])))
    first = min((forest.rows[at][OPENED] for at in tops), default=0)
    return {
        "base": iso(first),
        "n": len(placed[0]) + len(loose[0]),
        "longest": longest,
        "agents": list(forest.agents),
        "rows": columns(forest, *placed, first, since, longest),
        "unattached": columns(forest, *loose, first, since, longest),
    }


def columns(
    forest: Forest, order: list[int], depths: list[int], first: int, since: int, longest: int
) -> Columns:
    taken = zip(*map(forest.rows.__getitem__, order), strict=True) if order else ((),) * len(CELLS)
    cells: Columns = dict(zip(CELLS, taken, strict=True))
    opened, closed = cells.pop("opened"), cells.pop("closed")
    still = [row for row, end in enumerate(closed) if not end]
    size = sizes(depths)
    return cells | {
        "depth": depths,
        "size": size,
        "title": [cut(title, longest) for title in cells["title"]],
        "status": [LETTERS[word] for word in cells["status"]],
        "start": [(at - first) // 1000 for at in opened],
        "ms": [max(0, end - at) // 1000 if end else None for end, at in zip(closed, opened, strict=True)],
        "open": still,
        "active": [(forest.active[order[row]] - first) // 1000 for row in still],
        "certainty": [1 if one == 1.0 else one for one in cells["certainty"]],  # two bytes less for each of many
        "flags": flags(forest, order, stalled(forest, order, size, still, since)),
    }


def stalled(forest: Forest, order: list[int], size: list[int], still: list[int], since: int) -> set[int]:
    """Rows that work, with nobody at work under them, and were last heard of before `since`.

    In pre-order the next row that works is the first that could stand under this one.
    """
    working = [row for row in still if forest.rows[order[row]][STATUS] == "working"]
    alone = (row for row, after in pairwise([*working, len(order)]) if after >= row + size[row])
    return {row for row in alone if forest.active[order[row]] < since}


def flags(forest: Forest, order: list[int], stalled: set[int]) -> list[list[str]]:
    """Nearly every task has none, and they share it."""
    odd = forest.odd
    return [
        [*odd.get(at, NONE), *(STALLED if row in stalled and STALLED[0] not in odd.get(at, NONE) else NONE)]
        if row in stalled or at in odd
        else NONE
        for row, at in enumerate(order)
    ]


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
