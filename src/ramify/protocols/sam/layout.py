"""Where a message repeats what others said before: the history and the tools that every call to a model carries along.

Four fifths of all bytes. The store keeps each piece once; what is cut here only says where the pieces are.
"""

import json
import re

from ramify.model.piece import Layout, Piece

REPEATED = re.compile(r'"(contents|tools)"\s*:\s*(?=\[)')
SHORTEST = 1000  # bytes of a message below which nothing repeats that is worth a search
SPACE = re.compile(r"[\s,]*")
REMEMBERED = 32 * 2**20
_item = json.JSONDecoder().raw_decode
Span = tuple[int, int]


class Pieces:
    """Messages that share a piece share the very object, so that the store looks for it once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Piece] = {}
        self._size = 0

    def layout(self, body: bytes) -> Layout | None:
        spans = repeated(body)
        if not spans:
            return None
        return Layout(body, [start for start, _ in spans], [self._piece(body[start:end]) for start, end in spans], [])

    def _piece(self, raw: bytes) -> Piece:
        known = self._known.get(raw)
        if known is None:
            if self._size > REMEMBERED:
                self._known.clear()
                self._size = 0
            known = self._known[raw] = Piece(raw)
            self._size += len(raw)
        return known


def repeated(body: bytes) -> list[Span]:
    """In order, and never one inside the other."""
    if len(body) < SHORTEST or b'"llm_invocation"' not in body:
        return []
    text = body.decode("latin-1")  # one character a byte: places in one are places in the other
    spans: list[Span] = []
    position = 0
    while (found := REPEATED.search(text, position)) is not None:
        position = found.end()
        try:
            fresh = items(text, position) if found[1] == "contents" else [(position, _item(text, position)[1])]
        except (ValueError, RecursionError):
            continue  # broken JSON: it stays whole
        spans += fresh
        position = fresh[-1][1] if fresh else position
    return spans


def items(text: str, array: int) -> list[Span]:
    spans: list[Span] = []
    position = after_space(text, array + 1)
    while text[position] != "]":
        _, end = _item(text, position)
        spans.append((position, end))
        position = after_space(text, end)
        if position >= len(text):
            raise ValueError("the text ends inside an array")
    return spans


def after_space(text: str, position: int) -> int:
    found = SPACE.match(text, position)
    return found.end() if found else position
