"""JSON from anywhere: read, or understood not to be JSON; never an error."""

import re
from typing import Any

import msgspec

# An escape, taken whole: a pair of surrogates, a lone one, or any other (so that `\\u` is not mistaken for one).
ESCAPES = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)
NOT_JSON = object()


def whole_characters(body: bytes) -> bytes:
    """Half a character (a client cut a text in the middle of an emoji) becomes the mark for an unknown one."""
    return ESCAPES.sub(lambda escape: b"\\ufffd" if escape.group(1) else escape.group(0), body)


def read_json(raw: bytes) -> Any:
    """`NOT_JSON` where it is none, or nested so deeply that nobody meant it."""
    for attempt in (bytes, whole_characters):
        try:
            return msgspec.json.decode(attempt(raw))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
    return NOT_JSON
