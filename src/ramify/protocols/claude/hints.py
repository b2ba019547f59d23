"""What a line's flags say about its author. Words are judged elsewhere, and only where flags are silent."""

from typing import Any

from ramify.model.event import Hint
from ramify.protocols.claude.shape import mapping, text
from ramify.protocols.claude.wire import Line

SUMMARY = Hint("harness", "compact-summary", "isCompactSummary")
NOTIFICATION = Hint("harness", "notification", "origin: a task's notification")
CALLER = Hint("agent", "", "origin: the agent's caller")
FIRST_LINE = Hint("agent", "", "the first line of an agent's file: its caller's prompt")
SYNTHETIC = Hint("harness", "", "the client's words in place of an answer")
SKILL = Hint("harness", "skill", "sourceToolUseID: what a tool call loaded", meta=True)
HOOK = Hint("harness", "hook", "a hook's words")
REMINDER = Hint("harness", "reminder", "an attachment of the client")
META = Hint(meta=True)
SILENT = Hint()

# `sdk` is the prompt of a host program; nobody typed it, but no agent and no harness of this client wrote it.
PROMPTS = frozenset({"typed", "queued", "suggestion_accepted", "sdk"})


def hint_of(line: Line) -> Hint:
    """Of a user line. An origin outweighs isMeta: a caller's message to a running agent carries both."""
    if line.is_compact_summary is True:
        return SUMMARY
    origin = origin_hint(line.origin)
    if origin is not SILENT:
        return origin
    if line.turn_origin == "task_notification":
        return NOTIFICATION
    if line.is_meta is True:
        return SKILL if text(line.source_tool_use_id) else META
    if line.is_visible_in_transcript_only is True or line.prompt_source == "system":
        return META
    if is_prompt(line):
        return Hint("human", "", f"promptSource: {line.prompt_source}", begins_turn=True)
    return Hint(begins_turn=True) if text(line.turn_origin) else SILENT


def is_prompt(line: Line) -> bool:
    return isinstance(line.prompt_source, str) and line.prompt_source in PROMPTS


def origin_hint(origin: Any) -> Hint:
    match text(mapping(origin).get("kind")):
        case "task-notification":
            return NOTIFICATION
        case "coordinator":
            return CALLER
        case "peer":
            return Hint("agent", "", "origin: another agent", agent=text(mapping(origin).get("senderTaskId")))
        case "human":
            return Hint("human", "", "origin: human")
        case "":
            return SILENT
        case kind:
            return Hint(meta=True, reason=f"origin: {kind}")


def queued_hint(mode: Any, origin: Any) -> Hint:
    """Of a message that joined a running turn: without an origin, a person sent it."""
    hint = origin_hint(origin)
    if hint is SILENT:
        match mode:
            case "prompt":
                hint = Hint("human", "", "queued while the turn ran")
            case "task-notification":
                hint = NOTIFICATION
            case _:
                hint = META
    return Hint(hint.author, hint.kind, hint.reason, hint.meta, during_turn=True, agent=hint.agent)
