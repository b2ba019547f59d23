"""What the stream's `system` messages tell about tasks. Not each task is an agent: shells and workflows have them too."""

import re
from typing import Any

from msgspec.structs import replace

from ramify.model.event import Event, TaskMoved, TaskOpened, TaskReferred
from ramify.protocols.claude.said import Seen
from ramify.protocols.claude.shape import flag, mapping, mappings, micros_of, text, whole

# An agent's id has 7, 8 or 17 hexadecimal digits; all else that runs has a letter for its kind and eight characters.
OTHER_TASK = re.compile(r"[b-z][0-9a-z]{8}")
STATUSES = {
    "pending": "working",
    "running": "working",
    "completed": "completed",
    "failed": "failed",
    "killed": "canceled",
    "stopped": "canceled",
}
STATES = {"start": "working", "progress": "working", "done": "completed", "error": "failed"}


def read(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    task = text(fields.get("task_id"))
    if not task:
        return []
    match fields.get("subtype"):
        case "task_started":
            return started(seen, task, fields)
        case "task_updated":
            return updated(seen, task, mapping(fields.get("patch")))
        case "task_notification":
            return notified(seen, task, fields)
        case "task_progress":
            return progressed(seen, task, fields)
        case _:
            return []


def is_agent(task: str) -> bool:
    return OTHER_TASK.fullmatch(task) is None


def started(seen: Seen, task: str, fields: dict[str, Any]) -> list[Event]:
    tool = text(fields.get("tool_use_id"))
    match fields.get("task_type"):
        case "local_workflow" if tool:
            return [TaskReferred(seen.child(""), *seen.stamp, "task_started", tool, task)]
        case "local_agent" | None if is_agent(task):
            return started_agent(seen, task, tool, fields)
        case _:
            return []


def started_agent(seen: Seen, agent: str, tool: str, fields: dict[str, Any]) -> list[Event]:
    """Also when an agent is woken: then `tool` is the call that woke it, and the prompt what it was told."""
    child, above = seen.child(agent), text(fields.get("parent_task_id"))
    depth = whole(fields.get("spawn_depth"))
    events: list[Event] = [
        TaskOpened(
            replace(child, parent_agent=above),
            *seen.stamp,
            prompt=text(fields.get("prompt")),
            title=text(fields.get("description")),
            agent_type=text(fields.get("subagent_type")),
            background=flag(fields.get("is_backgrounded")),
            from_main=depth == 1 and not above,
            native={"run_id": text(fields.get("run_id")), "tool_use_id": tool},
        ),
        TaskMoved(child, *seen.stamp, "working", "started"),
    ]
    if tool:
        events.append(TaskReferred(child, *seen.stamp, "task_started", tool))
    return events


def updated(seen: Seen, task: str, patch: dict[str, Any]) -> list[Event]:
    native = text(patch.get("status"))
    if native not in STATUSES or not is_agent(task):
        return []
    moved = TaskMoved(seen.child(task), *seen.stamp, STATUSES[native], native)
    ended = micros_of(patch.get("end_time"))
    return [replace(moved, at=ended) if ended else moved]


def notified(seen: Seen, task: str, fields: dict[str, Any]) -> list[Event]:
    native, tool = text(fields.get("status")), text(fields.get("tool_use_id"))
    if not is_agent(task):
        return []
    events: list[Event] = []
    if native in STATUSES:
        events.append(TaskMoved(seen.child(task), *seen.stamp, STATUSES[native], native))
    if tool:
        events.append(TaskReferred(seen.child(task), *seen.stamp, "task-notification", tool))
    return events


def progressed(seen: Seen, task: str, fields: dict[str, Any]) -> list[Event]:
    """The agents of a workflow are named nowhere else in the stream."""
    tool = text(fields.get("tool_use_id"))
    return [
        event
        for entry in mappings(fields.get("workflow_progress"))
        if text(entry.get("agentId"))
        for event in workflow_agent(seen, task, tool, entry)
    ]


def workflow_agent(seen: Seen, workflow: str, tool: str, entry: dict[str, Any]) -> list[Event]:
    child, state = seen.child(text(entry.get("agentId"))), text(entry.get("state"))
    began = micros_of(entry.get("startedAt")) or seen.record.at
    opened = TaskOpened(child, *seen.stamp, title=text(entry.get("label")))
    events: list[Event] = [
        replace(opened, at=began),
        TaskReferred(child, *seen.stamp, "workflow-run", tool, workflow),
    ]
    if state in STATES:
        took = micros_of(entry.get("durationMs"))
        moved = TaskMoved(child, *seen.stamp, STATES[state], state)
        events.append(replace(moved, at=began + took if took else seen.record.at))
    return events
