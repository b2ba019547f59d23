"""Derives everything again from the log, into a store of its own, compares, and puts it in place at once."""

from collections.abc import Callable, Iterator
from typing import Any

from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import Call, Entity, Task, ToolCall
from ramify.model.observation import Observation
from ramify.storage.base import Store, StoreDown
from ramify.storage.scratch import scratch_folder
from ramify.storage.sqlite import Sqlite
from ramify.storage.sweeping import alterations

BATCH = 200
Progress = Callable[[int, int], None]
Kept = Callable[[Observation], Observation | None]
"""What stays of an observation, where it is not all of it; None: nothing."""
LEAST = (-(1 << 63), -1, "")
PAGE = 5000
COMPARED = (
    "calls", "tasks", "tools", "lines", "conversations", "corrections", "messages", "reports", "notes", "artifacts",
    "operations", "agents", "sessions", "events", "tallies",
)  # fmt: skip


def rebuild(store: Store, rules: Rules, prices: Prices, dry_run: bool, progress: Progress) -> dict[str, Any]:
    with scratch_folder(store, "rebuild") as folder:
        scratch = Sqlite("scratch", str(folder / "scratch.db"), durable=False)
        try:
            ingest, whole, before = Ingest(scratch, rules, prices, log=store), Whole(), alterations(store)
            last = replay(store, ingest, 0, progress, whole.kept)
            with store.exclusive():  # what came meanwhile, and then nothing more until the new rows are in place
                last = replay(store, ingest, last, progress, whole.kept)
                check_unaltered(store, whole.read, before)
                moved, same = differences(store, scratch)
                if not dry_run:
                    store.search.clear()  # first: an empty index fills itself, a wrong one stays wrong
                    store.take_projections(scratch)
        finally:
            scratch.close()
    return {"observations": last, "moved": moved, "same": same, "dry_run": dry_run}


class Whole:
    """All of the log is kept, and counted."""

    def __init__(self) -> None:
        self.read = 0

    def kept(self, seen: Observation) -> Observation | None:
        self.read += 1
        return seen


def check_unaltered(store: Store, read: int, before: int) -> None:
    """Another process may have forgotten or redacted what was read here before it was this one's turn: rows of it must not come back."""
    if store.count("observations") != read or alterations(store) != before:
        raise StoreDown("something was forgotten or redacted meanwhile")


def as_it_is(seen: Observation) -> Observation | None:
    return seen


def replay(store: Store, ingest: Ingest, after: int, progress: Progress, kept: Kept = as_it_is, until: int | None = None) -> int:
    """Derives what follows from the log behind a number, as far as it is kept; up to where that went."""
    total = store.seq()
    batch: list[Observation] = []
    for seq, seen in store.observations(after):
        if until is not None and seq > until:
            break
        after = seq
        if (one := kept(seen)) is not None:
            batch.append(one)
        if len(batch) >= BATCH:
            ingest.derive(batch, after)
            batch = []
            progress(after, total)
    if batch:
        ingest.derive(batch, after)
    progress(after, total)
    return after


def differences(old: Store, new: Store) -> tuple[list[dict[str, Any]], int]:
    """What moved, in words that a person can check; and how many rows are the same."""
    moved: list[dict[str, Any]] = []
    same = 0
    for table in COMPARED:
        for was, now in side_by_side(old.docs(table), new.docs(table)):
            if was == now:
                same += 1
            else:
                id = was.id if was else now.id if now else ""
                moved.append({"id": id, "table": table, "was": place(was), "now": place(now)})
    return moved, same


def side_by_side(old: Iterator[Entity], new: Iterator[Entity]) -> Iterator[tuple[Entity | None, Entity | None]]:
    """Both are ordered by id; neither need fit into memory."""
    was, now = next(old, None), next(new, None)
    while was is not None or now is not None:
        if was is not None and now is not None and was.id == now.id:
            yield was, now
            was, now = next(old, None), next(new, None)
        elif now is None or (was is not None and was.id < now.id):
            yield was, None
            was = next(old, None)
        else:
            yield None, now
            now = next(new, None)


def moved_keys(store: Store, other: Store) -> Iterator[tuple[tuple[int, int, str], bool]]:
    ours, theirs = _keys(store), _keys(other)
    one, two = next(ours, None), next(theirs, None)
    while one is not None or two is not None:
        if one == two:
            one, two = next(ours, None), next(theirs, None)
        elif two is None or (one is not None and one < two):
            assert one is not None
            yield one, False
            one = next(ours, None)
        else:
            yield two, True
            two = next(theirs, None)


def _keys(store: Store) -> Iterator[tuple[int, int, str]]:
    place = LEAST
    while page := store.keys_after(place, PAGE):
        yield from page
        place = page[-1]


def place(row: Entity | None) -> str:
    match row:
        case None:
            return "not there"
        case Call():
            return f"conversation {row.conversation}, task {row.task}, parent {row.parent or 'none'}, attempt of {row.attempt_of or 'none'}"
        case Task():
            rule = f" by {row.link.rule} via {row.link.via or '?'}" if row.link else ""
            return f"{row.kind} task in {row.conversation}, parent {row.parent or 'none'}{rule}"
        case ToolCall():
            return f"{row.name or 'tool'} of {row.call or 'nobody'}, {row.status}, spawned {row.child or 'nothing'}"
        case _:
            return type(row).__name__.lower()
