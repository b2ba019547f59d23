"""Names of branches, counted when asked: they follow from the links and move with them."""

from collections.abc import Iterable

from ramify.model.entity import Line
from ramify.storage.base import Store


def branch_names(store: Store, conversations: Iterable[str]) -> dict[str, str]:
    """Line id to name, for every line of these conversations."""
    lines = store.among("lines", "conversation", sorted({one for one in conversations if one}))
    grouped: dict[str, list[Line]] = {}
    for line in lines:
        if isinstance(line, Line):
            grouped.setdefault(line.conversation, []).append(line)
    names: dict[str, str] = {}
    for group in grouped.values():
        names.update(_names(sorted(group, key=lambda line: (line.order, line.position, line.id))))
    return names


def _names(lines: list[Line]) -> dict[str, str]:
    """`main` is the line of the first root; a further opening in the same session is a branch without a parent."""
    counts = {"branch": 0, "compact": 0, "subtask": 0}
    names: dict[str, str] = {}
    has_main = False
    for line in lines:
        kind = line.kind
        if kind == "root":
            if line.id == line.conversation:  # the main line, as reports have it
                names[line.id] = "main"
                continue
            if not has_main:
                has_main = True
                names[line.id] = "main"
                continue
            kind = "branch"
        counts[kind] += 1
        names[line.id] = f"{kind}_{counts[kind]}"
    return names
