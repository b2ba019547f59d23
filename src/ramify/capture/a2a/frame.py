"""One frame of captured A2A traffic: a request, an answer, a slice of a stream, or its end. One line of JSON each."""

from base64 import b64encode
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ramify.model.ids import observation_id
from ramify.model.moment import iso
from ramify.model.observation import Record

FORMAT = "a2a"
Kind = Literal["request", "response", "sse", "end", "abort"]
Parts = dict[str, Any]
"""Members of a frame, by name."""


class Frame(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Known by agent, connection and number. Exchanges of one connection follow each other by number."""

    agent: str
    connection: str
    seq: int
    time: str
    kind: Kind
    direction: Literal["in", "out"] = "in"
    method: str = ""
    path: str = ""
    status: int = 0
    headers: dict[str, str] = {}
    body: Raw | UnsetType = UNSET
    body_b64: str | UnsetType = UNSET
    raw: str | UnsetType = UNSET
    raw_b64: str | UnsetType = UNSET
    aborted: bool = False
    by: Literal["agent", "client", ""] = ""
    error: str = ""
    note: str = ""


_encode = msgspec.json.Encoder().encode
_check = msgspec.json.Decoder(Raw).decode


def frame_id(project: str, agent: str, connection: str, seq: int) -> str:
    return observation_id("a2a", project, agent, connection, seq)


def record_of(frame: Frame, project: str, at: int, source: str) -> Record:
    return make_record(project, frame.agent, frame.connection, frame.seq, at, source, _encode(frame))


def make_record(project: str, agent: str, connection: str, seq: int, at: int, source: str, line: bytes) -> Record:
    place = f"{agent}/{connection}#{seq}".encode("utf-8", "backslashreplace").decode()
    return Record(frame_id(project, agent, connection, seq), project, at, source, FORMAT, place, line)


def moment(at: int) -> str:
    return iso(at) or ""


def content_of(body: bytes) -> Parts:
    """JSON as it is, except for line ends: those would end the frame. Else text, else base64."""
    if not body:
        return {}
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return {"body_b64": b64encode(body).decode()}
    try:
        _check(body)
    except (ValueError, RecursionError):
        return {"body": Raw(_encode(text))}
    # Inside a string of JSON no line can end; between its parts any white space is like another.
    return {"body": Raw(body.replace(b"\r", b" ").replace(b"\n", b" ").strip())}


def slice_of(piece: bytes) -> Parts:
    try:
        return {"raw": piece.decode()}
    except UnicodeDecodeError:
        return {"raw_b64": b64encode(piece).decode()}
