"""Messages of an agent mesh from files: lines of a listener, a message a file, a gateway's export or its task events."""

import json
import re
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ramify.capture.importer import LONGEST_LINE, PEEKED_BYTES, Imported, numbered, opened
from ramify.capture.mesh_secrets import redact_message
from ramify.model.ids import digest, observation_id
from ramify.model.moment import iso
from ramify.model.nested import storable
from ramify.model.observation import Record
from ramify.protocols.sam.decode import FORMAT
from ramify.protocols.sam.identity import delivery_id
from ramify.protocols.sam.wire import (
    ASSUMED,
    Envelope,
    envelope_of,
    is_message,
    moment_of,
    read_json,
    written,
)

EXPORT = re.compile(rb"(?m)^(?:invocation_details|invocation_flow)\s*:")
MOST_PARTS = 20_000_000
"""Of one export, counted as if every repetition were written out: a few bytes of YAML can stand for a billion."""


def read_mesh(path: Path, project: str, zone: str) -> Iterator[Imported]:
    """Never raises, never stops at a bad line. Reading the same file twice changes nothing."""
    number = 0
    try:
        beginning = first_bytes(path)
        if EXPORT.search(beginning):
            yield from exported(path, project)
            return
        if is_one_document(beginning):
            yield from whole(path, project, zone)
            return
        with opened(path) as file:
            for number, line in numbered(file):
                if line.strip():
                    yield from read_line(line, number, path, project, zone)
    except (OSError, EOFError, zlib.error) as error:
        yield Imported((), number + 1, f"{path} cannot be read beyond line {number}: {error}")


def first_bytes(path: Path) -> bytes:
    with opened(path) as file:
        return file.read(PEEKED_BYTES)


def is_one_document(beginning: bytes) -> bool:
    """A JSON text over several lines; one on a single line reads like a line."""
    first = beginning.lstrip().partition(b"\n")[0].strip()
    return first in (b"{", b"[") or (first.startswith((b"{", b"[")) and first.endswith((b"{", b"[", b",")))


def read_line(line: bytes, number: int, path: Path, project: str, zone: str) -> Iterator[Imported]:
    body = redact_message(line.strip())
    place = f"{path.name}:{number}".encode("utf-8", "backslashreplace").decode()
    try:
        found = read_json(body)
    except (ValueError, RecursionError) as problem:
        yield unreadable(body, place, number, project, str(problem))
        return
    if isinstance(found, dict) and is_message(found):
        yield Imported((kept(body, found, place, project, zone),), number)
    elif several := events_of(found):
        yield from (event(one, f"{place}.{at}", number, project) for at, one in enumerate(several, 1))
    else:
        yield unreadable(body, place, number, project, "neither a broker's message nor a listener's")


def unreadable(body: bytes, place: str, number: int, project: str, reason: str) -> Imported:
    id = observation_id("record", project, FORMAT, place, digest(body))
    return Imported((Record(id, project, 0, FORMAT, FORMAT, place, body),), number, f"{place}: {reason}")


def kept(body: bytes, found: dict[str, Any], place: str, project: str, zone: str) -> Record:
    """The line as it was. Where its stamps have no zone, the one that is assumed is written beside them."""
    seen = envelope_of(found)
    if seen.guessed and not seen.zone:
        offset = offset_of(zone, seen.received)
        body = body[:-1].rstrip() + b', "%s": "%s"}' % (ASSUMED.encode(), offset.encode())
        seen = envelope_of({**found, ASSUMED: offset})
    return Record(delivery_id(seen, project, live=False), project, seen.received, FORMAT, FORMAT, place, body)


def offset_of(zone: str, at: int) -> str:
    """As `+02:00`. The moment is as if it were UTC, which is near enough to know summer from winter."""
    if zone[:1] in ("+", "-"):
        return zone
    text = datetime.fromtimestamp(at / 1e6, ZoneInfo(zone)).strftime("%z")
    return f"{text[:3]}:{text[3:5]}"


# -- several messages in one document --------------------------------------------------------------------------------


def whole(path: Path, project: str, zone: str) -> Iterator[Imported]:
    with opened(path) as file:
        text = file.read(LONGEST_LINE)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as problem:
        yield unreadable(redact_message(text), f"{path.name}:1", 1, project, str(problem))
        return
    for number, one in enumerate(found if isinstance(found, list) else [found], 1):
        yield from read_line(json.dumps(one, ensure_ascii=False).encode("utf-8", "surrogatepass"), number, path, project, zone)


def events_of(found: Any) -> list[dict[str, Any]]:
    """The events of a gateway's export, or of its answer about tasks."""
    if not isinstance(found, dict):
        return []
    flows = [found.get("invocation_flow")]
    tasks = found.get("tasks")
    if isinstance(tasks, dict):
        flows += [task.get("events") for task in tasks.values() if isinstance(task, dict)]
    return [one for flow in flows if isinstance(flow, list) for one in flow if isinstance(one, dict)]


def event(one: dict[str, Any], place: str, number: int, project: str) -> Imported:
    """Its time of creation stands for that of its receipt. The rest is as it was on the wire."""
    at, _ = moment_of(one.get("created_time", one.get("timestamp")))
    topic = one.get("topic", one.get("solace_topic"))
    payload = one.get("payload", one.get("full_payload"))
    message = {"topic": topic if isinstance(topic, str) else "", "received_at": iso(at), "payload": storable(payload)}
    body = redact_message(written(message))
    seen: Envelope = envelope_of(read_json(body))
    record = Record(delivery_id(seen, project, live=False), project, seen.received, FORMAT, FORMAT, place, body)
    return Imported((record,), number)


def exported(path: Path, project: str) -> Iterator[Imported]:
    with opened(path) as file:
        text = file.read(LONGEST_LINE)
    try:
        found = read_yaml(text)
        too_much = weight(found, {}) > MOST_PARTS
        problem = "the export unfolds into more than can be read" if too_much else ""
    except Exception as error:  # the parser has many ways to fail, most of them its own
        problem = f"no YAML: {' '.join(str(error).split())[:200]}"
    if problem:
        yield unreadable(digest(text).hex().encode(), f"{path.name}:1", 1, project, problem)
        return
    for number, one in enumerate(events_of(found), 1):
        yield event(one, f"{path.name}:{number}", number, project)


def read_yaml(text: bytes) -> Any:
    """Data only, and no dates: a text that looks like one stays a text."""
    import yaml  # only exports need it

    safe = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in safe.yaml_implicit_resolvers.items()
    }
    loader = type("Loader", (safe,), {"yaml_implicit_resolvers": resolvers})
    return yaml.load(text, Loader=loader)  # the loader is derived from the safe one


def weight(value: Any, known: dict[int, int]) -> int:
    """How many parts it has, each repetition counted; an object that holds itself ends in a RecursionError."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        inner = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(weight(one, known) for one in inner)
    return known[id(value)]


# -- what a file holds -------------------------------------------------------------------------------------------------


def looks_like_mesh(beginning: bytes) -> bool:
    """By the first lines of a file."""
    if EXPORT.search(beginning):
        return True
    first = beginning.lstrip().partition(b"\n")[0]
    if is_one_document(beginning):
        return b"/a2a/v1/" in beginning and b'topic"' in beginning  # what else it has may stand further down
    try:
        found = read_json(first)
    except (ValueError, RecursionError):
        return looks_told(first) and first.startswith(b"{")
    if isinstance(found, dict) and is_message(found):
        return is_told(found)
    return bool(events_of(found)) and looks_told(first)


def is_told(found: dict[str, Any]) -> bool:
    """Other formats have a `payload`, too: a broker's message has a topic and knows when it was received."""
    beside = found if isinstance(found.get("topic"), str) else found["metadata"]
    return isinstance(beside.get("topic"), str) and any(name in beside for name in ("received_at", "timestamp", "user_properties"))


def looks_told(text: bytes) -> bool:
    return b"/a2a/v1/" in text and b'payload"' in text and b'topic"' in text
