"""OTLP/JSON as it is written, with every form of a value that senders use, and what is common to all spans."""

import math
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from ramify.protocols.otel.names import meant
from ramify.protocols.otel.request import identity, moment

Attributes = dict[str, Any]
KINDS = {
    "SPAN_KIND_INTERNAL": 1, "SPAN_KIND_SERVER": 2, "SPAN_KIND_CLIENT": 3, "SPAN_KIND_PRODUCER": 4, "SPAN_KIND_CONSUMER": 5,
}  # fmt: skip
CODES = {"STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
REMOTE = 0x200
WITHHELD = "<REDACTED>"
LARGEST = 2**63
LONGEST_INDEX = 9  # digits of a place in a list
MOST = 1e12
SERVER, CLIENT = 2, 3


class Value(Struct, rename="camel", gc=False):
    string_value: str | None = None
    bool_value: bool | str | None = None
    int_value: int | float | str | None = None
    double_value: float | str | None = None
    array_value: "Values | None" = None
    kvlist_value: "Pairs | None" = None
    bytes_value: str | None = None


class Pair(Struct, gc=False):
    key: str = ""
    value: Value | None = None


class Values(Struct, gc=False):
    values: list[Value] = field(default_factory=list)


class Pairs(Struct, gc=False):
    values: list[Pair] = field(default_factory=list)


class SpanEvent(Struct, rename="camel", gc=False):
    name: str = ""
    time_unix_nano: int | str = 0
    attributes: list[Pair] = field(default_factory=list)


class SpanLink(Struct, rename="camel", gc=False):
    trace_id: str = ""
    span_id: str = ""


class Status(Struct, gc=False):
    code: int | str = 0
    message: str = ""


class Span(Struct, rename="camel", gc=False):
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str | None = ""
    name: str = ""
    kind: int | str = 0
    start_time_unix_nano: int | str = 0
    end_time_unix_nano: int | str = 0
    flags: int | str = 0
    attributes: list[Pair] = field(default_factory=list)
    events: list[SpanEvent] = field(default_factory=list)
    links: list[SpanLink] = field(default_factory=list)
    status: Status | None = None
    dropped_attributes_count: int | str = 0
    dropped_events_count: int | str = 0


class Log(Struct, rename="camel", gc=False):
    time_unix_nano: int | str = 0
    observed_time_unix_nano: int | str = 0
    trace_id: str | None = ""
    span_id: str | None = ""
    event_name: str | None = ""
    body: Value | None = None
    attributes: list[Pair] = field(default_factory=list)


class Resource(Struct, gc=False):
    attributes: list[Pair] = field(default_factory=list)


class Scope(Struct, gc=False):
    name: str = ""
    version: str = ""


class Scoped(Struct, rename="camel", gc=False):
    scope: Scope | None = None
    spans: list[Raw] = field(default_factory=list)
    log_records: list[Raw] = field(default_factory=list)


class Resourced(Struct, rename="camel", gc=False):
    resource: Resource | None = None
    scope_spans: list[Scoped] = field(default_factory=list)
    scope_logs: list[Scoped] = field(default_factory=list)


class Document(Struct, rename="camel", gc=False):
    resource_spans: list[Resourced] = field(default_factory=list)
    resource_logs: list[Resourced] = field(default_factory=list)


decode_document = msgspec.json.Decoder(Document).decode
decode_span = msgspec.json.Decoder(Span).decode
decode_log = msgspec.json.Decoder(Log).decode


# -- values ------------------------------------------------------------------------------------------------------------


def plain(value: Value | None) -> Any:
    """As Python has it; an empty value is None."""
    if value is None:
        return None
    if value.string_value is not None:
        return value.string_value
    if value.bool_value is not None:
        return value.bool_value if isinstance(value.bool_value, bool) else value.bool_value.lower() == "true"
    if value.int_value is not None:
        return number(value.int_value)
    if value.double_value is not None:
        return real(value.double_value)
    if value.array_value is not None:
        return [plain(one) for one in value.array_value.values]
    if value.kvlist_value is not None:
        return attributes_of(value.kvlist_value.values)
    return f"{len(from_base64(value.bytes_value))} bytes" if value.bytes_value is not None else None


def attributes_of(pairs: list[Pair]) -> Attributes:
    """Most values are strings."""
    return {
        pair.key: value.string_value if (value := pair.value) is not None and value.string_value is not None else plain(value)
        for pair in pairs
    }


def from_base64(text: str) -> bytes:
    try:
        return b64decode(text)
    except ValueError:
        return b""


def number(value: Any) -> int | None:
    """A whole number; strings are meant as such where one is expected. None for what no store can hold."""
    try:
        found = int(float(value) if isinstance(value, float | str) and not str(value).lstrip("-").isdigit() else value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if -LARGEST <= found < LARGEST else None


def real(value: Any) -> float | None:
    if value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def amount(value: Any) -> float | None:
    """Of money or time. What nobody can have paid or waited for is not known: multiplied, no store could hold it."""
    found = real(value)
    return found if found is not None and 0 <= found <= MOST else None


def text(value: Any) -> str:
    """"" for everything that is none, and for what was withheld."""
    return value if isinstance(value, str) and value != WITHHELD else ""


def name(value: Any) -> str:
    """An id: some write theirs as a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value)


def truth(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def parsed(value: Any) -> Any:
    """Structured values come as such, or as a JSON string."""
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        try:
            return msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return value
    return value


# -- spans -------------------------------------------------------------------------------------------------------------


class Read(Struct, gc=False):
    """A span, read: what dialects look at."""

    span: Span
    attributes: Attributes
    scope: str
    resource: Attributes
    trace: str
    id: str
    meant: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.meant = meant(self.attributes)

    @property
    def place(self) -> str:
        return f"{self.trace}-{self.id}"

    @property
    def parent(self) -> str:
        found = identity(self.span.parent_span_id or "", 8)
        return f"{self.trace}-{found}" if found and found != self.id else ""  # nobody is above itself

    @property
    def remote(self) -> bool:
        return bool((number(self.span.flags) or 0) & REMOTE)

    @property
    def side(self) -> int:
        kind = self.span.kind
        return KINDS.get(kind, 0) if isinstance(kind, str) and not kind.isdigit() else number(kind) or 0

    @property
    def opened(self) -> int:
        return moment(self.span.start_time_unix_nano)

    @property
    def closed(self) -> int:
        return moment(self.span.end_time_unix_nano)

    @property
    def code(self) -> int:
        """0 unset, 1 ok, 2 error."""
        code = self.span.status.code if self.span.status is not None else 0
        return CODES.get(code, 0) if isinstance(code, str) and not code.isdigit() else number(code) or 0

    @property
    def links(self) -> tuple[str, ...]:
        found = ((identity(link.trace_id, 16), identity(link.span_id, 8)) for link in self.span.links)
        return tuple(dict.fromkeys(f"{trace}-{span}" for trace, span in found if trace and span))

    def means(self, names: tuple[str, ...]) -> Any:
        """The first of the attributes that have this meaning."""
        return self.meant.get(names[0])

    def first(self, names: tuple[str, ...]) -> Any:
        """The first of any attributes that is there."""
        for name in names:
            if (value := self.attributes.get(name)) is not None:
                return value
        return None

    def events(self) -> Iterator[tuple[str, Attributes]]:
        for event in self.span.events:
            yield event.name, attributes_of(event.attributes)


def numbered(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Lists that were flattened: `prefix.0.message.role` and so on, put together again."""
    found: dict[int, dict[str, Any]] = {}
    lead = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(lead):
            index, _, rest = name[len(lead) :].partition(".")
            if index.isdecimal() and len(index) <= LONGEST_INDEX and rest:
                found.setdefault(int(index), {})[rest] = value
    return [found[index] for index in sorted(found)]
