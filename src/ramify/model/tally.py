"""Sums over a day, kept beside the rows that they are made of; and how times are counted so that they can be summed.

A time falls into one of eight steps between a power of two and the next, so a quantile is known to about six per cent
whatever the number of times, and two tallies are put together by adding.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ramify.model.usage import NOTHING, Usage

DAY = 24 * 3600 * 1_000_000
STEPS = 3  # bits: eight steps
LAST = 255  # some 24 days, or more


class Tally(Struct, array_like=True):
    """Of what happened on one day in one project to one type of agent: calls of a model, uses of a tool, tasks."""

    id: str
    project: str = ""
    at: int = 0  # the first moment of the day, UTC
    kind: str = ""  # calls, tools, uses (of all tools), tasks, extra (what a client counted and no call explains)
    agent: str = ""
    name: str = ""  # the model, the tool; of tasks: root, sub
    count: int = 0
    usage: Usage = NOTHING
    outcomes: tuple[tuple[str, int], ...] = ()
    steps: bytes = b""  # how long they took: each step that occurs,
    counts: tuple[int, ...] = ()  # and how often
    milliseconds: int = 0

    @property
    def times(self) -> Iterator[tuple[int, int]]:
        return zip(self.steps, self.counts, strict=True)


def moved(held: Tally, was: Tally, now: Tally) -> Tally | None:
    """A sum over many, when some of them were one sum and are now another; None where nothing is left."""
    times, outcomes = dict(held.times), dict(held.outcomes)
    for sign, part in ((-1, was), (1, now)):
        for step, count in part.times:
            times[step] = times.get(step, 0) + sign * count
        for status, count in part.outcomes:
            outcomes[status] = outcomes.get(status, 0) + sign * count
    kept = sorted((step, count) for step, count in times.items() if count)
    left = Tally(
        held.id, held.project, held.at, held.kind, held.agent, held.name, held.count - was.count + now.count,
        held.usage - was.usage + now.usage, tuple(sorted((status, count) for status, count in outcomes.items() if count)),
        bytes(step for step, _ in kept), tuple(count for _, count in kept), held.milliseconds - was.milliseconds + now.milliseconds,
    )  # fmt: skip
    return left if left.count else None


def day_of(at: int) -> int:
    return at - at % DAY


def step_of(milliseconds: int) -> int:
    """Whole numbers only: every machine must come to the same."""
    if milliseconds < 1:
        return 0
    power = milliseconds.bit_length() - 1
    return min((power << STEPS) + ((milliseconds << STEPS >> power) & ((1 << STEPS) - 1)) + 1, LAST)


def middle_of(step: int) -> float:
    """A time of about this length, in milliseconds."""
    if step < 1:
        return 0.0
    power, place = divmod(step - 1, 1 << STEPS)
    size = 2.0 ** (power - STEPS)
    return (1 << STEPS | place) * size + max(size - 1, 0) / 2


def quantile(times: Iterable[tuple[int, int]], share: float) -> float | None:
    """Below which this share of the times lies; None where there is no time at all."""
    ordered = sorted(times)
    wanted = share * sum(count for _, count in ordered)
    passed = 0
    for step, count in ordered:
        passed += count
        if passed >= wanted:
            return middle_of(step)
    return None
