"""Prompts in which a secret stood. It was cut out before anything was stored; the agent had it all the same."""

import re
from collections.abc import Iterator

from ramify.query.lints.check import Check, Found
from ramify.query.lints.run import Run

MARK = re.compile(r"\[redacted(?::([a-z0-9-]+))?\]")


def find(run: Run) -> Iterator[Found]:
    for task in run.tasks:
        if kinds := sorted({kind or "of an unknown kind" for kind in MARK.findall(task.prompt)}):
            writer = {"human": "a person", "agent": "an agent"}.get(task.prompt_author, "somebody")
            evidence = tuple(id for id in (task.id, task.first) if id)
            yield Found(task, f"{writer} wrote a secret into the prompt: {', '.join(kinds)}", task.opened, evidence, {"kinds": kinds})


CHECK = Check(
    "secret-in-prompt", "error", "a prompt held a secret, which Ramify cut out and the model has seen",
    "replace the secret, and hand it over by the environment or a tool instead", find,
)  # fmt: skip
