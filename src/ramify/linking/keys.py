"""Look-up keys: where they stand, what is remembered of them, and what a batch changes.

Most look-ups find nothing. Keys that belong together are read together, so that this costs no query.
"""

from bisect import insort
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import xxhash

from ramify.model import ids

Entry = tuple[int, str]
NEWEST = 64  # entries of one key that are looked at; more than that many equal ones tell nothing new
NEAR = 40  # bits of a key below those that say where it stands
LOW = (1 << NEAR) - 1
SIGN = 1 << 63
CROWD = 1_600  # entries that are read at once; where there are more, each key is asked for by itself
FOREVER = (1 << 63) - 1


class KeyLoader(Protocol):
    def between(self, first: int, last: int, most: int) -> list[tuple[int, int, str]]: ...
    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]: ...
    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[Entry]: ...


def key(kind: str, *parts: str | bytes) -> int:
    """Keys of one session (the first two parts), or of one row, begin alike.

    So they stand together in the store: what a request asks for is read at once, and what it adds lies on few pages.
    """
    return _place(parts) ^ _salts[kind]


def chain_key(kind: str, hash: bytes) -> int:
    """A chain's hash is already spread evenly, begins with its project, and has its place: no need to hash it again."""
    return int.from_bytes(hash[:8], "big", signed=True) ^ _salts[kind]


def _hashed(parts: tuple[str | bytes, ...]) -> int:
    """Keys lead to candidates that are looked at again, mostly of one session: a quick hash does."""
    return xxhash.xxh3_64_intdigest(repr(parts).encode("utf-8", "surrogatepass")) - SIGN


@lru_cache(16384)
def _place(parts: tuple[str | bytes, ...]) -> int:
    """Of all kinds of keys of the same parts: they differ by their salt alone."""
    whole = _hashed(parts)
    return _place(parts[:2]) & ~LOW | whole & LOW if len(parts) > 2 and parts[1] else whole


class Salts(dict[str, int]):
    """Tell kinds apart, and leave them where they stand."""

    def __missing__(self, kind: str) -> int:
        salt = self[kind] = int.from_bytes(ids.digest("salt", kind)[:5], "big")
        return salt


_salts = Salts()


class Keys:
    def __init__(self, loader: KeyLoader) -> None:
        self._loader = loader
        self._entries: dict[int, list[Entry]] = {}
        self._partly: set[int] = set()  # keys that have older entries, too
        self._whole: set[int] = set()  # places of which every key is remembered
        self._crowded: set[int] = set()
        self.begin()

    def begin(self) -> None:
        self.added: dict[tuple[int, int, str], bool] = {}
        self._marked: dict[int, dict[Entry, bool]] = {}
        self._pending: dict[int, dict[int, dict[Entry, bool]]] = {}  # by place

    def forget(self) -> None:
        self._entries.clear()
        self._partly.clear()
        self._whole.clear()
        self._crowded.clear()

    def doubt(self, keys: Iterable[int]) -> None:
        """Others have written to these."""
        for key in keys:
            self._entries.pop(key, None)
            self._partly.discard(key)
            self._whole.discard(key >> NEAR)
            self._crowded.discard(key >> NEAR)

    def trim(self, most: int) -> None:
        """A place is remembered whole or not at all."""
        if len(self._entries) > most:
            self.forget()

    def are_new(self, *keys: int) -> None:
        """Nobody can have heard of them."""
        for key in keys:
            self._entries.setdefault(key, [])

    def find(self, key: int) -> list[Entry]:
        """The newest entries, oldest first."""
        entries = self._entries.get(key)
        if entries is not None:
            return entries
        if key >> NEAR not in self._whole:
            self.prefetch((key,))
        return self._entries.get(key, [])

    def add(self, key: int, at: int, ref: str) -> None:
        """Where nobody has asked yet, nothing is read either."""
        entry = (at, ref)
        entries = self._entries.get(key)
        if entries is not None:
            if entry in entries:
                return
            insort(entries, entry)
            if len(entries) > NEWEST:
                del entries[0]
                self._partly.add(key)
        elif key >> NEAR in self._whole:
            self._entries[key] = [entry]
        else:
            self._pend(key, entry, True)
        self.added[key, at, ref] = True

    def remove(self, key: int, at: int, ref: str) -> None:
        entry = (at, ref)
        entries = self._entries.get(key)
        if entries is None:
            self._pend(key, entry, False)
        elif entry in entries:
            entries.remove(entry)
        self.added[key, at, ref] = False

    # -- lines in time: keys of which any stretch can be asked for ------------------------------------------------------

    def mark(self, key: int, at: int, ref: str) -> None:
        self.add(key, at, ref)
        self._marked.setdefault(key, {})[at, ref] = True

    def unmark(self, key: int, at: int, ref: str) -> None:
        self.remove(key, at, ref)
        self._marked.setdefault(key, {})[at, ref] = False

    def span(self, key: int, low: int = 0, high: int = FOREVER, limit: int = 1_000_000, newest: bool = False) -> list[Entry]:
        """Entries from `low` to `high`, oldest first: the first `limit` of them, or the last."""
        known = self._all(key)
        if known is not None:
            found = known if low <= 0 and high == FOREVER else [entry for entry in known if low <= entry[0] <= high]
            return found[-limit:] if newest else found[:limit]
        marked = self._marked.get(key, {})
        found = self._loader.span(key, low, high, limit + len(marked), newest)
        if marked:
            inside = {entry for entry, there in marked.items() if there and low <= entry[0] <= high}
            found = sorted(({*found} | inside) - {entry for entry, there in marked.items() if not there})
        return found[-limit:] if newest else found[:limit]

    def every(self, key: int) -> Sequence[Entry]:
        """All of a key's entries, oldest first: from what is remembered, unless there are so many that only the newest are."""
        entries = self.find(key)
        return entries if key not in self._partly else self.span(key)

    def _all(self, key: int) -> list[Entry] | None:
        """Every entry of a key, where all of them are remembered: most have few, and are asked for again and again."""
        entries = self._entries.get(key)
        if entries is None:
            return [] if key >> NEAR in self._whole else None
        return entries if key not in self._partly else None

    def wipe(self, key: int) -> None:
        """Every entry of every key that stands where this one does."""
        place = key >> NEAR
        stored = self._loader.between(place << NEAR, place << NEAR | LOW, FOREVER)
        marked = [(one, *entry) for one, entries in self._marked.items() if one >> NEAR == place for entry in entries]
        for one, at, ref in [*stored, *marked]:
            self.unmark(one, at, ref)

    # -- what is remembered ---------------------------------------------------------------------------------------------

    def _pend(self, key: int, entry: Entry, there: bool) -> None:
        self._pending.setdefault(key >> NEAR, {}).setdefault(key, {})[entry] = there

    def prefetch(self, keys: Iterable[int]) -> None:
        missing = [key for key in dict.fromkeys(keys) if not self._knows(key)]  # each once: pending entries are used up
        if missing:
            self._remember(missing)

    def is_whole(self, key: int) -> bool:
        """Whether all that stands where this key does is remembered: then there is nothing to prefetch."""
        return self._knows(key) and key >> NEAR in self._whole

    def foresee(self, keys: Iterable[int]) -> None:
        """As `prefetch`, for keys that each stand by themselves: nothing around them will be asked for."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._entries and key >> NEAR not in self._whole]
        if missing:
            self._remember(missing)

    def _remember(self, missing: Sequence[int]) -> None:
        found = self._loader.find(missing)
        for key in missing:
            entries = found.get(key, [])
            if len(entries) >= NEWEST:
                self._partly.add(key)
            self._merge(key, entries, self._pending.get(key >> NEAR, {}).pop(key, {}))

    def _knows(self, key: int) -> bool:
        if key in self._entries:
            return True
        place = key >> NEAR
        if place not in self._whole and place not in self._crowded:
            self._read_place(place)
        return place in self._whole

    def _read_place(self, place: int) -> None:
        rows = self._loader.between(place << NEAR, place << NEAR | LOW, CROWD)
        if len(rows) == CROWD:
            self._crowded.add(place)
            return
        found: dict[int, list[Entry]] = {}
        for key, at, ref in rows:
            found.setdefault(key, []).append((at, ref))
        pending = self._pending.pop(place, {})
        for key in found.keys() | pending.keys():
            if key not in self._entries:
                self._merge(key, found.get(key, []), pending.get(key, {}))
        self._whole.add(place)

    def _merge(self, key: int, entries: list[Entry], pending: dict[Entry, bool]) -> None:
        """With what this batch added or removed before anybody asked for the key."""
        for entry, there in pending.items():
            if there and entry not in entries:
                insort(entries, entry)
            elif not there and entry in entries:
                entries.remove(entry)
        if len(entries) > NEWEST:
            self._partly.add(key)
            del entries[:-NEWEST]
        self._entries[key] = entries
