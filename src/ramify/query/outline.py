"""A tree as columns in pre-order, straight from the rows: tens of thousands of tasks in a fraction of a second."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from ramify.model.entity import Conversation, Correction, Line, Task
from ramify.model.link import Link
from ramify.model.moment import iso
from ramify.query.shapes import DONE, task_closed, task_status
from ramify.storage.base import Ask, Store

ALL = 1_000_000_000
TITLE, SHORT_TITLE, MANY = 48, 20, 10_000  # a tree of very many must still be small on the wire
NONE: list[str] = []
ORPHAN = ["orphan"]
LETTERS = {
    "pending": "p", "submitted": "s", "working": "w", "input-required": "i", "auth-required": "a", "completed": "c",
    "failed": "f", "canceled": "x", "rejected": "r", "unknown": "u",
}  # fmt: skip
Columns = dict[str, list[Any]]


def outline(store: Store, subject: Task | Conversation) -> dict[str, Any]:
    """Of a task: it and everything under it. Of a conversation: its roots, and apart what no root leads to."""
    start = subject.conversation if isinstance(subject, Task) else subject.id
    tasks = related(store, start)
    drawing = Drawing(store, tasks)
    if isinstance(subject, Task):
        roots, loose = [subject], []
    else:
        own = [task for task in tasks.values() if task.conversation == subject.id]
        roots = [task for task in own if task.kind == "root"]
        loose = unreached(own, roots, tasks, by_parent(tasks))
    first = min((task.opened for task in (*roots, *loose)), default=0)
    cells = drawing.cells(first)
    rows, unattached = drawing.columns(cells, roots), drawing.columns(cells, loose)
    return {"base": iso(first), "n": drawing.drawn, "agents": list(drawing.agents), "rows": rows, "unattached": unattached}


def related(store: Store, conversation: str) -> dict[str, Task]:
    """The tasks of a conversation, and of those that a person linked into it."""
    tasks = tasks_of(store, conversation)
    known, waiting = {conversation}, [one.id for one in corrected(store) if one.id not in tasks]
    while waiting:
        strays = [task for task in store.among("tasks", "id", waiting) if isinstance(task, Task)]
        fresh = {task.conversation for task in strays if task.parent in tasks} - known
        for one in fresh:
            tasks |= tasks_of(store, one)
        known |= fresh
        waiting = [id for id in waiting if id not in tasks] if fresh else []
    return tasks


def tasks_of(store: Store, conversation: str) -> dict[str, Task]:
    rows = store.page("tasks", Ask("opened", {"conversation": conversation}, ALL, ascending=True, without={"kind": "none"}))
    return {row.id: row for row in rows if isinstance(row, Task)}


def corrected(store: Store) -> Iterable[Correction]:
    return (row for row in store.docs("corrections") if isinstance(row, Correction) and row.act == "link")


def by_parent(tasks: dict[str, Task]) -> dict[str, list[Task]]:
    """Children by parent, in the order in which they began."""
    found: dict[str, list[Task]] = {}
    for task in tasks.values():
        if task.parent:
            found.setdefault(task.parent, []).append(task)
    return found


def unreached(own: Sequence[Task], roots: Sequence[Task], tasks: dict[str, Task], under: dict[str, list[Task]]) -> list[Task]:
    """Never an orphan in the tree: what no root leads to is listed by its uppermost known task."""
    reached = {task.id for root in roots for task in walk(root, under)}
    missing = [task for task in own if task.id not in reached]
    found: list[Task] = []
    # A circle, which only corrections by hand could make, has no uppermost one: its oldest stands for it.
    for task in [*(one for one in missing if one.parent not in tasks), *missing]:
        if task.id not in reached:
            found.append(task)
            reached |= {one.id for one in walk(task, under)}
    return found


def walk(root: Task, under: dict[str, list[Task]]) -> Iterable[Task]:
    seen, waiting = set[str](), [root]
    while waiting:
        task = waiting.pop()
        if task.id not in seen:
            seen.add(task.id)
            yield task
            waiting += under.get(task.id, ())


class Drawing:
    """Rows by their place in memory: with very many, values are taken in that order and only then put into pre-order."""

    def __init__(self, store: Store, tasks: dict[str, Task]) -> None:
        self.tasks = list(tasks.values())
        self.place = {id: at for at, id in enumerate(tasks)}
        self.under = self._children()
        if len(self.tasks) < MANY:
            self._sort(store)
        self.agents: dict[str, int] = {}
        self.seen = bytearray(len(self.tasks))
        self.drawn = 0

    def _children(self) -> dict[int, list[int]]:
        """In the order in which they began, for so the tasks were read."""
        under: dict[int, list[int]] = {}
        for at, parent in enumerate(each(self.tasks, "parent")):
            if parent and (above := self.place.get(parent)) is not None:
                under.setdefault(above, []).append(at)
        return under

    def _sort(self, store: Store) -> None:
        """In the order of their spawning calls, which differs where several were started at once."""
        conversations = set(each(self.tasks, "conversation"))
        lines = [row for one in conversations for row in store.page("lines", Ask("started", {"conversation": one}, ALL))]
        order = {line.id: (line.order, line.position) for line in lines if isinstance(line, Line)}
        places = [(order.get(task.id) or (task.opened, 0), task.id) for task in self.tasks]
        for group in self.under.values():
            group.sort(key=places.__getitem__)

    def columns(self, cells: Columns, roots: Sequence[Task]) -> Columns:
        order, depths = self._descend([self.place[root.id] for root in roots])
        self.drawn += len(order)
        columns = {name: list(map(values.__getitem__, order)) for name, values in cells.items()}
        return {**columns, "depth": depths, "size": sizes(depths)}

    def _descend(self, roots: list[int]) -> tuple[list[int], list[int]]:
        """Without recursion: a chain of agents can be long. A circle ends where it closes."""
        order: list[int] = []
        depths: list[int] = []
        waiting, deep = roots[::-1], [0] * len(roots)
        seen, under = self.seen, self.under
        while waiting:
            at, depth = waiting.pop(), deep.pop()
            if seen[at]:
                continue
            seen[at] = 1
            order.append(at)
            depths.append(depth)
            if children := under.get(at):
                waiting += reversed(children)
                deep += [depth + 1] * len(children)
        return order, depths

    def cells(self, first: int) -> Columns:
        tasks, agents, longest = self.tasks, self.agents, TITLE if len(self.tasks) < MANY else SHORT_TITLE
        words, closed = endings(tasks)
        opened = each(tasks, "opened")
        types = zip(each(tasks, "agent_type"), each(tasks, "agent"), strict=True)
        return {
            "id": each(tasks, "id"),
            "title": [title[:longest] for title in each(tasks, "title")],
            "agent": [agents.setdefault(kind or named(name), len(agents)) for kind, name in types],
            "status": [LETTERS[word] for word in words],
            "start": [(at - first) // 1000 for at in opened],
            "ms": [(end - at) // 1000 if end else None for end, at in zip(closed, opened, strict=True)],
            # When a task that is still open last gave a sign of life; 0 for one that is not.
            "active": [0 if end else (alive(task) - first) // 1000 for end, task in zip(closed, tasks, strict=True)],
            "calls": each(tasks, "usage.calls"),
            "tools": each(tasks, "tool_calls"),
            "input": each(tasks, "usage.input"),
            "output": each(tasks, "usage.output"),
            "cost": [usage.cost_nano / 1e9 if usage.cost_nano and not usage.unpriced else usage.cost_usd for usage in each(tasks, "usage")],
            **sureness(each(tasks, "link"), each(tasks, "kind")),
        }


def endings(tasks: list[Task]) -> tuple[list[str], list[int]]:
    """Status and end of each. Where nobody said anything, the last call tells, and there are only a few ways to end."""
    told: dict[tuple[str, str], str] = {}
    words: list[str] = []
    closed: list[int] = []
    for task in tasks:
        if task.outcome or task.stated is not None:
            words.append(task_status(task))
            closed.append(task_closed(task))
            continue
        last = task.last_status, task.last_stop
        word = told.get(last) or told.setdefault(last, task_status(task))
        words.append(word)
        closed.append(task.last_ended if word in DONE else 0)
    return words, closed


def alive(task: Task) -> int:
    return max(task.last_started, task.last_ended)


def each(tasks: list[Task], name: str) -> list[Any]:
    return list(map(attrgetter(name), tasks))


def sureness(links: list[Link | None], kinds: list[str]) -> Columns:
    """1 instead of 1.0: two bytes for each of many rows."""
    certainty = [None if link is None else 1 if link.certainty == 1.0 else link.certainty for link in links]
    flags = [ORPHAN if link is None and kind == "sub" else NONE for link, kind in zip(links, kinds, strict=True)]
    return {"certainty": certainty, "flags": flags}


def named(agent: str) -> str:
    return "" if agent.startswith("@") else agent  # a stand-in: nobody named the agent


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
