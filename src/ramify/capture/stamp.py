"""The time that a line of JSON tells about itself, and whether it can be read at all."""

import json

import msgspec
from msgspec import Struct

from ramify.model.moment import micros


class Stamp(Struct):
    timestamp: object = None


_decode = msgspec.json.Decoder(Stamp).decode


def stamped(body: bytes) -> tuple[int | None, str | None]:
    """Microseconds, where it tells a time; what is wrong, where it is no JSON object."""
    try:
        found = _decode(body)
        if not body.isascii():
            body.decode()  # what the decoder passes over it does not look at
        return moment_of(found.timestamp), None
    except (ValueError, RecursionError) as problem:
        return stamped_slowly(body, str(problem))


def stamped_slowly(body: bytes, problem: str) -> tuple[int | None, str | None]:
    """Half a character, which clients do write when they cut a text, is no reason to give a line up."""
    try:
        found = json.loads(body.decode())
    except (ValueError, RecursionError):
        return None, problem
    return (moment_of(found.get("timestamp")), None) if isinstance(found, dict) else (None, problem)


def moment_of(value: object) -> int | None:
    if not isinstance(value, str):
        return None
    try:
        return micros(value)
    except (ValueError, OverflowError):
        return None
