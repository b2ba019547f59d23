"""Bodies as tokens: what is cut out, what stays, and that the same bytes come back."""

import json
import re
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as some

from ramify.storage.fold import LONG_STRING, Folder, few_strings, long_strings, many_strings, unfold

STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
PARTS = some.sampled_from([b'"', b"\\", b'\\"', b"\\\\", b"x", b"y" * 500, b"z" * LONG_STRING, b"{", b", ", b"\n"])


class Shelf:
    """Blobs in a list."""

    def __init__(self) -> None:
        self.ids: dict[bytes, int] = {}
        self.kept: list[tuple[int, bytes]] = []

    def put(self, digest: bytes, size: int, packed: Callable[[], tuple[int, bytes]]) -> int:
        if digest not in self.ids:
            self.kept.append(packed())
            self.ids[digest] = len(self.kept)
        return self.ids[digest]

    def get(self, ids: Sequence[int]) -> dict[int, tuple[int, bytes]]:
        return {id: self.kept[id - 1] for id in ids}


@given(some.lists(some.lists(PARTS, max_size=9).map(lambda parts: b"".join(parts).decode()), max_size=9))
def test_long_strings_of_json_stand_where_a_pattern_finds_them(texts: list[str]) -> None:
    raw = json.dumps({"content": texts}).encode()
    there = [match.span() for match in STRING.finditer(raw) if match.end() - match.start() >= LONG_STRING]
    assert list(long_strings(raw)) == list(few_strings(raw)) == list(many_strings(raw)) == there


@given(some.lists(PARTS, max_size=40).map(b"".join))
def test_any_bytes_come_back(raw: bytes) -> None:
    for body in (raw, b"{" + raw):
        shelf = Shelf()
        assert unfold(shelf, *Folder(shelf).fold(body, None)) == body


def test_an_answer_by_itself_needs_no_other_row() -> None:
    shelf = Shelf()
    body = b"event: ping\ndata: {}\n\n" * 500
    assert unfold(shelf, *Folder(shelf).fold(body, None)) == body
    assert not shelf.kept


def test_a_long_string_is_kept_once_whatever_stands_around_it() -> None:
    shelf = Shelf()
    folder = Folder(shelf)
    text = b'"' + b"words " * 400 + b'"'
    for body in (b'{"a": ' + text + b"}", b'[{"b": 1, "c": ' + text + b"}]"):
        assert unfold(shelf, *folder.fold(body, None)) == body
    assert len(shelf.kept) == 1
