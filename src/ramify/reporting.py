"""What was reported, in whichever format: each has one function that reads a record and folds what it says."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ramify import connections
from ramify.linking import explicit, judging
from ramify.linking.a2a.fold import attribute_moved
from ramify.linking.mesh import settling, telling
from ramify.linking.operations import fold as operations
from ramify.linking.otel import calls, joining
from ramify.linking.otel import fold as spans
from ramify.linking.sighting import Price
from ramify.linking.world import World
from ramify.model import audit
from ramify.model.event import Unreadable
from ramify.model.mesh_event import MeshMessage
from ramify.model.observation import Record
from ramify.model.operation_event import OperationEvent
from ramify.protocols.adcp import decode as adcp
from ramify.protocols.claude import decode as claude
from ramify.protocols.otel import decode as otel
from ramify.protocols.sam import decode as sam
from ramify.scopes import act_key, who_key

Take = Callable[[World, Record, Price], Sequence[Unreadable]]


def take_claude(world: World, seen: Record, price: Price) -> Sequence[Unreadable]:
    events = world.loader.told(seen.id)
    explicit.tell(world, events, price)
    return [event for event in events if isinstance(event, Unreadable)]


def take_a2a(world: World, seen: Record, price: Price) -> Sequence[Unreadable]:
    return connections.take(world, seen)


def take_events(world: World, seen: Record, price: Price) -> Sequence[Unreadable]:
    event = adcp.decode(seen)
    if isinstance(event, Unreadable):
        return [event]
    for observation in operations.tell(world, event):
        record = world.loader.record(observation)
        again = adcp.decode(record) if record is not None else None
        if isinstance(again, OperationEvent):
            heading = replace(again.heading, session=event.heading.session)
            operations.tell(world, replace(again, heading=heading))
    return []


def take_sam(world: World, seen: Record, price: Price) -> Sequence[Unreadable]:
    event = sam.decode(seen)
    if isinstance(event, Unreadable):
        return [event]
    if event is not None:
        telling.tell(world, event, read_sam)
    return []


def read_sam(seen: Record) -> MeshMessage | None:
    event = sam.decode(seen)
    return event if isinstance(event, MeshMessage) else None


def take_otel(world: World, seen: Record, price: Price) -> Sequence[Unreadable]:
    """What the Claude client exports is reported like its transcripts; where its spans stand is asked with all others."""
    if otel.may_tell(seen) and (told := world.loader.told(seen.id)):
        explicit.tell(world, told, price)
    problems: list[Unreadable] = []
    for event in otel.decode(seen):
        if isinstance(event, Unreadable):
            problems.append(event)
        else:
            world.spanned.append(event)
    return problems


def take_audit(world: World, seen: Record, price: Price) -> Sequence[Unreadable]:
    """Nothing follows from it but where it is found."""
    noted = audit.read_noted(seen)
    if noted is None:
        return [Unreadable(seen.id, seen.at, "no line of the audit")]
    world.add(who_key(noted.who), seen.at, seen.id)
    world.add(act_key(noted.act), seen.at, seen.id)
    return []


TAKES: dict[str, Take] = {
    **dict.fromkeys(claude.FORMATS, take_claude),
    "a2a": take_a2a,
    adcp.FORMAT: take_events,
    sam.FORMAT: take_sam,
    otel.FORMAT: take_otel,
    audit.FORMAT: take_audit,
}


def take(world: World, seen: Record, price: Price) -> Sequence[Unreadable]:
    if seen.format not in TAKES:
        return [Unreadable(seen.id, seen.at, f"not in the format {seen.format!r}")]
    return TAKES[seen.format](world, seen, price)


def settle(world: World, price: Price) -> Sequence[Unreadable]:
    """At the end of a batch: what waited for all of it."""
    settling.settle(world, read_sam, price)
    problems = connections.settle(world)
    joining.note_tasks(world)
    spans.settle(world, price)
    judging.settle(world)
    settling.follow(world)
    calls.follow(world)
    attribute_moved(world)
    return problems
