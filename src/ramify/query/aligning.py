"""Two rows of things side by side: the longest row that both have, in order, by ever weaker likeness."""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

SMALL = 250_000  # cells of a table that is filled whole
Thing = TypeVar("Thing")
Likeness = Callable[[Thing], Hashable]
Pair = tuple[int | None, int | None]


def align(a: Sequence[Thing], b: Sequence[Thing], likenesses: Sequence[Likeness[Thing]]) -> list[Pair]:
    """Places in the one and in the other; None where the other has nothing like it. What is alike by the first likeness
    is paired first, then what lies between by the next."""
    if not likenesses or not a or not b:
        return [*((at, None) for at in range(len(a))), *((None, at) for at in range(len(b)))]
    alike, *weaker = likenesses
    common = in_common([alike(one) for one in a], [alike(one) for one in b])
    pairs: list[Pair] = []
    left = right = 0
    for one, other in [*common, (len(a), len(b))]:
        between = align(a[left:one], b[right:other], weaker)
        pairs += [(x if x is None else x + left, y if y is None else y + right) for x, y in between]
        if one < len(a):
            pairs.append((one, other))
        left, right = one + 1, other + 1
    return pairs


def in_common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """What begins and ends alike is set aside first: most of two runs of the same thing."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    inner = _between(a[start : len(a) - end], b[start : len(b) - end])
    return [
        *((at, at) for at in range(start)),
        *((x + start, y + start) for x, y in inner),
        *((len(a) - at, len(b) - at) for at in range(end, 0, -1)),
    ]


def _between(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    return _longest(a, b) if len(a) * len(b) <= SMALL else _by_occurrence(a, b)


def _longest(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        row, below = lengths[i], lengths[i + 1]
        for j in range(len(b) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if a[i] == b[j] else max(below[j], row[j + 1])
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def _by_occurrence(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Of very many: the first of a kind goes with the first, the second with the second, and of these pairs the longest
    row is taken that goes forward in both. Not always the longest there is, but n log n."""
    places: dict[Hashable, list[int]] = {}
    for at, one in enumerate(b):
        places.setdefault(one, []).append(at)
    used: dict[Hashable, int] = {}
    pairs: list[tuple[int, int]] = []
    for at, one in enumerate(a):
        nth = used.get(one, 0)
        if nth < len(places.get(one, ())):
            pairs.append((at, places[one][nth]))
            used[one] = nth + 1
    return _rising(pairs)


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part in which the second places rise."""
    tops: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for at, (_, place) in enumerate(pairs):
        length = bisect_left(tops, place)
        before.append(last[length - 1] if length else -1)
        if length == len(tops):
            tops.append(place)
            last.append(at)
        else:
            tops[length], last[length] = place, at
    found: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]
