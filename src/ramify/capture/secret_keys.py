r"""Secrets that only their name gives away: `"password": "hunter2"`, in JSON and in JSON inside JSON strings.

A quote of JSON that was put into a string n times has 2**n - 1 backslashes before it. Name and value of one
pair share that number, so it tells where the value ends, without parsing anything around it.
"""

import re
from collections.abc import Iterator

from ramify.capture.secret_shapes import mark

MARK = mark("secret")
ANY_MARK = re.compile(rb"\[redacted(?::[a-z-]+)?\]")

NAME = re.compile(
    rb"(?:[\w.-]*(?:password|passwd|passphrase|secret|api[_-]?key|private[_-]?key|access[_-]?key|secret[_-]?key"
    rb"|(?:access|refresh|id|session|auth|bearer|bot|security|api|csrf|xsrf)[_-]?token|credentials?"
    rb"|authorization)|pwd|token|(?:set-)?cookies?)",
    re.IGNORECASE,
)

# The colon after a name that may end like one of the above, before a string. First one character to look for
# (`re` is fast at that), then what is before it, step by step; the name is read only where all of it fits,
# because this runs over everything that is ever seen.
GAP = rb"(?:\s|\\+[nrt])*+"
LAST = rb"(?:[osparkiOSPARKI][rwseaiRWSEAI][detynlDETYNL]|[aA][lL][sS]|[iI][eE][sS])"
LAST_OF_AUTHORIZATION = rb"[zZ][aA][tT][iI][oO][nN]"


def name_ends(tail: bytes) -> bytes:
    return rb"(?:(?<=" + LAST + tail + rb":)|(?<=" + LAST_OF_AUTHORIZATION + tail + rb":))"


# `key` alone is no secret's name, and stands before every attribute of a span.
PAIR = re.compile(
    rb':(?<!"key":)(?<!"key\\":)(?:(?<=[^\\]":)' + name_ends(rb'"')
    + rb'|(?<=\\":)(?:' + name_ends(rb'\\"') + rb"|" + name_ends(rb'\\\\\\"')
    + rb')|(?<=" :)(?:' + name_ends(rb'" ') + rb"|" + name_ends(rb'\\" ')
    + rb"))" + GAP + rb'(\\*+)"'
)  # fmt: skip
VALUE_END = re.compile(rb'\\++["nr]?|["\n\r]')  # a run of backslashes before anything else is passed over as a whole
LONGEST_NAME = 80


def name_before(text: bytes, quote: int, depth: int) -> bytes:
    """The name whose closing quote is at `quote`, with `depth` backslashes before it."""
    end = quote - depth
    opening = text.rfind(b'"', max(0, end - LONGEST_NAME), end)
    return b"" if opening < 0 else text[opening + 1 : end]


def value_end(text: bytes, start: int, depth: int) -> int:
    """Where the string that began at `start` ends; a broken one ends with its line or what is around it."""
    unit = depth + 1
    for match in VALUE_END.finditer(text, start):
        run = match.end() - match.start() - 1
        last = text[match.end() - 1 : match.end()]
        if last == b"\\":
            continue
        if last == b'"' and (run < depth or run % (2 * unit) == depth):
            return match.start() + max(0, run - depth)
        if last != b'"' and (run == 0 or (depth and run % unit == unit // 2)):
            return match.start()
    return len(text)


def backslashes_before(text: bytes, at: int) -> int:
    start = at
    while start and text[start - 1] == 0x5C:
        start -= 1
    return at - start


def secret_values(text: bytes) -> Iterator[tuple[int, int]]:
    """Where the values of secret names stand."""
    reached = 0
    for match in PAIR.finditer(text):
        quote = text.rfind(b'"', 0, match.start())
        depth = backslashes_before(text, quote)
        if match.start() < reached or depth != len(match[1]):
            continue
        if not NAME.fullmatch(name_before(text, quote, depth)):
            continue
        reached = value_end(text, match.end(), depth)
        if reached > match.end() and not ANY_MARK.fullmatch(text, match.end(), reached):
            yield match.end(), reached


def redact_named(text: bytes) -> bytes:
    pieces: list[bytes] = []
    done = 0
    for start, end in secret_values(text):
        pieces += (text[done:start], MARK)
        done = end
    return text if not done else b"".join((*pieces, text[done:]))
