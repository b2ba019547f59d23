"""Pieces that no body is made of any more: found by reading which each body and each list of pieces names.

Nobody counts who refers to a piece, so that storing one costs no write to the pieces it shares. Looking is done beside
the writer; only what came meanwhile is looked at while nobody writes.
"""

from collections import Counter
from collections.abc import Iterator

from ramify.storage.base import Store
from ramify.storage.fold import LIST, read_tokens, unpack

PAGE = 1000
ALTERED = "altered"  # a fact: how often the log was changed elsewhere than at its end; who has read it before knows it no longer
BITS = 15  # of an id, within one page of marks
LOW = (1 << BITS) - 1


class Marks:
    """A bit for each id, in pages: ids may lie far apart."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pages: dict[int, bytearray] = {}
        self._after = 0
        self._alterations = -1

    def __contains__(self, id: int) -> bool:
        page = self._pages.get(id >> BITS)
        return page is not None and bool(page[(id & LOW) >> 3] >> (id & 7) & 1)

    def read_on(self) -> None:
        """Everything that the log has named since the last time. Of what was forgotten or written anew meanwhile, numbers may mean
        other pieces by now, and bodies may be made of others: then all of it."""
        if (count := alterations(self._store)) != self._alterations:
            self._pages, self._after, self._alterations = {}, 0, count
        while rows := self._store.bodies(self._after, PAGE):
            named = {id for _, kind, body in rows for id in named_in(kind, body)}
            self._mark(named)
            self._after = rows[-1][0]

    def _mark(self, named: set[int]) -> None:
        while named := {id for id in named if id not in self}:
            for id in named:
                self._set(id)
            inner = self._store.get(sorted(named)).values()
            named = {id for kind, payload in inner for id in named_in(kind, payload)}

    def brought(self) -> Iterator[tuple[int, int]]:
        """The number of each observation, and the bytes that came with it: its own, and of pieces that none before it is made of."""
        while rows := self._store.bodies(self._after, PAGE):
            sizes = Counter({seq: len(body) for seq, _, body in rows})
            first: dict[int, int] = {}
            for seq, kind, body in rows:
                first |= {id: seq for id in named_in(kind, body) if id not in self and id not in first}
            while first:
                inner: dict[int, int] = {}
                for id in first:
                    self._set(id)
                for id, (kind, payload) in self._store.get(sorted(first)).items():
                    sizes[first[id]] += len(payload)
                    inner |= {one: first[id] for one in named_in(kind, payload) if one not in self}
                first = inner
            self._after = rows[-1][0]
            yield from sorted(sizes.items())

    def _set(self, id: int) -> None:
        page = self._pages.get(id >> BITS)
        if page is None:
            page = self._pages[id >> BITS] = bytearray(1 << (BITS - 3))
        page[(id & LOW) >> 3] |= 1 << (id & 7)


def alterations(store: Store) -> int:
    return int(store.fact(ALTERED) or 0)


def named_in(kind: int, payload: bytes) -> set[int]:
    if not kind & LIST:
        return set()
    tokens = read_tokens(unpack(kind, payload))
    return {token if isinstance(token, int) else token[0] for token in tokens if not isinstance(token, bytes)}


def sweep(store: Store) -> int:
    """How many pieces went."""
    marks = Marks(store)
    marks.read_on()
    after = gone = 0
    while rows := store.blobs(after, PAGE):
        after = rows[-1][0]
        if any(id not in marks for id, _ in rows):
            gone += _drop(store, marks, [id for id, _ in rows])
    return gone


def _drop(store: Store, marks: Marks, ids: list[int]) -> int:
    marks.read_on()  # while others may write: what is left to read then is little
    with store.exclusive():
        marks.read_on()
        unused = [id for id in ids if id not in marks]
        if unused:
            store.drop_blobs(unused)
    return len(unused)
