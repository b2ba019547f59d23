"""The shapes of both versions and their bindings, and the one form that they are brought to (that of 1.0).

Versions are told apart by shape; the header comes second, because one address may speak both. Every field may hold
anything: what has the wrong type counts as absent, and so does what is empty (protobuf fills in defaults).
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec

from ramify.model import ids
from ramify.model.a2a_event import ACTIVE, INTERRUPTED, TERMINAL, UNKNOWN, Piece, Produced, Spoken, Status, plain_word
from ramify.model.nested import rebuilt, storable

Shape = dict[str, Any]
KINDS = {"task": "task", "message": "message", "status-update": "statusUpdate", "artifact-update": "artifactUpdate"}
MEMBERS = frozenset(KINDS.values())
STATES = frozenset((*ACTIVE, *INTERRUPTED, *TERMINAL))
TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:Z|z|([+-])(\d\d):?(\d\d))?$")
TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = 1 << 63  # the year 2262; beyond that it is no time of an agent
EXACT = 2.0**53  # beyond that, floats are no longer single numbers
LONG = re.compile(rb"[0-9]{19}")
"""Agents may write any number; whoever stores it has room for 64 bits."""
_encode = msgspec.json.Encoder(order="deterministic").encode


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def shape(value: Any) -> Shape:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def encoded(value: Any) -> bytes:
    if not value:
        return b""
    raw = _encode(value)
    return _encode(storable(value)) if LONG.search(raw) else raw


# -- what it is --------------------------------------------------------------------------------------------------------


def recognise(value: Any) -> tuple[str, Any]:
    """Which of the known things a body or a stream's event is: an error, one of the four members, a list, or nothing.

    The order matters: an answer to `GetTask` is a bare task without any mark, and push configurations have ids too.
    """
    body = shape(value)
    if body.get("error"):
        return "error", body["error"]
    if "result" in body and ("jsonrpc" in body or not MEMBERS & body.keys()):
        body = shape(body["result"])
    kind = body.get("kind")
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind], body
    present = [member for member in MEMBERS if isinstance(body.get(member), dict)]
    if len(present) == 1:
        return present[0], body[present[0]]
    if isinstance(body.get("tasks"), list):
        return "tasks", body["tasks"]
    if text(body.get("id")) and text(shape(body.get("status")).get("state")):
        return "task", body
    return "", body


def is_old_rest(value: Any) -> bool:
    """0.3 over HTTP+JSON calls a message's parts `content`; nobody else does. A task that was asked for stands alone."""
    for inner in (shape(value), *(shape(shape(value).get(member)) for member in MEMBERS)):
        for message in (inner, inner.get("message"), shape(inner.get("status")).get("message"), *items(inner.get("history"))):
            if isinstance(shape(message).get("content"), list):
                return True
    return False


# -- states and times --------------------------------------------------------------------------------------------------


def state_of(word: str) -> str:
    plain = plain_word(word)
    plain = "canceled" if plain == "cancelled" else plain
    return plain if plain in STATES else UNKNOWN


def nanoseconds(value: Any) -> int:
    """Of an ISO 8601 time with up to nine digits; 0 where it is none."""
    found = TIME.match(value) if isinstance(value, str) else None
    if found is None:
        return 0
    day, clock, fraction, sign, hours, minutes = found.groups()
    try:
        ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        zone = timezone(-ahead if sign == "-" else ahead)
        moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=zone)
    except ValueError:
        return 0
    seconds = (moment - EPOCH) // timedelta(seconds=1)
    exact = seconds * 1_000_000_000 + int((fraction or "").ljust(9, "0"))
    return exact if 0 < exact < LATEST else 0


def status_of(value: Any, old: bool = False) -> Status | None:
    body = shape(value)
    word = text(body.get("state"))
    message = spoken_of(body.get("message"), old, "agent")
    if not word and message is None:
        return None
    return Status(state_of(word), word, nanoseconds(body.get("timestamp")), message)


# -- messages ----------------------------------------------------------------------------------------------------------


def role_of(value: Any, otherwise: str = "user") -> str:
    word = text(value).strip().lower().removeprefix("role_")
    return word if word in ("user", "agent") else otherwise


def spoken_of(value: Any, old: bool = False, otherwise: str = "user") -> Spoken | None:
    """None where there is nothing in it. A message without an id is known by its words."""
    body = shape(value)
    old = old or "parts" not in body
    raw = items(body.get("parts")) or items(body.get("content"))
    parts = tuple(piece_of(part, old) for part in raw)
    references = tuple(dict.fromkeys(id for id in items(body.get("referenceTaskIds")) if isinstance(id, str) and id))
    id = text(body.get("messageId"))
    if not (id or parts or references):
        return None
    metadata = shape(body.get("metadata"))
    role = role_of(body.get("role"), otherwise)
    return Spoken(
        id or "@" + ids.digest(role, *(part.digest for part in parts), *references).hex(),
        role,
        parts,
        "\n".join(part["text"] for part in raw if isinstance(part, dict) and isinstance(part.get("text"), str)),
        references,
        text(shape(metadata.get("referencedWorkflow")).get("workflowName")),
        parent_of(metadata),
        span_of(metadata.get("traceparent")),
        encoded(metadata),
    )


def parent_of(metadata: Any) -> str:
    return text(shape(metadata).get("parentTaskId"))


def span_of(value: Any) -> str:
    """`trace-span` of a W3C traceparent; all zeros mean none."""
    found = TRACE.fullmatch(text(value).strip().lower())
    return f"{found[1]}-{found[2]}" if found and found[1].strip("0") and found[2].strip("0") else ""


# -- parts and artifacts -----------------------------------------------------------------------------------------------


def piece_of(value: Any, old: bool = False) -> Piece:
    part = _encode(comparable(plain_part(value, old) if isinstance(value, dict) else {"data": value}))
    return Piece(part, ids.digest(part))


def plain_part(part: Shape, old: bool) -> Shape:
    """In the form of 1.0: `{text | data | raw | url, filename, mediaType, metadata}`."""
    part = {name: value for name, value in part.items() if name != "kind" and not (name in OPTIONAL and not value)}
    file = part.get("file")
    if isinstance(file, dict):
        rest = {name: value for name, value in part.items() if name != "file"}
        return rest | plain_file(file)
    inner = part.get("data")
    if old and isinstance(inner, dict) and list(inner) == ["data"]:
        part["data"] = inner["data"]  # 0.3 over HTTP+JSON wraps it once more
    return part


OPTIONAL = ("filename", "mediaType", "metadata")
FILE_FIELDS = {
    "bytes": "raw", "fileWithBytes": "raw", "uri": "url", "fileWithUri": "url", "name": "filename", "mimeType": "mediaType",
}  # fmt: skip


def plain_file(file: Shape) -> Shape:
    return {FILE_FIELDS.get(name, name): value for name, value in file.items() if value}


def comparable(value: Any) -> Any:
    """Protobuf turns whole numbers into floats and keeps no order of keys: the same content is written in one way."""
    return rebuilt(value, dict.copy, _whole)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < EXACT else value


def produced_of(value: Any, old: bool = False) -> Produced | None:
    body = shape(value)
    id = text(body.get("artifactId")) or text(body.get("name"))
    if not id:
        return None
    parts = tuple(piece_of(part, old) for part in items(body.get("parts")) or items(body.get("content")))
    more = {name: body[name] for name in ("description", "metadata", "extensions") if body.get(name)}
    return Produced(id, text(body.get("name")), parts, encoded(more))
