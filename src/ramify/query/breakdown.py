"""Where the tokens of a tree went: by model, and by the type of agent that used them."""

from collections.abc import Sequence
from typing import Any

from ramify.linking.rollup import counted
from ramify.model.entity import Call, Task
from ramify.model.usage import NOTHING, Usage
from ramify.query.shapes import usage_shape
from ramify.storage.base import Store

MAIN = "main"  # no agent: what was asked directly
UNKNOWN = "unknown"  # what a client counted and no call explains


def breakdown(store: Store, tasks: Sequence[Task]) -> dict[str, dict[str, Any]]:
    """Each sums up to the usage of the whole tree."""
    models: dict[str, Usage] = {}
    for call in store.among("calls", "task", [task.id for task in tasks]):
        if isinstance(call, Call):
            name = call.model or UNKNOWN
            models[name] = models.get(name, NOTHING) + counted(call)
    agents: dict[str, Usage] = {}
    for task in tasks:
        name = MAIN if task.kind == "root" else task.agent_type or UNKNOWN
        agents[name] = agents.get(name, NOTHING) + task.usage
        if task.extra != NOTHING:
            models[UNKNOWN] = models.get(UNKNOWN, NOTHING) + task.extra
    return {"models": _shapes(models), "agent_types": _shapes(agents)}


def _shapes(sums: dict[str, Usage]) -> dict[str, Any]:
    return {name: usage_shape(usage) for name, usage in sorted(sums.items()) if usage != NOTHING}
