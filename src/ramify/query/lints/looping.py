"""Tasks that asked for the same tool with the same input again and again."""

from collections.abc import Iterator

from ramify.linking.loops import step_of
from ramify.model.entity import Call
from ramify.query.flags import LOOPING
from ramify.query.lints.check import Check, Found
from ramify.query.lints.run import Run

SHOWN = 10


def find(run: Run) -> Iterator[Found]:
    for task in run.tasks:
        if task.loops >= LOOPING:
            calls = longest_row(run.calls.get(task.id, []))
            names = sorted({tool.name for call in calls for tool in run.tools.get(call.id, ()) if tool.name})
            what = f" {' and '.join(names)}" if names else " the same tool"
            since = calls[0].started if calls else task.opened
            evidence = tuple(call.id for call in calls[:SHOWN])
            yield Found(task, f"asked for{what} with the same input {task.loops} times in a row", since, evidence, {"times": task.loops, "tools": names})


def longest_row(calls: list[Call]) -> list[Call]:
    """Of calls that asked for the same, one after the other."""
    longest: list[Call] = []
    row: list[Call] = []
    for call in (call for call in calls if call.signs):
        row = [*row, call] if row and step_of(row[-1])[0] == step_of(call)[0] else [call]
        if len(row) > len(longest):
            longest = row
    return longest


CHECK = Check(
    "looping", "warning", f"a task asked for the same tool with the same input {LOOPING} times in a row or more",
    "read the tool's result: an error that the agent cannot see, or does not understand, is the usual cause", find,
)  # fmt: skip
