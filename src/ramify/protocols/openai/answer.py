"""An answer of Chat Completions or Responses put together: from a stream in any state of completeness, or from one body."""

from typing import Any

import msgspec

from ramify.model.usage import tokens_in
from ramify.protocols.anthropic.answer import Answer, error_text
from ramify.protocols.openai.wire import Block, chat_message, response_item
from ramify.protocols.wire.sse import payloads

STOPS = {
    "stop": "end_turn", "tool_calls": "tool_use", "function_call": "tool_use", "length": "max_tokens", "content_filter": "refusal",
    "max_output_tokens": "max_tokens",
}  # fmt: skip
ENDS = ("response.completed", "response.incomplete", "response.failed")


def events_of(raw: bytes) -> tuple[list[dict[str, Any]], bool, int]:
    """The events, whether the stream said that it was over, and how many could not be read."""
    found, done, bad = [], False, 0
    for payload in payloads(raw):
        if payload == b"[DONE]":
            done = True
            continue
        try:
            event = msgspec.json.decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            bad += 1
            continue
        if isinstance(event, dict):
            found.append(event)
        else:
            bad += 1
    return found, done, bad


def body_of(raw: bytes) -> dict[str, Any] | Answer:
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        return Answer(error=f"unreadable answer: {problem}" if raw else "no answer", unreadable=1 if raw else 0)
    if not isinstance(body, dict):
        return Answer(error="the answer is no JSON object", unreadable=1)
    return Answer(error=error_text(body["error"])) if body.get("error") else body


# -- Chat Completions ------------------------------------------------------------------------------------------------


def chat_from_json(raw: bytes) -> Answer:
    body = body_of(raw)
    if isinstance(body, Answer):
        return body
    choice = first_choice(body)
    message = choice.get("message")
    return chat_answer(body, message if isinstance(message, dict) else {}, str(choice.get("finish_reason") or ""), complete=True)


def place_in(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def first_choice(body: dict[str, Any]) -> Block:
    """Where several answers were asked for, the first stands for the call."""
    choices = body.get("choices")
    found = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
    return min(found, key=lambda one: place_in(one.get("index")), default={})


def chat_answer(body: dict[str, Any], message: Block, stop: str, complete: bool) -> Answer:
    blocks = chat_message({**message, "role": "assistant"})["content"]
    return Answer(
        message=str(body.get("id") or ""),
        model=str(body.get("model") or ""),
        blocks=[block for block in blocks if isinstance(block, dict)],
        stop_reason=STOPS.get(stop, stop),
        usage=usage_of(body.get("usage")),
        complete=complete,
    )


def chat_from_stream(raw: bytes) -> Answer:
    events, done, bad = events_of(raw)
    head: dict[str, Any] = {}
    grown = Grown()
    stop, error = "", ""
    for event in events:
        head |= {name: value for name in ("id", "model", "usage") if (value := event.get(name))}
        if event.get("error"):
            error = error_text(event["error"])
        choice = first_choice(event)
        if place_in(choice.get("index")) == 0:
            grown.take(choice.get("delta"))
            stop = str(choice.get("finish_reason") or stop)
    answer = chat_answer(head, grown.message(), stop, complete=(done or bool(stop)) and not error)
    answer.error, answer.unreadable = error, bad
    return answer


class Grown:
    """A message that comes in pieces."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.calls: dict[int, Block] = {}

    def take(self, delta: Any) -> None:
        if not isinstance(delta, dict):
            return
        for name in ("content", "refusal", "reasoning_content", "reasoning"):
            if isinstance(text := delta.get(name), str):
                self.texts.setdefault(name, []).append(text)
        calls = delta.get("tool_calls")
        for place, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict):
                self.grow(self.calls.setdefault(place_in(call.get("index", place)), {"id": "", "name": "", "arguments": []}), call)
        if isinstance(old := delta.get("function_call"), dict):
            self.grow(self.calls.setdefault(0, {"id": str(old.get("name") or ""), "name": "", "arguments": []}), {"function": old})

    def grow(self, known: Block, call: Block) -> None:
        inner = call.get("function") or call.get("custom")
        inner = inner if isinstance(inner, dict) else {}
        known["id"] = known["id"] or str(call.get("id") or "")
        known["name"] += str(inner.get("name") or "")
        for name in ("arguments", "input"):
            if isinstance(piece := inner.get(name), str):
                known["arguments"].append(piece)

    def message(self) -> Block:
        calls = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": "".join(call["arguments"])}}
            for _, call in sorted(self.calls.items())
        ]
        return {name: "".join(pieces) for name, pieces in self.texts.items()} | ({"tool_calls": calls} if calls else {})


# -- Responses -------------------------------------------------------------------------------------------------------


def response_from_json(raw: bytes) -> Answer:
    body = body_of(raw)
    return body if isinstance(body, Answer) else response_answer(body, complete=True)


def response_answer(body: dict[str, Any], complete: bool) -> Answer:
    output = body.get("output")
    blocks = [
        block
        for item in (output if isinstance(output, list) else ())
        if isinstance(message := response_item(item), dict)
        for block in message["content"]
        if isinstance(block, dict)
    ]
    return Answer(
        message=str(body.get("id") or ""),
        model=str(body.get("model") or ""),
        blocks=blocks,
        stop_reason=stop_of(body, blocks) if complete else "",
        usage=usage_of(body.get("usage")),
        complete=complete,
        error=error_text(body["error"]) if body.get("error") else "",
    )


def stop_of(body: dict[str, Any], blocks: list[Block]) -> str:
    details = body.get("incomplete_details")
    if isinstance(details, dict) and (reason := details.get("reason")):
        return STOPS.get(str(reason), str(reason))
    return "tool_use" if any(block.get("type") == "tool_use" for block in blocks) else "end_turn"


def response_from_stream(raw: bytes) -> Answer:
    """The last event repeats everything; where it did not come, the items that ended, and the pieces of the one that did not."""
    events, _, bad = events_of(raw)
    body: dict[str, Any] = {}
    items: dict[int, Block] = {}
    error = ""
    for event in events:
        kind = str(event.get("type") or "")
        if isinstance(response := event.get("response"), dict):
            body = response
            if kind in ENDS:
                answer = response_answer(response, complete=kind != "response.failed")
                answer.unreadable = bad
                return answer
        elif kind == "error":
            error = error_text(event.get("error") or {"type": event.get("code") or "error", "message": event.get("message")})
        else:
            grow_item(items, event, kind)
    answer = response_answer({**body, "output": [item for _, item in sorted(items.items())]}, complete=False)
    answer.error, answer.unreadable = error, bad
    return answer


def grow_item(items: dict[int, Block], event: dict[str, Any], kind: str) -> None:
    place = place_in(event.get("output_index"))
    if isinstance(item := event.get("item"), dict):
        items[place] = dict(item)
        return
    known, piece = items.setdefault(place, {"type": "message", "role": "assistant", "content": []}), event.get("delta")
    if not isinstance(piece, str):
        return
    match kind:
        case "response.output_text.delta" | "response.refusal.delta":
            parts = known["content"] = known.get("content") or []
            if not parts:
                parts.append({"type": "output_text", "text": ""})
            parts[-1]["text"] = str(parts[-1].get("text") or "") + piece
        case "response.function_call_arguments.delta":
            known["arguments"] = str(known.get("arguments") or "") + piece
        case "response.custom_tool_call_input.delta":
            known["input"] = str(known.get("input") or "") + piece
        case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
            parts = known["summary"] = known.get("summary") or []
            if not parts:
                parts.append({"type": "summary_text", "text": ""})
            parts[-1]["text"] = str(parts[-1].get("text") or "") + piece
        case _:
            pass


def usage_of(usage: Any) -> dict[str, Any]:
    """In the words of the Messages API, whose `input_tokens` leave out what was read from the cache."""
    if not isinstance(usage, dict):
        return {}
    asked = tokens_in(usage.get("prompt_tokens", usage.get("input_tokens")))
    details = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
    cached = min(tokens_in(details.get("cached_tokens")), asked) if isinstance(details, dict) else 0
    written = min(tokens_in(details.get("cache_write_tokens")), asked - cached) if isinstance(details, dict) else 0
    return {
        "input_tokens": asked - cached - written,
        "output_tokens": tokens_in(usage.get("completion_tokens", usage.get("output_tokens"))),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "service_tier": usage.get("service_tier") or "standard",
    }
