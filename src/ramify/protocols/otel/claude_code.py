"""The Claude client's own spans and log events: reports about its sessions, read as its transcripts are.

No span stands for a sub-agent: its calls and tools name it. Which tool call started it, the spans above them say; that is
found where spans are put together.
"""

from typing import Any

from msgspec.structs import replace

from ramify.model.event import (
    Event,
    MessageSaid,
    ModelAnswered,
    Place,
    Result,
    Scope,
    TaskMoved,
    TaskOpened,
    ToolCalled,
    ToolReturned,
)
from ramify.model.observation import Record
from ramify.model.otel_event import SpanSeen
from ramify.model.prices import Tokens
from ramify.model.usage import money_in, tokens_in
from ramify.protocols.anthropic.normal import read_part, read_use
from ramify.protocols.claude.hooks import author_of
from ramify.protocols.otel.request import moment
from ramify.protocols.otel.wire import Attributes, Log, Read, attributes_of, number, parsed, plain, text, truth


def is_own(scope: str) -> bool:
    return scope.startswith("com.anthropic.claude_code")


def kind_of(read: Read) -> str:
    kind = text(read.attributes.get("span.type")) or read.span.name
    return kind.removeprefix("claude_code.")


def placed(seen: SpanSeen, read: Read) -> SpanSeen:
    """Whose work it is: only the session and the agent count, and the tool call inside which others ran."""
    attributes = read.attributes
    session = text(attributes.get("session.id"))
    agent = text(attributes.get("agent_id"))
    if not agent and kind_of(read) == "tool.execution" and text(attributes.get("gen_ai.conversation.id")) != session:
        agent = text(attributes.get("gen_ai.conversation.id"))  # there, and there alone, it is the agent
    return replace(
        seen, session=session, agent=agent, tool=text(attributes.get("tool_name")), tool_call=text(attributes.get("tool_use_id")),
        utility=kind_of(read),
    )  # fmt: skip


def scope_of(record: Record, attributes: Attributes) -> Scope:
    return Scope(
        record.project, session=text(attributes.get("session.id")), agent=text(attributes.get("agent_id")),
        parent_agent=text(attributes.get("parent_agent_id")),
    )  # fmt: skip


# -- spans -------------------------------------------------------------------------------------------------------------


def told_by_span(read: Read, record: Record) -> list[Event]:
    attributes = read.attributes
    scope = scope_of(record, attributes)
    if not scope.session:
        return []
    match kind_of(read):
        case "llm_request":
            return [*opened(scope, record, read.opened), *answered(read, record, scope)]
        case "tool" if tool := text(attributes.get("tool_use_id")):
            use = read_use({"id": tool, "name": text(attributes.get("tool_name")), "input": tool_input(attributes)}, 0)
            return [ToolCalled(scope, record.source, record.id, read.opened, use)]
        case "tool.execution" if tool := text(attributes.get("tool_use_id")):
            failed = truth(attributes.get("success")) is False
            return [ToolReturned(replace(scope, agent=""), record.source, record.id, read.closed, Result(tool, 0, None, None, error=failed))]
        case "interaction" if read.closed:
            return [TaskMoved(scope, record.source, record.id, read.closed, "completed", "interaction", ends_turn=True)]
        case _:
            return []


def opened(scope: Scope, record: Record, at: int, kind: str = "") -> list[Event]:
    if not scope.agent:
        return []
    return [TaskOpened(scope, record.source, record.id, at, agent_type=kind, from_main=False)]


def answered(read: Read, record: Record, scope: Scope) -> list[Event]:
    attributes = read.attributes
    request = text(attributes.get("request_id"))
    if not request:
        return []
    failed = truth(attributes.get("success")) is False
    return [
        ModelAnswered(
            "", record.id, record.project, read.closed, "aborted" if failed else "ok", request_id=request,
            model=text(attributes.get("model")), stop_reason=text(attributes.get("stop_reason")),
            tokens=None if failed else tokens_of(attributes), scope=scope, source=record.source, began=read.opened, span=read.place,
        )
    ]  # fmt: skip


def tokens_of(attributes: Attributes) -> Tokens | None:
    """Its figures never include what the cache read or wrote."""
    found = [number(attributes.get(name)) for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")]
    if found[0] is None and found[1] is None:
        return None
    given, output, cached, written = map(tokens_in, found)
    hour = min(tokens_in(number(attributes.get("cache_creation_1h_tokens"))), written)
    return Tokens(given, output, cached, written - hour, hour)


def tool_input(attributes: Attributes) -> Any:
    found = parsed(attributes.get("tool_input"))
    kind = text(attributes.get("subagent_type"))
    return found if isinstance(found, dict) else {"subagent_type": kind} if kind else {}


# -- logs --------------------------------------------------------------------------------------------------------------


def told_by_log(log: Log, record: Record) -> list[Event]:
    """A record's own span is the one around it, not the one it is about: ids in it say that."""
    attributes = attributes_of(log.attributes)
    scope = scope_of(record, attributes)
    if not scope.session:
        return []
    at = moment(log.time_unix_nano) or moment(log.observed_time_unix_nano)
    name = text(log.event_name) or text(attributes.get("event.name")) or text(plain(log.body))
    match name.removeprefix("claude_code."):
        case "user_prompt":
            return prompted(attributes, record, scope, at)
        case "api_request":
            return requested(attributes, record, scope, at)
        case "tool_decision" | "tool_result" as event:
            return tool_told(attributes, record, scope, at, event == "tool_result")
        case "subagent_completed" if scope.agent:
            kind = text(attributes.get("agent_type"))
            moved = TaskMoved(scope, record.source, record.id, at, "completed", "subagent_completed")
            return [TaskOpened(scope, record.source, record.id, 0, agent_type=kind), moved]
        case _:
            return []


def prompted(attributes: Attributes, record: Record, scope: Scope, at: int) -> list[Event]:
    words, id = text(attributes.get("prompt")) or text(attributes.get("prompt_text")), text(attributes.get("message.uuid"))
    if not words or not id:
        return []
    blocks = ({"type": "text", "text": words},)
    part = read_part({"role": "user", "content": list(blocks)})
    return [MessageSaid(scope, record.source, record.id, at, part, blocks, author_of(words.lstrip(), ""), Place(id))]


def requested(attributes: Attributes, record: Record, scope: Scope, at: int) -> list[Event]:
    request = text(attributes.get("request_id"))
    if not request:
        return []
    began = at - (number(attributes.get("duration_ms")) or 0) * 1000
    name = text(attributes.get("agent.name"))
    call = ModelAnswered(
        "", record.id, record.project, at, "ok", request_id=request, model=text(attributes.get("model")),
        tokens=tokens_of(attributes), scope=scope, source=record.source, began=began, cost_nano=cost_of(attributes),
    )  # fmt: skip
    return [*opened(scope, record, began, name), call]


def cost_of(attributes: Attributes) -> int | None:
    micros = number(attributes.get("cost_usd_micros"))
    return money_in(micros * 1000) if micros is not None else None


def tool_told(attributes: Attributes, record: Record, scope: Scope, at: int, ended: bool) -> list[Event]:
    tool, request = text(attributes.get("tool_use_id")), text(attributes.get("request_id"))
    if not tool:
        return []
    block = {"type": "tool_use", "id": tool, "name": text(attributes.get("tool_name")), "input": tool_input(attributes)}
    events: list[Event] = []
    if request and ended:
        part = read_part({"role": "assistant", "content": [block]})
        events.append(
            ModelAnswered(
                "", record.id, record.project, 0, "ok", request_id=request, part=part, scope=scope, source=record.source, final=False, began=at,
            )
        )  # fmt: skip
    elif not ended:
        events.append(ToolCalled(scope, record.source, record.id, at, read_use(block, 0)))
    if ended:
        failed = truth(attributes.get("success")) is False
        events.append(ToolReturned(scope, record.source, record.id, at, Result(tool, 0, None, None, error=failed)))
    return events
