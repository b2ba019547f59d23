"""Operations: tasks that their caller grouped, one state for all of them and one for each agent."""

from typing import Any

from ramify.linking.operations.subject import place
from ramify.linking.world import FOREVER
from ramify.model.entity import Operation, Task
from ramify.model.moment import iso
from ramify.model.operation_event import ENDED, RANKS
from ramify.storage.base import Store

Shape = dict[str, Any]
OPEN = ("input-required", "auth-required", "working", "submitted", "pending", "unknown")
MOST_TASKS = 100_000


def whole_status(counts: dict[str, int]) -> str:
    """While anything is open, what most needs somebody; then how all of it ended."""
    if not counts:
        return "pending"
    opened = [status for status in OPEN if counts.get(status)]
    if opened:
        return opened[0]
    if len(counts) == 1:
        return next(iter(counts))
    return "partial" if counts.get("completed") else "failed"


def operation_shape(row: Operation) -> Shape:
    details = row.details
    status = whole_status(details["counts"])
    over = bool(details["counts"]) and all(RANKS[word] == ENDED for word in details["counts"])
    closed = details["closed"] if over else 0
    return {
        "operationId": row.native,
        "id": row.id,
        "session": details["session"],
        "status": status,
        "agents": sorted(details["agents"]),
        "taskTypes": sorted(details["types"]),
        "taskCount": details["tasks"],
        "subtaskCount": details["subtasks"],
        "eventCount": details["events"],
        "objectCount": details["objects"],
        "objectTypes": dict(details.get("object_types", {})),
        "statusCounts": dict(details["counts"]),
        "byAgent": {agent: agent_shape(found) for agent, found in sorted(details["agents"].items())},
        "startedAt": iso(row.opened),
        "updatedAt": iso(row.updated),
        "completedAt": iso(closed),
        "durationMs": max((closed or row.updated) - row.opened, 0) / 1000,
        "flags": sorted({*details["flags"], *(() if details["asked"] else ("unsolicited",))}),
    }


def agent_shape(found: dict[str, Any]) -> Shape:
    over = all(RANKS[word] == ENDED for word in found["counts"])
    last = found["closed"] if over else found["last"]
    return {
        "status": whole_status(found["counts"]),
        "taskCount": found["tasks"],
        "statusCounts": dict(found["counts"]),
        "firstAt": iso(found["first"]),
        "lastAt": iso(found["last"]),
        "durationMs": max(last - found["first"], 0) / 1000,
        "responseMs": found.get("ms"),
        "skewMs": found["skew"] / 1000 if found.get("skew") else None,
    }


def tasks_of(store: Store, row: Operation) -> list[Task]:
    """Every task of an operation, as they came."""
    marked = store.span(place("tasks", row.details["scope"], row.native), 0, FOREVER, MOST_TASKS, False)
    found = {task.id: task for task in store.among("tasks", "id", [ref for _, ref in marked]) if isinstance(task, Task)}
    return [found[ref] for _, ref in marked if ref in found]
