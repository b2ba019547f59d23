"""A request of an exporter, cut into records: standard documents of OTLP/JSON, each of a few spans with their resource.

A span that cannot be known (no id, no object) becomes a record of its own, so that it is kept and nothing else is lost.
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from ramify.model.ids import digest, observation_id
from ramify.model.moment import LAST
from ramify.model.observation import Record
from ramify.protocols.otel import protobuf

FORMAT = "otlp"
Signal = Literal["traces", "logs"]
MOST_SPANS = 64
MOST_BYTES = 256 * 1024
# Reports of this client are joined with its transcripts, and there a record is one thing that was said.
ALONE = b"com.anthropic.claude_code"
EMPTY = Raw(b"{}")
SNAKE = re.compile(rb'"(?:resource|scope)_(?:spans|logs)"|"(?:trace|span)_id"\s*:|"log_records"')
LONGEST_ID = 32
HEX = re.compile(r"[0-9a-fA-F]+")
ZEROS = re.compile(r"0*")
LEVELS = {"traces": ("resourceSpans", "scopeSpans", "spans"), "logs": ("resourceLogs", "scopeLogs", "logRecords")}


class Export(Struct):
    """What a request holds. `problem` is about the first of those that could not be read."""

    records: list[Record]
    items: int = 0
    rejected: int = 0
    problem: str = ""


class Group(Struct):
    """Spans or log records of one resource and one scope, each as JSON."""

    resource: bytes
    scope: bytes
    items: list[bytes]


class Scoped(Struct, rename="camel"):
    scope: Raw = EMPTY
    spans: list[Raw] | None = None
    log_records: list[Raw] | None = None


class Resourced(Struct, rename="camel"):
    resource: Raw = EMPTY
    scope_spans: list[Scoped] | None = None
    scope_logs: list[Scoped] | None = None


class Document(Struct, rename="camel"):
    resource_spans: list[Resourced] | None = None
    resource_logs: list[Resourced] | None = None


class Known(Struct, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    end_time_unix_nano: int | str = 0
    start_time_unix_nano: int | str = 0
    time_unix_nano: int | str = 0
    observed_time_unix_nano: int | str = 0


_document = msgspec.json.Decoder(Document).decode
_known = msgspec.json.Decoder(Known).decode
_encode = msgspec.json.Encoder().encode


def read_json(body: bytes, project: str, place: str) -> Export:
    """Traces and logs may stand in one document, as collectors write them to files. Raises ValueError."""
    if SNAKE.search(body):
        body = _encode(camel(msgspec.json.decode(body)))
    document = _document(body)
    if document.resource_spans is None and document.resource_logs is None and body.strip() not in (b"{}",):
        raise ValueError("neither resourceSpans nor resourceLogs stands in it")
    export = Export([])
    for signal, resources in (("traces", document.resource_spans), ("logs", document.resource_logs)):
        for group in groups(resources or []):
            add(export, group, "traces" if signal == "traces" else "logs", project, place)
    return export


def groups(resources: list[Resourced]) -> Iterator[Group]:
    for one in resources:
        for scoped in (one.scope_spans or []) + (one.scope_logs or []):
            items = (scoped.spans or []) + (scoped.log_records or [])
            yield Group(bytes(one.resource), bytes(scoped.scope), [bytes(item) for item in items])


def read_protobuf(body: bytes, signal: Signal, project: str, place: str) -> Export:
    """Raises ValueError."""
    resources, scopes, items = LEVELS[signal]
    export = Export([])
    for one in protobuf.read(body, signal).get(resources, ()):
        resource = _encode(one.get("resource", {}))
        for scoped in one.get(scopes, ()):
            read = [item_of(raw, "span" if signal == "traces" else "log") for raw in scoped.get(items, ())]
            add(export, Group(resource, _encode(scoped.get("scope", {})), read), signal, project, place)
    return export


def item_of(raw: bytes, schema: str) -> bytes:
    try:
        return _encode(protobuf.read(raw, schema))
    except protobuf.Malformed as problem:
        return _encode({"unreadable": str(problem), "bytes": raw})


# -- records -----------------------------------------------------------------------------------------------------------


def add(export: Export, group: Group, signal: Signal, project: str, place: str) -> None:
    most = 1 if ALONE in group.scope else MOST_SPANS
    chunk: list[bytes] = []
    size = at = 0
    for item in group.items:
        export.items += 1
        when, problem = look(item, signal)
        if problem:
            export.rejected += 1
            export.problem = export.problem or problem
            export.records.append(record(group, [item], signal, when, project, place))
            continue
        if chunk and (len(chunk) >= most or size + len(item) > MOST_BYTES):
            export.records.append(record(group, chunk, signal, at, project, place))
            chunk, size, at = [], 0, 0
        chunk.append(item)
        size, at = size + len(item), max(at, when)
    if chunk:
        export.records.append(record(group, chunk, signal, at, project, place))


def look(item: bytes, signal: Signal) -> tuple[int, str]:
    """When it happened, in microseconds, and why it cannot be known, if it cannot."""
    try:
        known = _known(item)
    except (ValueError, RecursionError) as problem:
        return 0, f"a span that is none: {problem}"
    at = moment(known.end_time_unix_nano) or moment(known.time_unix_nano) or moment(known.start_time_unix_nano)
    at = at or moment(known.observed_time_unix_nano)
    if signal == "traces" and not (identity(known.trace_id, 16) and identity(known.span_id, 8)):
        return at, f"a span's ids are {known.trace_id[:40]!r} and {known.span_id[:40]!r}: not 16 and 8 bytes, or all zero"
    return at, ""


def record(group: Group, items: list[bytes], signal: Signal, at: int, project: str, place: str) -> Record:
    resources, scopes, name = (level.encode() for level in LEVELS[signal])
    body = b"".join((
        b'{"', resources, b'":[{"resource":', group.resource, b',"', scopes, b'":[{"scope":', group.scope,
        b',"', name, b'":[', b",".join(items), b"]}]}]}",
    ))  # fmt: skip
    return Record(observation_id(FORMAT, project, digest(body)), project, at, "otel", FORMAT, place, body)


# -- values that come in several forms ---------------------------------------------------------------------------------


def moment(nanoseconds: int | str) -> int:
    """Microseconds. JSON has a decimal string; some write a number."""
    try:
        found = max(int(nanoseconds), 0) // 1000
    except ValueError:
        return 0
    return found if found <= LAST else 0


def identity(text: str, size: int) -> str:
    """Lower-case hex; "" where it is none, or all zeros. Generic protobuf JSON has base64 instead."""
    return read_identity(text, size) if len(text) <= LONGEST_ID else ""


@lru_cache(16384)
def read_identity(text: str, size: int) -> str:
    """A trace's is that of all its spans, and a parent's that of all its children."""
    if len(text) == size * 2 and HEX.fullmatch(text):
        return "" if ZEROS.fullmatch(text) else text.lower()
    if text.endswith("=") and len(text) == -(-size // 3) * 4:
        try:
            raw = b64decode(text, validate=True)
        except ValueError:
            return ""
        return raw.hex() if len(raw) == size and any(raw) else ""
    return ""


def camel(value: Any) -> Any:
    """Hand-written senders use protobuf's own names for fields."""
    if isinstance(value, dict):
        return {camel_name(name): camel(one) for name, one in value.items()}
    return [camel(one) for one in value] if isinstance(value, list) else value


def camel_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
