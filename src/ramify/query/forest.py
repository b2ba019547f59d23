"""The tasks of a conversation as columns, by the place at which they were read, and the order that trees give them."""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ramify.model.entity import Line
from ramify.model.sketch import Sketch
from ramify.model.standing import DONE, task_closed, task_status
from ramify.query.flags import LOOPING, flags_of, last_sign
from ramify.storage.base import Ask, Store

ALL = 1_000_000_000
MANY = 10_000
TITLE = 48
CELLS = ("id", "title", "agent", "status", "opened", "closed", "calls", "tools", "input", "output", "cached", "cost", "certainty")
ID, AGENT, STATUS, OPENED, CERTAINTY = (CELLS.index(name) for name in ("id", "agent", "status", "opened", "certainty"))
Cells = tuple[Any, ...]
Endings = dict[tuple[str, str], str]


def cut(title: str, longest: int) -> str:
    """What was cut says so."""
    return title if len(title) <= longest else title[: longest - 1] + "…"


class Forest:
    """With very many tasks, memory is what takes time: each is looked at once, while it is at hand, and let go."""

    def __init__(self, tasks: Iterable[Sketch]) -> None:
        self.rows: list[Cells] = []
        self.place: dict[str, int] = {}
        self.agents: dict[str, int] = {}
        self.first: dict[str, int] = {}  # where each conversation begins
        self.active: dict[int, int] = {}  # of those that have not ended: the last sign of life
        self.odd: dict[int, list[str]] = {}  # flags that do not depend on others, or on the time
        self.tops: list[int] = []  # roots
        self.homeless: list[int] = []  # their parent is not known
        self.under: defaultdict[int, list[int]] = defaultdict(list)
        self._read(tasks)
        self.seen = bytearray(len(self.rows))

    def _read(self, tasks: Iterable[Sketch]) -> None:
        place, endings, early = self.place, Endings(), list[tuple[int, Sketch]]()
        for at, task in enumerate(tasks):
            place[task.id] = at
            self.rows.append(self._cells(at, task, endings))
            if not task.parent:
                self._top(at, task)
            elif (above := place.get(task.parent)) is not None:
                self.under[above].append(at)
            else:
                early.append((at, task))
        self._late(early)

    def _late(self, early: list[tuple[int, Sketch]]) -> None:
        """Tasks that were read before their parents take their place among those that were not."""
        for at, task in early:
            if (above := self.place.get(task.parent)) is None:
                self._top(at, task)  # a root may hang under another conversation, by its trace
            else:
                insort(self.under[above], at)

    def _top(self, at: int, task: Sketch) -> None:
        (self.tops if task.kind == "root" else self.homeless).append(at)

    def _cells(self, at: int, task: Sketch, endings: Endings) -> Cells:
        """Where nobody said anything, the last call tells, and there are only a few ways to end."""
        usage, link = task.usage, task.link
        if task.outcome or task.stated is not None or task.status:
            word, closed = task_status(task), task_closed(task)
        else:
            last = task.last_status, task.last_stop
            word = endings.get(last) or endings.setdefault(last, task_status(task))
            closed = task.last_ended if word in DONE else 0
        if not closed:
            self.active[at] = last_sign(task)
        if task.loops >= LOOPING or (link is None and task.kind == "sub") or task.flags:
            self.odd[at] = flags_of(task)
        self.first.setdefault(task.conversation, at)
        # A stand-in begins with @: nobody named the agent.
        agent = task.agent_type or ("" if task.agent.startswith("@") else task.agent)
        cost = usage.cost_nano / 1e9 if usage.cost_nano and not usage.unpriced else usage.cost_usd
        return (
            task.id, cut(task.title, TITLE), self.agents.setdefault(agent, len(self.agents)), word, task.opened, closed,
            usage.calls, task.tool_calls, usage.input, usage.output, usage.cache_read + usage.cache_write, cost, None if link is None else link.certainty,
        )  # fmt: skip

    def sort(self, store: Store) -> None:
        """By their spawning calls, which matters where several were started at once; very many stay as they began."""
        if len(self.place) >= MANY:
            return
        lines = [row for one in self.first for row in store.page("lines", Ask("started", {"conversation": one}, ALL))]
        order = {line.id: (line.order, line.position) for line in lines if isinstance(line, Line)}
        places = [(order.get(row[ID]) or (row[OPENED], 0), row[ID]) for row in self.rows]
        for group in self.under.values():
            group.sort(key=places.__getitem__)

    def descend(self, roots: Iterable[int]) -> tuple[list[int], list[int]]:
        """Places in pre-order, and their depths. What was passed before is not passed again, so a circle ends.

        Without recursion: a chain of agents can be long.
        """
        order: list[int] = []
        depths: list[int] = []
        waiting = list(roots)[::-1]
        deep = [0] * len(waiting)
        seen, under = self.seen, self.under
        while waiting:
            at, depth = waiting.pop(), deep.pop()
            if seen[at]:
                continue
            seen[at] = 1
            order.append(at)
            depths.append(depth)
            if at in under:
                children = under[at]
                waiting += children[::-1]
                deep += [depth + 1] * len(children)
        return order, depths

    def reached(self) -> tuple[list[int], list[int]]:
        """The roots of the conversation that was read first, and everything under them."""
        own = self._own()
        return self.descend(at for at in self.tops if at in own)

    def unreached(self) -> tuple[list[int], list[int]]:
        """What no root led to, from its uppermost known task down: ask for it after `reached`.

        A circle, which only corrections by hand could make, has no uppermost one: its oldest stands for it.
        """
        own = self._own()
        return self.descend([*(at for at in sorted(self.homeless) if at in own), *own])

    def _own(self) -> range:
        starts = [*self.first.values(), len(self.rows)]
        return range(starts[1]) if len(starts) > 1 else range(0)
