"""A span as OpenTelemetry has it, and the ids of spans: they follow from ours, so that sending twice sends the same."""

import hashlib
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from ramify.model.entity import NativeRef

INTERNAL, CLIENT = 1, 3
UNSET, OK, ERROR = 0, 1, 2
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


def trace_id(root: str, refs: Iterable[NativeRef] = ()) -> bytes:
    """Of everything under a root task; one that came as spans keeps its own."""
    own = _own(refs)
    return bytes.fromhex(own[0]) if own else hashlib.blake2b(root.encode(), digest_size=16).digest()


def span_id(id: str, refs: Iterable[NativeRef] = ()) -> bytes:
    own = _own(refs)
    return bytes.fromhex(own[1]) if own else hashlib.blake2b(id.encode(), digest_size=8).digest()


def _own(refs: Iterable[NativeRef]) -> tuple[str, str] | None:
    """`otel:span:TRACE-SPAN`, as a receiver of spans names them."""
    for ref in refs:
        if (ref.protocol, ref.kind) == ("otel", "span"):
            trace, _, span = ref.value.partition("-")
            if len(trace) == 32 and len(span) == 16 and _is_hex(trace + span):
                return trace, span
    return None


def _is_hex(text: str) -> bool:
    return all(letter in "0123456789abcdef" for letter in text)
