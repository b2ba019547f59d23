"""Keys: what is remembered of them answers as the store would, in whatever order things were added, removed and asked."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as some

from ramify.linking.keys import CROWD, NEWEST, Entry, Keys, key


class Shelf:
    """A store of keys that counts the questions."""

    def __init__(self) -> None:
        self.rows: set[tuple[int, int, str]] = set()
        self.asked = 0

    def between(self, first: int, last: int, most: int) -> list[tuple[int, int, str]]:
        self.asked += 1
        return sorted(row for row in self.rows if first <= row[0] <= last)[:most]

    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]:
        self.asked += 1
        return {one: self.span(one, 0, 1 << 62, NEWEST, True) for one in keys}

    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[Entry]:
        self.asked += 1
        found = sorted((at, ref) for one, at, ref in self.rows if one == key and low <= at <= high)
        return found[-limit:] if newest else found[:limit]

    def keep(self, keys: Keys) -> None:
        for row, there in keys.added.items():
            (self.rows.add if there else self.rows.discard)(row)
        keys.begin()


A, B = key("kids", "a"), key("stands", "a")
MOMENTS = some.integers(0, NEWEST + 6)
STEPS = some.lists(some.tuples(some.sampled_from(["mark", "unmark", "find", "store", "span", "many"]), some.sampled_from([A, B]), MOMENTS), max_size=30)


@given(STEPS)
def test_a_stretch_is_the_same_from_memory_and_from_the_store(steps: list[tuple[str, int, int]]) -> None:
    shelf = Shelf()
    keys, truth = Keys(shelf), set[tuple[int, int, str]]()
    for step, one, at in steps:
        match step:
            case "mark":
                keys.mark(one, at, "x")
                truth.add((one, at, "x"))
            case "many":
                for each in range(at):
                    keys.mark(one, each, "x")
                    truth.add((one, each, "x"))
            case "unmark":
                keys.unmark(one, at, "x")
                truth.discard((one, at, "x"))
            case "find":
                keys.find(one)
            case "store":
                shelf.keep(keys)
            case _:
                pass
        expected = sorted((moment, ref) for each, moment, ref in truth if each == one)
        assert keys.span(one) == expected
        assert keys.span(one, 3, 9) == [entry for entry in expected if 3 <= entry[0] <= 9]
        assert keys.span(one, limit=2, newest=True) == expected[-2:]


def test_what_is_remembered_whole_is_not_asked_for_again() -> None:
    shelf = Shelf()
    keys = Keys(shelf)
    keys.mark(A, 1, "x")
    keys.find(A)
    asked = shelf.asked
    assert keys.span(A) == [(1, "x")]
    assert keys.span(B) == []
    assert shelf.asked == asked


def test_of_very_many_the_store_knows_all() -> None:
    shelf = Shelf()
    shelf.rows = {(A, at, "x") for at in range(CROWD + 5)}
    keys = Keys(shelf)
    assert len(keys.find(A)) == NEWEST
    keys.unmark(A, CROWD, "x")
    assert len(keys.span(A)) == CROWD + 4
