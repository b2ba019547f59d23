"""A model's answer put together: from a stream in any state of completeness, or from one JSON body."""

from typing import Any

import msgspec
from msgspec import Struct

from ramify.model.prices import Tokens
from ramify.model.usage import tokens_in
from ramify.protocols.anthropic.wire import StreamEvent, event_decoder, events_decoder
from ramify.protocols.wire.sse import payloads

BESIDE = ("compaction", "advisor_message")  # iterations that are no part of the answer itself


class Answer(Struct):
    """`complete` is the protocol's own word for it: `message_stop` was seen, or the body was whole."""

    message: str = ""
    model: str = ""
    blocks: list[dict[str, Any]] = []
    stop_reason: str = ""
    usage: dict[str, Any] = {}
    complete: bool = False
    error: str = ""
    unreadable: int = 0
    context_management: Any = None


def read_events(raw: bytes) -> tuple[list[StreamEvent], int]:
    """All events at once where all are sound (much the fastest), else one by one, counting what is not."""
    found = [payload for payload in payloads(raw) if payload != b"[DONE]"]
    try:
        return events_decoder.decode(b"[" + b",".join(found) + b"]"), 0
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    events, bad = [], 0
    for payload in found:
        try:
            events.append(event_decoder.decode(payload))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            bad += 1
    return events, bad


class _Assembly:
    def __init__(self) -> None:
        self.answer = Answer()
        self.blocks: dict[int, dict[str, Any]] = {}
        self.json: dict[int, list[str]] = {}
        self.pieces: dict[tuple[int, str], list[str]] = {}

    def take(self, event: StreamEvent) -> None:
        match event.type:
            case "message_start":
                self.start(event.message or {})
            case "content_block_start":
                self.blocks[event.index] = dict(event.content_block or {})
            case "content_block_delta":
                self.grow(event)
            case "message_delta":
                self.close(event)
            case "message_stop":
                self.answer.complete = True
            case "error":
                self.answer.error = error_text(event.error)
            case _:
                pass  # ping, content_block_stop, and whatever comes next year

    def start(self, message: dict[str, Any]) -> None:
        self.answer.message = str(message.get("id") or "")
        self.answer.model = str(message.get("model") or "")
        if isinstance(usage := message.get("usage"), dict):
            self.answer.usage.update(usage)
        if isinstance(content := message.get("content"), list):
            self.blocks.update({index: block for index, block in enumerate(content) if isinstance(block, dict)})

    def grow(self, event: StreamEvent) -> None:
        delta = event.delta
        if delta is None:
            return
        block = self.blocks.setdefault(event.index, {"type": "text", "text": ""})
        match delta.type:
            case "text_delta":
                self.pieces.setdefault((event.index, "text"), []).append(delta.text)
            case "thinking_delta":
                self.pieces.setdefault((event.index, "thinking"), []).append(delta.thinking)
            case "signature_delta":
                self.pieces.setdefault((event.index, "signature"), []).append(delta.signature)
            case "input_json_delta":
                self.json.setdefault(event.index, []).append(delta.partial_json)
            case "citations_delta":
                kept = block.get("citations")
                block["citations"] = [*(kept if isinstance(kept, list) else []), delta.citation]
            case "compaction_delta":
                if isinstance(delta.content, str):
                    self.pieces.setdefault((event.index, "content"), []).append(delta.content)

    def close(self, event: StreamEvent) -> None:
        if event.delta is not None and event.delta.stop_reason:
            self.answer.stop_reason = event.delta.stop_reason
        if event.usage is not None:  # cumulative: the last value of each field, never a sum
            self.answer.usage.update({key: value for key, value in event.usage.items() if value is not None})
        if event.context_management is not None:
            self.answer.context_management = event.context_management

    def finish(self) -> Answer:
        for (index, key), pieces in self.pieces.items():
            block = self.blocks[index]
            block[key] = str(block.get(key) or "") + "".join(pieces)
        for index, pieces in self.json.items():
            put_input(self.blocks[index], "".join(pieces))
        self.answer.blocks = [self.blocks[index] for index in sorted(self.blocks)]
        return self.answer


def put_input(block: dict[str, Any], text: str) -> None:
    """Nothing at all means an empty input; what does not parse (a cut, a client's bug) is kept as text."""
    if not text:
        return
    try:
        block["input"] = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        block["input_text"] = text


def error_text(error: Any) -> str:
    if isinstance(error, dict):
        return f"{error.get('type', 'error')}: {error.get('message', '')}"
    return str(error) if error else "error"


def from_stream(raw: bytes) -> Answer:
    assembly = _Assembly()
    events, bad = read_events(raw)
    for event in events:
        assembly.take(event)
    answer = assembly.finish()
    answer.unreadable = bad
    return answer


def from_json(raw: bytes) -> Answer:
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        return Answer(error=f"unreadable answer: {problem}" if raw else "no answer", unreadable=1 if raw else 0)
    if not isinstance(body, dict):
        return Answer(error="the answer is no JSON object", unreadable=1)
    if body.get("type") == "error" or "error" in body:
        return Answer(error=error_text(body.get("error")))
    usage, content = body.get("usage"), body.get("content")
    return Answer(
        message=str(body.get("id") or ""),
        model=str(body.get("model") or ""),
        blocks=[block for block in content if isinstance(block, dict)] if isinstance(content, list) else [],
        stop_reason=str(body.get("stop_reason") or ""),
        usage=usage if isinstance(usage, dict) else {},
        complete=True,
        context_management=body.get("context_management"),
    )


def tokens_of(usage: dict[str, Any]) -> Tokens:
    written = tokens_in(usage.get("cache_creation_input_tokens"))
    split = usage.get("cache_creation")
    hour, minutes = (
        tokens_in(split.get(f"ephemeral_{time}_input_tokens")) if isinstance(split, dict) else 0 for time in ("1h", "5m")
    )
    return Tokens(
        tokens_in(usage.get("input_tokens")),
        tokens_in(usage.get("output_tokens")),
        tokens_in(usage.get("cache_read_input_tokens")),
        max(written - hour, minutes),
        hour,
        str(usage.get("service_tier") or "standard"),
    )


def extra_of(usage: dict[str, Any], model: str) -> tuple[tuple[str, Tokens], ...]:
    """What the top-level figures leave out: compaction inside the call, work of another model, each at its own price."""
    return tuple(
        (str(entry.get("model") or model), tokens_of({"service_tier": usage.get("service_tier"), **entry}))
        for entry in iterations_of(usage)
        if entry.get("type") in BESIDE or (entry.get("model") or model) != model
    )


def iterations_of(usage: dict[str, Any]) -> list[dict[str, Any]]:
    entries = usage.get("iterations")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def served_by(usage: dict[str, Any], model: str) -> str:
    """Where another model took over, the answer and the top-level figures are its own."""
    fallbacks = [str(entry.get("model") or "") for entry in iterations_of(usage) if entry.get("type") == "fallback_message"]
    return (fallbacks and fallbacks[-1]) or model
