"""Nothing links across projects, whatever is the same in both: each has what it would have in a store of its own."""

import random
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.model.entity import TABLES, Entity
from ramify.model.observation import Observation
from ramify.model.owner import owner_of
from ramify.query.narrowed import Narrowed
from ramify.storage.base import Store
from tests.contracts.engines import difference
from tests.two_projects import ALPHA, BRAVO, CASES, log_of, told

KINDS = ("anthropic", "claude", "a2a", "sam", "events")
FEW = ("anthropic/subtask-three-parallel", "anthropic/compact-2.0", "claude/nested", "a2a/v1-depth2-fanout2", "sam/parallel", "events/collision")
FOLDS = "sheets"  # what a fold remembers is nobody's to see


def rows(store: Store) -> dict[str, list[str]]:
    return {table: sorted(repr(row) for row in store.docs(table)) for table in TABLES if table != FOLDS}


def seen(store: Store, project: str) -> Store:
    return Narrowed(store, frozenset({project}))  # type: ignore[return-value]


def every_case(project: str) -> tuple[Observation, ...]:
    return log_of(project, tuple(f"{kind}/{folder.name}" for kind in KINDS for folder in sorted((CASES / kind).iterdir()) if folder.is_dir()))


@cache
def both() -> Store:
    return told(every_case(ALPHA), every_case(BRAVO))


def test_each_project_has_the_rows_of_a_store_of_its_own() -> None:
    for project in (ALPHA, BRAVO):
        assert difference(rows(seen(both(), project)), rows(told(every_case(project)))) == []


def test_every_row_is_somebodys() -> None:
    alpha, bravo = Narrowed(both(), frozenset({ALPHA})), Narrowed(both(), frozenset({BRAVO}))
    for table in set(TABLES) - {FOLDS}:
        every = list(both().docs(table))
        assert len(alpha.mine(every)) + len(bravo.mine(every)) == len(every), table
        assert all(told_apart(row) for row in every), table


def told_apart(row: Entity) -> bool:
    owner = owner_of(row)
    return owner in (ALPHA, BRAVO) if isinstance(owner, str) else all(owner)


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from([1, 3, 20]))
def test_so_it_is_in_any_order(seed: int, size: int) -> None:
    """Both in one order: what comes late to one comes late to the other, between the other's words."""
    order = list(range(len(log_of(ALPHA, FEW))))
    random.Random(seed).shuffle(order)
    alpha, bravo = ([log_of(project, FEW)[at] for at in order] for project in (ALPHA, BRAVO))
    assert difference(rows(seen(told(alpha, bravo, size=size), ALPHA)), rows(told(alpha, size=size))) == []
