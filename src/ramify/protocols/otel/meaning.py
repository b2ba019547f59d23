"""What a span's attributes mean, whatever they are called: who, which model, how many tokens, how it ended."""

from typing import Any

import msgspec
from msgspec.structs import replace

from ramify.model.otel_event import AGENT, LOOP, MODEL, NO_CONTENT, TOOL, WORKFLOW, Content, Said, SpanSeen
from ramify.model.prices import Tokens
from ramify.model.usage import money_in, tokens_in
from ramify.protocols.otel import adk, names
from ramify.protocols.otel.content import content_of, prompt_of
from ramify.protocols.otel.wire import WITHHELD, Read, amount, name, number, parsed, text, truth

STATES = {
    "completed": "completed", "complete": "completed", "success": "completed", "succeeded": "completed", "finished": "completed",
    "done": "completed", "failed": "failed", "error": "failed", "failure": "failed", "canceled": "canceled", "cancelled": "canceled",
    "rejected": "rejected", "working": "working", "running": "working", "in-progress": "working", "submitted": "submitted",
    "pending": "pending", "queued": "pending", "input-required": "input-required", "auth-required": "auth-required", "unknown": "unknown",
}  # fmt: skip
NANO = 1_000_000_000
_encode = msgspec.json.Encoder().encode


def status_of(read: Read, dialect: str) -> tuple[str, str, str]:
    """Our word, the word of the protocol inside, and what went wrong."""
    attributes = read.attributes
    native = text(read.means(names.STATED))
    error = text(read.means(names.ERROR)) or (read.span.status.message if read.span.status and read.code == 2 else "")
    if stated := STATES.get(native.lower().removeprefix("task_state_").replace("_", "-")):
        return stated, native, error
    if read.code == 2 or error or truth(attributes.get("success")) is False or truth(attributes.get("adcp.task.success")) is False:
        return "failed", native, error or "error"
    if not read.closed:
        return "working", native, ""
    # There OK is set on success, and UNSET means that the application stopped it.
    return ("canceled" if dialect == "anthropic" and read.code == 0 else "completed"), native, ""


def filled(seen: SpanSeen, read: Read, utility: str) -> SpanSeen:
    seen = replace(
        seen, conversation=conversation_of(read, seen.dialect), agent=agent_of(read), native=native_of(read), tokens=tokens_of(read),
        cost_nano=cost_of(read), task=task_of(read), above=above_of(read),
    )  # fmt: skip
    if seen.role == MODEL:
        return call_of(seen, read, utility)
    if seen.role == TOOL:
        return tool_of(seen, read)
    if seen.role in (AGENT, LOOP, WORKFLOW):
        return replace(seen, prompt=prompt_of(read), model=text(read.means(names.MODEL)), agent_type=text(read.means(names.AGENT_ID)))
    return seen


def call_of(seen: SpanSeen, read: Read, utility: str) -> SpanSeen:
    content = content_of(read)
    if tokens_in(number(read.means(names.REASONING))) and not any(said.thought for said in content.said):
        content = with_hidden_thought(content)
    first = seen.opened + round((amount(read.means(names.FIRST_SECONDS)) or 0) * 1e6)
    first += round((amount(read.means(names.FIRST_MILLISECONDS)) or 0) * 1e3)
    return replace(
        seen, model=text(read.means(names.MODEL)), message=name(read.means(names.RESPONSE)), request_id=name(read.means(names.REQUEST)),
        stop_reason=stop_of(read), first=first if first > seen.opened else 0, utility=utility, content=content,
        messages=len(content.said), attempt=attempt_of(read),
    )  # fmt: skip


def with_hidden_thought(content: Content) -> Content:
    """Tokens were spent on it, and its words are withheld."""
    asked = [said for said in content.said if said.role != "assistant"]
    thought = Said("assistant", _encode([{"type": "thinking", "thinking": ""}]), True)
    return replace(content, said=(*asked, thought, *(said for said in content.said if said.role == "assistant")))


def attempt_of(read: Read) -> int:
    """The span of a call covers all attempts: how many it took."""
    if (resent := number(read.means(names.RESENT))) is not None:
        return max(resent, 0) + 1
    told = [number(read.means(names.ATTEMPT)), *(number(fields.get("attempt")) for event, fields in read.events() if event == "gen_ai.request.attempt")]
    return max([1, *(found for found in told if found is not None)])


def tool_of(seen: SpanSeen, read: Read) -> SpanSeen:
    content = replace(NO_CONTENT, args=json_of(read.means(names.ARGUMENTS)), result=json_of(read.means(names.RESULT)))
    return replace(seen, tool=tool_name(read), tool_call=name(read.means(names.TOOL_CALL)), content=content)


def tool_name(read: Read) -> str:
    """Some spans have it in their own name only: `tools/call weather`, `execute_tool weather`, `anthropic.tool_use weather`."""
    named = text(read.means(names.TOOL))
    if named:
        return named
    lead, _, rest = read.span.name.partition(" ")
    operation = text(read.attributes.get("gen_ai.operation.name"))
    kind = text(read.attributes.get("openinference.span.kind")).lower()
    return rest or (text(read.attributes.get("traceloop.entity.name")) or lead if kind in ("tool", "") and not operation else lead)


def json_of(value: Any) -> bytes:
    if value is None:
        return b""
    return b"" if value == WITHHELD else _encode(parsed(value))


def stop_of(read: Read) -> str:
    found = parsed(read.means(names.STOP))
    first = found[0] if isinstance(found, list) and found else found
    return text(first)


def conversation_of(read: Read, dialect: str) -> str:
    own = name(read.attributes.get("anthropic.session.id")) if dialect == "anthropic" else ""
    return own or name(read.means(names.CONVERSATION))


def agent_of(read: Read) -> str:
    named = text(read.means(names.AGENT))
    lead, _, rest = read.span.name.partition(" ")
    return named or (rest if lead in ("invoke_agent", "create_agent") else "")


def task_of(read: Read) -> str:
    for protocol, called in (("a2a", "a2a.task.id"), ("a2a", "gen_ai.a2a.task.id"), ("traceloop", "gen_ai.task.id")):
        if found := name(read.attributes.get(called)):
            return f"{protocol}:{found}"
    return ""


def above_of(read: Read) -> str:
    found = name(read.attributes.get("gen_ai.task.parent.id"))
    return f"traceloop:{found}" if found else ""


def native_of(read: Read) -> dict[str, Any]:
    given = read.attributes
    found = {kept: given[kept] for kept in names.KEPT_NATIVE if given.get(kept) is not None} if names.keeps(given) else {}
    dropped = (number(read.span.dropped_attributes_count) or 0) + (number(read.span.dropped_events_count) or 0)
    return {**found, "dropped": dropped} if dropped else found


# -- figures -----------------------------------------------------------------------------------------------------------


def tokens_of(read: Read) -> Tokens | None:
    """Our input excludes what the cache read or wrote; most writers include it, and where that cannot be, they had not."""
    given, output = number(read.means(names.INPUT)), number(read.means(names.OUTPUT))
    if given is None and output is None:
        given, output, cached = adk.usage(read.attributes)
        return Tokens(max(tokens_in(given) - tokens_in(cached), 0), tokens_in(output), tokens_in(cached)) if given is not None else None
    cached, written, hour = (tokens_in(number(read.means(meant))) for meant in (names.CACHE_READ, names.CACHE_WRITE, names.CACHE_WRITE_1H))
    bare = tokens_in(given) - cached - written
    return Tokens(tokens_in(given) if bare < 0 else bare, tokens_in(output), cached, written - min(hour, written), min(hour, written))


def cost_of(read: Read) -> int | None:
    cost = amount(read.means(names.COST))
    return money_in(round(cost * NANO)) if cost is not None else None
