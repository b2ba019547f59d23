"""Answers whose stream was cut on its way past us, and of which a report has more: the call of the wire learns the rest."""

from msgspec import structs

from ramify.linking import loops, rollup
from ramify.linking.conversation import first_attempt
from ramify.linking.cut import cut_short, own_uses
from ramify.linking.reading import wake_followers
from ramify.linking.world import World, children_of, key
from ramify.model.entity import Call
from ramify.model.event import ModelAnswered, Part
from ramify.model.usage import Usage

TELEMETRY = "otel"


def lend(world: World, seen: Call, wire: Call) -> None:
    """Asked again whenever the report or the call of the wire has become another."""
    own = cut_short(world, wire)
    if own is None:
        return
    had, usage, failed, tools = _told(wire), rollup.counted(wire), wire.status, len(wire.uses)
    known = own_uses(own, seen)
    rest = [(native, sign) for native, sign in zip(seen.uses, seen.signs, strict=True) if native not in known]
    wire.uses = (*(native for native in wire.uses if native in known), *(native for native, _ in rest))
    wire.signs = (*wire.signs[: len(wire.uses) - len(rest)], *(sign for _, sign in rest))
    more = set(seen.sources) != {TELEMETRY} and (bool(rest) or seen.complete or _words_of(world, seen) > _length(own.part))
    if weight(seen.complete, seen.usage) > weight(False, wire.usage):
        wire.usage = structs.replace(seen.usage, calls=wire.usage.calls)
    if more and seen.status == "ok":  # it was cut on our side: the client had the rest
        wire.status, wire.error, wire.stop_reason = "ok", "", seen.stop_reason or wire.stop_reason
        wire.usage = structs.replace(wire.usage, calls=1)
    wire.lent = seen.lent = more
    if _told(wire) == had:
        return
    for other in world.calls_at(children_of(wire)):
        world.agenda[other.id] = None  # what follows in its request is the answer
    world.save("calls", wire)
    world.save("calls", seen)
    for native, _ in rest:
        world.add(key("issued", wire.project, wire.session, native), wire.started, wire.id)
        for waiting in world.calls_at(key("waits-tool", wire.project, wire.session, native)):
            world.agenda[waiting.id] = None
    rollup.change(world, wire, usage, tools)
    if wire.signs != had[1]:
        loops.doubt(world, wire.task)
    if wire.status != failed:
        rollup.recount(world, first_attempt(wire))
        wake_followers(world, wire)
        if wire.relation in ("opening", "agent"):
            world.openings[wire.id] = None


def _words_of(world: World, seen: Call) -> int:
    """How much of its words each source has, at most."""
    found: dict[str, int] = {}
    for _, teller in world.span(key("tellers", seen.id)):
        for event in world.loader.told(teller):
            if isinstance(event, ModelAnswered) and event.message == seen.message:
                found[event.source] = found.get(event.source, 0) + _length(event.part)
    return max(found.values(), default=0)


def _length(part: Part | None) -> int:
    return sum(len(text.raw) for text in part.texts) if part else 0


def weight(final: bool, usage: Usage) -> tuple[bool, int, int, int, int, int]:
    return final, usage.output, usage.input, usage.cache_read, usage.cache_write, usage.cost_nano


def _told(call: Call) -> tuple[object, ...]:
    return call.uses, call.signs, call.usage, call.status, call.stop_reason, call.lent
