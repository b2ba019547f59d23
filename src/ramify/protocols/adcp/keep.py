"""A line on its way into the store: checked, without secrets, cut to size, with what the store itself has to say of it."""

import hashlib

import msgspec
from msgspec import Struct

from ramify.model import ids
from ramify.model.observation import Record
from ramify.model.operation_event import LOCAL, Answered, Progressed, Pushed, Shown, Snapshots
from ramify.protocols.adcp.decode import CLEARED, FORMAT, canonical, content_digest, meaning
from ramify.protocols.adcp.forms import ENVELOPE
from ramify.protocols.adcp.lines import check_names, check_size, viewed, webhook_body
from ramify.protocols.adcp.redact import as_json, redacted
from ramify.protocols.adcp.wire import FIELDS, LONGEST_ID, OF_RECORDS, OWN, SNAKES, Line, text

EVENT_BYTES = 64 * 2**10
SHORT_FIELDS = ENVELOPE | {"id", "taskId", "contextId", "operation_id", "task_type", "idempotency_key", "timestamp", "notification_id"}
LARGE = 1024
NAMES = frozenset({*FIELDS, *SNAKES, *OF_RECORDS, "rawSha256"})


class Entry(Struct, frozen=True):
    """Where and when a line came in. `at` 0: only the store's clock is known."""

    project: str
    recorded: int
    session: str = LOCAL
    epoch: int = 0
    at: int = 0
    source: str = "events"
    place: str = "events"
    identity: str = ""  # of a line that has no id of its own
    unverified: bool = False
    event_bytes: int = EVENT_BYTES


def keep(given: Line, entry: Entry) -> Record:
    """Raises BadLine with the reason why this is no event."""
    line = {name: value for name, value in given.items() if name != OWN}
    check_names(line)
    view = viewed(line)
    own: Line = {"session": entry.session, "recorded": entry.recorded, "digest": content_digest(view)}
    if entry.at:
        own["at"] = entry.at
    if entry.source != "import":
        own["receipt"] = entry.identity
    if entry.unverified:
        own["unverified"] = True
    if body := delivered(line, view):
        own["body"] = canonical(body)
    clean = redacted(line)
    if isinstance(line.get("raw"), str):
        clean.setdefault("rawSha256", hashlib.sha256(line["raw"].encode("utf-8", "surrogatepass")).hexdigest())
    size = len(msgspec.json.encode(clean))
    check_size(size)
    if size > entry.event_bytes:
        before = viewed(clean)
        own |= {"truncated": True, "read": read_before(before, own)}
        if "record" in before:
            own["view"] = {name: value for name, value in before.items() if is_short(value, LARGE)}
        clean = cut(clean, entry.event_bytes)
    body_bytes = msgspec.json.encode({**clean, OWN: own})
    id = event_id(entry, text(view.get("eventId")))
    return Record(id, entry.project, entry.at or entry.recorded, entry.source, FORMAT, entry.place, body_bytes)


def event_id(entry: Entry, native: str) -> str:
    """A line of a file and an event that was sent are the same where their own id is."""
    named = ("event", native) if native else ("line", entry.identity)
    return ids.observation_id("adcp", entry.project, entry.session, entry.epoch, *named)


def clearing(entry: Entry, reason: str) -> Record:
    """The store's own word that a session was emptied."""
    own = {"act": CLEARED, "reason": reason, "session": entry.session, "recorded": entry.recorded}
    id = ids.observation_id("adcp", entry.project, entry.session, entry.epoch, "cleared")
    body = msgspec.json.encode({OWN: own})
    return Record(id, entry.project, entry.recorded, entry.source, FORMAT, entry.place, body)


def delivered(line: Line, view: Line) -> Line:
    """The body of a push, which repetitions are compared by."""
    if line.get("kind") == "webhook":
        return webhook_body(line)
    payload = view.get("payload")
    return payload if view.get("source") == "webhook" and isinstance(payload, dict) else {}


def read_before(view: Line, own: Line) -> Line:
    """What an event says whose larger fields are about to be cut."""
    match meaning(view, own):
        case Answered() as said:
            return {"status": said.status, "native": shortened(said.native), "work": said.work, "transport": said.transport, "carried": said.carried}
        case Pushed() | Snapshots() as said:
            return {"words": msgspec.to_builtins(said.words)}
        case Progressed() as said:
            return {"subtask": shortened(said.subtask), "status": said.status, "native": shortened(said.native)}
        case Shown():
            return {"shown": True}
        case _:
            return {}


def cut(line: Line, most: int) -> Line:
    """The largest fields become a note of what they were, until the rest is small enough."""
    sizes = sorted(((len(msgspec.json.encode(value)), name) for name, value in line.items()), reverse=True)
    total = sum(size + len(name) + 4 for size, name in sizes)
    cut_line = dict(line)
    for size, name in sizes:
        if total <= most or size < LARGE:
            break
        cut_line[name] = stump(line[name])
        total -= size - len(msgspec.json.encode(cut_line[name]))
    return cut_line if total <= most else without_the_rest(cut_line)


def without_the_rest(line: Line) -> Line:
    """Many small fields are large together: those that nobody has agreed on become one note."""
    rest = {name: value for name, value in line.items() if name not in NAMES}
    note = {"truncated": True, "fields": len(rest), **hashed(msgspec.json.encode(rest))}
    return {name: value for name, value in line.items() if name in NAMES} | {"more": note}


def stump(value: object) -> Line:
    raw = msgspec.json.encode(value)
    left: Line = {"truncated": True, **hashed(raw)}
    fields = as_json(value) if isinstance(value, str) else value
    for name, one in fields.items() if isinstance(fields, dict) else ():
        if name in SHORT_FIELDS and is_short(one, LONGEST_ID):
            left[name] = one
    return left


def hashed(raw: bytes) -> Line:
    return {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}


def is_short(value: object, most: int) -> bool:
    return isinstance(value, str | int | float | bool | None) and len(str(value)) <= most


def shortened(word: str) -> str:
    return word[:LONGEST_ID]


# -- what the store has added ------------------------------------------------------------------------------------------


class Own(Struct, frozen=True):
    """What the store has added to a line."""

    digest: str = ""
    receipt: str = ""


class Added(Struct):
    ramify: Own = Own()


_added = msgspec.json.Decoder(Added).decode


def digest_of(record: Record) -> str:
    return _added(record.body).ramify.digest


def same_receipt(seen: Record, record: Record) -> bool:
    """Whether what is stored is this very delivery, and not an equal one that was a little faster."""
    return _added(seen.body).ramify.receipt == _added(record.body).ramify.receipt
