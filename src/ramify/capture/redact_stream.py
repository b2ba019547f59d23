"""Secrets in event streams. The pieces of one block are read as one text: a secret may be cut anywhere."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise, repeat
from typing import Any, NamedTuple

Redact = Callable[[bytes], bytes]

# A quote inside a JSON string has a backslash before it, so these names can only be real names.
DELTA = re.compile(rb'"type"\s*:\s*"(text|thinking|input_json|compaction|citations)_delta"')
STRING = rb'[^"\\]*+(?:\\(?:u[0-9A-Fa-f]{4}|[^u])[^"\\]*+)*+'
FIELD = re.compile(rb'"(?:text|thinking|partial_json|content|cited_text)"\s*:\s*"(' + STRING + rb")")
INDEX = re.compile(rb'"index"\s*:\s*(\d+)')
# Of OpenAI's: a choice's `delta` is an object, a response's a string; which block it grows stands beside it.
CHOICE = re.compile(rb'"choices"\s*:\s*\[')
GROWN = re.compile(rb'"(content|reasoning_content|reasoning|refusal|arguments|input|text)"\s*:\s*"(' + STRING + rb")")
TYPED = re.compile(rb'"type"\s*:\s*"response\.([a-z_.]+)\.delta"')
GROWTH = re.compile(rb'"delta"\s*:\s*"(' + STRING + rb")")
ITEM = re.compile(rb'"item_id"\s*:\s*"(' + STRING + rb")")
GROWING = {"content", "reasoning_content", "reasoning", "refusal", "arguments", "input", "text"}
ARGUMENTS = (b"arguments", b"input", b"function_call_arguments", b"custom_tool_call_input", b"mcp_call_arguments", b"input_json")


class Piece(NamedTuple):
    line: int
    start: int
    end: int
    kind: bytes


Block = tuple[int, bytes]


def redact_events(raw: bytes, redact: Redact) -> bytes:
    lines = raw.splitlines(keepends=True)  # of bytes: ended by CR, LF or both, as the standard has it
    blocks = pieces_of_blocks(lines)
    inside: dict[int, list[Piece]] = {}
    for pieces in blocks.values():
        for piece in pieces:
            inside.setdefault(piece.line, []).append(piece)
    others = [line for at, line in enumerate(lines) if at not in inside]
    around = {b"".join(gaps(lines[at], pieces)) for at, pieces in inside.items()}  # mostly the same for all
    if redact_lines([*others, *around], redact):  # rare, so it may cost a second look at each line
        lines = [redact_around(line, inside.get(at, []), redact) for at, line in enumerate(lines)]
        blocks = pieces_of_blocks(lines)
    changes = [change for pieces in blocks.values() for change in rewrite(lines, pieces, redact)]
    for piece, clean in sorted(changes, reverse=True):  # from the end of each line, so that places hold
        line = lines[piece.line]
        lines[piece.line] = line[: piece.start] + clean + line[piece.end :]
    return b"".join(lines)


def redact_lines(lines: list[bytes], redact: Redact) -> bool:
    """Whether any of these lines holds a secret; asked once for all of them, which is far cheaper."""
    text = b"\n".join(lines)
    return redact(text) != text


def gaps(line: bytes, pieces: list[Piece]) -> list[bytes]:
    """What stands around the pieces of a line."""
    if len(pieces) == 1:
        return [line[: pieces[0].start], line[pieces[0].end :]]
    pieces.sort()
    ends = [0, *(place for piece in pieces for place in (piece.start, piece.end)), len(line)]
    return [line[start:end] for start, end in list(pairwise(ends))[::2]]


def redact_around(line: bytes, pieces: list[Piece], redact: Redact) -> bytes:
    clean = [redact(gap) for gap in gaps(line, pieces)]
    texts = [*(line[piece.start : piece.end] for piece in pieces), b""]
    return b"".join(part for both in zip(clean, texts, strict=True) for part in both)


def pieces_of_blocks(lines: list[bytes]) -> dict[Block, list[Piece]]:
    """Which lines carry text of which block. Several messages in one stream count their blocks anew."""
    blocks: dict[Block, list[Piece]] = {}
    message = 0
    for at, line in enumerate(lines):
        if not line.startswith(b"data:"):
            continue
        message += b'"message_start"' in line
        for block, piece in grown_by(line, at):
            blocks.setdefault((message, block), []).append(piece)
    return blocks


def grown_by(line: bytes, at: int) -> Iterator[tuple[bytes, Piece]]:
    """Which blocks a line adds to, and where in it the additions stand, in their order."""
    if delta := DELTA.search(line):
        if field := FIELD.search(line):
            index = INDEX.search(line)
            yield delta[1] + b"/" + (index[1] if index else b""), Piece(at, field.start(1), field.end(1), delta[1])
    elif typed := TYPED.search(line):
        if growth := GROWTH.search(line):
            item = ITEM.search(line)
            yield typed[1] + b"/" + (item[1] if item else b""), Piece(at, growth.start(1), growth.end(1), typed[1])
    elif CHOICE.search(line):
        grown = [found for found in GROWN.finditer(line) if found[2]]
        for found, where in zip(grown, places(line) if len(grown) > 1 else [b"/".join(INDEX.findall(line))], strict=False):
            yield found[1] + b"/" + where, Piece(at, found.start(2), found.end(2), found[1])


def places(line: bytes) -> Iterator[bytes]:
    """Of each text that grows, the numbers of the choice and of the tool call that it stands in; all are one where that cannot be read."""
    try:
        found = list(numbered(json.loads(line[5:]), b""))
    except (ValueError, RecursionError):
        found = []
    return iter(found) if found else repeat(b"")


def numbered(value: Any, above: bytes) -> Iterator[bytes]:
    """In the order in which they are written."""
    match value:
        case dict():
            here = b"%b/%d" % (above, value["index"]) if isinstance(value.get("index"), int) else above
            for name, each in value.items():
                if isinstance(each, str):
                    if each and name in GROWING:
                        yield here[1:]
                else:
                    yield from numbered(each, here)
        case list():
            for each in value:
                yield from numbered(each, above)


def rewrite(lines: list[bytes], pieces: list[Piece], redact: Redact) -> Iterator[tuple[Piece, bytes]]:
    """The first piece gets the whole text without secrets, the others become empty; or nothing changes."""
    joined = b"".join(lines[piece.line][piece.start : piece.end] for piece in pieces)
    clean = redact_input(joined, redact) if pieces[0].kind in ARGUMENTS else redact_string(joined, redact)
    if clean != joined:
        yield pieces[0], clean
        yield from ((piece, b"") for piece in pieces[1:])


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
