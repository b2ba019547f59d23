"""What `TaskQueryService` answers. Ids are those of the task's own protocol where it has any; times are aware, in UTC."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(kw_only=True)
class ToolCall:
    """`ref` is Ramify's own id, exact where `id` fits several calls."""

    id: str
    name: str | None
    type: str
    args: dict[str, Any]
    result: Any
    timestamp: datetime | None
    agent_name: str | None
    task_id: str | None
    occurrence: int
    phases: list[str]
    status: str
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: float | None
    child_task_ids: list[str]
    synthetic: bool
    error: str | None
    ref: str


@dataclass(kw_only=True)
class ReasoningBlock:
    message_id: str | None
    timestamp: datetime | None
    agent_name: str | None
    conversation_history: list[dict[str, Any]]
    model: str | None
    task_id: str | None
    kind: str
    text: str
    withheld: bool
    message_ids: list[str]
    history_delta: list[dict[str, Any]]


@dataclass(kw_only=True)
class ToolCallWithIO(ToolCall):
    """`reasoning` is what was thought in the turn that made the call."""

    input: dict[str, Any]
    output: Any
    output_text: str | None
    result_source: str | None
    reasoning: list[ReasoningBlock] = field(default_factory=list)


@dataclass(kw_only=True)
class SubtaskInfo:
    """`depth` counts from the task that was asked about; `ended_at` is None while it is open."""

    task_id: str
    parent_task_id: str | None
    agent_name: str | None
    num_messages: int
    started_at: datetime | None
    ended_at: datetime | None
    tool_calls: list[ToolCall]
    status: str
    function_call_id: str | None
    delegating_agent_name: str | None
    depth: int
    native_status: str | None
    usage: dict[str, Any]
    node_id: str | None


@dataclass(kw_only=True)
class TaskFlow:
    """`timeline` has the events of `ramify flow`, with tasks named as everywhere here; `open_items` are tasks and calls without an
    end. Tool calls, reasoning and sub-tasks are those of the whole tree."""

    task_id: str
    context_id: str | None
    agent_name: str | None
    status: str
    started_at: datetime | None
    ended_at: datetime | None
    request_text: str | None
    final_text: str | None
    timeline: list[dict[str, Any]]
    usage: dict[str, Any]
    tree_usage: dict[str, Any]
    open_items: list[str]
    feedback: list[dict[str, Any]]
    tool_calls: list[ToolCall]
    reasoning: list[ReasoningBlock]
    subtasks: list[SubtaskInfo]
