"""Further attempts: the same request once more, after the earlier one ended."""

from ramify.linking import rollup
from ramify.linking.conversation import (
    FAILED,
    before,
    earlier_alike,
    first_attempt,
    later_alike,
    repeats_words,
    same_scope,
)
from ramify.linking.place import continuing, follow
from ramify.linking.reading import wake_followers
from ramify.linking.world import NEWEST, World, children_of, key
from ramify.model.entity import Call


def earlier_attempt(world: World, call: Call) -> str:
    """An equal request after the earlier one ended is a further attempt of it."""
    same = [
        other
        for other in earlier_alike(world, call, NEWEST)
        if other.id != call.id
        and repeats_words(other, call)
        and other.agent == call.agent
        and other.utility == call.utility
        and before(other, call)
        and 0 < other.ended <= call.started
        and same_scope(other, call)
        and (other.session, other.parent_session) == (call.session, call.parent_session)
        and other.relation not in ("opening", "helper")
        and _same_parent(world, other, call)
    ]
    if call.relation == "root":
        same = [other for other in same if other.status in FAILED or (call.session and other.session == call.session)]
    return first_attempt(same[-1]) if same else ""


def _same_parent(world: World, one: Call, other: Call) -> bool:
    """The same words behind another call are another line's."""
    if one.parent == other.parent:
        return True
    above, beside = world.call(one.parent), world.call(other.parent)
    return above is not None and beside is not None and first_attempt(above) == first_attempt(beside)


def set_attempt(world: World, call: Call, first: str) -> None:
    if call.attempt_of == first:
        return
    if call.attempt_of:
        world.remove(key("attempt", call.attempt_of), call.started, call.id)
    if first:
        world.add(key("attempt", first), call.started, call.id)
    groups = {first_attempt(call), first or call.id}
    call.attempt_of = first
    world.save("calls", call)
    world.unplaced[call.id] = None
    for group in sorted(groups):
        rollup.recount(world, group)
        place_again(world, group)
    for other in world.calls_at(children_of(call)):
        world.agenda[other.id] = None  # an equal request may have the same parent now
        wake_equal(world, other)
    wake_followers(world, call)
    parent = world.call(call.parent)
    if parent is not None:
        place_again(world, first_attempt(parent))
    follow(world, call)


def place_again(world: World, group: str) -> None:
    """Which of the calls that go on from one call came first decides who stays on its line."""
    for _, ref in continuing(world, group):
        world.unplaced[ref] = None


def wake_equal(world: World, call: Call) -> None:
    for other in later_alike(world, call):
        if before(call, other):
            world.agenda[other.id] = None
