"""What a hook is told on its standard input, or as the argument of a callback. Hooks have no times of their own."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ramify.model.event import (
    Event,
    Hint,
    Place,
    Result,
    Scope,
    TaskMoved,
    TaskOpened,
    TaskReferred,
    ToolCalled,
    ToolReturned,
)
from ramify.model.ids import digest
from ramify.model.observation import Record
from ramify.protocols.anthropic.normal import read_use
from ramify.protocols.claude.said import Seen, events_of, named_agents, say
from ramify.protocols.claude.shape import line_of, mapping, parse, text

FORMAT = "claude-hook"
NOTICE = Hint("harness", "notification", "a notice of the client, by its words")
AGENT = Hint("agent", reason="another agent's message, by its words")
TYPED = Hint("human", reason="a prompt was submitted")
INJECTED = Hint("harness", reason="the client submitted it itself")
# Who submitted a prompt, where the client says so; all else is some timer or event of the client's.
PEOPLE = ("", "user", "sdk")
WORKFLOW = re.compile(r"[/\\]workflows[/\\]([^/\\]+)[/\\]agent-[^/\\]*$")
WAITING = ("permission_prompt", "worker_permission_prompt", "elicitation_dialog", "agent_needs_input")


def decode_hook(record: Record) -> tuple[Event, ...]:
    return events_of(record, lambda fields: read(record, argument(fields)))


def argument(fields: dict[str, Any]) -> dict[str, Any]:
    """A callback has two arguments. The second is a tool's id, but some random one where no tool is meant."""
    inner = fields.get("input")
    return {"tool_use_id": fields.get("tool_use_id"), **inner} if isinstance(inner, dict) else fields


def see(record: Record, fields: dict[str, Any]) -> Seen:
    scope = Scope(record.project, session=text(fields.get("session_id")), agent=text(fields.get("agent_id")))
    return Seen(record, scope, Place(position=line_of(record.place)))


def read(record: Record, fields: dict[str, Any]) -> list[Event]:
    seen = see(record, fields)
    match text(fields.get("hook_event_name")):
        case "UserPromptSubmit":
            return prompt(seen, fields)
        case "PreToolUse":
            return called(seen, fields)
        case "PostToolUse" | "PostToolUseFailure":
            return returned(seen, fields)
        case name:
            return moved(seen, name, fields)


def moved(seen: Seen, name: str, fields: dict[str, Any]) -> list[Event]:
    """A session's end says nothing about its last task: it ends as well behind a finished turn as inside one."""
    agent = seen.scope.agent
    match name:
        case "SubagentStart" if agent:
            return [TaskOpened(seen.scope, *seen.stamp, agent_type=text(fields.get("agent_type")))]
        case "SubagentStop" if agent and text(fields.get("agent_type")):
            return stopped_agent(seen, fields)
        case "Stop":
            return [TaskMoved(seen.scope, *seen.stamp, "completed", name), *last_words(seen, fields)]
        case "StopFailure":
            return [TaskMoved(seen.scope, *seen.stamp, "failed", text(fields.get("error")) or name)]
        case "PermissionRequest" | "Elicitation":
            return [TaskMoved(seen.scope, *seen.stamp, "input-required", name)]
        case "Notification" if waits(fields):
            return [TaskMoved(seen.scope, *seen.stamp, "input-required", name)]
        case _:
            return []


def stopped_agent(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    """Not fired for an agent that failed or was stopped. One without a type is the client's own, at work on a summary,
    or, before 2.1.30, maybe one that only warmed up. The file's path names the workflow that the agent was part of."""
    events: list[Event] = [TaskMoved(seen.scope, *seen.stamp, "completed", "SubagentStop")]
    if workflow := WORKFLOW.search(text(fields.get("agent_transcript_path"))):
        events.append(TaskReferred(seen.scope, *seen.stamp, "workflow-run", run=workflow.group(1)))
    return [*events, *last_words(seen, fields)]


def last_words(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    """All that a hook is told of an answer: neither its id nor what it cost."""
    words = text(fields.get("last_assistant_message"))
    return [say(seen, {"content": words}, "assistant", Hint())] if words else []


def waits(fields: dict[str, Any]) -> bool:
    """Older clients have only the words."""
    kind = text(fields.get("notification_type"))
    return kind in WAITING or (not kind and "needs your permission" in text(fields.get("message")))


def prompt(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    """Also fired for a notice that wakes the session, and for what a person says during the turn: with the turn's
    `prompt_id`, which is why the words are part of the message's identity."""
    words, turn = text(fields.get("prompt")), text(fields.get("prompt_id"))
    identity = f"prompt:{turn}#{digest(words).hex()[:8]}" if turn else ""
    seen = replace(seen, place=replace(seen.place, id=identity))
    return [say(seen, {"content": words}, "user", author_of(words.lstrip(), text(fields.get("source"))))]


def author_of(words: str, source: str) -> Hint:
    if words.startswith(("<task-notification>", "[SYSTEM NOTIFICATION")):
        return NOTICE
    if words.startswith("<agent-message"):
        return AGENT
    return TYPED if source in PEOPLE else INJECTED


def called(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    block = {
        "id": text(fields.get("tool_use_id")),
        "name": text(fields.get("tool_name")),
        "input": fields.get("tool_input"),
    }
    use = read_use(block, seen.place.position)
    return [ToolCalled(seen.scope, *seen.stamp, use)] if use.id else []


def tool_blocks(record: Record) -> Iterator[dict[str, Any]]:
    """The call, and what came back, as the blocks that a model would be shown; a result is the tool's own object, or the words of its failure."""
    fields = parse(record.body)
    fields = argument(fields) if isinstance(fields, dict) else {}
    tool, name = text(fields.get("tool_use_id")), text(fields.get("hook_event_name"))
    if not tool or name not in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        return
    yield {"type": "tool_use", "id": tool, "name": text(fields.get("tool_name")), "input": fields.get("tool_input")}
    if name != "PreToolUse":
        failed = name == "PostToolUseFailure"
        yield {"type": "tool_result", "tool_use_id": tool, "content": fields.get("error" if failed else "tool_response"), "is_error": failed}


def returned(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    """The response is the tool's own object, not the block that the model is shown: it has no text to compare.
    Before 2.1.30 a hook is not told which call it is about, only which agent."""
    tool, value = text(fields.get("tool_use_id")), mapping(fields.get("tool_response"))
    agents = [from_caller(seen, event) for event in named_agents(seen, tool, value, "hook")]
    if not tool:
        return [event for event in agents if not isinstance(event, TaskReferred)]
    failed = fields.get("hook_event_name") == "PostToolUseFailure"
    result = Result(tool, seen.place.position, None, None, error=failed, agent=text(value.get("agentId")))
    stopped = value.get("interrupted") is True or fields.get("is_interrupt") is True
    return [ToolReturned(seen.scope, *seen.stamp, result, status="canceled" if stopped else ""), *agents]


def from_caller(seen: Seen, event: Event) -> Event:
    """A hook inside an agent names it: without one, the main line called."""
    return replace(event, from_main=not seen.scope.agent) if isinstance(event, TaskOpened) else event
