"""Two rows side by side: in order, the longest that both have, and nothing lost."""

from hypothesis import given
from hypothesis import strategies as some

from ramify.query import aligning
from ramify.query.aligning import align, in_common

letters = some.lists(some.sampled_from("abcd"), max_size=12)


def longest(a: list[str], b: list[str]) -> int:
    if not a or not b:
        return 0
    if a[0] == b[0]:
        return 1 + longest(a[1:], b[1:])
    return max(longest(a[1:], b), longest(a, b[1:]))


@given(letters, letters)
def test_what_is_in_common_is_in_order_alike_and_the_longest(a: list[str], b: list[str]) -> None:
    found = in_common(a, b)
    assert all(a[x] == b[y] for x, y in found)
    assert found == sorted(found)
    assert len({x for x, _ in found}) == len({y for _, y in found}) == len(found)
    if len(a) + len(b) <= 14:
        assert len(found) == longest(a, b)


@given(letters, letters)
def test_very_many_are_paired_in_order_too(a: list[str], b: list[str]) -> None:
    found = aligning._by_occurrence(a, b)
    assert all(a[x] == b[y] for x, y in found)
    assert [y for _, y in found] == sorted({y for _, y in found})


@given(letters, letters)
def test_everything_is_there_once_and_no_pair_crosses_another(a: list[str], b: list[str]) -> None:
    pairs = align(a, b, [lambda one: one, lambda one: one in "ab"])
    assert [x for x, _ in pairs if x is not None] == list(range(len(a)))
    assert [y for _, y in pairs if y is not None] == list(range(len(b)))


def test_the_weaker_likeness_pairs_only_what_the_stronger_left() -> None:
    a, b = ["Read x", "Bash 1", "Read y"], ["Read x", "Bash 2", "Edit", "Read y"]
    assert align(a, b, [str, lambda one: one.split()[0]]) == [(0, 0), (1, 1), (None, 2), (2, 3)]


def test_tens_of_thousands_of_the_same_are_paired_at_once() -> None:
    many = ["x"] * 30_000
    assert len(align(many, [*many, "y"], [str])) == 30_001
    turned = [str(number % 50) for number in range(20_000)]
    assert len(align(turned, turned[25:], [str])) >= 20_000
