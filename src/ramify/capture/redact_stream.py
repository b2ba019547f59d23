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
        delta = DELTA.search(line)
        field = delta and FIELD.search(line)
        if not delta or not field:
            continue
        index = INDEX.search(line)
        block = (message, index[1] if index else b"")
        blocks.setdefault(block, []).append(Piece(at, field.start(1), field.end(1), delta[1]))
    return blocks


def rewrite(lines: list[bytes], pieces: list[Piece], redact: Redact) -> None:
    """The first piece gets the whole text without secrets, the others become empty; or nothing changes."""
    joined = b"".join(lines[piece.line][piece.start : piece.end] for piece in pieces)
    clean = redact_input(joined, redact) if pieces[0].kind == b"input_json" else redact_string(joined, redact)
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
