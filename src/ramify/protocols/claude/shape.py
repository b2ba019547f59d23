"""Reading values whose shape nobody promises: each reader gives the type that is asked for, or its empty value."""

import json
import re
from typing import Any

import msgspec

LATEST = 4_102_444_800_000  # the year 2100 in milliseconds; a larger number is no time

SESSION_PLACE = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.jsonl)?:[0-9]+")


def parse(body: bytes) -> dict[str, Any] | str:
    """One JSON object, or the reason why it is none."""
    try:
        value = decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        return f"no JSON: {problem}"
    return value if isinstance(value, dict) else "no JSON object"


def decode(body: bytes) -> Any:
    """JavaScript cuts strings between the halves of a character, which strict JSON does not allow."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        if b"\\u" not in body:
            raise
    return msgspec.json.decode(json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace"))


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def whole(value: Any) -> int:
    """A number of things: no sign, and small enough for every store."""
    return value if type(value) is int and 0 < value < 2**53 else 0


def micros_of(milliseconds: Any) -> int:
    count = whole(milliseconds)
    return count * 1000 if count < LATEST else 0


def line_of(place: str) -> int:
    """The number behind the last colon of a place."""
    number = place.rpartition(":")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 16 else 0


def session_of(place: str) -> str:
    """The session that a place names last, before its line: `…/<session>:<line>` or `…/<session>.jsonl:<line>`."""
    found = SESSION_PLACE.fullmatch(place[place.rfind("/") + 1 :])
    return found.group(1) if found else ""
