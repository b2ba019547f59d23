"""Secrets in event streams. The pieces of one block are read as one text: a secret may be cut anywhere."""

import json
import re
from collections.abc import Callable
from typing import NamedTuple

Redact = Callable[[bytes], bytes]

# A quote inside a JSON string has a backslash before it, so these names can only be real names.
DELTA = re.compile(rb'"type"\s*:\s*"(text|thinking|input_json|compaction)_delta"')
STRING = rb'[^"\\]*+(?:\\(?:u[0-9A-Fa-f]{4}|[^u])[^"\\]*+)*+'
FIELD = re.compile(rb'"(?:text|thinking|partial_json|content)"\s*:\s*"(' + STRING + rb")")
INDEX = re.compile(rb'"index"\s*:\s*(\d+)')
# Of OpenAI's: a choice's `delta` is an object, a response's a string; which block it grows stands beside it.
CHOICE = re.compile(rb'"choices"\s*:\s*\[')
GROWN = re.compile(rb'"(content|reasoning_content|reasoning|refusal|arguments|input)"\s*:\s*"(' + STRING + rb")")
TYPED = re.compile(rb'"type"\s*:\s*"response\.([a-z_.]+)\.delta"')
GROWTH = re.compile(rb'"delta"\s*:\s*"(' + STRING + rb")")
ITEM = re.compile(rb'"item_id"\s*:\s*"(' + STRING + rb")")
ARGUMENTS = (b"arguments", b"input", b"function_call_arguments", b"custom_tool_call_input", b"mcp_call_arguments", b"input_json")


class Piece(NamedTuple):
    line: int
    start: int
    end: int
    kind: bytes


Block = tuple[int, bytes]


def redact_events(raw: bytes, redact: Redact) -> bytes:
    lines = raw.split(b"\n")
    blocks = pieces_of_blocks(lines)
    inside = {piece.line for pieces in blocks.values() for piece in pieces}
    others = [line for at, line in enumerate(lines) if at not in inside]
    if redact_lines(others, redact):  # rare, so it may cost a second look at each line
        lines = [line if at in inside else redact(line) for at, line in enumerate(lines)]
    for pieces in blocks.values():
        rewrite(lines, pieces, redact)
    return b"\n".join(lines)


def redact_lines(lines: list[bytes], redact: Redact) -> bool:
    """Whether any of these lines holds a secret; asked once for all of them, which is far cheaper."""
    text = b"\n".join(lines)
    return redact(text) != text


def pieces_of_blocks(lines: list[bytes]) -> dict[Block, list[Piece]]:
    """Which lines carry text of which block. Several messages in one stream count their blocks anew."""
    blocks: dict[Block, list[Piece]] = {}
    message = 0
    for at, line in enumerate(lines):
        if not line.startswith(b"data:"):
            continue
        message += b'"message_start"' in line
        found = grown_by(line, at)
        if found is not None:
            blocks.setdefault((message, found[0]), []).append(found[1])
    return blocks


def grown_by(line: bytes, at: int) -> tuple[bytes, Piece] | None:
    """Which block a line adds to, and where in it the addition stands."""
    if delta := DELTA.search(line):
        field, index = FIELD.search(line), INDEX.search(line)
        return (index[1] if index else b"", Piece(at, field.start(1), field.end(1), delta[1])) if field else None
    if typed := TYPED.search(line):
        growth, item = GROWTH.search(line), ITEM.search(line)
        return (typed[1] + b"/" + (item[1] if item else b""), Piece(at, growth.start(1), growth.end(1), typed[1])) if growth else None
    choices = CHOICE.search(line)
    grown = GROWN.search(line, choices.end()) if choices else None
    if grown is None:
        return None
    # The index nearest before it: of the tool call that it adds to, else of the choice.
    nearest = b"".join(one[1] for one in list(INDEX.finditer(line, 0, grown.start()))[-1:])
    return grown[1] + b"/" + nearest, Piece(at, grown.start(2), grown.end(2), grown[1])


def rewrite(lines: list[bytes], pieces: list[Piece], redact: Redact) -> None:
    """The first piece gets the whole text without secrets, the others become empty; or nothing changes."""
    joined = b"".join(lines[piece.line][piece.start : piece.end] for piece in pieces)
    clean = redact_input(joined, redact) if pieces[0].kind in ARGUMENTS else redact_string(joined, redact)
    if clean == joined:
        return
    for at, piece in enumerate(pieces):
        line = lines[piece.line]
        lines[piece.line] = line[: piece.start] + (b"" if at else clean) + line[piece.end :]


def redact_string(joined: bytes, redact: Redact) -> bytes:
    """Between quotes, as the same text stands in the history of later requests: so both come out equal."""
    return redact(b'"' + joined + b'"')[1:-1]


def redact_input(joined: bytes, redact: Redact) -> bytes:
    """A tool's input is JSON inside a string; later requests hold it one level less deep. Judge it there."""
    try:
        plain = json.loads(b'"' + joined + b'"', strict=False).encode("utf-8", "surrogatepass")
    except ValueError:  # the stream was cut inside an escape
        return redact_string(joined, redact)
    clean = redact(plain)
    if clean == plain:
        return joined
    return json.dumps(clean.decode("utf-8", "surrogatepass"))[1:-1].encode()
