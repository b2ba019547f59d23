"""What is forgotten is gone: its observations leave the log, and what follows from the others is derived again without them.

Deriving is done beside the writer, into a store of its own. While nobody writes, only what came meanwhile is derived, and
of the rows only those that differ are written.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ramify.apart import SMALL, Apart, Difference, Entangled, Near
from ramify.belonging import Belonging
from ramify.indexing import ever_words_of, is_current
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.audit import is_audit
from ramify.model.entity import TABLES, Call, Entity
from ramify.model.moment import iso
from ramify.model.observation import Correction, Observation, Response
from ramify.rebuild import Progress, check_unaltered, moved_keys, replay, side_by_side
from ramify.storage.base import Changes, Ref, Store, StoreDown
from ramify.storage.scratch import scratch_folder
from ramify.storage.sqlite import Sqlite
from ramify.storage.sweeping import ALTERED, Marks, alterations, sweep

log = logging.getLogger("ramify")
FORGOTTEN = "forgotten:"
ROWS = 1000  # bytes, about: what follows from an observation
UNSWEPT = "unswept"  # a fact, from when something is forgotten until its pieces and pages are gone as well


class Wish(Struct, frozen=True):
    """What is to go: conversations and sessions of the event log, and what tells of nobody and is older than a moment."""

    ids: frozenset[str]
    before: int = 0
    projects: frozenset[str] = frozenset()  # of what tells of nobody; none: of all

    def takes(self, seen: Observation, owners: frozenset[str]) -> bool:
        """What tells of others too stays, but for a person's word that one of its two ends belongs to the other. So does the audit,
        whatever its age."""
        if is_audit(seen):
            return False
        if isinstance(seen, Correction) and owners & self.ids:
            return True
        if owners:
            return owners <= self.ids
        return seen.at < self.before and (not self.projects or seen.project in self.projects)


class Note(Struct, frozen=True, omit_defaults=True):
    """What is remembered of something forgotten: nothing that was said."""

    at: int
    by: str  # command, api, retention; or whom a person named
    observations: int = 0
    back: int = 0  # when a person has imported it again
    project: str = ""  # empty: written by a version that did not say


class Going:
    """The observations that go, as they are found."""

    def __init__(self, store: Store, wish: Wish) -> None:
        self._belonging = Belonging(store)
        self._wish = wish
        self.ids: list[str] = []
        self.counts: dict[str, int] = dict.fromkeys(sorted(wish.ids), 0)
        self.projects: dict[str, str] = {}
        self.read = 0
        self.shared = 0
        self.bytes = 0

    def takes(self, seen: Observation) -> bool:
        self.read += 1
        owners = self._belonging.of(seen)
        taken = self._wish.takes(seen, owners)
        if taken:
            self.ids.append(seen.id)
            self.bytes += len(getattr(seen, "body", b""))
        self.shared += not taken and bool(owners & self._wish.ids)
        for id in owners & self._wish.ids if taken else ():
            self.counts[id] += 1
            self.projects[id] = seen.project
        return taken

    def rest(self, seen: Observation) -> Observation | None:
        return None if self.takes(seen) else seen

    def shape(self) -> dict[str, Any]:
        return {"observations": len(self.ids), "bytes": self.bytes, "shared": self.shared}


def weigh(store: Store) -> dict[str, int]:
    """How many bytes came with each conversation and session. Not how many were seen: a long one repeats its own beginning."""
    belonging, found = Belonging(store), dict[str, int]()
    brought = Marks(store).brought()
    at, size = 0, 0
    for seq, seen in store.observations():
        while at < seq:
            at, size = next(brought, (seq, 0))
        owners = belonging.of(seen)
        for id in owners:
            found[id] = found.get(id, 0) + (ROWS + (size if at == seq else 0)) // len(owners)
    return found


def look(store: Store, wish: Wish) -> dict[str, Any]:
    """What would go."""
    going = Going(store, wish)
    for _, seen in store.observations():
        going.takes(seen)
    return going.shape()


def forget(store: Store, rules: Rules, prices: Prices, wish: Wish, note: Note, progress: Progress) -> dict[str, Any]:
    """Afterwards the store is as if what went had never been seen, but for a note that it is gone."""
    with scratch_folder(store, "forget") as place:
        try:
            going = _narrowly(store, rules, prices, wish, note, place)
        except Entangled as reason:
            log.info("deriving the whole log again: %s", reason)
            going = _wholly(store, place, rules, prices, wish, note, progress)
        finally:
            store.distrust()
    return {**going.shape(), **clean(store)}


def _narrowly(store: Store, rules: Rules, prices: Prices, wish: Wish, note: Note, folder: Path) -> Going:
    """Only what hangs together with what goes is derived again; while nobody writes, only if something came meanwhile."""
    if not isinstance(store, Near) or store.fact("outdated"):
        raise Entangled("the store does not say what belongs where")
    before = store.seq(), alterations(store)
    going, found = _planned(store, Apart(store, rules, prices, folder), wish)
    with store.exclusive():
        if (store.seq(), alterations(store)) != before:
            going, found = _planned(store, Apart(store, rules, prices, folder), wish)
        _drop_words(store, going, found)
        store.forget(going.ids)
        put_apart(store, found)
        _remember(store, going, note)
    return going


def _drop_words(store: Near, going: Going, found: Difference) -> None:
    """Those of what goes, where only they are other; else all: an empty index fills itself, a wrong one stays wrong."""
    numbered = [one for id in going.ids if (one := store.numbered(id)) is not None]
    indexed = store.search.indexed()
    others = [(store.load(*place), row) for place, row in found.rows.items() if place[0] == "calls" and row is not None]
    moved = any(words_begin(was) != words_begin(now) for was, now in others)
    if not is_current(store) or moved or any(seq > indexed for seq, _ in numbered) or not store.search.drop([words for _, seen in numbered for words in ever_words_of(store, seen)]):  # what is not indexed yet may be on its way
        store.search.clear()


def words_begin(row: Entity | None) -> tuple[object, ...]:
    """From where on a call's words are its own."""
    return (row.new_message, row.new_block, bool(row.attempt_of)) if isinstance(row, Call) else ()


def _planned(store: Store, apart: Apart, wish: Wish) -> tuple[Going, Difference]:
    going = Going(store, wish)
    apart.take_in(apart.members.of(wish.ids))
    for seen in apart.seen:
        going.takes(seen)
    old = [id for id in apart.members.of_nobody(wish.before) if id not in apart] if wish.before else []
    for one in map(store.observation, old):
        if one is not None and going.takes(one):
            apart.take_in([one.id])
    if 2 * len(apart.seen) > store.count("observations") > SMALL:
        raise Entangled("it is most of the log")
    gone = set(going.ids)
    return going, apart.difference(lambda seen: None if seen.id in gone else seen)


def clean(store: Store) -> dict[str, Any]:
    """Pieces that nobody uses and pages that nobody needs. It is gone from the store already: what fails is said, not raised."""
    pieces, left = 0, ""
    try:
        pieces = sweep(store)
        store.drop_facts([UNSWEPT])
        store.shrink()
    except StoreDown as problem:
        left = str(problem)
        with suppress(StoreDown):
            store.set_fact(UNSWEPT, 1)
    store.distrust()
    return {"pieces": pieces, "left": left}


def _wholly(
    store: Store, folder: Path, rules: Rules, prices: Prices, wish: Wish, note: Note, progress: Progress
) -> Going:  # fmt: skip
    scratch = Sqlite("scratch", str(folder / "scratch.db"), durable=False)
    try:
        return _without(store, scratch, rules, prices, wish, note, progress)
    finally:
        scratch.close()


def _without(
    store: Store, scratch: Sqlite, rules: Rules, prices: Prices, wish: Wish, note: Note, progress: Progress
) -> Going:  # fmt: skip
    going, before = Going(store, wish), alterations(store)
    ingest = Ingest(scratch, rules, prices, log=store)
    last = replay(store, ingest, 0, progress, going.rest)
    with store.exclusive():
        replay(store, ingest, last, progress, going.rest)
        check_unaltered(store, going.read, before)
        store.search.clear()  # first: an empty index fills itself, a wrong one stays wrong
        store.forget(going.ids)
        put_difference(store, scratch)
        _remember(store, going, note)
    return going


def _project(store: Store, id: str) -> str:
    """Of what nothing was seen: it may stand there all the same, because others told of it."""
    return str(getattr(store.load("conversations", id) or store.load("sessions", id), "project", ""))


def _remember(store: Store, going: Going, note: Note) -> None:
    facts: dict[str, str | bytes | int] = {
        FORGOTTEN + id: msgspec.json.encode(Note(note.at, note.by, count, project=going.projects.get(id) or _project(store, id))) for id, count in going.counts.items()
    }
    facts[UNSWEPT], facts[ALTERED] = 1, alterations(store) + 1
    facts["raw_bytes"] = max(0, int(store.fact("raw_bytes") or 0) - going.bytes)
    store.set_facts(facts)


def put_apart(store: Near, found: Difference) -> None:
    """What was derived by itself, in place of what it was."""
    _put_rows(store, found.rows)
    store.unlist(found.gone_refs, found.gone_unreadable)
    refs = tuple(Ref(*one) for one in found.new_refs)
    store.append((), Changes(keys=found.keys, refs=refs, unreadable=tuple(found.new_unreadable)))


# -- only what differs -----------------------------------------------------------------------------------------------------


def put_difference(store: Store, other: Sqlite) -> None:
    """Rows and keys of the other store, in place of our own; written are only those that are not the same."""
    for table in TABLES:
        rows: dict[tuple[str, str], Entity | None] = {}
        for was, now in side_by_side(store.docs(table), other.docs(table)):
            if was != now:
                rows[table, was.id if was else now.id if now else ""] = now
        _put_rows(store, rows)
    store.append((), Changes(keys=dict(moved_keys(store, other))))
    store.take_projections(other, ("refs", "unreadable"))


def _put_rows(store: Store, rows: dict[tuple[str, str], Entity | None]) -> None:
    """What goes first: a number of the event log stands for one event at a time."""
    store.append((), Changes(rows=dict.fromkeys(rows)))
    store.append((), Changes(rows={place: row for place, row in rows.items() if row is not None}))


# -- notes -----------------------------------------------------------------------------------------------------------------


def notes(store: Store) -> list[tuple[str, Note]]:
    """What was forgotten, newest first."""
    found: list[tuple[str, Note]] = []
    for name, value in store.facts(FORGOTTEN).items():
        if isinstance(value, bytes | str):
            note = msgspec.json.decode(value, type=Note)
            found.append((name.removeprefix(FORGOTTEN), note))
    return sorted(found, key=lambda one: (-one[1].at, one[0]))


def note_shape(id: str, note: Note) -> dict[str, Any]:
    return {"id": id, "at": iso(note.at), "by": note.by, "observations": note.observations, "back": iso(note.back)}


def forgotten(store: Store) -> set[str]:
    """What must not come back by itself."""
    return {id for id, note in notes(store) if not note.back}


def awaited(store: Store, late: Sequence[Observation]) -> list[Observation]:
    """Of what waited on a disk, what was not forgotten after it was seen. An answer whose request is nowhere, neither stored nor
    waiting with it, is not either, where anything was forgotten since: that may be what it answers."""
    gone = {id: note.at for id, note in notes(store) if not note.back}
    last = max(gone.values(), default=0)
    belonging, owners, found = Belonging(store), dict[str, frozenset[str]](), list[Observation]()
    for seen in late:
        if seen.at < last:
            request = seen.request if isinstance(seen, Response) else ""
            owners[seen.id] = told = owners.get(request) or belonging.of(seen)
            lone = bool(request) and not told and request not in owners and bool(store.missing([request]))
            since = frozenset(id for id in told if gone.get(id, 0) > seen.at)
            if lone or Wish(since).takes(seen, told):
                continue
        found.append(seen)
    return found


def brought_back(store: Store, ids: Sequence[str], at: int) -> None:
    """A person has imported it again: it is there, and followed again."""
    for id, note in notes(store):
        if id in ids and not note.back:
            store.set_fact(FORGOTTEN + id, msgspec.json.encode(replace(note, back=at)))
