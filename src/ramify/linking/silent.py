"""Turns of which a stream tells only how they failed: nobody showed their prompt, and no model answered.

They are root tasks as well, as long as nobody else tells of the session: a transcript has its prompts, the wire its calls.
"""

from ramify.linking import rollup, turns
from ramify.linking.world import World, key
from ramify.model.entity import Stated, Task


def judge(world: World, project: str, session: str) -> None:
    place = key("silent", project, session)
    wanted = _failed_turns(world, project, session)
    known = {ref for _, ref in world.span(place)}
    for id in sorted(known - wanted.keys()):
        world.unmark(place, 0, id)
        if (task := world.task(id)) is not None and _is_empty(task):
            rollup.drop(world, task)
    for id, at in sorted(wanted.items()):
        world.mark(place, 0, id)
        task = world.task(id)
        if task is None or (_is_empty(task) and task.opened != at):
            conversation = turns.conversation_of(project, session)
            stated = Stated(at, guessed=True)
            world.save("tasks", Task(id, project, conversation, conversation, "root", opened=at, session=session, stated=stated))
            world.retold[id] = None


def _is_empty(task: Task) -> bool:
    return not task.calls and task.stated is not None and task.stated.guessed


def _failed_turns(world: World, project: str, session: str) -> dict[str, int]:
    """The root task of each, and when it ended."""
    found: dict[str, int] = {}
    for at, ref in world.span(turns.ends_key(project, session)):
        kind, status, _ = ref.split(" ", 2)
        if kind != "turn" or status == "completed":
            continue
        began = turns.boundary(world, project, session, at)
        if not _is_told(world, project, session, began, at):
            found.setdefault(turns.guessed_root(project, session, began), at)
    return {} if found and _others_tell(world, project, session) else found


def _is_told(world: World, project: str, session: str, began: int, at: int) -> bool:
    """By its prompt, or by an answer."""
    if world.span(turns.turns_key(turns.TIME, project, session), began, at, 1):
        return True
    return any(world.call(ref) for _, ref in world.span(turns.main_key(turns.TIME, project, session), began, at))


def _others_tell(world: World, project: str, session: str) -> bool:
    if world.span(turns.turns_key(turns.FILE, project, session), limit=1):
        return True
    return any(call.relation != "seen" for call in world.members(turns.conversation_of(project, session)))
