"""Deriving a few conversations by themselves: everything that hangs together with them, and nothing else of the log.

They are derived into an empty store that notes whatever it is asked for. Where the real store would have answered with more, what
that belongs to is taken in as well, until nothing more is found. What is derived so is what deriving the whole log would give.
"""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from ramify.ingest import Ingest, Prices
from ramify.linking.world import FOREVER, NEWEST, Rules
from ramify.members import MOST, Members
from ramify.model import ids
from ramify.model.entity import TABLES, Call, Entity, Message, Task, ToolCall
from ramify.model.observation import Observation
from ramify.model.tally import Tally, moved
from ramify.reader import Log
from ramify.rebuild import BATCH, Kept, moved_keys, side_by_side
from ramify.scopes import is_plain
from ramify.storage.base import Changes, Entry, Store
from ramify.storage.sqlite import Sqlite

ROUNDS = 12
SMALL = 2_000  # observations: of fewer, deriving all costs no more
TABLE_OF = {"call": "calls", "task": "tasks", "tool": "tools", "msg": "messages"}
Key = tuple[int, int, str]


class Entangled(Exception):
    """It cannot be told apart from the rest by what is known here; the whole log has to be derived."""


@runtime_checkable
class Near(Store, Protocol):
    """A store that can say where in the log an observation stands, and take single names back."""

    def numbered(self, id: str) -> tuple[int, Observation] | None: ...
    def unlist(self, refs: Sequence[tuple[str, str, str, str]], unreadable: Sequence[str]) -> None: ...


class Watched(Sqlite):
    """An empty store that remembers what was asked for."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__("scratch", str(folder / f"{name}.db"), durable=False)
        self.rows: set[tuple[str, str]] = set()
        self.keys: set[int] = set()
        self.places: set[tuple[int, int]] = set()
        self.spans: set[tuple[int, int, int, int, bool]] = set()
        self.conversations: set[str] = set()

    def load(self, table: str, id: str) -> Entity | None:
        self.rows.add((table, id))
        return super().load(table, id)

    def among(self, table: str, column: str, values: Sequence[str]) -> list[Entity]:
        if column == "id":
            self.rows |= {(table, id) for id in values}
        elif column == "conversation":
            self.conversations |= set(values)
        return super().among(table, column, values)

    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]:
        self.keys |= set(keys)
        return super().find(keys)

    def between(self, first: int, last: int, most: int) -> list[Key]:
        self.places.add((first, last))
        return super().between(first, last, most)

    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[Entry]:
        self.spans.add((key, low, high, limit, newest))
        return super().span(key, low, high, limit, newest)


class Difference(Struct, frozen=True):
    """What is other without those that go."""

    rows: dict[tuple[str, str], Entity | None]
    keys: dict[Key, bool]
    gone_refs: list[Any]
    new_refs: list[Any]
    gone_unreadable: list[str]
    new_unreadable: list[tuple[str, int, str]]


class Apart:
    """The conversations of a wish, and all that hangs together with them, in the order of the log."""

    def __init__(self, store: Near, rules: Rules, prices: Prices, folder: Path) -> None:
        self._store, self._rules, self._prices = store, rules, prices
        self._folder = Path(tempfile.mkdtemp(dir=folder))  # whoever plans again begins with nothing
        self.members = Members(store)
        self._seen: dict[str, tuple[int, Observation]] = {}
        self._count = 0
        self._marks: dict[Key, bool] = {}

    def take_in(self, wanted: Iterable[str]) -> None:
        for id in set(wanted) - self._seen.keys():
            found = self._store.numbered(id)
            if found is None:
                continue
            if not is_plain(found[1]):
                raise Entangled(f"{id} was told by another protocol")
            self._seen[id] = found

    def __contains__(self, id: str) -> bool:
        return id in self._seen

    @property
    def seen(self) -> list[Observation]:
        return [seen for _, seen in sorted(self._seen.values(), key=lambda one: one[0])]

    def difference(self, kept: Kept, log: Log | None = None) -> Difference:
        """Rows and keys of all of it as it is, and of what is kept of it; nothing outside may be touched by either. `log` is what
        the log will be, where it is not only shorter."""
        for _ in range(ROUNDS):
            rest_of_it = [one for seen in self.seen if (one := kept(seen)) is not None]
            whole, rest = self._derived(self.seen, self._store), self._derived(rest_of_it, log or self._store)
            try:
                marks = len(self._marks)
                found = self._outside(whole) | self._outside(rest)
                if not found - self._seen.keys() and marks == len(self._marks):
                    compared = self._compared(whole, rest)
                    if marks == len(self._marks):
                        return compared
                self.take_in(found)
            finally:
                whole.close()
                rest.close()
        raise Entangled("it hangs together with ever more")

    def _derived(self, seen: list[Observation], log: Log) -> Watched:
        self._count += 1
        scratch = Watched(self._folder, f"apart{self._count}")
        scratch.append((), Changes(keys=dict(self._marks)))
        ingest = Ingest(scratch, self._rules, self._prices, log=log)
        for start in range(0, len(seen), BATCH):
            ingest.derive(seen[start : start + BATCH])
        return scratch

    def _mark(self, key: int) -> None:
        """That anything of a kind was seen in a project is one mark for all who saw it, and only spares looking. Among many it is
        taken to be others' as well, and stays; among few the whole log tells."""
        if self._store.count("observations") - len(self._seen) <= SMALL:
            raise Entangled("a mark of the whole project may be its own")
        self._marks[key, 0, ""] = True

    # -- what the real store would have answered besides --------------------------------------------------------------------

    def _outside(self, asked: Watched) -> set[str]:
        refs: set[str] = set()
        for table, id in asked.rows:
            if id and table != "tallies" and Sqlite.load(asked, table, id) is None and self._store.load(table, id) is not None:
                refs.add(id)
        keys = sorted(asked.keys)
        ours, theirs = self._store.find(keys), Sqlite.find(asked, keys)
        for key, entries in ours.items():
            if (0, "") in entries and (0, "") not in theirs.get(key, ()):
                self._mark(key)
        common = {(key, -FOREVER, FOREVER, MOST, False) for key, entries in ours.items() if len(entries) >= NEWEST}
        refs |= {ref for key, entries in ours.items() for _, ref in set(entries) - set(theirs.get(key, ()))}
        for first, last in asked.places:
            more = set(self._store.between(first, last, MOST)) - set(Sqlite.between(asked, first, last, MOST))
            refs |= {ref for _, _, ref in more}
            for key, _, ref in more:
                if not ref:
                    self._mark(key)
        for span in asked.spans | common:
            refs |= {ref for _, ref in set(self._store.span(*span)) - set(Sqlite.span(asked, *span))}
        found = {one for ref in refs - {""} for one in self._told_by(ref)}
        return found | self.members.of(asked.conversations - {""}) if asked.conversations else found

    def _told_by(self, ref: str) -> set[str]:
        if ref.startswith("obs_"):
            seen = self._store.observation(ref)
            return {ref} | self.members.of(self.members.belonging.of(seen)) if seen is not None else set()
        row = self._store.load(TABLE_OF.get(ref.partition("_")[0], "conversations"), ref)
        match row:
            case Call() if not row.conversation:
                return {row.request, row.response} - {""}
            case Call() | Task():
                return self._of(row.conversation)
            case ToolCall():
                above = self._store.load("calls", row.call)
                return self._of(above.conversation) if isinstance(above, Call) else self._given_up(ref)
            case Message():
                return self._told_by(row.observation)
            case None if ref.startswith("conv_"):
                return set()
            case _ if ref.startswith("conv_"):
                return self._of(ref)
            case _:
                return self._given_up(ref)

    def _given_up(self, ref: str) -> set[str]:
        raise Entangled(f"{ref} is of no conversation")

    def _of(self, conversation: str) -> set[str]:
        names = {conversation}
        for call in self._store.among("calls", "conversation", [conversation]):
            if isinstance(call, Call) and call.session:
                names.add(ids.session_conversation_id(call.project, call.session))
        return self.members.of(names)

    # -- what is other -----------------------------------------------------------------------------------------------------------

    def _compared(self, whole: Watched, rest: Watched) -> Difference:
        rows: dict[tuple[str, str], Entity | None] = {}
        for table in TABLES:
            for was, now in side_by_side(whole.docs(table), rest.docs(table)):
                row = was or now
                assert row is not None
                if was != now:
                    rows[table, row.id] = self._replaced(table, row.id, was, now)
        was_refs, now_refs = refs_in(whole), refs_in(rest)
        was_unread, now_unread = set(whole.unreadable(1 << 30)), set(rest.unreadable(1 << 30))
        keys = dict(moved_keys(whole, rest))
        for key, _, ref in keys:
            if not ref:
                self._mark(key)
        lost = sorted(id for id, _, _ in was_unread - now_unread)
        return Difference(rows, keys, sorted(was_refs - now_refs), sorted(now_refs - was_refs), lost, sorted(now_unread - was_unread))

    def _replaced(self, table: str, id: str, was: Entity | None, now: Entity | None) -> Entity | None:
        """Sums of days are others' as well, and can be taken apart; no other row is anybody else's."""
        held = self._store.load(table, id)
        if table == "tallies":
            assert isinstance(held, Tally | None)
            assert isinstance(was, Tally | None)
            assert isinstance(now, Tally | None)
            empty = Tally(id, *tally_names(held or was or now))
            return moved(held or empty, was or empty, now or empty)
        if held != was:
            raise Entangled(f"{id} rests on more than was derived")
        return now


def tally_names(row: Tally | None) -> tuple[str, int, str, str, str]:
    assert row is not None
    return row.project, row.at, row.kind, row.agent, row.name


def refs_in(store: Sqlite) -> set[Any]:
    return set(store.projected("refs", ["value", "kind", "entity", "id"]))
