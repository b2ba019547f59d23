"""What a message says, at once: whose it is, what it notes, whom it names. Folds follow when the batch is over."""

from collections.abc import Iterator

from msgspec import Struct

from ramify.linking.mesh import cancels, names, rows
from ramify.linking.mesh.deliveries import Change, Read, deliver, entry_of, evidence
from ramify.linking.world import World, key
from ramify.model.entity import Agent
from ramify.model.mesh_event import MeshMessage, Noted, Stir, ToolReturned

WORKFLOW_NODE, RESULT, COPY = 1, 2, 3
RANK = 52  # bits of a moment, below those of the rank
LATEST = (1 << RANK) - 1
RULES = {WORKFLOW_NODE: ("workflow-node", 1.0), RESULT: ("result-task-id", 1.0), COPY: ("forwarded-copy", 0.95)}
WAITING = ("input-required", "auth-required")


class Mark(Struct, frozen=True):
    """A key that a message leaves about another task."""

    task: str  # the mesh's own id
    key: int
    at: int
    ref: str


def tell(world: World, message: MeshMessage, read: Read) -> None:
    change = deliver(world, message, read)
    if change is None:
        return
    match message.kind:
        case "card":
            seen_agent(world, change.now)
        case "feedback":
            rows.judged(world, change.now)
        case "cancel":
            cancels.asked(world, change)
        case _:
            tell_task(world, change)


def tell_task(world: World, change: Change) -> None:
    if change.before is not None:
        unmark(world, change.before)
    for mark in marks(change.now):
        world.mark(mark.key, mark.at, mark.ref)
        stirred(world, change.now.project, mark.task)
    if is_own(change.now):
        rows.say(world, change.now)
        stir = stirred(world, change.now.project, change.now.task)
        place = entries(change.now.project, change.now.task)
        if change.before is not None:
            stir.stale = True
            stir.fresh.pop(entry_of(change.before), None)
            world.unmark(place, *entry_of(change.before))
        stir.fresh[entry_of(change.now)] = change.now
        world.mark(place, *entry_of(change.now))


def is_own(message: MeshMessage) -> bool:
    """A copy tells nothing of the task that passes it on, unless it waits for what its peer waits for."""
    return message.kind != "copy" or message.state in WAITING


def entries(project: str, task: str) -> int:
    return entries_of(names.task_id(project, task))


def entries_of(task: str) -> int:
    """Under which key the messages of a task stand, by our id of it."""
    return key("sam-entries", task)


def stirred(world: World, project: str, task: str) -> Stir:
    return world.stirred.setdefault((project, task), Stir())


# -- whom it names -----------------------------------------------------------------------------------------------------


def claims(project: str, task: str) -> int:
    return key("sam-claims", names.task_id(project, task))


def mentions(project: str, task: str) -> int:
    return key("sam-mentions", names.task_id(project, task))


def unmark(world: World, message: MeshMessage) -> None:
    for mark in marks(message):
        world.unmark(mark.key, mark.at, mark.ref)
        stirred(world, message.project, mark.task)


def marks(message: MeshMessage) -> Iterator[Mark]:
    project, seen = message.project, evidence(message)
    if message.parent:
        yield Mark(message.parent, mentions(project, message.parent), message.at, f"{seen} {message.context}")
    for rank, child in named_children(message):
        at = min(max(message.at, 0), LATEST)  # whatever a clock says, it is not taken for a rank
        yield Mark(child, claims(project, child), rank << RANK | at, f"{message.task} {seen}")


def named_children(message: MeshMessage) -> Iterator[tuple[int, str]]:
    if message.kind == "copy" and message.details["original"]:
        yield COPY, message.details["original"]
    for part in message.parts:
        match part:
            case Noted(child=child) if child and message.kind != "request":
                yield WORKFLOW_NODE, child
            case ToolReturned(child=child) if child:
                yield RESULT, child
            case _:
                pass


# -- agents ------------------------------------------------------------------------------------------------------------


def seen_agent(world: World, message: MeshMessage) -> None:
    """The newest card of each name."""
    id = names.agent_id(message.project, message.agent)
    known = world.get("agents", id)
    details = {**message.details, "at": message.received}
    if isinstance(known, Agent) and newness(known.details) >= newness(details):
        return
    world.save("agents", Agent(id, message.project, names.PROTOCOL, message.agent, message.details.get("url", ""), details))


def newness(details: dict[str, object]) -> tuple[object, str]:
    return details["at"], repr(sorted((name, value) for name, value in details.items() if name != "at"))
