"""The Messages API's answers as bytes: whole, streamed, and refused. Pure: the server is in `upstream`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

Json = dict[str, Any]

ERRORS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "The request was not understood."),
    401: ("authentication_error", "The key is not valid."),
    404: ("not_found_error", "Not found."),
    413: ("request_too_large", "The request is too large."),
    429: ("rate_limit_error", "Too many requests at once."),
    500: ("api_error", "Something went wrong inside."),
    529: ("overloaded_error", "Overloaded"),
}


@dataclass(frozen=True)
class Reply:
    """What the model says to one request, or how it fails to.

    `content` holds blocks as the API writes them; a `tool_use` without an `id` gets one.
    """

    content: tuple[Json, ...] = ()
    stop_reason: str = ""
    usage: Mapping[str, int] = field(default_factory=lambda: {"input_tokens": 12, "output_tokens": 7})
    status: int = 200
    message: str = ""  # of the error, where the status is one
    pace: float = 0.0  # seconds between two events of a stream
    cut_after: int | None = None  # events after which the server drops the connection
    hold_after: int | None = None  # events after which it says nothing until it is released

    @property
    def reason(self) -> str:
        if self.stop_reason:
            return self.stop_reason
        return "tool_use" if any(block["type"] == "tool_use" for block in self.content) else "end_turn"


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def thinking(words: str) -> Json:
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmVkLWJ5LXRoZS1kZW1v"}


def tool(name: str, arguments: Json, identity: str = "") -> Json:
    block: Json = {"type": "tool_use", "name": name, "input": arguments}
    return {**block, "id": identity} if identity else block


def say(words: str) -> Reply:
    return Reply(content=(text(words),))


def error_body(status: int, message: str, request: str) -> Json:
    kind, words = ERRORS.get(status, ("api_error", "Unknown trouble."))
    return {"type": "error", "error": {"type": kind, "message": message or words}, "request_id": request}


def whole(reply: Reply, identity: str, model: str) -> Json:
    return {
        "id": f"msg_{identity}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(numbered(reply, identity)),
        "stop_reason": reply.reason,
        "stop_sequence": None,
        "usage": usage(reply),
    }


def events(reply: Reply, identity: str, model: str) -> Iterator[bytes]:
    opening = whole(reply, identity, model)
    opening |= {"content": [], "stop_reason": None, "usage": {**usage(reply), "output_tokens": 1}}
    yield event("message_start", message=opening)
    yield event("ping")
    for index, block in enumerate(numbered(reply, identity)):
        yield event("content_block_start", index=index, content_block=emptied(block))
        for delta in deltas(block):
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    delta = {"stop_reason": reply.reason, "stop_sequence": None}
    yield event("message_delta", delta=delta, usage=usage(reply))
    yield event("message_stop")


def event(name: str, **fields: Any) -> bytes:
    body = json.dumps({"type": name, **fields}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {body}\n\n".encode()


def numbered(reply: Reply, identity: str) -> Iterator[Json]:
    for index, block in enumerate(reply.content):
        if block["type"] == "tool_use" and "id" not in block:
            yield {"type": "tool_use", "id": f"toolu_{identity[:-2]}{index:02d}", **block}
        else:
            yield block


def emptied(block: Json) -> Json:
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case "tool_use":
            return {**block, "input": {}}
        case _:
            return block  # server tools and the like come whole in their start event


def deltas(block: Json) -> Iterator[Json]:
    match block["type"]:
        case "text":
            for piece in words(block["text"]):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in words(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use":
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in oddly_cut(json.dumps(block["input"])) if block["input"] else ():
                yield {"type": "input_json_delta", "partial_json": piece}


def words(words_: str, several: int = 4) -> Iterator[str]:
    parts = words_.split(" ")
    for start in range(0, len(parts), several):
        piece = " ".join(parts[start : start + several])
        yield piece if start + several >= len(parts) else piece + " "


def oddly_cut(raw: str) -> Iterator[str]:
    """In the middle of names, numbers and escapes, as the API does."""
    sizes = cycle((1, 7, 2, 19, 3, 31))
    start = 0
    while start < len(raw):
        size = next(sizes)
        yield raw[start : start + size]
        start += size


def usage(reply: Reply) -> Json:
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": 0, **cached, "output_tokens": 0, **reply.usage}
