"""How a comparison of two runs is told. What both did alike is folded to a number, so the answer grows with the
difference and not with the runs."""

from typing import Any

from ramify.model.entity import Call, Task
from ramify.model.moment import iso
from ramify.model.share import agent_of
from ramify.model.standing import task_closed, task_status
from ramify.query.acts import Act, plain
from ramify.query.compare import Node, Parting, Run, compare
from ramify.query.shapes import usage_shape
from ramify.storage.base import Store

AROUND = 2  # steps that are shown before and after one that differs
MOST_NODES = 2_000
Shape = dict[str, Any]


def compared(store: Store, a: Task, b: Task) -> Shape:
    found = compare(store, a, b)
    nodes = _listed(found.top)
    return {
        "a": _run_shape(store, found.a),
        "b": _run_shape(store, found.b),
        "asked_the_same": plain(a.prompt) == plain(b.prompt),
        "same": not found.top.differs,
        "parting": _parting_shape(found.parting) if found.parting else None,
        "since": found.since,
        "tasks": [_node_shape(node, found.a, found.b) for node in nodes[:MOST_NODES]],
        "more": len(nodes) > MOST_NODES,
    }


def _run_shape(store: Store, run: Run) -> Shape:
    task = run.root
    calls = [call for call in store.among("calls", "task", [task.id]) if isinstance(call, Call) and call.model]
    closed = task_closed(task)
    return {
        **_task_shape(task),
        "prompt": task.prompt or None,
        "models": sorted({call.model for call in calls}),
        "duration_ms": max(0, closed - task.opened) / 1000 if closed else None,
        "tree_usage": usage_shape(run.spent(task)),
        "tasks": len(run.tasks),
        "tools": sum(map(len, run.acts.values())),
    }


def _task_shape(task: Task) -> Shape:
    return {
        "id": task.id, "title": task.title, "agent": agent_of(task), "status": task_status(task), "opened": iso(task.opened),
    }  # fmt: skip


def _listed(top: Node) -> list[Node]:
    """In pre-order; under what is the same, and under what only one has, nothing is shown."""
    found: list[Node] = []
    waiting = [top]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if node.differs and node.a is not None and node.b is not None:
            waiting += node.children[::-1]
    return found


def _node_shape(node: Node, one: Run, other: Run) -> Shape:
    sides = [
        {**_task_shape(task), "usage": usage_shape(task.usage), "tree_usage": usage_shape(run.spent(task))} if task is not None else None
        for task, run in ((node.a, one), (node.b, other))
    ]
    kind = "left" if node.b is None else "right" if node.a is None else "changed" if node.changed else "under" if node.differs else "same"
    return {"depth": node.depth, "kind": kind, "a": sides[0], "b": sides[1], "size": node.size, "steps": _steps(node) if kind == "changed" else []}


def _steps(node: Node) -> list[Shape]:
    """Long stretches of the same are a number, with a little of it left around each difference."""
    near = {at + beside for at, step in enumerate(node.steps) if not step.same for beside in range(-AROUND, AROUND + 1)}
    shapes: list[Shape] = []
    for at, step in enumerate(node.steps):
        if at in near:
            kind = "same" if step.same else "left" if step.b is None else "right" if step.a is None else "changed"
            shapes.append({"kind": kind, "at": at, "a": _act_shape(step.a), "b": _act_shape(step.b), "count": 1})
        elif shapes and shapes[-1]["kind"] == "folded":
            shapes[-1]["count"] += 1
        else:
            shapes.append({"kind": "folded", "at": at, "a": None, "b": None, "count": 1})
    return shapes


def _act_shape(act: Act | None) -> Shape | None:
    if act is None:
        return None
    return {
        "id": act.id, "call_id": act.call_id, "call": act.call or None, "name": act.name, "text": act.text, "status": act.status,
        "timestamp": iso(act.at), "spawned": list(act.children),
    }  # fmt: skip


def _parting_shape(parting: Parting) -> Shape:
    node, step = parting.node, parting.step
    return {
        "kind": _kind(parting),
        "depth": node.depth,
        "passed": parting.passed,
        "a": _place(node.a, step.a if step else None),
        "b": _place(node.b, step.b if step else None),
        "text": _sentence(parting),
    }


def _place(task: Task | None, act: Act | None) -> Shape | None:
    return {"task": task.id, "status": task_status(task), "act": _act_shape(act)} if task is not None else None


def _kind(parting: Parting) -> str:
    node, step = parting.node, parting.step
    if step is None:
        return "task" if node.a is None or node.b is None else "outcome"
    if step.a is None or step.b is None or step.a.name != step.b.name:
        return "step"
    return "input" if step.a.like != step.b.like else "result"


def _sentence(parting: Parting) -> str:
    node, step = parting.node, parting.step
    known = node.a or node.b
    where = "" if node.depth == 0 or known is None else f' in "{known.title[:60]}"'
    if step is None and node.a is not None and node.b is not None:
        return f"They did the same{where}; the left one ended as {task_status(node.a)}, the right one as {task_status(node.b)}."
    if step is None:
        return f"Only the {'left' if node.b is None else 'right'} one gave out the task{where}."
    a, b = (act.name if act is not None else "nothing" for act in (step.a, step.b))
    match _kind(parting):
        case "result":
            ended = [act.status for act in (step.a, step.b) if act is not None]
            return f"Step {parting.passed + 1}{where} is {a} in both; in the left one it ended as {ended[0]}, in the right one as {ended[1]}."
        case "input":
            return f"Step {parting.passed + 1}{where} is {a} in both, with other input."
        case _:
            return f"At step {parting.passed + 1}{where} the left one did {a}, the right one {b}."
