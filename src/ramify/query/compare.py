"""Two runs side by side: their trees aligned, where they first part, and what each spent from there on."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from msgspec import Struct

from ramify.linking.rollup import counted
from ramify.model.entity import Call, Task
from ramify.model.share import agent_of
from ramify.model.standing import task_status
from ramify.model.usage import NOTHING, Usage
from ramify.query import family
from ramify.query.acts import Act, acts_of, plain, read_inputs
from ramify.query.aligning import align
from ramify.query.shapes import usage_shape
from ramify.storage.base import Store

MOST_READ = 4_000  # tool calls whose inputs are read
Shape = dict[str, Any]


class Step(Struct):
    """A step of the one, of the other, or of both; `same` where both did the same."""

    a: Act | None
    b: Act | None
    same: bool


class Node(Struct):
    """A task of the one, of the other, or of both, which are then what the two were asked at one place."""

    a: Task | None
    b: Task | None
    depth: int
    children: list["Node"] = []
    steps: list[Step] = []
    changed: bool = False  # itself
    differs: bool = False  # it, or something under it
    size: int = 1
    after: dict[int, "Node"] = {}  # by step: the sub-task that it began


class Run:
    """One of the two: its tasks, and what each did."""

    def __init__(self, store: Store, root: Task) -> None:
        self.root = root
        self.under = family.descend(store, [root])
        self.tasks = [root, *(task for tasks in self.under.values() for task in tasks)]
        self.acts = acts_of(store, self.tasks)

    def spent(self, task: Task | None) -> Usage:
        return family.tree_usage(task, self.under) if task is not None else NOTHING


class Compared(Struct, frozen=True):
    a: Run
    b: Run
    top: Node
    parting: "Parting | None"
    since: Shape | None


def compare(store: Store, a: Task, b: Task) -> Compared:
    one, other = Run(store, a), Run(store, b)
    top = _paired(store, one, other)
    parting = _first_parting(top)
    return Compared(one, other, top, parting, _since(store, one, other, parting) if parting else None)


# -- aligning ------------------------------------------------------------------------------------------------------------


def _paired(store: Store, one: Run, other: Run) -> Node:
    """Without recursion: a chain of agents can be long."""
    top = Node(one.root, other.root, 0)
    order = [top]
    room = MOST_READ
    for node in order:  # which grows meanwhile
        if node.a is not None and node.b is not None:
            room -= _align_steps(store, node, one, other, room)
            node.changed = any(not step.same for step in node.steps) or task_status(node.a) != task_status(node.b)
        else:
            node.changed = True
        node.children = _children(node, one, other)
        node.after = _begun(node)
        order += node.children
    for node in reversed(order):
        node.differs = node.changed or any(child.differs for child in node.children)
        node.size = 1 + sum(child.size for child in node.children)
    return top


def _align_steps(store: Store, node: Node, one: Run, other: Run, room: int) -> int:
    """How many inputs had to be read."""
    assert node.a is not None
    assert node.b is not None
    a, b = one.acts.get(node.a.id, []), other.acts.get(node.b.id, [])
    read = 0
    if [act.sign for act in a] != [act.sign for act in b] and len(a) + len(b) <= room:
        read_inputs(store, (*a, *b))
        read = len(a) + len(b)
    pairs = align(a, b, [lambda act: act.like, lambda act: act.name])
    node.steps = [_step(a[x] if x is not None else None, b[y] if y is not None else None) for x, y in pairs]
    return read


def _step(a: Act | None, b: Act | None) -> Step:
    return Step(a, b, a is not None and b is not None and a.like == b.like and _failed(a) == _failed(b))


def _failed(act: Act) -> bool:
    return act.status not in ("ok", "running")


def _children(node: Node, one: Run, other: Run) -> list[Node]:
    a = one.under.get(node.a.id, []) if node.a else []
    b = other.under.get(node.b.id, []) if node.b else []
    asked = [lambda task: (agent_of(task), plain(task.prompt or task.title)), lambda task: (agent_of(task), plain(task.title)), agent_of]
    pairs = align(a, b, asked)
    return [Node(a[x] if x is not None else None, b[y] if y is not None else None, node.depth + 1) for x, y in pairs]


def _begun(node: Node) -> dict[int, Node]:
    """Which sub-task stands behind which step."""
    by_task = {task.id: child for child in node.children for task in (child.a, child.b) if task is not None}
    found: dict[int, Node] = {}
    for at, step in enumerate(node.steps):
        ids = [id for act in (step.a, step.b) if act is not None for id in act.children]
        child = next((by_task[id] for id in ids if id in by_task), None)
        if child is not None:
            found[at] = child
    return found


# -- where they part -------------------------------------------------------------------------------------------------------


class Parting(Struct, frozen=True):
    """The first thing that only one did, or that ended differently; `step` is empty where the tasks themselves differ."""

    node: Node
    step: Step | None
    passed: int  # steps of that task that were the same


def _first_parting(top: Node) -> Parting | None:
    """Down into the first sub-task that differs, unless its parent did something else before it began."""
    node: Node | None = top if top.differs else None
    while node is not None:
        if node.a is None or node.b is None:
            return Parting(node, None, 0)
        deeper: Node | None = None
        for at, step in enumerate(node.steps):
            if not step.same:
                return Parting(node, _with_other(node.steps[at:]), at)
            begun = node.after.get(at)
            if begun is not None and begun.differs:
                deeper = begun
                break
        deeper = deeper or next((child for child in node.children if child.differs), None)
        if deeper is None:
            return Parting(node, None, len(node.steps))
        node = deeper
    return None


def _with_other(steps: Sequence[Step]) -> Step:
    """What the one did alone, and what the other did instead."""
    alone = list(takewhile(lambda step: step.a is None or step.b is None, steps))
    if not alone:
        return steps[0]
    a = next((step.a for step in alone if step.a is not None), None)
    return Step(a, next((step.b for step in alone if step.b is not None), None), False)


def _since(store: Store, one: Run, other: Run, parting: Parting) -> Shape:
    """What each spent on calls from the one that decided on."""
    a = _spent_since(store, one, _decided(parting, "a", one.root.opened - other.root.opened))
    b = _spent_since(store, other, _decided(parting, "b", other.root.opened - one.root.opened))
    more = (b.cost_nano - a.cost_nano) / 1e9 if not a.unpriced and not b.unpriced else None
    return {"a": usage_shape(a), "b": usage_shape(b), "more_usd": more}


def _decided(parting: Parting, side: str, later: int) -> int:
    """When the call began that chose the step; where one has none, after its last step before. Who never had the task at
    all is looked at from the same time on into its run."""
    act = getattr(parting.step, side) if parting.step is not None else None
    if act is not None:
        return int(act.at)
    before = [found for step in parting.node.steps[: parting.passed] if (found := getattr(step, side)) is not None]
    if before:
        return int(before[-1].at) + 1
    own, theirs = getattr(parting.node, side), parting.node.a or parting.node.b
    return int(own.opened) if own is not None else int(theirs.opened) + later if theirs is not None else 0


def _spent_since(store: Store, run: Run, at: int) -> Usage:
    calls = store.among("calls", "task", [task.id for task in run.tasks])
    return sum((counted(call) for call in calls if isinstance(call, Call) and call.started >= at), NOTHING)
