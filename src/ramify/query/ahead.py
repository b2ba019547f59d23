"""What one question needs of a store, asked for together and only once: where the store is a server, every look is a journey."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from ramify.model.entity import Entity
from ramify.model.observation import Observation
from ramify.storage.base import Store, Wish
from ramify.storage.columns import value_of


def ahead(store: Store, *wishes: Wish) -> Store:
    """The same store, which has fetched these and remembers what else it is asked."""
    made = Ahead(store)
    made.fetch(wishes)
    return cast(Store, made)


class Ahead:
    """For the time of one question: rows that change meanwhile stay as they were. Whatever was found is found by its id, too."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[tuple[str, str], dict[str, list[Entity]]] = {}
        self._seen: dict[str, Observation] = {}

    def fetch(self, wishes: Sequence[Wish]) -> None:
        some = [wish for wish in wishes if wish.values]
        for wish, rows in zip(some, self._store.gather(some), strict=True):
            self._hold(wish, rows)

    def expect(self, observations: Iterable[str]) -> None:
        """These will be read next, and those that were expected before no more: they may be large."""
        wanted = list(dict.fromkeys(filter(None, observations)))
        held = {id: seen for id in wanted if (seen := self._seen.get(id)) is not None}
        self._seen = held | self._store.seen([id for id in wanted if id not in held])

    def _hold(self, wish: Wish, rows: Sequence[Entity]) -> None:
        held = self._held.setdefault((wish.table, wish.column), {})
        by_id = self._held.setdefault((wish.table, "id"), {})
        held.update({value: [] for value in wish.values})
        for row in rows:
            held[value_of(wish.table, wish.column, row)].append(row)
            by_id[row.id] = [row]

    def among(self, table: str, column: str, values: Sequence[str]) -> list[Entity]:
        held = self._held.get((table, column), {})
        if lacking := [value for value in values if value not in held]:
            self._hold(Wish(table, column, lacking), self._store.among(table, column, lacking))
        held = self._held.get((table, column), {})
        found = {row.id: row for value in values for row in held[value]}
        return sorted(found.values(), key=lambda row: row.id)

    def gather(self, wishes: Sequence[Wish]) -> list[list[Entity]]:
        lacking = [Wish(wish.table, wish.column, [value for value in wish.values if value not in self._held.get((wish.table, wish.column), {})]) for wish in wishes]
        self.fetch(lacking)
        return [self.among(wish.table, wish.column, wish.values) for wish in wishes]

    def load(self, table: str, id: str) -> Entity | None:
        return next(iter(self.among(table, "id", [id])), None) if id else None

    def observation(self, id: str) -> Observation | None:
        return self._seen.get(id) or self._store.observation(id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
