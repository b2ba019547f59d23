"""What patterns of secrets are made of: a shape, and what takes the place of what it finds."""

import re
from collections.abc import Callable
from typing import NamedTuple

Replace = Callable[["re.Match[bytes]"], bytes]


class Pattern(NamedTuple):
    kind: str
    shape: "re.Pattern[bytes]"
    replace: Replace


class Family(NamedTuple):
    probe: "re.Pattern[bytes]"
    patterns: tuple[Pattern, ...]


BLOB = re.compile(rb"[A-Za-z0-9+/]{128}")


def mark(kind: str) -> bytes:
    return b"[redacted:" + kind.encode() + b"]"


def bounded(prefix: str) -> str:
    r"""The prefix where a word begins. In JSON text the letter of `\n` stands before it as well."""
    return rf"{prefix}(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrtbf]{prefix})|(?<=\\u[0-9A-Fa-f]{{4}}{prefix}))"


def begun(length: int) -> str:
    r"""The same, asked from the end of a prefix that is so long: `task-` is no `sk-`."""
    prefix = rf"[\s\S]{{{length}}}"
    return rf"(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrtbf]{prefix})|(?<=\\u[0-9A-Fa-f]{{4}}{prefix}))"


def whole(kind: str, shape: str) -> Pattern:
    """A secret that its own letters give away."""
    replacement = mark(kind)
    return Pattern(kind, re.compile(shape.encode()), lambda match: replacement)


def outside_blobs(kind: str, shape: str) -> Pattern:
    """The same, but its letters also turn up by chance inside long base64 (images, signatures)."""
    replacement = mark(kind)

    def replace(match: "re.Match[bytes]") -> bytes:
        before = match.string[max(0, match.start() - 128) : match.start()]
        inside = BLOB.fullmatch(before) or BLOB.match(match.string, match.end())
        return match[0] if inside else replacement

    return Pattern(kind, re.compile(shape.encode()), replace)


def after(kind: str, shape: str) -> Pattern:
    """A secret known by the words before it (group 1), which stay, as does what follows (group 3)."""
    replacement = mark(kind)

    def replace(match: "re.Match[bytes]") -> bytes:
        tail: bytes = match[3] if match.re.groups > 2 else b""
        head: bytes = match[1]
        return head + replacement + tail

    return Pattern(kind, re.compile(shape.encode()), replace)


def judged(kind: str, shape: str, judge: Callable[[bytes], bool]) -> Pattern:
    """The same, where the words before it prove too little: its own letters (group 2) are looked at as well."""
    replacement = mark(kind)
    return Pattern(kind, re.compile(shape.encode()), lambda match: match[1] + replacement if judge(match[2]) else match[0])
