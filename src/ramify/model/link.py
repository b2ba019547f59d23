"""Links: child to parent, with the kind, the rule that found it, how certain it is and what it rests on."""

from msgspec import Struct


class Candidate(Struct, frozen=True, array_like=True):
    """A parent that lost, and why."""

    parent: str
    rule: str
    certainty: float
    rejected_because: str


class Link(Struct, frozen=True, array_like=True):
    """`certainty` 1.0 is stated by the protocol or by a person; below is inferred."""

    kind: str  # spawned, continued, forked, compacted, resumed, grouped
    parent: str
    rule: str
    certainty: float
    via: str = ""  # the tool call as its protocol writes it
    via_id: str = ""
    evidence: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
