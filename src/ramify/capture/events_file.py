"""Task events and client records from a file: one JSON object a line, in the order of their arrival.

A line without an id of its own is known by its bytes and by how many equal ones stood before it: the same file twice
changes nothing, and two equal deliveries stay two.
"""

import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from ramify.capture.importer import Imported, numbered, opened
from ramify.capture.redact import redact_json
from ramify.model.ids import digest, observation_id
from ramify.model.observation import Record
from ramify.protocols.adcp.decode import FORMAT, moment
from ramify.protocols.adcp.keep import Entry, keep
from ramify.protocols.adcp.lines import BadLine, session_of
from ramify.protocols.adcp.wire import KINDS, LARGEST_EVENT, OWN, Line, text

YEAR = 366 * 24 * 3600 * 1_000_000
EARLIEST = 946_684_800_000_000  # what claims to be from before the year 2000 has no clock


class Reading(Struct):
    """Where the reading of one file is."""

    path: Path
    project: str
    recorded: int
    at: int  # of the line before
    equal: dict[bytes, int]


def read_events(path: Path, project: str) -> Iterator[Imported]:
    """Never raises, never stops at a bad line."""
    number = 0
    try:
        stat = path.stat()
        reading = Reading(path, project, time.time_ns() // 1000, stat.st_mtime_ns // 1000, {})
        with opened(path) as file:
            for number, line in numbered(file):
                if not line.isspace():
                    yield read_line(reading, line.strip(), number)
    except (OSError, EOFError, zlib.error) as error:
        yield Imported((), number + 1, f"{path} cannot be read beyond line {number}: {error}")


def read_line(reading: Reading, raw: bytes, number: int) -> Imported:
    place = f"{reading.path.name}:{number}".encode("utf-8", "backslashreplace").decode()
    reading.recorded += 1  # in the order of the lines
    name = digest(raw)
    nth = reading.equal[name] = reading.equal.get(name, 0) + 1
    try:
        line = parsed(raw)
        reading.at = line_moment(line, reading) or reading.at
        session = session_of(line)
        identity = f"{name.hex()}/{nth}"
        entry = Entry(reading.project, reading.recorded, session, at=reading.at, source="import", place=place, identity=identity)
        return Imported((keep(line, entry),), number)
    except BadLine as problem:
        return Imported((aside(reading, raw, place, nth),), number, f"{place}: {problem}")


def parsed(raw: bytes) -> Line:
    if len(raw) > 4 * LARGEST_EVENT:
        raise BadLine(f"has {len(raw)} bytes, more than {LARGEST_EVENT}")
    try:
        line = msgspec.json.decode(raw)
    except (ValueError, RecursionError) as problem:
        raise BadLine(f"is no JSON: {problem}") from None
    if not isinstance(line, dict):
        raise BadLine("is no JSON object")
    return line


def line_moment(line: Line, reading: Reading) -> int | None:
    """By the observer's clock, or the caller's own; a remote sender's decides nothing."""
    own = moment(line.get("at")) or moment(line.get("recordedAt"))
    if own is None and line.get("kind") is None and text(line.get("source")) in ("", "client"):
        own = moment(line.get("timestamp"))
        own = own if own is not None and EARLIEST < own < reading.recorded + YEAR else None
    return own


def aside(reading: Reading, raw: bytes, place: str, nth: int) -> Record:
    """A line that is no event is kept all the same; `place` in the log says where it stood. It says nothing as the store."""
    try:
        line = msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        line = None
    owned = isinstance(line, dict) and line.pop(OWN, None) is not None
    body = redact_json(msgspec.json.encode(line) if owned else raw)
    id = observation_id("record", reading.project, FORMAT, digest(raw), nth)
    return Record(id, reading.project, reading.at, "import", FORMAT, place, body)


def looks_like_event(raw: bytes) -> bool:
    """By one readable line; A2A's objects have a `kind` as well, but no `op`."""
    try:
        line = parsed(raw)
    except BadLine:
        return False
    named = ("eventType", "operationId"), ("event_type", "operation_id"), ("objectType", "operationId")
    if any(isinstance(line.get(one), str) and isinstance(line.get(other), str) for one, other in named):
        return True
    return line.get("kind") in KINDS and "op" in line
