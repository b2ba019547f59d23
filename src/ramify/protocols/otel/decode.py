"""From a record of OTLP to what its spans and log records say. Never raises: what cannot be read is said to be so."""

from collections.abc import Iterator

from ramify.model.event import Event, Unreadable
from ramify.model.observation import Record
from ramify.model.otel_event import CLIENT_RUN, PLAIN, LogTold, SpanSeen
from ramify.protocols.otel import claude_code, content, meaning
from ramify.protocols.otel.dialects import judge
from ramify.protocols.otel.request import FORMAT, identity, moment
from ramify.protocols.otel.wire import (
    Attributes,
    Log,
    Read,
    Resourced,
    Scoped,
    attributes_of,
    decode_document,
    decode_log,
    decode_span,
    plain,
    text,
)

__all__ = ["FORMAT", "decode", "may_tell", "told", "tool_blocks"]
Seen = SpanSeen | LogTold | Unreadable


def decode(record: Record) -> list[Seen]:
    """What spans say of themselves; what the Claude client's say of its sessions is `told`."""
    found: list[Seen] = []
    try:
        document = decode_document(record.body)
    except (ValueError, RecursionError) as problem:
        return [Unreadable(record.id, record.at, f"no document of OTLP: {problem}")]
    for resourced in document.resource_spans:
        found += [span_seen(read, record) if isinstance(read, Read) else read for read in spans_of(resourced, record)]
    for log, scope in logs_of(document.resource_logs):
        seen = log if isinstance(log, str) else log_told(log, record)
        if isinstance(seen, str):
            found.append(Unreadable(record.id, record.at, seen))
        elif seen is not None and not claude_code.is_own(scope):
            found.append(seen)
    return found


def may_tell(record: Record) -> bool:
    """Whether `told` can find anything."""
    return b"claude_code" in record.body


def told(record: Record) -> tuple[Event, ...]:
    """What the Claude client reports about its sessions, as a transcript would."""
    if not may_tell(record):
        return ()
    try:
        document = decode_document(record.body)
    except (ValueError, RecursionError):
        return ()
    events: list[Event] = []
    for resourced in document.resource_spans:
        for read in spans_of(resourced, record):
            if isinstance(read, Read) and judge(read)[1][0] == CLIENT_RUN:
                events += claude_code.told_by_span(read, record)
    for log, scope in logs_of(document.resource_logs):
        if isinstance(log, Log) and claude_code.is_own(scope):
            events += claude_code.told_by_log(log, record)
    return tuple(events)


def tool_blocks(record: Record) -> list[claude_code.Block]:
    """Inputs and results of tools of the Claude client, as its answers and requests would have them."""
    if not may_tell(record):
        return []
    try:
        document = decode_document(record.body)
    except (ValueError, RecursionError):
        return []
    reads = (read for resourced in document.resource_spans for read in spans_of(resourced, record) if isinstance(read, Read))
    found = [block for read in reads for block in claude_code.blocks_of_span(read)]
    logs = (log for log, scope in logs_of(document.resource_logs) if isinstance(log, Log) and claude_code.is_own(scope))
    return found + [block for log in logs for block in claude_code.blocks_of_log(log)]


def spans_of(resourced: Resourced, record: Record) -> Iterator[Read | Unreadable]:
    resource = attributes_of(resourced.resource.attributes) if resourced.resource is not None else Attributes()
    for scoped in resourced.scope_spans:
        scope = scoped.scope.name if scoped.scope is not None else ""
        for raw in scoped.spans:
            yield read_span(bytes(raw), scope, resource, record)


def read_span(raw: bytes, scope: str, resource: Attributes, record: Record) -> Read | Unreadable:
    try:
        span = decode_span(raw)
    except (ValueError, RecursionError) as problem:
        return Unreadable(record.id, record.at, f"a span that cannot be read: {problem}")
    trace, id = identity(span.trace_id, 16), identity(span.span_id, 8)
    if not trace or not id:
        return Unreadable(record.id, record.at, f"a span without ids: {span.trace_id[:40]!r}, {span.span_id[:40]!r}")
    return Read(span, attributes_of(span.attributes), scope, resource, trace, id)


def logs_of(resources: list[Resourced]) -> Iterator[tuple[Log | str, str]]:
    for scoped in (scoped for resourced in resources for scoped in resourced.scope_logs):
        for raw in scoped.log_records:
            yield read_log(bytes(raw)), scope_name(scoped)


def read_log(raw: bytes) -> Log | str:
    try:
        return decode_log(raw)
    except (ValueError, RecursionError) as problem:
        return f"a log record that cannot be read: {problem}"


def scope_name(scoped: Scoped) -> str:
    return scoped.scope.name if scoped.scope is not None else ""


# -- spans -------------------------------------------------------------------------------------------------------------


def span_seen(read: Read, record: Record) -> SpanSeen:
    dialect, (role, utility) = judge(read)
    status, native_status, error = meaning.status_of(read, dialect)
    seen = SpanSeen(
        record.project, read.place, record.id, read.parent, read.remote, read.opened, max(read.closed, 0),
        len(read.attributes) + len(read.span.events), role, dialect, read.span.name, read.side, status, native_status, error,
        text(read.resource.get("service.name")), links=read.links,
    )  # fmt: skip
    if role == CLIENT_RUN:
        return claude_code.placed(seen, read)
    if role == PLAIN:
        return seen
    return meaning.filled(seen, read, utility)


# -- logs --------------------------------------------------------------------------------------------------------------


def log_told(log: Log, record: Record) -> LogTold | None:
    """Messages that are said as events of the log, of the span that the record names."""
    trace, id = identity(log.trace_id or "", 16), identity(log.span_id or "", 8)
    fields, body = attributes_of(log.attributes), plain(log.body)
    name = log.event_name or text(fields.get("event.name")) or text(body)
    if not trace or not id:
        return None
    at = moment(log.time_unix_nano) or moment(log.observed_time_unix_nano)
    if name == "gen_ai.client.inference.operation.details":
        read = Read(decode_span(b"{}"), fields, "", {}, trace, id)
        found = content.content_of(read)
    else:
        message = content.event_message(name, fields, body)
        if message is None:
            return None
        answers = message["role"] == "choice"
        asked = [] if answers else [message]
        found = content.telling(asked, [{**message, "role": "assistant"}] if answers else [])
    return LogTold(record.project, f"{trace}-{id}", record.id, at, found)


