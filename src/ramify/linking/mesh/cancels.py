"""Requests to cancel: events of the task that they mean, and never tasks.

On a time-out the mesh cuts the beginning off the id that it names, so an id that nobody knows may be the end of one.
"""

from collections.abc import Iterator

from ramify.linking.mesh import names, rows
from ramify.linking.mesh.deliveries import Change
from ramify.linking.world import World, key
from ramify.model.entity import Note, Task

MOST_TAILS = 12


def asked(world: World, change: Change) -> None:
    message = change.now
    note = rows.bare(message, "cancel_request", 0)
    note.details = {"target": message.task, "agent": message.agent}
    world.mark(waiting(message.project, message.task), 0, note.id)
    note.task = target(world, message.project, message.task, message.agent)
    world.save("notes", note)


def known(world: World, task: Task, native: str) -> None:
    """A task that was not there before, or whose agent was not known."""
    for tail in tails(native):
        world.mark(key("sam-tails", task.project, tail), 0, task.id)
    for name in (native, *tails(native)):
        for _, id in world.span(waiting(task.project, name)):
            note = world.get("notes", id)
            if isinstance(note, Note):
                meant = target(world, task.project, name, note.details["agent"])
                if meant != note.task:
                    world.save("notes", rows.moved(note, meant))


def target(world: World, project: str, native: str, agent: str) -> str:
    """Empty: nobody knows whom it means."""
    exact = names.task_id(project, native)
    if world.task(exact) is not None:
        return exact
    found = [world.task(id) for _, id in world.span(key("sam-tails", project, native))]
    fitting = [task.id for task in found if task is not None and task.agent == agent]
    return fitting[0] if len(fitting) == 1 else ""


def waiting(project: str, native: str) -> int:
    return key("sam-cancels", project, native)


def tails(native: str) -> Iterator[str]:
    """The ends of an id, from every place where a prefix may have been cut off."""
    cuts = [at + 1 for at, letter in enumerate(native) if letter in "_-/:"]
    yield from (native[at:] for at in cuts[-MOST_TAILS:] if at < len(native))
