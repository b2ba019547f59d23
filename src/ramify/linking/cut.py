"""Answers of which the wire has only the beginning, because whoever recorded them went away, or the client did."""

from ramify.linking.conversation import FAILED
from ramify.linking.world import World
from ramify.model.entity import Call
from ramify.model.event import ModelAnswered


def cut_short(world: World, wire: Call) -> ModelAnswered | None:
    """What the wire has of an answer that it has not all of."""
    if not wire.message or not wire.response or (wire.status not in FAILED and not wire.lent):
        return None
    own = world.loader.answered(wire.response)
    return own if own is not None and own.status in FAILED else None


def own_uses(own: ModelAnswered, seen: Call) -> set[str]:
    """The tool calls that it has whole: the last may have been cut in the middle of its input."""
    uses = own.part.uses if own.part else ()
    told = dict(zip(seen.uses, seen.signs, strict=True))
    return {use.id for use in uses if use is not uses[-1] or told.get(use.id, use.sign) == use.sign}


def is_lent(world: World, wire: Call, native: str) -> bool:
    """Whether only a report has this tool call."""
    own, seen = cut_short(world, wire), world.call(wire.twin)
    return own is not None and seen is not None and native in seen.uses and native not in own_uses(own, seen)
