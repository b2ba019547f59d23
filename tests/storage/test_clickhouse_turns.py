"""Writers on one ClickHouse that remember: what others wrote is heard of, also by one whose turn came to nothing."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import clickhouse

if why := clickhouse.missing():
    assert not os.environ.get("CI"), why
    pytest.skip(why, allow_module_level=True)

from ramify.model.entity import Line
from ramify.storage.base import Changes
from ramify.storage.clickhouse import ClickHouse, open_clickhouse
from tests.contracts.engines import database_of

Pair = tuple[ClickHouse, ClickHouse]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    one, other = open_clickhouse(database_of(tmp_path)), open_clickhouse(database_of(tmp_path))
    with one.exclusive():
        one.others()
    yield one, other
    one.close()
    other.close()


def write(store: ClickHouse, name: str) -> None:
    store.append((), Changes(rows={("lines", name): Line(name)}))


def heard(store: ClickHouse) -> set[str] | None:
    """What there is to be doubted; None: everything."""
    with store.exclusive() as changed:
        if not changed:
            return set()
        others = store.others()
        return None if others is None else {id for _, id in others.rows}


def test_what_another_wrote_is_heard_of_once(pair: Pair) -> None:
    one, other = pair
    write(other, "a")
    assert heard(one) == {"a"}
    assert heard(one) == set()


def test_who_heard_of_others_in_a_turn_that_came_to_nothing_has_not_heard(pair: Pair) -> None:
    one, other = pair
    write(other, "a")
    with pytest.raises(ZeroDivisionError), one.exclusive() as changed:
        assert changed
        one.others()
        raise ZeroDivisionError
    assert heard(one) is None


def test_news_wait_for_one_who_decides(pair: Pair) -> None:
    one, other = pair
    write(other, "a")
    write(one, "b")
    found = heard(one)
    assert found is not None
    assert "a" in found
