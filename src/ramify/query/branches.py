"""Names of branches, counted when asked: they follow from the links and move with them."""

from collections.abc import Iterable

from ramify.model.entity import Line
from ramify.storage.base import Store


def branch_names(store: Store, conversations: Iterable[str]) -> dict[str, str]:
    """Line id to name, for every line of these conversations."""
    return {line: name for names in branches_of(store, conversations).values() for line, name in names.items()}


def branches_of(store: Store, conversations: Iterable[str]) -> dict[str, dict[str, str]]:
    """The same, by conversation."""
    grouped: dict[str, list[Line]] = {}
    for line in store.among("lines", "conversation", sorted({one for one in conversations if one})):
        if isinstance(line, Line):
            grouped.setdefault(line.conversation, []).append(line)
    return {id: _names(sorted(group, key=lambda line: (line.order, line.position, line.id))) for id, group in grouped.items()}


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
