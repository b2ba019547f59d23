"""Sub-tasks of which nobody knows who gave them."""

from collections.abc import Iterator

from ramify.model.share import agent_of
from ramify.query.lints.check import Check, Found
from ramify.query.lints.run import Run


def find(run: Run) -> Iterator[Found]:
    for task in run.tasks:
        if task.kind == "sub" and task.link is None:
            yield Found(task, f"{agent_of(task)} worked for somebody, and nobody knows for whom", task.opened, (task.id, *filter(None, [task.first])))


CHECK = Check(
    "orphan", "note", "a sub-task whose parent was not found",
    "ramify why shows what was looked at; ramify link says where it belongs", find,
)  # fmt: skip
