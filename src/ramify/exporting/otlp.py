"""Spans as OTLP requests, as JSON and as protobuf (opentelemetry/proto/trace/v1).

The few kinds of fields that a trace needs are written here: the generated classes would bring a native package, of which each
other library wants another version, for these lines.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ramify import __version__
from ramify.exporting.span import Span

MOST_SPANS = 512
MOST_BYTES = 2 * 2**20  # some receivers refuse more than 4 MiB
SCOPE = "ramify"


def batches(spans: Iterable[Span]) -> Iterator[list[Span]]:
    batch: list[Span] = []
    size = 0
    for span in spans:
        weight = sum(len(value) for value in span.attributes.values() if isinstance(value, str))
        if batch and (len(batch) >= MOST_SPANS or size + weight > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(span)
        size += weight
    if batch:
        yield batch


def by_service(spans: Sequence[Span]) -> dict[str, list[Span]]:
    found: dict[str, list[Span]] = {}
    for span in spans:
        found.setdefault(span.service, []).append(span)
    return found


# -- JSON: ids in hexadecimal, large numbers as text ---------------------------------------------------------------------


def to_json(spans: Sequence[Span]) -> bytes:
    scope = {"name": SCOPE, "version": __version__}
    return msgspec.json.encode({
        "resourceSpans": [
            {"resource": {"attributes": _json_attributes({"service.name": service})}, "scopeSpans": [{"scope": scope, "spans": [_json_span(span) for span in own]}]}
            for service, own in by_service(spans).items()
        ]
    })  # fmt: skip


def _json_span(span: Span) -> dict[str, Any]:
    links = [
        {"traceId": link.trace.hex(), "spanId": link.span.hex(), "attributes": _json_attributes(link.attributes)} for link in span.links
    ]
    return {
        "traceId": span.trace.hex(),
        "spanId": span.id.hex(),
        **({"parentSpanId": span.parent.hex()} if span.parent else {}),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start * 1000),
        "endTimeUnixNano": str(span.end * 1000),
        "attributes": _json_attributes(span.attributes),
        **({"links": links} if links else {}),
        "status": {"code": span.status} | ({"message": span.message} if span.message else {}),
    }


def _json_attributes(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _json_value(value)} for key, value in attributes.items() if value is not None]


def _json_value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list() | tuple():
            return {"arrayValue": {"values": [_json_value(one) for one in value]}}
        case _:
            return {"stringValue": str(value)}


# -- protobuf ------------------------------------------------------------------------------------------------------------


def to_protobuf(spans: Sequence[Span]) -> bytes:
    scope = _text(1, SCOPE) + _text(2, __version__)
    return b"".join(
        _part(1, _part(1, _attributes(1, {"service.name": service})) + _part(2, _part(1, scope) + b"".join(_part(2, _span(span)) for span in own)))
        for service, own in by_service(spans).items()
    )


def _span(span: Span) -> bytes:
    status = _text(2, span.message) + _number(3, span.status)
    return b"".join((
        _part(1, span.trace), _part(2, span.id), _part(4, span.parent) if span.parent else b"", _text(5, span.name), _number(6, span.kind),
        _fixed(7, span.start * 1000), _fixed(8, span.end * 1000), _attributes(9, span.attributes),
        *(_part(13, _part(1, link.trace) + _part(2, link.span) + _attributes(4, link.attributes)) for link in span.links),
        _part(15, status),
    ))  # fmt: skip


def _attributes(field: int, attributes: dict[str, Any]) -> bytes:
    return b"".join(_part(field, _text(1, key) + _part(2, _value(value))) for key, value in attributes.items() if value is not None)


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return b"\x10" + _varint(value)
        case int():
            return b"\x18" + _varint(value & (1 << 64) - 1)
        case float():
            return b"\x21" + struct.pack("<d", value)
        case list() | tuple():
            return _part(5, b"".join(_part(1, _value(one)) for one in value))
        case _:
            return _part(1, str(value).encode())  # also the empty text: a value without any field would be none at all


def _text(field: int, text: str) -> bytes:
    return _part(field, text.encode()) if text else b""


def _part(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number) if number else b""


def _fixed(field: int, number: int) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<Q", number)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
