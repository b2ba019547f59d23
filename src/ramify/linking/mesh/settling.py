"""When a batch is over: every task of which something new was told is folded once, described, and paired with calls."""

from msgspec import structs

from ramify.linking.mesh import circles, names, pairing, toolcalls
from ramify.linking.mesh.deliveries import Entry, Read, message_at
from ramify.linking.mesh.describing import describe
from ramify.linking.mesh.fold import count, fold, is_ordered
from ramify.linking.mesh.state import State, load, save
from ramify.linking.mesh.telling import entries, stirred
from ramify.linking.mesh.writing import Writing
from ramify.linking.sighting import Price
from ramify.linking.world import World
from ramify.model.entity import Call, Task
from ramify.model.mesh_event import MeshMessage, Stir

Told = list[tuple[Entry, MeshMessage]]


def settle(world: World, read: Read, price: Price) -> None:
    again: dict[pairing.Bucket, None] = {}
    told: dict[str, None] = {}
    while True:
        while world.stirred:
            place = next(iter(world.stirred))
            stir = world.stirred.pop(place)
            again |= dict.fromkeys(bring_up(world, *place, stir, read, price))
            told[names.task_id(*place)] = None
        moved = circles.judge(world, told)
        if not moved:
            break
        told.clear()
        for task in moved:
            stirred(world, task.project, names.native_id(task))
    for bucket in sorted(again):
        pairing.pair(world, bucket)


def bring_up(world: World, project: str, native: str, stir: Stir, read: Read, price: Price) -> set[pairing.Bucket]:
    id = names.task_id(project, native)
    state, last = load(world, id)
    fresh = sorted(stir.fresh.items())
    anew = stir.stale or any(entry < last and is_ordered(message) for entry, message in fresh)
    if not anew:
        work = Writing(world, project, native, state, anew=False)
        return write(world, work, fresh, last, price)
    return replay(world, project, native, read, price)


def replay(world: World, project: str, native: str, read: Read, price: Price) -> set[pairing.Bucket]:
    """What was written rests on another order of things."""
    work = Writing(world, project, native, State(), anew=True)
    stored = world.span(entries(project, native))
    told = [(entry, message) for entry in stored if (message := message_at(world, entry, read)) is not None]
    return write(world, work, told, (0, ""), price)


def write(world: World, work: Writing, told: Told, last: Entry, price: Price) -> set[pairing.Bucket]:
    state, earlier = work.state, work.state.calls
    for entry, message in told:
        count(state, message, entry)
        if is_ordered(message):
            fold(work, message, price)
            last = max(last, entry)
    task, again = describe(world, work.project, work.native, state)
    if task is None:
        remember(world, work, told, last)  # what a copy says of a task that nobody else has told of
        return again
    if not earlier:
        state.place = place_of(task)
    work.place(task.conversation, task.line)
    if work.anew:
        toolcalls.forget_beyond(work)
    for before, after in work.finish():
        again |= pairing.offered(world, before, after)
    remember(world, work, told, last)
    return again


def remember(world: World, work: Writing, told: Told, last: Entry) -> None:
    if told or work.anew:
        save(world, work.task, work.state, last)


def follow(world: World) -> None:
    """Calls to a model stand where their task does, which moves with those above it and with a person's word; what came
    of a tool call does, too."""
    pairing.settle(world)
    dirty = list(world.dirty.items())
    tasks = [row for _, row in dirty if isinstance(row, Task) and row.protocol == names.PROTOCOL and row.calls]
    moved = {task.id: task for task in tasks if load(world, task.id)[0].place != place_of(task)}
    fresh = [row for _, row in dirty if isinstance(row, Call) and row.task in moved]
    for task in moved.values():
        stored = [row for row in world.loader.owned("calls", task.id) if isinstance(row, Call)]
        for id in dict.fromkeys(row.id for row in (*stored, *fresh) if row.task == task.id):
            if (row := world.call(id)) is not None:
                world.save("calls", structs.replace(row, conversation=task.conversation, line=task.line))
        state, last = load(world, task.id)
        state.place = place_of(task)
        save(world, task.id, state, last)


def place_of(task: Task) -> str:
    return f"{task.conversation} {task.line}"
