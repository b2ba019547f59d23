"""From one store to another, whatever their engines: the log is told again, and everything follows from it.

Each observation is taken once, by its id: a copy that was cut goes on where it stopped, and one that is run again brings
only what is new. So a running server can move: copy, start it on the new store, copy once more.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import Any

import msgspec
from msgspec import structs

from ramify.belonging import Belonging
from ramify.forgetting import Wish, notes
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import Conversation, EventSession
from ramify.model.mistake import Unreachable
from ramify.model.observation import Correction, Observation
from ramify.model.token import FACT, later
from ramify.rebuild import differences
from ramify.redaction import RULES
from ramify.storage.base import Overtaken, Store, StoreDown

BATCH = 1024  # where each commit is dear, larger ones are cheaper
BATCH_BYTES = 16 * 2**20
OWN = (
    "identity", "raw_bytes", "outdated", "indexed", "last_seq", "unswept", "unwiped", "altered", "sealing", "lease:", "copied:", "server:", "login:", "views", "layout", "totals",
)  # facts about a store itself
Progress = Callable[[int, int], None]


class Sum:
    """Over observations in any order: their number, and the sum of a hash of each."""

    def __init__(self) -> None:
        self.count = 0
        self._total = 0

    def add(self, seen: Observation) -> None:
        self.count += 1
        body = b"" if isinstance(seen, Correction) else seen.body
        head = seen if isinstance(seen, Correction) else structs.replace(seen, body=b"")
        digest = hashlib.sha256(msgspec.msgpack.encode(head) + body).digest()
        self._total = (self._total + int.from_bytes(digest[:16], "big")) % (1 << 128)

    def __str__(self) -> str:
        return f"{self._total:032x}"


class LeftOut:
    """What the target has forgotten since it was seen, and the source has not. Nobody brings that back by copying."""

    def __init__(self, source: Store, target: Store) -> None:
        self._source = source
        with _reading(source):
            known = dict(notes(source))
        self._gone = {id: note.at for id, note in notes(target) if not note.back and known.get(id) != note}
        self._belonging = Belonging(source)

    def __contains__(self, seen: Observation) -> bool:
        return bool(self._gone) and self._takes(seen)

    def _takes(self, seen: Observation) -> bool:
        with _reading(self._source):
            owners = self._belonging.of(seen)
        return Wish(frozenset(id for id in owners if self._gone.get(id, 0) > seen.at)).takes(seen, owners)


def copy(source: Store, target: Store, rules: Rules, prices: Prices, progress: Progress) -> dict[str, Any]:
    ingest = Ingest(target, rules, prices)
    ingest.cuts = False
    with _reading(source):
        given = source.facts("")
        total = source.seq()  # behind the facts: how far files were read is said once that is stored
    mark = f"copied:{given.get('identity') or source.url!s}"
    left_out = LeftOut(source, target)
    _copy_facts(given, target)
    _oldest_rules(given, target)
    after, taken = int(target.fact(mark) or 0), 0
    for seq, batch in _batches(source, after, total):
        taken += ingest.take([seen for seen in batch if seen not in left_out])
        with suppress(Overtaken):  # the next one says more
            target.set_fact(mark, seq)
        progress(seq, total)
    answer = verify(source, target, total, left_out, progress)
    if answer["missing"]:
        target.drop_facts([mark])  # whoever runs it again begins again
    return {"copied": taken, **answer, "still_there": _still_there(source, target)}


def is_same(source: Store, target: Store) -> bool:
    """Whatever their addresses say; a file that was copied is known by the same number."""
    if source.fact("identity") != target.fact("identity"):
        return False
    name = f"copied:{secrets.token_hex(8)}"
    target.set_fact(name, 0)
    there = source.fact(name) is not None
    target.drop_facts([name])
    return there


@contextmanager
def _reading(source: Store) -> Iterator[None]:
    """Which of the two stores it was that went away."""
    try:
        yield
    except StoreDown as problem:
        raise Unreachable(f"the store {source.url} cannot be read: {problem}", "run the same command again when it is there: it goes on where it was cut") from problem


def _batches(source: Store, after: int, last: int) -> Iterator[tuple[int, list[Observation]]]:
    """Up to which number, and what was there when we began: a source that is written to would never come to an end."""
    batch: list[Observation] = []
    size = reached = 0
    for seq, seen in takewhile(lambda one: one[0] <= last, _observations(source, after)):
        if batch and (len(batch) >= BATCH or size > BATCH_BYTES):
            yield reached, batch
            batch, size = [], 0
        batch.append(seen)
        size += len(getattr(seen, "body", b""))
        reached = seq
    if batch:
        yield reached, batch


def _observations(source: Store, after: int) -> Iterator[tuple[int, Observation]]:
    with _reading(source):
        yield from source.observations(after)


def _still_there(source: Store, target: Store) -> list[str]:
    """What the source has forgotten since it was copied: a copy is its owner's to delete."""
    found: list[str] = []
    with _reading(source):
        gone = {id: note.at for id, note in notes(source) if not note.back}
        left = {row.id for table in ("conversations", "sessions") for row in source.among(table, "id", sorted(gone))}
    for table in ("conversations", "sessions"):
        rows = [row for row in target.among(table, "id", sorted(gone)) if row.id not in left]
        found += [row.id for row in rows if isinstance(row, Conversation | EventSession) and row.opened < gone[row.id]]
    return found


def _copy_facts(given: Mapping[str, str | bytes | int], target: Store) -> None:
    """What follows from no observation: how far files were read, the key of fingerprints, tokens. What is there stays, unless
    a token was revoked or got a new secret since."""
    known = target.facts("")
    taken = {name: value for name, value in given.items() if name not in known and not name.startswith(OWN)}
    for name, value in given.items():
        there = known.get(name)
        if name.startswith(FACT) and isinstance(value, bytes) and isinstance(there, bytes):
            taken[name] = later(value, there)
    target.set_facts(taken)


def _oldest_rules(given: Mapping[str, str | bytes | int], target: Store) -> None:
    """What is copied is not searched again: the copy is as clean as the less clean of both."""
    known, theirs = target.fact(RULES), int(given.get(RULES, 0))
    if known is not None and int(known) > theirs:
        target.set_fact(RULES, theirs)


def verify(source: Store, target: Store, last: int, left_out: LeftOut, progress: Progress) -> dict[str, Any]:
    """The target holds every observation of the source up to there, byte for byte, but for what it has forgotten. Where it holds no
    other, rows are compared as well: they differ only where the source was derived by another version, or with other prices."""
    wanted, found = Sum(), Sum()
    missing: list[str] = []
    changed = withheld = 0
    for seq, batch in _batches(source, 0, last):
        there = target.seen([seen.id for seen in batch])
        for seen in batch:
            held = there.get(seen.id)
            if held is None and seen in left_out:
                withheld += 1
                continue
            wanted.add(seen)
            if held is None:
                missing.append(seen.id)
            else:
                found.add(held)
                changed += held != seen
        progress(seq, last)
    alone = target.count("observations") == wanted.count == source.count("observations")
    moved = differences(source, target)[0] if alone else []
    same = not missing and str(wanted) == str(found)
    return {
        "observations": wanted.count + withheld, "checksum": str(wanted), "found": str(found), "missing": missing, "changed": changed,
        "left_out": withheld, "moved": moved, "verified": same,
    }  # fmt: skip
