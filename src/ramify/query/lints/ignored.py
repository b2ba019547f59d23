"""Sub-tasks that failed, under a task that nevertheless says it is done and did not have the work done again."""

from collections.abc import Iterator

from ramify.model.entity import Task
from ramify.model.share import agent_of
from ramify.model.standing import task_closed
from ramify.query.lints.check import Check, Found
from ramify.query.lints.run import Run

BAD = ("failed", "rejected")


def find(run: Run) -> Iterator[Found]:
    for parent in run.tasks:
        if run.status[parent.id] != "completed":
            continue
        for child in run.under.get(parent.id, ()):
            if run.status[child.id] in BAD and not done_again(run, parent, child):
                text = f"{agent_of(child)} {run.status[child.id]} at “{child.title[:60]}”, and the task that gave it ended as completed"
                yield Found(parent, text, task_closed(child) or child.opened, (child.id, parent.id), {"cost_usd": child.usage.cost_usd}, child.id)


def done_again(run: Run, parent: Task, child: Task) -> bool:
    """By another of the same type that began later and ended well."""
    return any(
        other.opened >= child.opened and other.id != child.id and agent_of(other) == agent_of(child) and run.status[other.id] == "completed"
        for other in run.under.get(parent.id, ())
    )


CHECK = Check(
    "ignored-failure", "warning", "a sub-task failed, nobody did it again, and the task that gave it says it is done",
    "read how the sub-task ended, then what its parent made of it: its answer may lack that part", find,
)  # fmt: skip
