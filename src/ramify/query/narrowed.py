"""A store of which only some projects can be seen: for whoever reads through it, the others do not exist.

It stands below all questions, so that none of them can forget to ask whose rows they are. What it lacks (writing, facts,
bodies as they are folded) nobody who is restricted may reach; a new way to read fails until it is narrowed here.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec

from ramify.linking.operations.subject import subject_of
from ramify.model.entity import Entity, Sheet
from ramify.model.observation import Observation
from ramify.model.owner import Place, owner_of
from ramify.model.sketch import Sketch
from ramify.storage.base import Ask, Bounds, Entry, Further, Ref, Rows, Sifted, Store, Test, TextIndex, Wish
from ramify.storage.columns import COLUMNS
from ramify.storage.sealing import Sealer
from ramify.storage.totals import counted
from ramify.storage.wording import project_word

PAGE = 1000
REMEMBERED = 20_000  # owners of rows: whose they are never changes
SHORTENED = 50  # times as many ids as are wanted, of which a few may be somebody else's
ORDER = {
    "tasks": "opened", "calls": "started", "conversations": "active", "operations": "updated", "sessions": "active",
    "tallies": "at", "events": "recorded", "tools": "opened",
}  # fmt: skip
OWNERS = {"conversation": "conversations", "task": "tasks", "session": "sessions", "parent": "tasks"}
"""Columns that say whose part a row is: there are few rows of one, and an index of their own leads to them."""
BESIDE = {"message": "messages", "messages": "messages", "notes": "notes", "tools": "tools"}  # of hits: where the row is; else a call


def narrowed(store: Store, projects: frozenset[str]) -> Store:
    return cast(Store, Narrowed(store, projects))


def whose(row: Entity) -> str | Place:
    """What the event log remembers of a task is a part of the session that told of it."""
    if isinstance(row, Sheet) and row.kind == "subject":
        return "sessions", subject_of(row).scope.rpartition(".")[0]
    return owner_of(row)


class Narrowed:
    """`projects` may be several. What is listed is read from each, by its own index, and put together."""

    tells = False
    sealer: Sealer | None = None
    path = url = ""

    def __init__(self, store: Store, projects: frozenset[str]) -> None:
        self._store = store
        self.projects = projects
        self._known: dict[Place, bool] = {}
        self._raw = frozenset(msgspec.msgpack.encode(project) for project in projects)

    # -- whose a row is ------------------------------------------------------------------------------------------------

    def mine(self, rows: Iterable[Entity]) -> list[Entity]:
        """Those that may be seen, in their order."""
        every = list(rows)
        owners = [whose(row) for row in every]
        self._look_up({owner for owner in owners if isinstance(owner, tuple)})
        return [row for row, owner in zip(every, owners, strict=True) if self._is_mine(owner)]

    def _is_mine(self, owner: str | Place) -> bool:
        return owner in self.projects if isinstance(owner, str) else self._known.get(owner, False)

    def _look_up(self, places: set[Place]) -> None:
        """Owners of owners first: a part of an artifact is its task's."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        missing: dict[str, list[str]] = {}
        for table, id in places - self._known.keys():
            missing.setdefault(table, []).append(id)
        for table, ids in missing.items():
            seen = {row.id for row in self.mine(self._store.among(table, "id", sorted(ids)))} if table else set()
            self._known |= {(table, id): True for id in ids if id in seen}  # what is not there may still come

    def fits(self, row: Entity) -> bool:
        return bool(self.mine([row]))

    # -- one thing -----------------------------------------------------------------------------------------------------

    def load(self, table: str, id: str) -> Entity | None:
        row = self._store.load(table, id)
        return row if row is not None and self.fits(row) else None

    def observation(self, id: str) -> Observation | None:
        seen = self._store.observation(id)
        return seen if seen is not None and seen.project in self.projects else None

    def seen(self, ids: Sequence[str]) -> dict[str, Observation]:
        return {id: seen for id, seen in self._store.seen(ids).items() if seen.project in self.projects}

    def observations(self, after: int = 0) -> Iterator[tuple[int, Observation]]:
        return ((seq, seen) for seq, seen in self._store.observations(after) if seen.project in self.projects)

    def missing(self, ids: Sequence[str]) -> set[str]:
        return set(ids) - self._seen(ids)

    def _seen(self, observations: Sequence[str]) -> set[str]:
        return {id for id, project in self._store.projects_of(observations).items() if project in self.projects}

    def seq(self) -> int:
        return self._store.seq()

    # -- lists ---------------------------------------------------------------------------------------------------------

    def page(self, table: str, ask: Ask) -> list[Entity]:
        if "project" not in COLUMNS[table] or is_part(ask.where):
            return self.mine(self._store.page(table, ask))
        pages = [self._store.page(table, mine) for mine in self._asks(ask)]
        return list(merged(pages, ask))[: ask.limit]

    def _asks(self, ask: Ask) -> list[Ask]:
        """One for each project; none for one that may not be seen."""
        wanted = ask.where.get("project")
        names = sorted(self.projects) if wanted is None else [wanted] if wanted in self.projects else []
        return [msgspec.structs.replace(ask, where={**ask.where, "project": name}) for name in names]

    def sift(self, table: str, ask: Ask, tests: Sequence[Test], most: int) -> Sifted:
        """Of several projects the page ends where that of one of them does: further down it is not known what there is."""
        if is_part(ask.where):
            part = self._store.sift(table, ask, tests, most)
            return Sifted(self.mine(part.rows), len(part.rows), part.place)
        asks = self._asks(ask)
        found = [self._store.sift(table, one, tests, max(1, most // len(asks))) for one in asks]
        ends = [one.place for one in found if one.place is not None]
        end = max(ends) if ends else None
        rows = list(merged([one.rows for one in found], ask))
        kept = [row for row in rows if end is None or place_of(row, ask) >= end]
        if len(kept) > ask.limit:
            kept = kept[: ask.limit]
            end = place_of(kept[-1], ask)
        return Sifted(kept, sum(one.looked for one in found), end)

    def among(self, table: str, column: str, values: Sequence[str]) -> list[Entity]:
        return self.mine(self._store.among(table, column, values))

    def gather(self, wishes: Sequence[Wish]) -> list[list[Entity]]:
        return [self.mine(rows) for rows in self._store.gather(wishes)]

    def docs(self, table: str) -> Iterator[Entity]:
        if table not in ORDER:
            yield from (row for row in self._store.docs(table) if self.fits(row))
            return
        ask = Ask(ORDER[table], limit=PAGE)
        while rows := self.page(table, ask):
            yield from rows
            ask = msgspec.structs.replace(ask, behind=place_of(rows[-1], ask))

    def count(self, table: str, where: dict[str, str] | None = None, without: dict[str, str] | None = None) -> int:
        if owners := {(OWNERS[column], id) for column, id in (where or {}).items() if column in OWNERS}:
            self._look_up(owners)
            return self._store.count(table, where, without) if all(map(self._is_mine, owners)) else 0
        return sum(self._store.count(table, one.where, without) for one in self._asks(Ask("", where or {})))

    def totals(self) -> dict[str, int]:
        return counted(cast(Store, self))

    def sketches(self, conversation: str) -> Iterator[Sketch]:
        return (sketch for sketch in self._store.sketches(conversation) if bytes(sketch.project) in self._raw)

    def inside(self) -> list[tuple[str, str]]:
        pairs = self._store.inside()
        mine = self._conversations({id for pair in pairs for id in pair})
        return [pair for pair in pairs if mine.issuperset(pair)]

    def openings(self, conversations: Sequence[str]) -> dict[str, tuple[str, int, int]]:
        return self._store.openings(sorted(self._conversations(set(conversations))))

    def _conversations(self, ids: set[str]) -> set[str]:
        return {row.id for row in self.among("conversations", "id", sorted(ids))}

    # -- ids -----------------------------------------------------------------------------------------------------------

    def refs(self, value: str) -> list[Ref]:
        found = self._store.refs(value)
        self._look_up({(ref.entity, ref.id) for ref in found})
        return [ref for ref in found if self._is_mine((ref.entity, ref.id))]

    def ids_like(self, table: str, prefix: str, limit: int) -> list[str]:
        found = self._store.ids_like(table, prefix, limit * SHORTENED)
        return sorted(row.id for row in self.among(table, "id", found))[:limit]

    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]:
        """Keys are hashes of words of one project, that one included, and lead to ids alone: what those are is asked here."""
        return self._store.find(keys)

    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[Entry]:
        return self._store.span(key, low, high, limit, newest)

    # -- the rest ------------------------------------------------------------------------------------------------------

    @property
    def search(self) -> TextIndex:
        return cast(TextIndex, NarrowedIndex(self._store.search, self))

    def sql(self, query: str, bounds: Bounds, further: Further | None = None, projects: frozenset[str] | None = None) -> Rows:
        return self._store.sql(query, bounds, further, self.projects if projects is None else self.projects & projects)

    def unreadable(self, limit: int) -> list[tuple[str, int, str]]:
        every = self._store.unreadable(PAGE)
        mine = self._seen([observation for observation, _, _ in every])
        return [one for one in every if one[0] in mine][:limit]

    def count_unreadable(self) -> int:
        return len(self.unreadable(PAGE))

    def size(self) -> dict[str, int]:
        """How much room others take is theirs to know."""
        return {"bytes": 0, "raw_bytes": 0}

    def in_use(self) -> int:
        return 0


class NarrowedIndex:
    """Hits in what may be seen. Filling it is not for those who only see a part."""

    def __init__(self, index: TextIndex, within: Narrowed) -> None:
        self._index = index
        self._within = within

    def find(self, text: str, limit: int, before: int | None) -> list[tuple[int, Any]]:
        """Newest first, of each project by the word that marks its texts; what the index says is checked by the rows."""
        found = [hit for project in self._within.projects for hit in self._of(project, text, limit, before)]
        return sorted(found, key=lambda hit: -hit[0])[:limit]

    def _of(self, project: str, text: str, limit: int, before: int | None) -> list[tuple[int, Any]]:
        found: list[tuple[int, Any]] = []
        while True:
            hits = self._index.find(f'"{project_word(project)}" {text}', limit, before)
            found += self._mine(hits)
            if len(hits) < limit or len(found) >= limit:
                return found
            before = hits[-1][0]

    def _mine(self, hits: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
        ids: dict[str, set[str]] = {}
        for _, words in hits:
            ids.setdefault(BESIDE.get(words.side, "calls"), set()).add(words.call)
        seen = {(table, row.id) for table, some in ids.items() for row in self._within.among(table, "id", sorted(some))}
        return [hit for hit in hits if (BESIDE.get(hit[1].side, "calls"), hit[1].call) in seen]

    @property
    def fed(self) -> bool:
        return self._index.fed

    def indexed(self) -> int:
        return self._index.indexed()


def is_part(where: dict[str, str]) -> bool:
    return not OWNERS.keys().isdisjoint(where)


def place_of(row: Entity, ask: Ask) -> tuple[int, str]:
    """As the list is ordered."""
    return getattr(row, ask.order), row.id


def merged(pages: Sequence[list[Entity]], ask: Ask) -> Iterator[Entity]:
    if len(pages) == 1:
        return iter(pages[0])
    key: Callable[[Entity], tuple[int, str]] = lambda row: place_of(row, ask)  # noqa: E731
    return heapq.merge(*pages, key=key, reverse=not ask.ascending)
