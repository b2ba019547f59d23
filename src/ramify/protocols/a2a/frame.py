"""A frame: one piece of what passed between a client and an agent, as captures write it down."""

import base64
from typing import Any

import msgspec
from msgspec import Struct

from ramify.model.moment import micros
from ramify.model.observation import Record
from ramify.protocols.wire.characters import NOT_JSON, read_json

KINDS = ("request", "response", "sse", "end", "abort")
MOST = 1 << 26  # frames of one connection: their places are kept as numbers


class Frame(Struct, frozen=True):
    agent: str
    connection: str
    seq: int
    kind: str
    at: int
    direction: str = "in"
    method: str = ""
    path: str = ""
    headers: dict[str, Any] = {}
    body: Any = None
    status: int = 0
    aborted: bool = False
    raw: bytes = b""
    by: str = "agent"  # whoever cut the stream


class Line(Struct):
    """As it is written. Every field may hold anything."""

    agent: str
    connection: str
    seq: int
    kind: str
    time: Any = None
    direction: Any = None
    method: Any = None
    path: Any = None
    headers: Any = None
    body: Any = None
    body_b64: Any = None
    status: Any = None
    aborted: Any = None
    raw: Any = None
    raw_b64: Any = None
    by: Any = None


def read_frame(record: Record) -> Frame | str:
    """The frame, or why it is none."""
    value = read_json(record.body)
    if value is NOT_JSON:
        return "is no JSON"
    try:
        line = msgspec.convert(value, Line)
    except (msgspec.ValidationError, RecursionError) as problem:
        return f"is no frame of A2A: {problem}"
    if line.kind not in KINDS:
        return f"has the kind {line.kind[:40]!r}, which is none of {', '.join(KINDS)}"
    if not 0 <= line.seq < MOST:
        return f"has the number {line.seq}, which no frame has"
    return Frame(
        line.agent, line.connection, line.seq, line.kind, moment(line.time, record.at),
        "out" if line.direction == "out" else "in",
        word(line.method), word(line.path), headers_of(line.headers), body_of(line),
        line.status if isinstance(line.status, int) else 0,
        line.aborted is True, raw_of(line.raw, line.raw_b64), "client" if line.by == "client" else "agent",
    )  # fmt: skip


def moment(time: Any, otherwise: int) -> int:
    try:
        found = micros(time) if isinstance(time, str) else otherwise
    except (ValueError, OverflowError):
        return otherwise
    return found if found > 0 else otherwise


def word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def headers_of(value: Any) -> dict[str, Any]:
    return {name.lower(): found for name, found in value.items()} if isinstance(value, dict) else {}


def raw_of(raw: Any, coded: Any) -> bytes:
    if isinstance(raw, str):
        return raw.encode("utf-8", "replace")
    if not isinstance(coded, str):
        return b""
    try:
        return base64.b64decode(coded)
    except ValueError:
        return b""


def body_of(line: Line) -> Any:
    """A string may be JSON that the capture did not read."""
    if line.body is not None and not isinstance(line.body, str):
        return line.body
    raw = raw_of(line.body, line.body_b64)
    value = read_json(raw) if raw else None
    return raw if value is NOT_JSON else value
