"""A message as an observer has it: the envelope around the payload, in every form that it is written down in.

Payloads are whatever an agent wrote, so every field is read as if it might be anything.
"""

import json
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from ramify.model.moment import EPOCH
from ramify.model.nested import LARGEST_INTEGER, storable

Json = dict[str, Any]
LATEST = 253_402_300_799_000_000  # the last moment of the year 9999
ASSUMED = "assumed_zone"
"""Put beside a message whose stamps have no zone: the zone that was assumed for them, such as `+00:00`."""
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Envelope(Struct, frozen=True):
    topic: str
    payload: Any
    properties: Json | None
    received: int
    guessed: bool  # a stamp of the listener or of the agent has no zone
    zone: str
    sender: str = ""
    correlation: str = ""


def read_json(body: bytes) -> Any:
    """Also `NaN`, `Infinity` and half a character, which agents do write; they become null and a mark.

    Raises ValueError or RecursionError for what is no JSON.
    """
    try:
        return _decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return storable(json.loads(body.decode("utf-8", "replace")))


def written(value: Any) -> bytes:
    try:
        return _encode(value)
    except OverflowError:
        return _encode(storable(value))


def read_envelope(body: bytes) -> Envelope | str:
    """What is wrong with it, where it cannot be read."""
    try:
        found = read_json(body)
    except (ValueError, RecursionError) as problem:
        return str(problem)
    if not isinstance(found, dict):
        return "no JSON object"
    return envelope_of(found) if is_message(found) else "neither a broker's message nor a listener's"


def is_message(found: Json) -> bool:
    return "payload" in found and (isinstance(found.get("topic"), str) or isinstance(found.get("metadata"), dict))


def envelope_of(found: Json) -> Envelope:
    zone = text_at(found, ASSUMED)
    if isinstance(found.get("topic"), str):
        beside, stamp = found, found.get("received_at")
    else:
        beside = table_at(found, "metadata")
        stamp = beside.get("timestamp")
    received, guessed = moment_of(stamp, zone)
    status = table_at(table_at(found["payload"], "result"), "status")
    guessed = guessed or moment_of(status.get("timestamp"), zone)[1]
    return Envelope(
        text_at(beside, "topic"), found["payload"], _table_or_none(beside.get("user_properties")), received, guessed, zone,
        text_at(beside, "sender_id"), text_at(beside, "correlation_id"),
    )  # fmt: skip


def _table_or_none(value: Any) -> Json | None:
    return value if isinstance(value, dict) and value else None


def moment_of(stamp: Any, zone: str = "") -> tuple[int, bool]:
    """Microseconds, and whether its zone had to be assumed. 0: it tells no time."""
    if isinstance(stamp, int | float) and not isinstance(stamp, bool):
        return (round(stamp * 1000) if 0 < stamp * 1000 < LATEST else 0), False  # milliseconds
    if not isinstance(stamp, str):
        return 0, False
    try:
        moment = datetime.fromisoformat(stamp)
        guessed = moment.tzinfo is None
        if guessed:
            moment = datetime.fromisoformat(f"{moment.isoformat()}{zone or '+00:00'}")
        return max((moment - EPOCH) // timedelta(microseconds=1), 0), guessed
    except (ValueError, OverflowError):
        return 0, False


def has_zone(stamp: Any) -> bool:
    return not moment_of(stamp)[1]


def text_at(found: Any, name: str) -> str:
    value = found.get(name) if isinstance(found, dict) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # ids may be numbers
    return value if isinstance(value, str) else ""


def table_at(found: Any, name: str) -> Json:
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, dict) else {}


def list_at(found: Any, name: str) -> list[Any]:
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, list) else []


def count_at(found: Any, name: str) -> int:
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_INTEGER else 0


def topic_below(topic: str) -> list[str]:
    """The levels after `a2a/v1`. A namespace may hold slashes, and even those words: the last ones count."""
    _, found, tail = f"/{topic}".rpartition("/a2a/v1/")
    return tail.split("/") if found else []
