"""A2A tasks that are not known to have ended, as the store has them: what a reconciliation asks about."""

from collections.abc import Iterator

from msgspec import Struct, field

from ramify.capture.a2a_reconcile import OpenTask
from ramify.model.a2a_event import TERMINAL
from ramify.model.entity import Task
from ramify.storage.base import Ask, Store

PAGE = 1000


class Standing(Struct):
    """By project: frames of one are none of another's."""

    open: dict[str, list[OpenTask]] = field(default_factory=dict)
    over: set[tuple[str, str]] = field(default_factory=set)  # agent and id, of any project


def standing(store: Store, since: int) -> Standing:
    """Of the tasks that were opened since then (microseconds since 1970): those that never end are not asked about for ever."""
    found = Standing()
    for row in newest(store, since):
        native = next((ref.value for ref in row.refs if (ref.protocol, ref.kind) == ("a2a", "task")), "")
        if row.protocol != "a2a" or not native:
            continue
        if row.status in TERMINAL:
            found.over.add((row.agent, native))
            continue
        above = store.load("tasks", row.parent) if row.named and row.parent else None
        near = above.agent if isinstance(above, Task) else ""
        found.open.setdefault(row.project, []).append(OpenTask(native, "" if row.named else row.agent, near, row.opened))
    return found


def newest(store: Store, since: int) -> Iterator[Task]:
    behind: tuple[int, str] | None = None
    while rows := store.page("tasks", Ask("opened", limit=PAGE, behind=behind)):
        for row in rows:
            if not isinstance(row, Task) or row.opened < since:
                return
            yield row
        last = rows[-1]
        assert isinstance(last, Task)
        behind = (last.opened, last.id)
