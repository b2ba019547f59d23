"""Everything that checks look at: the tasks of one conversation, and its calls and tools when a check asks for them."""

from collections.abc import Iterator
from functools import cached_property

from ramify.model.entity import Call, Task, ToolCall
from ramify.model.standing import task_status
from ramify.model.usage import NOTHING, Usage
from ramify.query.cache import Pricer
from ramify.query.flags import Patience
from ramify.query.paging import ALL
from ramify.storage.base import Ask, Store


class Run:
    """As it stands at `now`. No more than `most` calls are read, the newest."""

    def __init__(self, store: Store, conversation: str, patience: Patience, price: Pricer, most: int = ALL) -> None:
        self.now = patience.clock()
        self.since = self.now - patience.stalled_after * 1_000_000  # who works must have given a sign of life later than this
        self.price = price
        self._store = store
        self._conversation = conversation
        self._most = most
        rows = store.page("tasks", Ask("opened", {"conversation": conversation}, ALL, ascending=True, without={"kind": "none"}))
        self.tasks = [row for row in rows if isinstance(row, Task)]
        self.by_id = {task.id: task for task in self.tasks}
        self.status = {task.id: task_status(task) for task in self.tasks}
        self.under: dict[str, list[Task]] = {}
        for task in self.tasks:
            if task.parent:
                self.under.setdefault(task.parent, []).append(task)

    @cached_property
    def calls(self) -> dict[str, list[Call]]:
        """By task, oldest first; a report of what the wire shows is left out."""
        rows = self._store.page("calls", Ask("started", {"conversation": self._conversation}, self._most, without={"kind": "twin"}))
        found: dict[str, list[Call]] = {}
        for row in reversed(rows):
            if isinstance(row, Call):
                found.setdefault(row.task, []).append(row)
        return found

    @cached_property
    def tools(self) -> dict[str, list[ToolCall]]:
        """By the call that asked for them."""
        calls = [call.id for calls in self.calls.values() for call in calls]
        found: dict[str, list[ToolCall]] = {}
        for row in self._store.among("tools", "call", calls):
            if isinstance(row, ToolCall):
                found.setdefault(row.call, []).append(row)
        return found

    @cached_property
    def spent(self) -> dict[str, Usage]:
        """By task, with everything under it."""
        sums: dict[str, Usage] = {}
        for task in reversed(list(self.down())):
            sums[task.id] = sum((sums[child.id] for child in self.under.get(task.id, ()) if child.id in sums), task.usage)
        return {id: sums.get(id, NOTHING) for id in self.by_id}

    def down(self) -> Iterator[Task]:
        """Each task before those under it. What goes round in a circle is left out."""
        waiting = [task for task in self.tasks if task.parent not in self.by_id]
        while waiting:
            task = waiting.pop()
            yield task
            waiting += self.under.get(task.id, ())

    @cached_property
    def busy(self) -> set[str]:
        """Tasks under which somebody works."""
        found: set[str] = set()
        for task in self.tasks:
            above = task.parent if self.status[task.id] == "working" else ""
            while above in self.by_id and above not in found:
                found.add(above)
                above = self.by_id[above].parent
        return found
