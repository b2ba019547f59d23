"""Reads request bodies so that work grows with what is new.

The body before it on the same line of conversation is compared piece by piece, by bytes; only what follows the
common beginning is parsed. Whatever is remembered, the result is that of reading the whole body.
"""

import hashlib
import re

import msgspec
import xxhash
from msgspec import Struct

from ramify.model.event import Part
from ramify.model.piece import Layout, Piece, Span
from ramify.protocols.anthropic.wire import Envelope
from ramify.protocols.model_api import MESSAGES, Api

COMMA = 0x2C
LINES = 2_000
LINE_BYTES = 128 * 2**20  # of bodies to compare with: a few hundred large ones, or thousands of small ones
MEMO_BYTES = 96 * 2**20
WINDOW = 32 * 1024
SHARED = 200  # a system prompt or a tool list shorter than this is not worth a piece of its own
MARK = re.compile(rb',"cache_control":\{[^{}]*\}')
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_raws = msgspec.json.Decoder(list[msgspec.Raw])


class Reading(Struct):
    """A body that was read. `strict[i]` stands for the first i messages as they were sent."""

    envelope: Envelope
    layout: Layout
    parts: tuple[Part, ...]
    strict: list[bytes]
    plain: bool | None = None  # whether more messages can simply be put behind its own; not known until asked


class Bodies:
    def __init__(self, api: Api = MESSAGES) -> None:
        self._api = api
        self._opening = re.compile(rb'"%b"\s*:\s*\[\s*$' % api.listed)
        self._lines: dict[bytes, Reading] = {}
        self._line_bytes = 0
        self._pieces: dict[bytes, Piece] = {}
        self._size = 0

    def read(self, body: bytes, line: bytes) -> Reading | str:
        """`line` names whatever is likely to go on: the reading is the same for any."""
        before = self._lines.pop(line, None)
        if before is not None:
            self._line_bytes -= len(before.layout.body)
        known = self._continued(body, before) if before is not None else None
        reading = self._whole(body) if known is None else known
        if isinstance(reading, str):
            return reading
        self._lines[line] = reading
        self._line_bytes += len(body)
        while len(self._lines) > LINES or (self._line_bytes > LINE_BYTES and len(self._lines) > 1):
            self._line_bytes -= len(self._lines.pop(next(iter(self._lines))).layout.body)
        return reading

    def piece(self, raw: bytes) -> Piece:
        digest = xxhash.xxh3_128_digest(raw)
        held = self._pieces.get(digest)
        if held is not None and held.raw == raw:
            return held
        if self._size > MEMO_BYTES:
            self._pieces.clear()
            self._size = 0
        self._size += len(raw) + 600
        piece = self._pieces[digest] = Piece(raw)
        return piece

    def _message(self, raw: bytes) -> Piece:
        """A mark for the cache says nothing about a message: with it and without it, it is read and kept once."""
        piece = self.piece(raw)
        if piece.part is None:
            mark = only_mark(raw)
            if mark is not None:
                piece.cut_at, end = mark.span()
                piece.cut = mark.group()
                piece.bare = self._message(raw[: piece.cut_at] + raw[end:])
                piece.part = piece.bare.part
            else:
                piece.part = self._api.part(raw)
        return piece

    def _whole(self, body: bytes) -> Reading | str:
        envelope = self._api.read(body)
        if isinstance(envelope, str):
            return envelope
        raws = [bytes(raw) for raw in envelope.messages]
        starts = places(body, raws, max(body.find(b'"%b"' % self._api.listed), 0))
        if starts is None:  # cannot be, short of a bug in the parser
            return "the messages cannot be found again in the body"
        others = self._others(body, envelope, starts, raws)
        return self._reading(envelope, Layout(body, starts, [self._message(raw) for raw in raws], others), None)

    def _reading(self, envelope: Envelope, layout: Layout, before: Reading | None) -> Reading:
        common = layout.common
        parts = before.parts[:common] if before else ()
        strict = before.strict[: common + 1] if before else [b""]
        fresh = [piece.part for piece in layout.pieces[common:] if piece.part is not None]
        for part in fresh:
            strict.append(hashlib.blake2b(strict[-1] + part.strict, digest_size=16).digest())
        return Reading(envelope, layout, (*parts, *fresh), strict)

    def _others(self, body: bytes, envelope: Envelope, starts: list[int], raws: list[bytes]) -> list[Span]:
        first = starts[0] if starts else len(body)
        last = starts[-1] + len(raws[-1]) if starts else 0
        found: list[Span] = []
        for raw in (bytes(envelope.system), bytes(envelope.tools)):
            if len(raw) <= SHARED:
                continue
            start = standing(body, raw, last)
            if start < 0:
                start = standing(body[:first], raw, 0)
            if start >= 0 and all(start >= end or start + len(raw) <= begin for begin, end, _ in found):
                found.append((start, start + len(raw), self.piece(raw)))
        return sorted(found, key=lambda span: span[0])

    def _continued(self, body: bytes, reading: Reading) -> Reading | None:
        """None where this body does not begin as the other did, or goes on in an unusual way."""
        before = reading.layout
        if reading.plain is None:
            reading.plain = self._is_plain(before)
        if not reading.plain or not body.startswith(before.body[: before.starts[0]]):
            return None
        common, end = common_messages(body, before)
        if not common or end >= len(body) or body[end] != COMMA:
            return None
        tail = before.body[before.starts[-1] + len(before.pieces[-1].raw) :]
        if not body.endswith(tail) or len(body) - len(tail) <= end:
            return None
        try:
            raws = [bytes(raw) for raw in _raws.decode(b"[%b]" % body[end + 1 : len(body) - len(tail)])]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        starts = places(body, raws, end)
        if starts is None:
            return None
        shift = len(body) - len(before.body)
        others = [
            (start + shift, stop + shift, piece) if start > before.starts[-1] else (start, stop, piece)
            for start, stop, piece in before.others
        ]
        pieces = before.pieces[:common] + [self._message(raw) for raw in raws]
        layout = Layout(body, before.starts[:common] + starts, pieces, others)
        layout.common, layout.before = common, before
        found = self._reading(reading.envelope, layout, reading)
        found.plain = True  # it begins and ends with the same bytes
        return found

    def _is_plain(self, layout: Layout) -> bool:
        """One list of messages, and nothing behind it that would take its place: of doubled keys the last one counts."""
        if not layout.starts:
            return False
        tail = layout.body[layout.starts[-1] + len(layout.pieces[-1].raw) :]
        try:
            keys = _fields.decode(b'{"":[0' + tail)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return False
        return self._api.listed.decode() not in keys and self._opening.search(layout.body[: layout.starts[0]]) is not None


def only_mark(raw: bytes) -> re.Match[bytes] | None:
    """Looked for from the end, where clients put it."""
    name = raw.rfind(b'"cache_control"')
    if name < 1 or raw.find(b'"cache_control"', 0, name) >= 0:
        return None
    return MARK.match(raw, name - 1)


def common_messages(body: bytes, before: Layout) -> tuple[int, int]:
    """How many messages both begin with, and where the last of them ends.

    Most often all but the newest: then two comparisons settle it.
    """
    count = len(before.pieces)
    if count > 1 and begins_alike(body, before.body, before.starts[-1] - 1):
        end = before.starts[-2] + len(before.pieces[-2].raw)
        if end == before.starts[-1] - 1:
            if body.startswith(before.pieces[-1].raw, before.starts[-1]) and body[end] == COMMA:
                return count, before.starts[-1] + len(before.pieces[-1].raw)
            return count - 1, end
    count, end = 0, 0
    for start, piece in zip(before.starts, before.pieces, strict=True):
        if (count and (start != end + 1 or body[end : end + 1] != b",")) or not body.startswith(piece.raw, start):
            break
        count, end = count + 1, start + len(piece.raw)
    return count, end


def begins_alike(body: bytes, other: bytes, length: int) -> bool:
    """Window by window: a copy of the whole would leave the processor's cache."""
    for start in range(0, length, WINDOW):
        if not body.startswith(other[start : min(start + WINDOW, length)], start):
            return False
    return len(body) >= length


def standing(body: bytes, raw: bytes, position: int) -> int:
    """Where a long piece stands, by its beginning: to search for all of it would cost more than to look again."""
    head = raw[:64]
    at = body.find(head, position)
    while at >= 0 and not body.startswith(raw, at):
        at = body.find(head, at + 1)
    return at


def places(body: bytes, raws: list[bytes], position: int) -> list[int] | None:
    """Where each message stands. Usually right behind a comma: a search would cost more than a look."""
    starts: list[int] = []
    for raw in raws:
        start = position + 1
        if not body.startswith(raw, start):
            start = body.find(raw, position)
            if start < 0:
                return None
        starts.append(start)
        position = start + len(raw)
    return starts
