"""The questions, by name."""

from typing import TYPE_CHECKING, Any

from ramify.query.errors import Ambiguous, BadQuestion, NotFound
from ramify.query.filter import BadFilter
from ramify.query.records import ReasoningBlock, SubtaskInfo, TaskFlow, ToolCall, ToolCallWithIO
from ramify.query.service import Answer, Questions

if TYPE_CHECKING:
    from ramify.query.task_query import AsyncTaskQueryService, TaskQueryService

__all__ = [
    "Ambiguous", "Answer", "AsyncTaskQueryService", "BadFilter", "BadQuestion", "NotFound", "Questions", "ReasoningBlock",
    "SubtaskInfo", "TaskFlow", "TaskQueryService", "ToolCall", "ToolCallWithIO",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Loaded on use: commands ask the questions themselves, and need no event loop for it."""
    if name in ("AsyncTaskQueryService", "TaskQueryService"):
        from ramify.query import task_query

        return getattr(task_query, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
