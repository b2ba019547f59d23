"""The same words given to the same type of agent, again and again, in one run."""

from collections.abc import Iterator

from ramify.model.entity import Task
from ramify.model.share import agent_of
from ramify.query.acts import plain
from ramify.query.lints.check import Check, Found
from ramify.query.lints.run import Run

TIMES = 3
SHOWN = 10


def find(run: Run) -> Iterator[Found]:
    same: dict[tuple[str, str, str], list[Task]] = {}
    for task in run.tasks:
        if task.prompt:
            same.setdefault((task.parent, agent_of(task), plain(task.prompt)), []).append(task)
    for (parent, agent, _), tasks in same.items():
        if len(tasks) >= TIMES:
            costs = [run.spent[task.id].cost_usd for task in tasks]
            known = sum(cost for cost in costs if cost is not None) if any(cost is not None for cost in costs) else None
            who = f"{agent} was given" if parent else "a person wrote"
            text = f"{who} the same words {len(tasks)} times: “{tasks[0].title[:60]}”"
            about = run.by_id.get(parent, tasks[0])
            evidence = tuple(task.id for task in tasks[:SHOWN])
            yield Found(about, text, tasks[TIMES - 1].opened, evidence, {"times": len(tasks), "cost_usd": known}, tasks[0].id)


CHECK = Check(
    "repeated-prompt", "note", f"the same words were given to the same type of agent {TIMES} times or more by one task",
    "if nobody wanted several answers, the first one was lost or not good enough: compare them", find,
)  # fmt: skip
