"""A span as OpenTelemetry has it, and the ids of spans: they follow from ours, so that sending twice sends the same."""

import hashlib
from typing import Any

from msgspec import Struct

from ramify.model.entity import Call, Task, ToolCall

INTERNAL, CLIENT = 1, 3
UNSET, OK, ERROR = 0, 1, 2
HEX = frozenset("0123456789abcdef")
Attributes = dict[str, Any]
"""Texts, numbers, truths, and lists of texts. None is left out."""


class SpanLink(Struct, frozen=True):
    trace: bytes
    span: bytes
    attributes: Attributes


class Span(Struct, frozen=True):
    """Times in microseconds since 1970. `service` is who did it: the agent, or `ramify` where nobody is named."""

    trace: bytes
    id: bytes
    parent: bytes
    name: str
    kind: int
    start: int
    end: int
    attributes: Attributes
    status: int = UNSET
    message: str = ""
    links: tuple[SpanLink, ...] = ()
    service: str = "ramify"


def trace_id(root: Task | str) -> bytes:
    """Of everything under a root task; one that came as spans keeps its own."""
    own = _own(root)
    return bytes.fromhex(own[0]) if own else hashlib.blake2b(_id(root).encode(), digest_size=16).digest()


def span_id(row: Task | Call | ToolCall | str) -> bytes:
    own = _own(row)
    return bytes.fromhex(own[1]) if own else hashlib.blake2b(_id(row).encode(), digest_size=8).digest()


def _id(row: Task | Call | ToolCall | str) -> str:
    return row if isinstance(row, str) else row.id


def _own(row: Task | Call | ToolCall | str) -> tuple[str, str] | None:
    """Where a row tells of spans, by `otel:span:TRACE-SPAN` or in its details: the first of them."""
    if isinstance(row, str):
        return None
    if isinstance(row, Task):
        places = [ref.value for ref in row.refs if (ref.protocol, ref.kind) == ("otel", "span")]
    else:
        places = [str(one) for one in row.details.get("spans", ())]
    for place in places:
        trace, _, span = place.partition("-")
        if len(trace) == 32 and len(span) == 16 and all(letter in HEX for letter in trace + span):
            return trace, span
    return None
