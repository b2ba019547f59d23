"""From one store to another, whatever their engines: the log is told again, and everything follows from it.

Each observation is taken once, by its id: a copy that was cut goes on where it stopped, and one that is run again brings
only what is new. So a running server can move: copy, start it on the new store, copy once more.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import takewhile
from typing import Any

import msgspec
from msgspec import structs

from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.observation import Correction, Observation
from ramify.model.token import FACT, later
from ramify.rebuild import differences
from ramify.redaction import RULES
from ramify.storage.base import Overtaken, Store

BATCH = 1024  # where each commit is dear, larger ones are cheaper
BATCH_BYTES = 16 * 2**20
OWN = (
    "identity", "raw_bytes", "outdated", "indexed", "last_seq", "unswept", "unwiped", "sealing", "lease:", "copied:", "server:", "login:", "views", "layout", "totals",
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


def copy(source: Store, target: Store, rules: Rules, prices: Prices, progress: Progress) -> dict[str, Any]:
    mark = f"copied:{source.fact('identity') or source.url!s}"
    ingest = Ingest(target, rules, prices)
    ingest.cuts = False
    after, total = int(target.fact(mark) or 0), source.seq()
    _copy_facts(source, target)
    _oldest_rules(source, target)
    taken = 0
    for seq, batch in _batches(source, after, total):
        taken += ingest.take(batch)
        with suppress(Overtaken):  # the next one says more
            target.set_fact(mark, seq)
        progress(seq, total)
    return {"copied": taken, **verify(source, target, total, progress)}


def _batches(source: Store, after: int, last: int) -> Iterator[tuple[int, list[Observation]]]:
    """Up to which number, and what was there when we began: a source that is written to would never come to an end."""
    batch: list[Observation] = []
    size = reached = 0
    for seq, seen in takewhile(lambda one: one[0] <= last, source.observations(after)):
        if batch and (len(batch) >= BATCH or size > BATCH_BYTES):
            yield reached, batch
            batch, size = [], 0
        batch.append(seen)
        size += len(getattr(seen, "body", b""))
        reached = seq
    if batch:
        yield reached, batch


def _copy_facts(source: Store, target: Store) -> None:
    """What follows from no observation: how far files were read, the key of fingerprints, tokens. What is there stays, unless
    a token was revoked or got a new secret since."""
    known = target.facts("")
    taken = {name: value for name, value in source.facts("").items() if name not in known and not name.startswith(OWN)}
    for name, value in source.facts(FACT).items():
        there = known.get(name)
        if isinstance(value, bytes) and isinstance(there, bytes):
            taken[name] = later(value, there)
    target.set_facts(taken)


def _oldest_rules(source: Store, target: Store) -> None:
    """What is copied is not searched again: the copy is as clean as the less clean of both."""
    known, given = target.fact(RULES), source.fact(RULES)
    if known is not None and int(known) > int(given or 0):
        target.set_fact(RULES, int(given or 0))


def verify(source: Store, target: Store, last: int, progress: Progress) -> dict[str, Any]:
    """The target holds every observation of the source up to there, byte for byte. Where it holds no other, rows are compared as
    well: they differ only where the source was derived by another version, or with other prices."""
    wanted, found = Sum(), Sum()
    missing: list[str] = []
    for seq, batch in _batches(source, 0, last):
        there = target.seen([seen.id for seen in batch])
        for seen in batch:
            wanted.add(seen)
            if seen.id in there:
                found.add(there[seen.id])
            else:
                missing.append(seen.id)
        progress(seq, last)
    alone = target.count("observations") == wanted.count == source.count("observations")
    moved = differences(source, target)[0] if alone else []
    same = not missing and str(wanted) == str(found)
    return {"observations": wanted.count, "checksum": str(wanted), "found": str(found), "missing": missing, "moved": moved, "verified": same}
