"""The Claude client's own spans and log events: reports about its sessions, read as its transcripts are.

No span stands for a sub-agent: its calls and tools name it. Which tool call started it, the spans above them say; that is
found where spans are put together.
"""

from typing import Any

import msgspec
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
from ramify.protocols.claude.hooks import NOTICE, author_of
from ramify.protocols.otel.request import moment
from ramify.protocols.otel.wire import Attributes, Log, Read, amount, attributes_of, number, parsed, plain, text, truth

Block = dict[str, Any]
SPAWNING = ("Agent", "Task")
PARTS = {"subagent_type": "subagent_type", "command": "full_command"}
"""Fields of a tool's input, and what spans call them."""
HELPERS = (("compact", "compaction"), ("title", "title"))
"""What the client says of who asked, where nobody did."""


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
            return [ToolCalled(scope, record.source, record.id, read.opened, use, read.parent)]
        case "tool.execution" if tool := text(attributes.get("tool_use_id")):
            failed = truth(attributes.get("success")) is False
            return [ToolReturned(replace(scope, agent=""), record.source, record.id, read.closed, Result(tool, 0, None, None, error=failed))]
        case "interaction" if read.closed:
            return [turned(read, record, scope)]
        case _:
            return []


def turned(read: Read, record: Record, scope: Scope) -> TaskMoved:
    """A turn that is over; where the client's log is silent, nobody else tells what was asked."""
    words = text(read.attributes.get("user_prompt"))
    wakes = author_of(words.lstrip(), "") == NOTICE
    return TaskMoved(
        scope, record.source, record.id, read.closed, "completed", "interaction", ends_turn=True, wakes=wakes,
        words="" if wakes else words, began=read.opened,
    )  # fmt: skip


def opened(scope: Scope, record: Record, at: int, kind: str = "") -> list[Event]:
    if not scope.agent:
        return []
    return [TaskOpened(scope, record.source, record.id, at, agent_type=kind, from_main=False)]


def answered(read: Read, record: Record, scope: Scope) -> list[Event]:
    attributes = read.attributes
    request = text(attributes.get("request_id"))
    if not request:
        return []
    failed, error = truth(attributes.get("success")) is False, error_of(attributes)
    return [
        ModelAnswered(
            "", record.id, record.project, read.closed, how(failed, error), request_id=request,
            model=text(attributes.get("model")), stop_reason=text(attributes.get("stop_reason")), first_byte=first_of(attributes, read.opened),
            tokens=None if failed else tokens_of(attributes), error=error if failed else "", scope=scope, source=record.source,
            began=read.opened, span=read.place, within=read.parent, utility=utility_of(attributes),
        )
    ]  # fmt: skip


def how(failed: bool, error: str) -> str:
    """What the client gave up is no error of the model's."""
    return "ok" if not failed else "error" if error else "aborted"


def error_of(attributes: Attributes) -> str:
    return next((found for name in ("error", "error.message", "error.type", "status_code") if (found := str(attributes.get(name) or ""))), "")


def first_of(attributes: Attributes, began: int) -> int:
    waited = amount(attributes.get("ttft_ms"))
    return began + round(waited * 1000) if waited else 0


def utility_of(attributes: Attributes) -> str:
    """Calls that the client makes for itself."""
    asker = text(attributes.get("query_source")) or text(attributes.get("query_source_safe"))
    return next((utility for word, utility in HELPERS if word in asker and not asker.startswith("agent")), "")


def tokens_of(attributes: Attributes) -> Tokens | None:
    """Its figures never include what the cache read or wrote."""
    found = [number(attributes.get(name)) for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")]
    if found[0] is None and found[1] is None:
        return None
    given, output, cached, written = map(tokens_in, found)
    hour = min(tokens_in(number(attributes.get("cache_creation_1h_tokens"))), written)
    return Tokens(given, output, cached, written - hour, hour)


def tool_input(attributes: Attributes) -> Any:
    """The log has it whole; spans only the field that says most."""
    found = parsed(attributes.get("tool_input"))
    parts = {name: text(attributes.get(given)) for name, given in PARTS.items()}
    return found if isinstance(found, dict) else {name: value for name, value in parts.items() if value}


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
        case "api_error":
            return failed_request(attributes, record, scope, at)
        case "assistant_response":
            return responded(attributes, record, scope, at)
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
    began = at - round((amount(attributes.get("duration_ms")) or 0) * 1000)
    name = text(attributes.get("agent.name"))
    call = ModelAnswered(
        "", record.id, record.project, at, "ok", request_id=request, model=text(attributes.get("model")),
        tokens=tokens_of(attributes), scope=scope, source=record.source, began=began, cost_nano=cost_of(attributes),
        utility=utility_of(attributes),
    )  # fmt: skip
    return [*opened(scope, record, began, name), call]


def failed_request(attributes: Attributes, record: Record, scope: Scope, at: int) -> list[Event]:
    request = text(attributes.get("request_id"))
    if not request:
        return []
    began = at - round((amount(attributes.get("duration_ms")) or 0) * 1000)
    call = ModelAnswered(
        "", record.id, record.project, at, "error", request_id=request, model=text(attributes.get("model")), error=error_of(attributes),
        scope=scope, source=record.source, began=began, utility=utility_of(attributes),
    )  # fmt: skip
    return [*opened(scope, record, began, text(attributes.get("agent.name"))), call]


def responded(attributes: Attributes, record: Record, scope: Scope, at: int) -> list[Event]:
    """An answer's words; its message is known by the request alone."""
    words, id, request = text(attributes.get("response")), text(attributes.get("message.uuid")), text(attributes.get("request_id"))
    if not words or not id or not request:
        return []
    blocks = ({"type": "text", "text": words},)
    part = read_part({"role": "assistant", "content": list(blocks)})
    return [MessageSaid(scope, record.source, record.id, at, part, blocks, place=Place(id), message=request)]


def cost_of(attributes: Attributes) -> int | None:
    micros = number(attributes.get("cost_usd_micros"))
    if micros is not None:
        return money_in(micros * 1000)
    dollars = amount(attributes.get("cost_usd"))
    return money_in(round(dollars * 1_000_000_000)) if dollars is not None else None


def tool_told(attributes: Attributes, record: Record, scope: Scope, at: int, ended: bool) -> list[Event]:
    tool, request = text(attributes.get("tool_use_id")), text(attributes.get("request_id"))
    if not tool:
        return []
    began = at - round((amount(attributes.get("duration_ms")) or 0) * 1000) if ended else at
    block = {"type": "tool_use", "id": tool, "name": text(attributes.get("tool_name")), "input": tool_input(attributes)}
    events: list[Event] = []
    if request and ended:
        part = read_part({"role": "assistant", "content": [block]})
        events.append(
            ModelAnswered(
                "", record.id, record.project, 0, "ok", request_id=request, part=part, scope=scope, source=record.source, final=False, began=began,
            )
        )  # fmt: skip
    elif not ended:
        events.append(ToolCalled(scope, record.source, record.id, at, read_use(block, 0), request))
    if ended:
        failed = truth(attributes.get("success")) is False
        started = not failed and truth(block["input"].get("run_in_background")) is True and block["name"] in SPAWNING
        events.append(ToolReturned(scope, record.source, record.id, at, Result(tool, 0, None, None, error=failed, receipt=started)))
    return events


# -- what a tool was given, and gave back --------------------------------------------------------------------------------


def blocks_of_span(read: Read) -> list[Block]:
    """A tool's output is an event of its span, where the client was told to write it."""
    tool = text(read.attributes.get("tool_use_id"))
    given = tool_input(read.attributes) if tool else {}
    asked = [{"type": "tool_use", "id": tool, "name": text(read.attributes.get("tool_name")), "input": given}] if given else []
    outputs = [fields for name, fields in read.events() if name == "tool.output"] if tool else []
    return asked + [{"type": "tool_result", "tool_use_id": tool, "content": output_of(fields)} for fields in outputs]


def output_of(fields: Attributes) -> str:
    found = next((text(fields.get(name)) for name in ("output", "content", "result") if text(fields.get(name))), "")
    return found or msgspec.json.encode(fields).decode()


def blocks_of_log(log: Log) -> list[Block]:
    attributes = attributes_of(log.attributes)
    tool, given = text(attributes.get("tool_use_id")), parsed(attributes.get("tool_input"))
    if not tool or not isinstance(given, dict):
        return []
    return [{"type": "tool_use", "id": tool, "name": text(attributes.get("tool_name")), "input": given}]
