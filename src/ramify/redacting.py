"""Secrets that were found late go from what is stored already: the one change, beside forgetting, that the log knows.

The log is read once. Whatever holds something is put in its own place without it, under the same number and id, together with
all that follows otherwise, in one transaction: a run that is killed has changed nothing, or left only sweeping to do.
"""

import logging
import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ramify.apart import SMALL, Apart, Difference, Entangled, Near
from ramify.forgetting import UNSWEPT, clean, put_apart, put_difference
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.mistake import UserMistake
from ramify.model.moment import iso
from ramify.model.observation import Correction, Observation, Record, Request
from ramify.protocols.anthropic.bodies import Reading
from ramify.protocols.model_api import is_model_call
from ramify.protocols.sam import decode as sam
from ramify.protocols.sam.layout import Pieces
from ramify.reader import Reader
from ramify.readied import layout_of
from ramify.rebuild import Progress, check_unaltered, replay
from ramify.redaction import RULES, Search, is_clean
from ramify.storage.base import Kept, Store, StoreDown
from ramify.storage.scratch import scratch_folder
from ramify.storage.sqlite import Sqlite
from ramify.storage.sweeping import ALTERED, alterations

log = logging.getLogger("ramify")
MARK = re.compile(rb"\[redacted(?::([a-z0-9-]+))?\]")
REDACTED = "redacted:"
UNWIPED = "unwiped"  # a fact, from when something is taken out until no page holds it any more
CHUNK = 100
Shape = dict[str, Any]


class Order(Struct, frozen=True):
    """`rules`: the version of all rules, where all of them are applied."""

    search: Search
    at: int
    by: str
    rules: int = 0
    project: str = ""


class Note(Struct, frozen=True, omit_defaults=True):
    """What is remembered of it: how much, never what."""

    at: int
    by: str
    observations: int
    kinds: dict[str, int]
    project: str = ""


class Found:
    """The observations that hold something, as they are found; and the log as it will be without that."""

    def __init__(self, store: Store, order: Order) -> None:
        self._store, self._search, self._project = store, order.search, order.project
        self._reader = Reader(store)
        self.until = 0
        self.ids: dict[str, None] = {}  # in the order in which they were found
        self._streams = order.search.streams()
        self._beside: dict[str, Observation] = {}  # of a stream: without what only the whole of it gives away
        self.reaches_back = False  # whether what came later gave away what had been read before
        self.kinds: Counter[str] = Counter()
        self.read = 0
        self.saved = 0

    def read_on(self, progress: Progress) -> None:
        """All that the log holds now."""
        total = self._store.seq()
        again = self.until > 0
        fresh: set[str] = set()
        for seq, seen in self._store.observations(self.until):
            self.until = seq
            self.read += 1
            if again:
                fresh.add(seen.id)
            if self._project in ("", seen.project):
                self._look_at(seen)
            if not self.read % CHUNK:
                progress(seq, total)
        for before, beside in self._streams.cleaned(self._store.observation) if self._streams is not None else ():
            changed = self._look_beside(before, beside)
            self.reaches_back |= changed and again and before.id not in fresh
        progress(total, total)

    def _look_at(self, seen: Observation) -> None:
        if self._streams is not None:
            self._streams.note(seen)
        clean = self._cleaned(seen)
        if clean != seen:
            self._note(seen, clean, {"other"})

    def _look_beside(self, seen: Record, beside: Record) -> bool:
        """What its own words gave away was noted already; of what others gave away, the mark stands in the first of them."""
        alone, clean = self.kept(seen), self._search.observation(beside)
        if clean != alone:
            self._note(alone, clean, set())
            self._beside[seen.id] = clean
        return clean != alone

    def _note(self, seen: Observation, clean: Observation, unmarked: set[str]) -> None:
        self.ids[seen.id] = None
        self.saved += len(getattr(seen, "body", b"")) - len(getattr(clean, "body", b""))
        self.kinds.update((marks_in(clean) - marks_in(seen)).keys() or unmarked)

    def _cleaned(self, seen: Observation) -> Observation:
        """Bodies repeat their history: each piece of it is searched once."""
        if not isinstance(seen, Request) or not is_model_call(seen.method, seen.path):
            return self._search.observation(seen)
        reading = self._reader.read_body(seen)
        if isinstance(reading, Reading) and reading.layout.body is seen.body and is_clean(self._search, reading.layout):
            return self._search.head(seen)
        clean = self._search.observation(seen)
        assert isinstance(clean, Request)
        self._reader.read_body(clean)  # the next one is compared with a body that is clean
        return clean

    def kept(self, seen: Observation) -> Observation:
        if seen.id not in self.ids:
            return seen
        return self._beside.get(seen.id) or self._search.observation(seen)

    def observation(self, id: str) -> Observation | None:
        seen = self._store.observation(id)
        return None if seen is None else self.kept(seen)

    def shape(self) -> Shape:
        return {"read": self.read, "observations": len(self.ids), "kinds": dict(sorted(self.kinds.items()))}


def marks_in(seen: Observation) -> Counter[str]:
    if isinstance(seen, Correction):
        return Counter()
    raw = msgspec.msgpack.encode(msgspec.structs.replace(seen, body=b"")) + seen.body
    return Counter((found[1] or b"header").decode() for found in MARK.finditer(raw))


def look(store: Store, order: Order, progress: Progress) -> Shape:
    """What would go."""
    found = Found(store, order)
    found.read_on(progress)
    return found.shape()


def redact(store: Store, rules: Rules, prices: Prices, order: Order, progress: Progress) -> Shape:
    """Afterwards the store is as if what was found had never been seen, but for marks in its places and a note."""
    with scratch_folder(store, "redact") as place:
        with store.exclusive():
            pass  # whether anybody writes is known from here on
        found = Found(store, order)
        found.read_on(progress)
        try:
            _narrowly(store, rules, prices, order, found, place)
        except Entangled as reason:
            log.info("deriving the whole log again: %s", reason)
            _wholly(store, Ingest(Sqlite("scratch", str(place / "scratch.db"), durable=False), rules, prices, log=found), order, found, progress)
        finally:
            store.distrust()
    return {**found.shape(), **_wiped(store)}


def _wiped(store: Store) -> Shape:
    """It is gone from the store already: what fails now is said, not raised, and done by the next run."""
    swept = clean(store) if store.fact(UNSWEPT) else {"pieces": 0, "left": ""}
    if store.fact(UNWIPED) and not swept["left"]:
        try:
            store.write_anew()
            store.drop_facts([UNWIPED])
        except StoreDown as problem:
            swept["left"] = str(problem)
    return swept


def _narrowly(store: Store, rules: Rules, prices: Prices, order: Order, found: Found, place: Path) -> None:
    """Only what hangs together with what was found is derived again; while nobody writes, only if somebody did meanwhile."""
    if found.ids and (not isinstance(store, Near) or store.fact("outdated")):
        raise Entangled("the store does not say what belongs where")
    other = _planned(store, rules, prices, found, place) if found.ids else None
    with store.exclusive() as changed:
        if changed:
            found.read_on(quiet)
            other = _planned(store, rules, prices, found, place) if found.ids else None
        if other is not None:
            assert isinstance(store, Near)
            _rewrite(store, found)
            put_apart(store, other)
        _remember(store, order, found)


def _planned(store: Store, rules: Rules, prices: Prices, found: Found, place: Path) -> Difference:
    assert isinstance(store, Near)
    apart = Apart(store, rules, prices, place)
    owners: set[str] = set()
    for seen in map(store.observation, found.ids):
        owners |= apart.members.belonging.of(seen) if seen is not None else frozenset()
    apart.take_in({*found.ids, *apart.members.of(owners)})
    if 2 * len(apart.seen) > store.count("observations") > SMALL:
        raise Entangled("it is most of the log")
    return apart.difference(found.kept, found)


def _wholly(store: Store, ingest: Ingest, order: Order, found: Found, progress: Progress) -> None:
    scratch = ingest.store
    assert isinstance(scratch, Sqlite)
    found.reaches_back, before = False, alterations(store)  # nothing was derived yet
    try:
        last = replay(store, ingest, 0, progress, found.kept, found.until)  # of what came since, nobody knows what it holds
        with store.exclusive():
            found.read_on(quiet)
            if found.reaches_back:
                raise UserMistake("a server of an older version stored the other half of a secret meanwhile", "restart it, then run ramify redact again; nothing was changed")
            replay(store, ingest, last, progress, found.kept)
            check_unaltered(store, found.read, before)
            _rewrite(store, found)
            put_difference(store, scratch)
            _remember(store, order, found)
    finally:
        scratch.close()


def _rewrite(store: Store, found: Found) -> None:
    store.search.clear()  # first: an empty index fills itself, a wrong one stays wrong
    laid_out = LaidOut(store)
    left = iter(found.ids)
    while ids := list(islice(left, CHUNK)):
        kept = [laid_out.of(seen) for seen in map(found.observation, ids) if seen is not None]
        store.rewrite(kept)
        for one in kept:
            if one.layout is not None:
                one.layout.forget_before()


class LaidOut:
    """How bodies are made of pieces that others share, as when they came."""

    def __init__(self, store: Store) -> None:
        self._reader = Reader(store)
        self._pieces = Pieces()

    def of(self, seen: Observation) -> Kept:
        if isinstance(seen, Request) and is_model_call(seen.method, seen.path):
            return Kept(seen, layout_of(seen, self._reader.read_body(seen)))
        if isinstance(seen, Record) and seen.format == sam.FORMAT:
            return Kept(seen, self._pieces.layout(seen.body))
        return Kept(seen)


def _remember(store: Store, order: Order, found: Found) -> None:
    facts: dict[str, str | bytes | int] = {}
    if found.ids:
        note = Note(order.at, order.by, len(found.ids), dict(found.kinds), order.project)
        facts[f"{REDACTED}{order.at}"] = msgspec.json.encode(note)
        facts[UNSWEPT] = facts[UNWIPED] = 1
        facts[ALTERED] = alterations(store) + 1
        facts["raw_bytes"] = max(0, int(store.fact("raw_bytes") or 0) - found.saved)
    if order.rules and not order.project:
        facts[RULES] = order.rules
    if facts:
        store.set_facts(facts)


def quiet(done: int, total: int) -> None:
    pass


# -- what is known about it ---------------------------------------------------------------------------------------------


def notes(store: Store) -> list[Shape]:
    """What was cleaned, newest first."""
    found = [msgspec.json.decode(value, type=Note) for value in store.facts(REDACTED).values() if isinstance(value, bytes | str)]
    return [{**msgspec.structs.asdict(note), "at": iso(note.at)} for note in sorted(found, key=lambda note: -note.at)]

