"""What a client printed or a program recorded, from a file: the CLI's stream, the SDK's messages, hooks.

Few of these lines tell their time. Each gets one that keeps the order: a moment after the line before it.
"""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from ramify.capture.importer import Imported, numbered, opened
from ramify.capture.redact import redact_json
from ramify.capture.stamp import stamped
from ramify.model.ids import digest, observation_id
from ramify.model.observation import Record

SESSION = re.compile(rb'"session_id"\s*:\s*"([0-9A-Za-z-]{8,64})"')
SOURCES = {"stream-json": "stream", "sdk": "stream", "claude-hook": "hook"}


def read_stream(path: Path, project: str, format: str) -> Iterator[Imported]:
    """Never raises, never stops at a bad line. A stream is known by its first line, so a copy of it is the same."""
    number = 0
    try:
        at, session = first_moment(path), first_session(path) if format == "sdk" else ""
        first = b""
        for number, body in bodies(path):
            own, problem = stamped(body)
            session = session_in(body) or session if format == "sdk" else ""
            at = max(at + 1, own or 0)
            first = first or digest(body)
            id = observation_id("record", project, format, first, number, digest(body))
            name = f"{path.name}/{session}" if session else path.name
            place = f"{name}:{number}".encode("utf-8", "backslashreplace").decode()
            record = Record(id, project, at, SOURCES[format], format, place, body)
            yield Imported((record,), number, problem)
    except (OSError, EOFError, zlib.error) as error:
        yield Imported((), number + 1, f"{path} cannot be read beyond line {number}: {error}")


def bodies(path: Path) -> Iterator[tuple[int, bytes]]:
    with opened(path) as file:
        for number, line in numbered(file):
            if not line.isspace():
                yield number, redact_json(line.rstrip(b"\r\n"))


def session_in(body: bytes) -> str:
    found = SESSION.search(body)
    return found.group(1).decode("ascii") if found else ""


def first_session(path: Path) -> str:
    """Some of the SDK's classes drop the session; the messages around them have it."""
    with opened(path) as file:
        return next((session for _, line in numbered(file) if (session := session_in(line))), "")


def first_moment(path: Path) -> int:
    """Just before the first line: counted back from the first time that is told, else from the file's own."""
    number = 0
    with opened(path) as file:
        for number, line in numbered(file):
            own, _ = stamped(line)
            if own is not None:
                return own - number
    return path.stat().st_mtime_ns // 1000 - number - 1
