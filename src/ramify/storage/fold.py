"""Each piece of a body once, and the same bytes back.

A request repeats its history. A body is kept as a list of tokens: bytes of its own, or references to blobs that
other bodies share. Messages are cut once more at their long strings, so that a mark which moves, or a string which
becomes a list, costs only the few bytes around it. Cuts are hints: whatever they are, the slices add up to the body.
"""

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Protocol

import xxhash
import zstandard

RAW, PACKED, LIST, PACKED_LIST = 0, 1, 2, 3
LONG = 160  # a string shorter than this is cheaper in place
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
MEMO_BYTES = 64 * 1024 * 1024

_compressor = zstandard.ZstdCompressor(level=3)
_decompressor = zstandard.ZstdDecompressor()


class Blobs(Protocol):
    """Where pieces are kept; ids grow."""

    def put(self, digest: bytes, kind: int, size: int, payload: bytes) -> int: ...
    def known(self, digest: bytes) -> int | None: ...
    def get(self, ids: Sequence[int]) -> dict[int, tuple[int, bytes]]: ...


def pack(payload: bytes, plain: int, packed: int) -> tuple[int, bytes]:
    if len(payload) > 200:
        smaller = _compressor.compress(payload)
        if len(smaller) < len(payload):
            return packed, smaller
    return plain, payload


def unpack(kind: int, payload: bytes) -> bytes:
    return _decompressor.decompress(payload) if kind in (PACKED, PACKED_LIST) else payload


class Tokens:
    """Numbers and bytes in a row. An even number 2n: n bytes follow. An odd one: a reference, as the step from the last."""

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


def read_tokens(payload: bytes) -> list[bytes | int]:
    tokens: list[bytes | int] = []
    position, last = 0, 0
    while position < len(payload):
        value = shift = 0
        while True:
            byte = payload[position]
            position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if value & 1:
            zigzag = value >> 1
            last += (zigzag >> 1) ^ -(zigzag & 1)
            tokens.append(last)
        else:
            tokens.append(payload[position : position + (value >> 1)])
            position += value >> 1
    return tokens


class Folder:
    """Remembers what it folded lately, so that a repeated piece costs one comparison."""

    def __init__(self, blobs: Blobs) -> None:
        self.blobs = blobs
        self._memo: dict[bytes, tuple[bytes, int]] = {}
        self._size = 0

    def forget(self) -> None:
        self._memo.clear()
        self._size = 0

    def fold(self, body: bytes, spans: Sequence[tuple[int, int]]) -> tuple[int, bytes]:
        if not spans:
            spans = [(0, len(body))] if len(body) > LONG else []
        tokens = Tokens()
        position = 0
        for start, end in spans:
            tokens.bytes(body[position:start])
            if end - start < LONG:
                tokens.bytes(body[start:end])
            else:
                tokens.reference(self._piece(body[start:end]))
            position = end
        tokens.bytes(body[position:])
        return pack(bytes(tokens.out), LIST, PACKED_LIST)

    def _piece(self, piece: bytes) -> int:
        digest = xxhash.xxh3_128_digest(piece)
        held = self._memo.get(digest)
        if held is not None and held[0] == piece:
            return held[1]
        id = self._list(piece) if piece[:1] in b"{[" else self._blob(piece)
        if self._size > MEMO_BYTES:
            self.forget()
        self._memo[digest] = (piece, id)
        self._size += len(piece) + 200
        return id

    def _list(self, piece: bytes) -> int:
        """A message or a list: its long strings are blobs of their own."""
        digest = blake2b(piece, digest_size=16).digest()
        known = self.blobs.known(digest)
        if known is not None:
            return known
        tokens = Tokens()
        position = 0
        for match in STRING.finditer(piece):
            start, end = match.span()
            if end - start >= LONG:
                tokens.bytes(piece[position:start])
                tokens.reference(self._blob(piece[start:end]))
                position = end
        tokens.bytes(piece[position:])
        return self.blobs.put(digest, *_sized(len(piece), pack(bytes(tokens.out), LIST, PACKED_LIST)))

    def _blob(self, piece: bytes) -> int:
        digest = blake2b(piece, digest_size=16).digest()
        known = self.blobs.known(digest)
        if known is not None:
            return known
        return self.blobs.put(digest, *_sized(len(piece), pack(piece, RAW, PACKED)))


def _sized(size: int, packed: tuple[int, bytes]) -> tuple[int, int, bytes]:
    return packed[0], size, packed[1]


def unfold(blobs: Blobs, kind: int, payload: bytes) -> bytes:
    return b"".join(unfold_tokens(blobs, read_tokens(unpack(kind, payload))))


def unfold_tokens(blobs: Blobs, tokens: list[bytes | int]) -> list[bytes]:
    """One read for each level: a body, its messages, their strings."""
    wanted = {token for token in tokens if isinstance(token, int)}
    if not wanted:
        return [token for token in tokens if isinstance(token, bytes)]
    found = blobs.get(sorted(wanted))
    inner: dict[int, list[bytes | int]] = {}
    whole: dict[int, bytes] = {}
    for id, (kind, payload) in found.items():
        if kind in (LIST, PACKED_LIST):
            inner[id] = read_tokens(unpack(kind, payload))
        else:
            whole[id] = unpack(kind, payload)
    if inner:
        flat = [token for tokens_ in inner.values() for token in tokens_]
        pieces = iter(unfold_tokens(blobs, flat))
        whole.update({id: b"".join(next(pieces) for _ in tokens_) for id, tokens_ in inner.items()})
    return [token if isinstance(token, bytes) else whole[token] for token in tokens]
