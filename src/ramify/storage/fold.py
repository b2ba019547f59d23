"""Each piece of a body once, and the same bytes back.

A request repeats its history. A body is kept as a list of tokens: bytes of its own, or references to blobs that
other bodies share. Messages are cut once more at their long strings, so that a mark which moves, or a string which
becomes a list, costs only the few bytes around it. Cuts are hints: whatever they are, the slices add up to the body.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Protocol, cast

import xxhash
import zstandard

from ramify.model.piece import Layout, Piece
from ramify.storage.sealing import SEALED, Sealer, unseal

RAW, PACKED, LIST, PACKED_LIST = 0, 1, 2, 3  # two bits; SEALED is a third
MEMO_BYTES = 48 * 2**20
TOGETHER = 20  # bodies; those of one conversation have most of their pieces in common
LONG = 160  # a message shorter than this is cheaper in place
LONG_STRING = 1024  # inside a message, which is itself kept once
DENSE, LOOKED_AT = 64, 4096  # so many bytes from one quote to the next, or fewer, as far as its middle tells
QUOTE, BACKSLASH = b'"', 0x5C

_compressor = zstandard.ZstdCompressor(level=1)
_own = threading.local()  # a decompressor must not be used by two threads at once, and questions are asked in several


class Blobs(Protocol):
    """Where pieces are kept; ids grow."""

    def put(self, digest: bytes, size: int, packed: Callable[[], tuple[int, bytes]]) -> int:
        """The id of the piece with this digest; `packed` is asked only when it is new."""
        ...

    def get(self, ids: Sequence[int]) -> dict[int, tuple[int, bytes]]: ...


class DistantBlobs(Blobs, Protocol):
    """Where each look costs a journey, those for a whole batch are made together."""

    def foresee(self, digests: Sequence[bytes]) -> None: ...


def pack(payload: bytes, plain: int, packed: int, sealer: Sealer | None = None) -> tuple[int, bytes]:
    kind = plain
    if len(payload) > 200:
        smaller = _compressor.compress(payload)
        if len(smaller) < len(payload):
            kind, payload = packed, smaller
    return (kind, payload) if sealer is None or not payload else sealer.seal(kind, payload)


def decompressor() -> zstandard.ZstdDecompressor:
    if not hasattr(_own, "decompressor"):
        _own.decompressor = zstandard.ZstdDecompressor()
    return cast(zstandard.ZstdDecompressor, _own.decompressor)


def unpack(kind: int, payload: bytes) -> bytes:
    if kind & SEALED:
        payload = unseal(kind, payload)
    return decompressor().decompress(payload) if kind & PACKED else payload


Raw = bytes  # inside `Tokens` the plain name is a method


class Tokens:
    """Numbers and bytes in a row. An even number 2n: n bytes follow. An odd one: a reference, as the step from the last.
    Zero: a reference into which something was put: the reference, where, how much, and what.
    """

    def __init__(self) -> None:
        self.out = bytearray()
        self.last = 0

    def number(self, value: int) -> None:
        while value > 127:
            self.out.append(value & 127 | 128)
            value >>= 7
        self.out.append(value)

    def bytes(self, payload: bytes) -> None:
        if payload:
            self.number(len(payload) << 1)
            self.out += payload

    def reference(self, id: int) -> None:
        step = id - self.last
        self.last = id
        self.number((((step << 1) ^ (step >> 63)) << 1) | 1)

    def patched(self, id: int, at: int, cut: Raw) -> None:
        self.out.append(0)
        self.reference(id)
        self.number(at)
        self.number(len(cut))
        self.out += cut


Patch = tuple[int, int, bytes]
Token = bytes | int | Patch


def read_number(payload: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = payload[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position


def read_tokens(payload: bytes) -> list[Token]:
    tokens: list[Token] = []
    position, last = 0, 0
    while position < len(payload):
        value, position = read_number(payload, position)
        patched = value == 0
        if patched:
            value, position = read_number(payload, position)
        if value & 1:
            zigzag = value >> 1
            last += (zigzag >> 1) ^ -(zigzag & 1)
            if patched:
                at, position = read_number(payload, position)
                size, position = read_number(payload, position)
                tokens.append((last, at, payload[position : position + size]))
                position += size
            else:
                tokens.append(last)
        else:
            tokens.append(payload[position : position + (value >> 1)])
            position += value >> 1
    return tokens


class Folder:
    """A piece remembers where it was put, until `forget`: after a failed write that may not be true any more."""

    def __init__(self, blobs: Blobs) -> None:
        self.blobs = blobs
        self._sealer: Sealer | None = None
        self._epoch = 0
        self._strings: dict[bytes, tuple[bytes, int]] = {}
        self._size = 0

    @property
    def sealer(self) -> Sealer | None:
        return self._sealer

    @sealer.setter
    def sealer(self, sealer: Sealer | None) -> None:
        """What was put in clear is put again: its digest is another."""
        self._sealer = sealer
        self.forget()

    def forget(self) -> None:
        self._epoch += 1
        self._strings.clear()
        self._size = 0

    def fold(self, body: bytes, layout: Layout | None) -> tuple[int, bytes]:
        """An answer is like no other, so it stays by itself: only long strings are looked for elsewhere."""
        return pack(self._cut(body) if layout is None else self._laid_out(layout), LIST, PACKED_LIST, self._sealer)

    def foresee(self, blobs: DistantBlobs, bodies: Sequence[tuple[bytes, Layout | None]]) -> None:
        """Two looks for a batch: which of its new strings are there, then which of the pieces that are made of them."""
        fresh = list(self._fresh([layout for _, layout in bodies if layout is not None]))
        whole = [body for body, layout in bodies if layout is None]
        strings = [raw[start:end] for raw in (*(piece.raw for piece, _ in fresh), *whole) if raw[:1] in (b"{", b"[") for start, end in long_strings(raw)]
        unknown = [one for one in strings if xxhash.xxh3_128_digest(one) not in self._strings]
        blobs.foresee([string_digest(one, self._sealer) for one in unknown])
        blobs.foresee([list_digest(self._cut(piece.raw), near, self._sealer) for piece, near in fresh])

    def _fresh(self, layouts: Sequence[Layout]) -> Iterator[tuple[Piece, bytes]]:
        """Pieces of which it is not remembered where they are."""
        met: set[int] = set()
        for layout in layouts:
            layout.near = nearness(layout, self._sealer)
            held = [*((piece, layout.near) for piece in layout.pieces[layout.common :]), *((piece, b"") for _, _, piece in layout.others)]
            for piece, near in held:
                one = piece.bare if piece.bare is not None and len(piece.bare.raw) >= LONG else piece
                if len(piece.raw) >= LONG and one.epoch != self._epoch and id(one) not in met:
                    met.add(id(one))
                    yield one, near

    def _laid_out(self, layout: Layout) -> bytes:
        """Goes on from what was made of the body before, as far as both are the same."""
        body, before = layout.body, layout.before
        layout.near = nearness(layout, self._sealer)
        tokens, done, position = Tokens(), 0, 0
        first = layout.starts[0] if layout.starts else len(body)
        if before is not None and layout.common and before.epoch == self._epoch:
            done = layout.common
            length, tokens.last = before.states[done - 1]
            tokens.out += before.folded[:length]
            layout.states = before.states[:done]
            position = layout.starts[done - 1] + len(layout.pieces[done - 1].raw)
        else:
            for start, end, piece in layout.others:
                if start < first:
                    tokens.bytes(body[position:start])
                    self._put(tokens, piece)
                    position = end
        for at in range(done, len(layout.pieces)):
            piece = layout.pieces[at]
            tokens.bytes(body[position : layout.starts[at]])
            self._put(tokens, piece, layout.near)
            position = layout.starts[at] + len(piece.raw)
            layout.states.append((len(tokens.out), tokens.last))
        for start, end, piece in layout.others:
            if start >= position:
                tokens.bytes(body[position:start])
                self._put(tokens, piece)
                position = end
        tokens.bytes(body[position:])
        layout.folded, layout.epoch = bytes(tokens.out), self._epoch
        return layout.folded

    def _put(self, tokens: Tokens, piece: Piece, near: bytes = b"") -> None:
        if len(piece.raw) < LONG:
            tokens.bytes(piece.raw)
        elif piece.bare is not None and len(piece.bare.raw) >= LONG:
            tokens.patched(self._known(piece.bare, near), piece.cut_at, piece.cut)
        else:
            tokens.reference(self._known(piece, near))

    def _known(self, piece: Piece, near: bytes) -> int:
        return piece.blob if piece.epoch == self._epoch else self._piece(piece, near)

    def _piece(self, piece: Piece, near: bytes) -> int:
        """Messages of one conversation have digests that begin alike: they touch few pages of the index."""
        listed = self._cut(piece.raw)
        piece.blob = self.blobs.put(list_digest(listed, near, self._sealer), len(piece.raw), lambda: pack(listed, LIST, PACKED_LIST, self._sealer))
        piece.epoch = self._epoch
        return piece.blob

    def _cut(self, raw: bytes) -> bytes:
        """Long strings are blobs of their own; what is no JSON stays whole."""
        tokens = Tokens()
        position = 0
        for start, end in long_strings(raw) if raw[:1] in (b"{", b"[") else ():
            tokens.bytes(raw[position:start])
            tokens.reference(self._blob(raw[start:end]))
            position = end
        tokens.bytes(raw[position:])
        return bytes(tokens.out)

    def _blob(self, piece: bytes) -> int:
        """A string seen lately is known by comparison, which is cheaper than by hash."""
        quick = xxhash.xxh3_128_digest(piece)
        held = self._strings.get(quick)
        if held is not None and held[0] == piece:
            return held[1]
        id = self.blobs.put(string_digest(piece, self._sealer), len(piece), lambda: pack(piece, RAW, PACKED, self._sealer))
        if self._size > MEMO_BYTES:
            self._strings.clear()
            self._size = 0
        self._strings[quick] = (piece, id)
        self._size += len(piece) + 200
        return id


class Folding:
    """A store whose bodies go through a folder: that one has the key, where they are encrypted."""

    _folder: Folder

    @property
    def sealer(self) -> Sealer | None:
        return self._folder.sealer

    @sealer.setter
    def sealer(self, sealer: Sealer | None) -> None:
        self._folder.sealer = sealer


def string_digest(piece: bytes, sealer: Sealer | None = None) -> bytes:
    return (sha256(piece).digest() if sealer is None else sealer.digest(piece))[:16]


def list_digest(listed: bytes, near: bytes, sealer: Sealer | None = None) -> bytes:
    listed = b"list" + listed
    return near + (sha256(listed).digest() if sealer is None else sealer.digest(listed))[:16]


def nearness(layout: Layout, sealer: Sealer | None = None) -> bytes:
    before = layout.before
    if before is not None and layout.common:
        return before.near
    if not layout.pieces:
        return b""
    first = layout.pieces[0]
    raw = (first.bare or first).raw
    return (sha256(raw).digest() if sealer is None else sealer.digest(raw))[:3]


def long_strings(raw: bytes) -> Iterator[tuple[int, int]]:
    """Where they stand in a JSON text, quotes included. Looks only at quotes: several times faster than a pattern."""
    middle = len(raw) // 2
    dense = len(raw) > 2 * LOOKED_AT and raw.count(QUOTE, middle, middle + LOOKED_AT) * DENSE > LOOKED_AT
    return many_strings(raw) if dense else few_strings(raw)


def many_strings(raw: bytes) -> Iterator[tuple[int, int]]:
    """Where quotes stand close together: cut at all of them at once, when those inside strings are out of the way."""
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")
    sizes = list(map(len, raw.split(QUOTE)))
    inside = sizes[1:-1:2]
    if max(inside, default=0) < LONG_STRING - 2:
        return
    ends = list(accumulate(sizes[:-1]))
    for at, size in enumerate(inside):
        if size >= LONG_STRING - 2:
            start = ends[2 * at] + 2 * at
            yield start, start + size + 2


def few_strings(raw: bytes) -> Iterator[tuple[int, int]]:
    start = raw.find(QUOTE)
    while start >= 0 and len(raw) - start >= LONG_STRING:
        end = raw.find(QUOTE, start + 1)
        while end > 0 and raw[end - 1] == BACKSLASH and is_escaped(raw, end):
            end = raw.find(QUOTE, end + 1)
        if end < 0:
            return
        if end + 1 - start >= LONG_STRING:
            yield start, end + 1
        start = raw.find(QUOTE, end + 1)


def is_escaped(raw: bytes, at: int) -> bool:
    before = at
    while before and raw[before - 1] == BACKSLASH:
        before -= 1
    return (at - before) % 2 == 1


def unfold(blobs: Blobs, kind: int, payload: bytes) -> bytes:
    return b"".join(unfold_tokens(blobs, read_tokens(unpack(kind, payload))))


def unfold_each(blobs: Blobs, folded: Sequence[tuple[int, bytes]], together: int = TOGETHER) -> Iterator[bytes]:
    """Bodies that are read one after the other: what some of them are made of is read at once, and each is put together when asked for."""
    for start in range(0, len(folded), together):
        some = [read_tokens(unpack(*one)) for one in folded[start : start + together]]
        whole = pieces_of(blobs, [token for tokens in some for token in tokens])
        for tokens in some:
            yield b"".join([_bytes_of(token, whole) for token in tokens])


def unfold_tokens(blobs: Blobs, tokens: list[Token]) -> list[bytes]:
    whole = pieces_of(blobs, tokens)
    return [_bytes_of(token, whole) for token in tokens]


def pieces_of(blobs: Blobs, tokens: list[Token]) -> dict[int, bytes]:
    """One read for each level: a body, its messages, their strings."""
    wanted = {token if isinstance(token, int) else token[0] for token in tokens if not isinstance(token, bytes)}
    whole: dict[int, bytes] = {}
    inner: dict[int, list[Token]] = {}
    for id, (kind, payload) in (blobs.get(sorted(wanted)) if wanted else {}).items():
        if kind & LIST:
            inner[id] = read_tokens(unpack(kind, payload))
        else:
            whole[id] = unpack(kind, payload)
    if inner:
        flat = [token for tokens_ in inner.values() for token in tokens_]
        pieces = iter(unfold_tokens(blobs, flat))
        whole.update({id: b"".join([next(pieces) for _ in tokens_]) for id, tokens_ in inner.items()})
    return whole


def _bytes_of(token: Token, whole: dict[int, bytes]) -> bytes:
    match token:
        case bytes():
            return token
        case int():
            return whole[token]
        case (id, at, cut):
            return whole[id][:at] + cut + whole[id][at:]
