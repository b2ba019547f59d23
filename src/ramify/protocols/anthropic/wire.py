"""The Messages API's own fields, and how a request's bytes fall into pieces that repeat."""

from typing import Any

import msgspec
from msgspec import Raw, Struct


class Envelope(Struct):
    """A request's top level. Messages stay as bytes: most of them were read before."""

    messages: list[Raw] = []
    model: Any = None
    system: Raw = Raw(b"null")
    tools: Raw = Raw(b"null")
    max_tokens: Any = None
    metadata: Any = None
    thread: Any = None
    diagnostics: Any = None
    compaction: Any = None
    stream: Any = None


class Delta(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    content: Any = None
    citation: Any = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    context_management: Any = None


class StreamEvent(Struct):
    type: str = ""
    index: int = 0
    message: dict[str, Any] | None = None
    content_block: dict[str, Any] | None = None
    delta: Delta | None = None
    usage: dict[str, Any] | None = None
    error: Any = None
    context_management: Any = None


envelope_decoder = msgspec.json.Decoder(Envelope)
event_decoder = msgspec.json.Decoder(StreamEvent)
events_decoder = msgspec.json.Decoder(list[StreamEvent])


def read_envelope(body: bytes) -> Envelope | str:
    """The reason as text, where the body is no such request."""
    try:
        return envelope_decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        return str(problem)


def spans(body: bytes, envelope: Envelope) -> list[tuple[int, int]]:
    """Where the body is likely to repeat another one: each message, the system prompt, the tools.

    The places are only hints for sharing: whatever they are, the body is the sum of its slices.
    """
    found: list[tuple[int, int]] = []
    position = max(body.find(b'"messages"'), 0)
    for raw in envelope.messages:
        piece = bytes(raw)
        start = body.find(piece, position)
        if start < 0:
            break
        position = start + len(piece)
        found.append((start, position))
    for shared in (bytes(envelope.system), bytes(envelope.tools)):
        if len(shared) > 200 and (start := body.find(shared)) >= 0:
            found += [(start, start + len(shared))]
    found.sort()
    return [span for before, span in zip([(0, 0), *found], found, strict=False) if span[0] >= before[1]]
