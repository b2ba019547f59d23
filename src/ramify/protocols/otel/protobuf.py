"""OTLP's protobuf messages, read into the form that OTLP/JSON has, and the few answers, written.

Twelve messages that never change their field numbers: a table and sixty lines, where the generated classes would bring a
dependency of their own and must be walked field by field in Python all the same.
"""

import struct
from base64 import b64encode
from typing import Any

DEEPEST = 64  # an attribute's value may hold values; a sender's stack is not ours
_u64 = struct.Struct("<Q").unpack_from
_u32 = struct.Struct("<I").unpack_from
_f64 = struct.Struct("<d").unpack_from
Message = dict[str, Any]
Field = tuple[str, str]
"""Its name in JSON and its type; a name of `SCHEMA`, with `*` where there may be several."""

SCHEMA: dict[str, dict[int, Field]] = {
    "traces": {1: ("resourceSpans", "resource_spans*")},
    "resource_spans": {1: ("resource", "resource"), 2: ("scopeSpans", "scope_spans*"), 3: ("schemaUrl", "string")},
    "scope_spans": {1: ("scope", "scope"), 2: ("spans", "raw*"), 3: ("schemaUrl", "string")},
    "logs": {1: ("resourceLogs", "resource_logs*")},
    "resource_logs": {1: ("resource", "resource"), 2: ("scopeLogs", "scope_logs*"), 3: ("schemaUrl", "string")},
    "scope_logs": {1: ("scope", "scope"), 2: ("logRecords", "raw*"), 3: ("schemaUrl", "string")},
    "resource": {1: ("attributes", "attribute*"), 2: ("droppedAttributesCount", "int")},
    "scope": {1: ("name", "string"), 2: ("version", "string"), 3: ("attributes", "attribute*"), 4: ("droppedAttributesCount", "int")},
    "span": {
        1: ("traceId", "id"), 2: ("spanId", "id"), 3: ("traceState", "string"), 4: ("parentSpanId", "id"), 5: ("name", "string"),
        6: ("kind", "int"), 7: ("startTimeUnixNano", "time"), 8: ("endTimeUnixNano", "time"), 9: ("attributes", "attribute*"),
        10: ("droppedAttributesCount", "int"), 11: ("events", "event*"), 12: ("droppedEventsCount", "int"), 13: ("links", "link*"),
        14: ("droppedLinksCount", "int"), 15: ("status", "status"), 16: ("flags", "int"),
    },
    "event": {1: ("timeUnixNano", "time"), 2: ("name", "string"), 3: ("attributes", "attribute*"), 4: ("droppedAttributesCount", "int")},
    "link": {
        1: ("traceId", "id"), 2: ("spanId", "id"), 3: ("traceState", "string"), 4: ("attributes", "attribute*"),
        5: ("droppedAttributesCount", "int"), 6: ("flags", "int"),
    },
    "status": {2: ("message", "string"), 3: ("code", "int")},
    "log": {
        1: ("timeUnixNano", "time"), 2: ("severityNumber", "int"), 3: ("severityText", "string"), 5: ("body", "value"),
        6: ("attributes", "attribute*"), 7: ("droppedAttributesCount", "int"), 8: ("flags", "int"), 9: ("traceId", "id"),
        10: ("spanId", "id"), 11: ("observedTimeUnixNano", "time"), 12: ("eventName", "string"),
    },
}  # fmt: skip

LISTS = frozenset(type for fields in SCHEMA.values() for _, type in fields.values() if type.endswith("*"))
NO_FIELD: Field = ("", "")


class Malformed(ValueError):
    """These bytes are no such message."""


def read(data: bytes, schema: str) -> Message:
    """Spans and log records stay bytes (`raw`): one that is damaged is not the whole request's damage."""
    try:
        return _message(data, 0, len(data), schema)
    except (IndexError, struct.error):
        raise Malformed("the message ends inside a field") from None


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
        if shift > 63:
            raise Malformed("a number is longer than ten bytes")


def _span(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Where what has a length begins and ends."""
    size = data[position]
    position += 1
    if size >= 0x80:
        size, position = _varint(data, position - 1)
    if position + size > end:
        raise Malformed("a field is longer than the message around it")
    return position, position + size


def _message(data: bytes, position: int, end: int, schema: str) -> Message:
    fields = SCHEMA[schema]
    found: Message = {}
    while position < end:
        tag = data[position]
        position += 1
        if tag >= 0x80:
            tag, position = _varint(data, position - 1)
        name, type = fields.get(tag >> 3, NO_FIELD)
        if tag & 7 == 2:
            start, position = _span(data, position, end)
            value = _sized(data, start, position, type)
        else:
            value, position = _number(data, position, tag & 7)
            if type == "time":
                value = str(value)
            elif type != "int":
                continue
        if value is None:
            continue  # written in another way than its field is: passed over, as every reader of protobuf does
        if type in LISTS:
            found.setdefault(name, []).append(value)
        elif name:
            found[name] = value
    if position > end:
        raise Malformed("a field is longer than the message around it")
    return found


def _number(data: bytes, position: int, wire: int) -> tuple[int, int]:
    match wire:
        case 0:
            return _varint(data, position)
        case 1:
            return _u64(data, position)[0], position + 8
        case 5:
            return _u32(data, position)[0], position + 4
        case _:
            raise Malformed(f"no field has the wire type {wire}")


def _sized(data: bytes, start: int, end: int, type: str) -> Any:
    match type:
        case "attribute*":
            return _attribute(data, start, end, 0)
        case "id":
            return data[start:end].hex()
        case "string":
            return data[start:end].decode("utf-8", "replace")
        case "raw*":
            return data[start:end]
        case "value":
            return _value(data, start, end, 0)
        case "" | "int" | "time":
            return None
        case _:
            return _message(data, start, end, type.rstrip("*"))


def _text_attribute(data: bytes, position: int, end: int) -> Message | None:
    """A short name, and then a string: nearly all are written so. None: it is something else."""
    if position + 2 > end or data[position] != 0x0A or data[position + 1] >= 0x80:
        return None
    name = position + 2
    middle = name + data[position + 1]
    if middle >= end or data[middle] != 0x12:
        return None
    start, stop = _span(data, middle + 1, end)
    if stop != end or start == stop or data[start] != 0x0A:
        return None
    start, stop = _span(data, start + 1, end)
    if stop != end:
        return None
    return {"key": data[name:middle].decode("utf-8", "replace"), "value": {"stringValue": data[start:stop].decode("utf-8", "replace")}}


def _attribute(data: bytes, position: int, end: int, depth: int) -> Message:
    if (usual := _text_attribute(data, position, end)) is not None:
        return usual
    found: Message = {"key": "", "value": {}}
    while position < end:
        tag, position = _varint(data, position)
        if tag & 7 != 2:
            _, position = _number(data, position, tag & 7)
            continue
        start, position = _span(data, position, end)
        if tag == 0x0A:
            found["key"] = data[start:position].decode("utf-8", "replace")
        elif tag == 0x12:
            found["value"] = _value(data, start, position, depth)
    return found


def _value(data: bytes, position: int, end: int, depth: int) -> Message:
    if depth > DEEPEST:
        raise Malformed("a value is nested too deeply")
    found: Message = {}
    while position < end:
        tag, position = _varint(data, position)
        if tag & 7 == 2:
            start, position = _span(data, position, end)
            found = _sized_value(data, start, position, tag >> 3, depth) or found
            continue
        if tag == 0x21:
            found = {"doubleValue": _double(_f64(data, position)[0])}
        value, position = _number(data, position, tag & 7)
        if tag == 0x18:
            found = {"intValue": str(value - (1 << 64) if value >> 63 else value)}
        elif tag == 0x10:
            found = {"boolValue": bool(value)}
    return found


def _double(value: float) -> float | str:
    """JSON has no word for what is no number; OTLP/JSON writes it as a string."""
    return value if value - value == 0 else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _sized_value(data: bytes, start: int, end: int, number: int, depth: int) -> Message | None:
    match number:
        case 1:
            return {"stringValue": data[start:end].decode("utf-8", "replace")}
        case 5:
            return {"arrayValue": {"values": [_value(data, *one, depth + 1) for one in _items(data, start, end)]}}
        case 6:
            return {"kvlistValue": {"values": [_attribute(data, *one, depth + 1) for one in _items(data, start, end)]}}
        case 7:
            return {"bytesValue": b64encode(data[start:end]).decode()}
        case _:
            return None


def _items(data: bytes, position: int, end: int) -> list[tuple[int, int]]:
    """Of a message whose only field is a list."""
    found: list[tuple[int, int]] = []
    while position < end:
        tag, position = _varint(data, position)
        if tag & 7 != 2:
            _, position = _number(data, position, tag & 7)
            continue
        start, position = _span(data, position, end)
        if tag == 0x0A:
            found.append((start, position))
    return found


# -- answers -----------------------------------------------------------------------------------------------------------


def partial_success(rejected: int, message: str) -> bytes:
    """`ExportTraceServiceResponse`; that of logs has the same numbers."""
    inner = _written(1, rejected) + _written(2, message)
    return _written(1, inner) if inner else b""


def status(code: int, message: str) -> bytes:
    """`google.rpc.Status`."""
    return _written(1, code) + _written(2, message)


def _written(number: int, value: int | str | bytes) -> bytes:
    if not value:
        return b""
    if isinstance(value, int):
        return _varint_bytes(number << 3) + _varint_bytes(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint_bytes(number << 3 | 2) + _varint_bytes(len(raw)) + raw


def _varint_bytes(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
