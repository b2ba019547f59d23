"""Which deliveries of a message count: the earliest, and the earliest that has properties. The rest says nothing new."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ramify.linking.world import World, key
from ramify.model.mesh_event import MeshMessage
from ramify.model.observation import Record

Read = Callable[[Record], MeshMessage | None]
Entry = tuple[int, str]


class Change(Struct, frozen=True):
    """What a message is now, and what it was before this delivery."""

    now: MeshMessage
    before: MeshMessage | None = None


def deliver(world: World, message: MeshMessage, read: Read) -> Change | None:
    """None where the delivery changes nothing."""
    place = key("sam-heard", message.project, message.task or message.agent, message.identity)
    own = (message.received, mark_of(message))
    known = list(world.find(place))
    counting = counted([*known, own])
    if own in known or own not in counting:
        return None
    before = together(world, counted(known), read) if known else None
    for entry in known:
        if entry not in counting:
            world.remove(place, *entry)
    world.add(place, *own)
    now = message if counting == [own] else together(world, counting, read, message)
    return Change(now or message, before)


def mark_of(message: MeshMessage) -> str:
    """At one moment, the delivery that tells more goes first."""
    return f"{int(message.properties is None)}{int(message.guessed)} {message.observation}"


def counted(entries: list[Entry]) -> list[Entry]:
    told = [entry for entry in entries if entry[1].startswith("0")]
    return sorted({min(entries), *([min(told)] if told else [])})


def together(world: World, entries: list[Entry], read: Read, at_hand: MeshMessage | None = None) -> MeshMessage | None:
    found = [heard(world, mark.split(" ")[1], read, at_hand) for _, mark in entries]
    first = found[0]
    if first is None or first.properties is not None or len(found) == 1 or found[1] is None:
        return first
    return replace(first, properties=found[1].properties, observation=f"{first.observation} {found[1].observation}")


def heard(world: World, observation: str, read: Read, at_hand: MeshMessage | None = None) -> MeshMessage | None:
    if at_hand is not None and at_hand.observation == observation:
        return at_hand
    seen = world.loader.record(observation)
    return read(seen) if seen is not None else None


def entry_of(message: MeshMessage) -> Entry:
    """Where it stands among the messages of its task: by its time, then by when it was received."""
    return message.at, f"{message.received:016x} {message.observation}"


def message_at(world: World, entry: Entry, read: Read) -> MeshMessage | None:
    _, first, *rest = entry[1].split(" ")
    message = heard(world, first, read)
    told = heard(world, rest[0], read) if rest else None
    if message is None or told is None:
        return message
    return replace(message, properties=told.properties, observation=f"{first} {rest[0]}")


def evidence(message: MeshMessage) -> str:
    return message.observation.split(" ")[0]
