"""Tasks that work, for which nobody works, and that were not heard of for too long."""

from collections.abc import Iterator

from ramify.query.flags import is_stalled, last_sign
from ramify.query.lints.check import Check, Found
from ramify.query.lints.run import Run
from ramify.query.lints.words import lasting


def find(run: Run) -> Iterator[Found]:
    for task in run.tasks:
        if is_stalled(task, run.status[task.id], task.id in run.busy, run.since):
            last = last_sign(task)
            silent = run.now - last
            text = f"no sign of life for {lasting(silent)}, and nobody works for it"
            evidence = tuple(id for id in (task.id, task.last) if id)
            yield Found(task, text, last, evidence, {"silent_ms": silent / 1000}, str(last))


CHECK = Check(
    "stalled", "error", "a task works and gives no sign of life, and nobody under it works either",
    "look at its last call: the agent may wait for a person, or its process may be gone", find,
)  # fmt: skip
