"""Messages of the client's `stream-json` output, and the SDK's objects, which are the same with less in them."""

from typing import Any

from msgspec.structs import replace

from ramify.model.event import (
    Event,
    Hint,
    MessageSaid,
    Part,
    Place,
    Scope,
    TaskMoved,
    TaskReferred,
    ToolCalled,
    ToolReturned,
    UsageReported,
)
from ramify.model.observation import Record
from ramify.model.prices import Tokens
from ramify.model.usage import MOST_SUM, tokens_in
from ramify.protocols.anthropic.answer import tokens_of
from ramify.protocols.anthropic.normal import result_text
from ramify.protocols.claude import tasks
from ramify.protocols.claude.said import Seen, answer, events_of, named_agents, say
from ramify.protocols.claude.sdk import to_stream
from ramify.protocols.claude.shape import line_of, mapping, mappings, session_of, text

SYNTHETIC = "<synthetic>"
# What the client replays beside the prompts: its own wording of a command, and a local command's output.
COMMANDS = ("<command-message>", "<command-name>")
CLIENT_WORDS = ("<local-command-", *COMMANDS)
INTERRUPTED = "[Request interrupted by user"
INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"
CONTINUED = "This session is being continued from a previous conversation"
ABORTED = ("aborted_streaming", "aborted_tools")
NANO = 1_000_000_000

CALLER = Hint("agent", reason="a text inside a tool call is its caller's")
HOST = Hint("human", reason="the host's own prompt, replayed")
ORIGINS = {
    "human": Hint("human", reason="its origin says so"),
    "task-notification": Hint("harness", "notification", "its origin says so"),
    "coordinator": Hint("agent", reason="its origin says so"),
    "peer": Hint("agent", reason="its origin says so"),
}
FAILED_REQUEST = Hint("harness", reason="the client's words about a request that failed")
COMMAND_OUTPUT = Hint("harness", "command-output", "output of a local command")
NO_MODEL = Hint("harness", reason="the client's words in the place of an answer")


def decode_stream(record: Record) -> tuple[Event, ...]:
    return events_of(record, lambda fields: in_stream(record, fields))


def decode_sdk(record: Record) -> tuple[Event, ...]:
    return events_of(record, lambda fields: in_stream(record, to_stream(fields)))


def in_stream(record: Record, fields: dict[str, Any]) -> list[Event]:
    return read(see(record, fields), fields)


def read(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    match fields.get("type"):
        case "assistant":
            return assistant(seen, fields)
        case "user":
            return user(seen, fields)
        case "stream_event":
            return ended(seen, fields)
        case "system":
            return tasks.read(seen, fields)
        case "result":
            return result(seen, fields)
        case _:
            return []  # kept in the log; nothing of it is about who did what


def see(record: Record, fields: dict[str, Any]) -> Seen:
    """Some of the SDK's classes drop the session; whoever took the message down may have put it into the place."""
    agent, inside = text(fields.get("agent_id")), text(fields.get("parent_tool_use_id"))
    session = text(fields.get("session_id")) or session_of(record.place)
    return Seen(
        record,
        Scope(record.project, session=session, agent=agent),
        Place(text(fields.get("uuid")), position=line_of(record.place)),
        "" if agent else inside,
    )


def assistant(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    message = mapping(fields.get("message"))
    if message.get("model") == SYNTHETIC:
        return unanswered(seen, fields, message)
    said = say(seen, message, "assistant", Hint())
    status = "aborted" if fields.get("aborted") is True else "ok"
    events: list[Event] = [*spawner(seen, fields)]
    if said.message:
        events.append(answer(seen, message, said.part, status, text(fields.get("request_id"))))
    else:  # older SDKs drop the answer's id; its tool calls have their own
        events.extend(ToolCalled(seen.scope, *seen.stamp, use) for use in said.part.uses if use.id)
    served = [ToolReturned(seen.scope, *seen.stamp, result, seen.under) for result in said.part.served]
    return [*events, said, *served]


def unanswered(seen: Seen, fields: dict[str, Any], message: dict[str, Any]) -> list[Event]:
    """In the shape of an answer, but no model spoke: a failed request, a local command's output."""
    if error := text(fields.get("error")):
        failed = TaskMoved(seen.scope, *seen.stamp, "failed", error, seen.under)
        return [say(seen, message, "assistant", FAILED_REQUEST), failed]
    local = "local_command_source" in fields
    return [say(seen, message, "assistant", COMMAND_OUTPUT if local else NO_MODEL)]


def spawner(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    """An agent's message names the call that first started it, also after the agent was woken by another."""
    tool = text(fields.get("parent_tool_use_id"))
    if not (tool and seen.scope.agent):
        return []
    return [TaskReferred(seen.scope, *seen.stamp, "parent_tool_use_id", tool)]


def user(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    message = mapping(fields.get("message"))
    said = say(seen, message, "user", Hint())
    said = replace(said, hint=hint_of(seen, fields, said.part))
    events: list[Event] = [*spawner(seen, fields), said, *returns(seen, fields, said)]
    if any(words.raw.startswith(INTERRUPTED) for words in said.part.texts):
        events.append(TaskMoved(seen.scope, *seen.stamp, "canceled", "interrupted", seen.under))
    return events


def hint_of(seen: Seen, fields: dict[str, Any], part: Part) -> Hint:
    """By flags. A replay alone is no sign of a person: notices and commands are replayed as well."""
    origin = mapping(fields.get("origin"))
    if known := ORIGINS.get(text(origin.get("kind"))):
        return replace(known, agent=text(origin.get("senderTaskId")))
    if fields.get("isSynthetic") is True:
        return Hint(meta=True)
    first = part.texts[0].raw if part.texts and not part.results else ""
    if first.startswith(CONTINUED):
        return Hint(meta=True)  # 2.0 replays the summary of a compaction like a prompt
    if fields.get("isReplay") is True and not first.startswith(CLIENT_WORDS):
        return HOST
    if fields.get("isReplay") is True and first.startswith(COMMANDS):
        return Hint(begins_turn=True)  # a local command is not replayed, only its output
    inside = seen.scope.agent or seen.under
    return CALLER if inside and first and not first.startswith(INTERRUPTED) else Hint()


def returns(seen: Seen, fields: dict[str, Any], said: MessageSaid) -> list[Event]:
    """The structured result stands beside the message's only result block; on errors it is a text."""
    value, results = mapping(fields.get("tool_use_result")), said.part.results
    stopped = stopped_tools(fields, said.blocks)
    if value.get("interrupted") is True:
        stopped.update(result.id for result in results)
    events: list[Event] = [
        ToolReturned(seen.scope, *seen.stamp, result, seen.under, "canceled" if result.id in stopped else "")
        for result in results
    ]
    if len(results) == 1:
        events.extend(named_agents(seen, results[0].id, value, "agent-id-in-result"))
    return events


def stopped_tools(fields: dict[str, Any], blocks: tuple[dict[str, Any], ...]) -> set[str]:
    """Calls that a person stopped or refused: by a flag, or, from older clients, by how the result ends."""
    flagged = {
        text(entry.get("id"))
        for entry in mappings(fields.get("tool_result_meta"))
        if entry.get("non_execution_kind") == "user-rejected"
    }
    worded = {
        text(block.get("tool_use_id"))
        for block in blocks
        if block.get("is_error") is True and result_text(block.get("content")).endswith(INTERRUPTED_TOOL)
    }
    return flagged | worded


def ended(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    """The end of an answer has its true figures. Older clients do not say which answer; their API may leave out
    what it said at the beginning."""
    event, message = mapping(fields.get("event")), text(fields.get("api_message_id"))
    usage = mapping(event.get("usage"))
    if event.get("type") != "message_delta" or not message or "input_tokens" not in usage:
        return []
    stop_reason = mapping(event.get("delta")).get("stop_reason")
    return [answer(seen, {"id": message, "usage": usage, "stop_reason": stop_reason}, None, "ok", "")]


def result(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    """The end of a turn. What began it, if no prompt did, stands in its origin."""
    kind = text(mapping(fields.get("origin")).get("kind"))
    status, native = outcome(fields)
    local = is_local(fields)  # says nothing of the task before it
    unasked = kind not in ("", "human") or local
    turn = TaskMoved(seen.scope, *seen.stamp, "" if local else status, native, ends_turn=True, wakes=unasked)
    return [turn, *usage_of(seen, fields)]


def is_local(fields: dict[str, Any]) -> bool:
    """A local command ends like a turn, but no model was asked. Older clients count turns otherwise."""
    silent = fields.get("result") == "" and mapping(fields.get("usage")).get("output_tokens") == 0
    return fields.get("num_turns") == 0 or (silent and fields.get("subtype") == "success" and fields.get("is_error") is not True)


def outcome(fields: dict[str, Any]) -> tuple[str, str]:
    """Older clients (2.0.26 to 2.1.30) give no reason for an interruption: an error that is none, without errors."""
    reason, subtype = text(fields.get("terminal_reason")), text(fields.get("subtype"))
    error = fields.get("is_error") is True
    unexplained = subtype == "error_during_execution" and not (error or reason or fields.get("errors"))
    if reason in ABORTED or unexplained:
        return "canceled", reason or subtype
    failed = error or subtype.startswith("error")
    return "failed" if failed else "completed", reason or subtype


def usage_of(seen: Seen, fields: dict[str, Any]) -> list[Event]:
    recent = fields.get("model_usage_since_last_result")
    since_last = isinstance(recent, dict)
    models = mapping(recent if since_last else fields.get("modelUsage"))
    figures = tuple(
        (model, model_tokens(usage), cost_of(usage.get("costUSD")))
        for model, usage in models.items()
        if isinstance(usage, dict)
    )
    turn = tokens_of(mapping(fields.get("usage"))) if isinstance(fields.get("usage"), dict) else None
    return [UsageReported(seen.scope, *seen.stamp, figures, since_last, turn)] if figures else []


def model_tokens(usage: dict[str, Any]) -> Tokens:
    written = tokens_in(usage.get("cacheCreationInputTokens"), MOST_SUM)
    hour = tokens_in(usage.get("cacheCreationEphemeral1hInputTokens"), MOST_SUM)
    return Tokens(
        tokens_in(usage.get("inputTokens"), MOST_SUM),
        tokens_in(usage.get("outputTokens"), MOST_SUM),
        tokens_in(usage.get("cacheReadInputTokens"), MOST_SUM),
        max(written - hour, 0),
        hour,
    )


def cost_of(dollars: Any) -> int | None:
    """Billionths of a dollar."""
    if isinstance(dollars, bool) or not isinstance(dollars, int | float) or not 0 <= dollars < 1_000_000:
        return None
    return round(dollars * NANO)
