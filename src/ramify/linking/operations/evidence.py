"""What is claimed about one task, by whom, and which claim stands: the same whatever way the sources ran together.

An agent that was asked knows best (its latest word counts), then what it pushed (the first end counts), then what its
answer said. Open states rank; a lower one never replaces a higher one.
"""

from collections.abc import Iterable

from msgspec import Struct, field

from ramify.model.operation_event import ENDED, RANKS

KINDS = ("answer", "push", "snapshot")
"""From the weakest to the strongest."""


class Claim(Struct, frozen=True, array_like=True):
    status: str
    native: str
    seq: int
    at: int
    event: str = ""


class Evidence(Struct, array_like=True):
    open: Claim | None = None
    answer: Claim | None = None
    push: Claim | None = None
    snapshot: Claim | None = None
    gone: Claim | None = None  # the agent does not know it any more
    first: dict[str, int] = field(default_factory=dict)  # when each end was seen first


NONE = Evidence()


def add(known: Evidence, kind: str, claim: Claim) -> Evidence:
    if RANKS[claim.status] == ENDED:
        other = Evidence(first={claim.status: claim.at})
        setattr(other, kind, claim)
    else:
        other = Evidence(claim)
    return joined((known, other))


def joined(parts: Iterable[Evidence]) -> Evidence:
    """Of several, as if all had been claimed about one task."""
    found = [part for part in parts if part is not NONE]
    if len(found) == 1:
        return found[0]
    whole = Evidence()
    for part in found:
        whole.open = higher(whole.open, part.open)
        whole.answer = earlier(whole.answer, part.answer)
        whole.push = earlier(whole.push, part.push)
        whole.snapshot = later(whole.snapshot, part.snapshot)
        whole.gone = later(whole.gone, part.gone)
        for status, at in part.first.items():
            whole.first[status] = min(at, whole.first.get(status, at))
    return whole


def higher(one: Claim | None, other: Claim | None) -> Claim | None:
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda claim: (RANKS[claim.status], claim.seq))


def earlier(one: Claim | None, other: Claim | None) -> Claim | None:
    return min((claim for claim in (one, other) if claim is not None), key=lambda claim: claim.seq, default=None)


def later(one: Claim | None, other: Claim | None) -> Claim | None:
    return max((claim for claim in (one, other) if claim is not None), key=lambda claim: claim.seq, default=None)


def standing(known: Evidence) -> Claim | None:
    ended = known.snapshot or known.push or known.answer
    if ended is not None:
        return ended
    if known.gone is not None and (known.open is None or known.open.seq < known.gone.seq):
        return known.gone
    return known.open


def ends(known: Evidence) -> list[Claim]:
    return [claim for claim in (known.snapshot, known.push, known.answer) if claim is not None]


def closed(known: Evidence) -> int:
    """When the state that stands was seen first."""
    claim = standing(known)
    return known.first.get(claim.status, 0) if claim is not None and RANKS[claim.status] == ENDED else 0
