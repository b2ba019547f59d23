"""Rows that a question is going to need, asked for together: where the store is a server, every look is a journey."""

from collections.abc import Sequence
from typing import Any, cast

from ramify.model.entity import Entity
from ramify.storage.base import Store, Wish
from ramify.storage.columns import value_of


def ahead(store: Store, *wishes: Wish) -> Store:
    """The same store, which has fetched these. What else is asked of it, it asks then."""
    return cast(Store, Ahead(store, [wish for wish in wishes if wish.values]))


class Ahead:
    """All that was gathered is found by its ids, too."""

    def __init__(self, store: Store, wishes: Sequence[Wish]) -> None:
        self._store = store
        self._held: dict[tuple[str, str], dict[str, list[Entity]]] = {}
        for wish, rows in zip(wishes, store.gather(wishes), strict=True):
            self._hold(wish, rows)

    def _hold(self, wish: Wish, rows: Sequence[Entity]) -> None:
        held = self._held.setdefault((wish.table, wish.column), {})
        held.update({value: [] for value in wish.values})
        by_id = self._held.setdefault((wish.table, "id"), {})
        for row in rows:
            held[value_of(wish.table, wish.column, row)].append(row)
            by_id[row.id] = [row]

    def among(self, table: str, column: str, values: Sequence[str]) -> list[Entity]:
        held = self._held.get((table, column), {})
        found = {row.id: row for value in values for row in held.get(value, ())}
        if lacking := [value for value in values if value not in held]:
            found |= {row.id: row for row in self._store.among(table, column, lacking)}
        return sorted(found.values(), key=lambda row: row.id)

    def load(self, table: str, id: str) -> Entity | None:
        held = self._held.get((table, "id"), {}).get(id)
        return self._store.load(table, id) if held is None else next(iter(held), None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

