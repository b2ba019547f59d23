"""Requests to cancel: events of the task that they mean, and never tasks.

On a time-out the mesh cuts the beginning off the id that it names, so an id that nobody knows may be the end of one.
"""

from ramify.linking.mesh import names, rows
from ramify.linking.mesh.deliveries import Change
from ramify.linking.world import World, key
from ramify.model.entity import Note, Task

LONG = 8  # letters of an end that few ids share


def asked(world: World, change: Change) -> None:
    message = change.now
    note = rows.bare(message, "cancel_request", 0)
    note.details = {"target": message.task, "agent": message.agent}
    world.mark(waiting(message.project, message.task[-LONG:]), 0, note.id)
    note.task = target(world, message.project, message.task, message.agent)
    world.save("notes", note)


def known(world: World, task: Task, native: str) -> None:
    """A task that was not there before, or whose agent was not known."""
    for end in ends(native):
        world.mark(key("sam-ends", task.project, end), 0, task.id)
        for _, id in world.span(waiting(task.project, end)):
            note = world.get("notes", id)
            if isinstance(note, Note) and native.endswith(note.details["target"]):
                meant = target(world, task.project, note.details["target"], note.details["agent"])
                if meant != note.task:
                    world.save("notes", rows.moved(note, meant))


def target(world: World, project: str, native: str, agent: str) -> str:
    """Empty: nobody knows whom it means."""
    exact = names.task_id(project, native)
    if world.task(exact) is not None:
        return exact
    found = [world.task(id) for _, id in world.span(key("sam-ends", project, native[-LONG:]))]
    fitting = [task.id for task in found if task is not None and task.agent == agent and names.native_id(task).endswith(native)]
    return fitting[0] if len(fitting) == 1 else ""


def waiting(project: str, end: str) -> int:
    return key("sam-cancels", project, end)


def ends(native: str) -> list[str]:
    """Under which a request may be looked for: whatever was cut off, as long as this much is left; less where it was cut
    between two words."""
    short = (native[-length:] for length in range(1, min(LONG, len(native))) if native[-length - 1] in "_-/:")
    return [native[-LONG:], *short]
