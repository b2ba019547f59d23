"""What was said to a model and by it, in every way that spans write it down: lists, JSON strings, numbered attributes, events.

Histories repeat themselves on every span. A call tells what is new in it: what stands behind the last answer in its
request, and its own answer.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from ramify.model.otel_event import Asked, Content, Returned, Said
from ramify.protocols.otel import adk, names
from ramify.protocols.otel.wire import WITHHELD, Attributes, Read, numbered, parsed, text

Message = dict[str, Any]
Block = dict[str, Any]
EVENTS = {
    "gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool", "gen_ai.choice": "choice",
}  # fmt: skip
ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool", "developer": "system"}
_encode = msgspec.json.Encoder().encode


def content_of(read: Read) -> Content:
    asked = asked_messages(read) or loose_messages(read.first(names.ASKED_WORDS), "user")
    answered = answered_messages(read) or loose_messages(read.first(names.ANSWERED_WORDS), "assistant")
    return telling(news(asked), answered)


def telling(asked: Iterable[Message], answered: Iterable[Message]) -> Content:
    said: list[Said] = []
    calls: list[Asked] = []
    results: list[Returned] = []
    for message, answers in [*((one, False) for one in asked), *((one, True) for one in answered)]:
        role = role_of(message, "assistant" if answers else "user")
        blocks = blocks_of(message)
        thoughts = [block for block in blocks if block["type"] == "thinking"]
        rest = [block for block in blocks if block["type"] != "thinking"]
        if answers:
            said += [Said(role, _encode([block]), True) for block in thoughts]
            calls += [asked_of(block) for block in rest if block["type"] == "tool_use" and block["id"]]
        else:
            results += [returned_of(block) for block in rest if block["type"] == "tool_result" and block["tool_use_id"]]
        if rest:
            said.append(Said(role, _encode(rest)))
    return Content(tuple(said), tuple(calls), tuple(results))


def news(messages: list[Message]) -> list[Message]:
    """What stands behind the last answer; the history before it was told by the calls before."""
    last = max((at for at, one in enumerate(messages) if role_of(one, "user") == "assistant"), default=-1)
    return messages[last + 1 :]


def prompt_of(read: Read) -> str:
    """What an agent was asked: the last words of a person in what its span was given."""
    if words := last_words(asked_messages(read)):
        return words
    given = read.first(("user_prompt", "input.value", "traceloop.entity.input", "lmnr.span.input", "ai.prompt"))
    value = parsed(given)
    return text(given) if isinstance(value, str) else words_in(value)


def last_words(messages: list[Message]) -> str:
    for message in reversed(messages):
        if role_of(message, "user") == "user":
            words = "\n\n".join(block["text"] for block in blocks_of(message) if block["type"] == "text")
            if words:
                return words
    return ""


def words_in(value: Any) -> str:
    """Of an input that is an object: what is commonly called its text, or the last that a person says in its messages."""
    if isinstance(value, list):
        return last_words([one for one in value if isinstance(one, dict) and "role" in one])
    if isinstance(value, dict):
        for name in ("input", "prompt", "question", "query", "text", "content", "messages"):
            found = value.get(name)
            if words := text(found) if isinstance(found, str) else words_in(found) if isinstance(found, list) else "":
                return words
    return ""


# -- lists of messages -------------------------------------------------------------------------------------------------


def asked_messages(read: Read) -> list[Message]:
    found = listed(read.means(names.INSTRUCTIONS), "system")
    found += listed(read.means(names.ASKED_MESSAGES), "user")
    if not found:
        found = flattened(read.attributes, "llm.input_messages") or numbered_messages(read.attributes, "gen_ai.prompt")
    if not found:
        found = [one for one in evented(read) if one["role"] != "choice"] or adk.asked(read.attributes)
    return found


def answered_messages(read: Read) -> list[Message]:
    found = listed(read.means(names.ANSWERED_MESSAGES), "assistant")
    found = found or flattened(read.attributes, "llm.output_messages") or numbered_messages(read.attributes, "gen_ai.completion")
    if not found:
        found = [{**one, "role": "assistant"} for one in evented(read) if one["role"] == "choice"]
    return found or adk.answered(read.attributes) or vercel_answer(read.attributes)


def vercel_answer(attributes: Attributes) -> list[Message]:
    words, calls = text(attributes.get("ai.response.text")), parsed(attributes.get("ai.response.toolCalls"))
    if not words and not isinstance(calls, list):
        return []
    return [{"role": "assistant", "content": words, "tool_calls": calls}]


def loose_messages(value: Any, role: str) -> list[Message]:
    """Where a span has no messages, but what it was given or gave back: those in it, or the words themselves."""
    found = parsed(value)
    if isinstance(found, dict):
        listed_in = next((found[name] for name in ("messages", "choices") if isinstance(found.get(name), list)), None)
        items = listed_in if listed_in is not None else [found]
    else:
        items = [parsed(one) for one in found] if isinstance(found, list) else []
    messages = [one.get("message", one) for one in items if isinstance(one, dict)]
    if messages and all(isinstance(one, dict) and "role" in one for one in messages):
        return messages
    words = value if isinstance(value, str) else _encode(value).decode() if value is not None else ""
    return [{"role": role, "content": words}] if words else []


def listed(value: Any, role: str) -> list[Message]:
    found = parsed(value)
    if isinstance(found, str):
        return [{"role": role, "content": found}] if text(found) else []
    items = [parsed(one) for one in found] if isinstance(found, list) else [found] if isinstance(found, dict) else []
    if items and all(isinstance(one, dict) and "type" in one and "role" not in one for one in items):
        return [{"role": role, "parts": items}]  # instructions are parts of one message
    return [one for one in items if isinstance(one, dict)]


def evented(read: Read) -> list[Message]:
    return [message for name, fields in read.events() if (message := event_message(name, fields)) is not None]


def event_message(name: str, fields: Attributes, body: Any = None) -> Message | None:
    """Older conventions say each message as an event of its own, of the span or of the log."""
    role = EVENTS.get(name)
    if role is None:
        return None
    inner = parsed(body)
    values = {**fields, **inner} if isinstance(inner, dict) else fields
    if role == "choice":
        message = parsed(values.get("message"))
        return {**(message if isinstance(message, dict) else values), "role": "choice"}
    return {**values, "role": role}


def flattened(attributes: Attributes, prefix: str) -> list[Message]:
    """OpenInference: `llm.input_messages.0.message.contents.1.message_content.text`."""
    found = []
    for one in numbered(attributes, prefix):
        inner = {name.removeprefix("message."): value for name, value in one.items()}
        parts = [part_of(part) for part in numbered(inner, "contents")]
        calls = [call_of(call) for call in numbered(inner, "tool_calls")]
        words = [{"type": "text", "content": inner["content"]}] if text(inner.get("content")) else []
        role = text(inner.get("role"))
        if role == "tool" or inner.get("tool_call_id"):
            words = [{"type": "tool_call_response", "id": inner.get("tool_call_id"), "response": inner.get("content")}]
        found.append({"role": role, "parts": [*words, *parts, *calls]})
    return found


def part_of(fields: Attributes) -> Block:
    inner = {name.removeprefix("message_content."): value for name, value in fields.items()}
    kind = text(inner.get("type"))
    if kind in ("tool_result", "tool_call_response"):
        return {"type": kind, "id": inner.get("tool_call_id") or inner.get("id"), "response": inner.get("text")}
    if kind in ("reasoning", "thinking"):
        return {"type": "reasoning", "content": text(inner.get("text"))}
    return {"type": "text", "content": text(inner.get("text"))} if "text" in inner else {"type": kind or "other", **inner}


def call_of(fields: Attributes) -> Block:
    inner = {name.removeprefix("tool_call."): value for name, value in fields.items()}
    name = inner.get("function.name", inner.get("name"))
    return {"type": "tool_call", "id": inner.get("id"), "name": name, "arguments": inner.get("function.arguments", inner.get("arguments"))}


def numbered_messages(attributes: Attributes, prefix: str) -> list[Message]:
    """OpenLLMetry: `gen_ai.prompt.0.content`, `gen_ai.completion.0.tool_calls.0.name`."""
    found = []
    for one in numbered(attributes, prefix):
        calls = [call_of(call) for call in numbered(one, "tool_calls")]
        words = [] if not text(one.get("content")) else [{"type": "text", "content": one["content"]}]
        if one.get("tool_call_id"):
            words = [{"type": "tool_call_response", "id": one["tool_call_id"], "response": one.get("content")}]
        found.append({"role": one.get("role"), "parts": [*words, *calls]})
    return found


# -- blocks ------------------------------------------------------------------------------------------------------------


def role_of(message: Message, default: str) -> str:
    role = text(message.get("role")).lower() or default
    return ROLES.get(role, role)


def blocks_of(message: Message) -> list[Block]:
    parts = message.get("parts")
    given = parsed(parts if parts is not None else message.get("content"))
    found = [block_of(part) for part in given] if isinstance(given, list) else words_block(given)
    if message.get("tool_call_id") and not any(block["type"] == "tool_result" for block in found):
        found = [{"type": "tool_result", "tool_use_id": text(message["tool_call_id"]), "content": given}]
    elif role_of(message, "") == "tool" and message.get("id") and isinstance(given, str):
        found = [{"type": "tool_result", "tool_use_id": text(message["id"]), "content": given}]
    calls = parsed(message.get("tool_calls"))
    return found + [use_of(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else found


def words_block(given: Any) -> list[Block]:
    if given == WITHHELD:
        return [{"type": "text", "text": "", "withheld": True}]
    return [{"type": "text", "text": given}] if isinstance(given, str) and given else [] if given is None or given == "" else [{"type": "other", "value": given}]


def block_of(part: Any) -> Block:
    if not isinstance(part, dict):
        return {"type": "text", "text": str(part)}
    match part.get("type"):
        case "text" | "output_text" | "input_text":
            words = part.get("content", part.get("text"))
            return {"type": "text", "text": "", "withheld": True} if words == WITHHELD else {"type": "text", "text": str(words or "")}
        case "tool_call" | "tool_use" | "tool-call" | "function":
            return use_of(part)
        case "tool_call_response" | "tool_result" | "tool-result":
            content = part.get("response", part.get("result", part.get("content", part.get("output"))))
            id = part.get("id", part.get("tool_use_id", part.get("toolCallId")))
            return {"type": "tool_result", "tool_use_id": text(id), "content": content, "is_error": bool(part.get("is_error"))}
        case "reasoning" | "thinking":
            return {"type": "thinking", "thinking": text(part.get("content", part.get("thinking", part.get("text"))))}
        case _:
            return {**part, "type": str(part.get("type") or "other")}


def use_of(call: Block) -> Block:
    inner = call.get("function")
    function = inner if isinstance(inner, dict) else {}
    arguments = call.get("arguments", call.get("input", call.get("args", function.get("arguments"))))
    name = text(call.get("name")) or text(function.get("name")) or text(call.get("toolName"))
    return {"type": "tool_use", "id": text(call.get("id", call.get("toolCallId"))), "name": name, "input": parsed(arguments)}


def asked_of(block: Block) -> Asked:
    return Asked(block["id"], block["name"], _encode(block["input"]))


def returned_of(block: Block) -> Returned:
    return Returned(block["tool_use_id"], _encode(block["content"]), bool(block.get("is_error")))
