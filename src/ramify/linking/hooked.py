"""What hooks tell of a session of which nobody else tells: its prompts, its last words, and whose its tool calls are.

A stream, a transcript or the wire shows the same under ids of its own, and more of it. Where one of them tells of the main line, or of any
call, what hooks say of it is kept and shows nothing.
"""

from ramify.linking import turns
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Message, Task, ToolCall

SOURCE = "hook"
PROMPT = "prompt:"  # before the id of a prompt
MAIN = "-"  # in place of an agent: the main line called


def is_alone(world: World, project: str, session: str) -> bool:
    """As it was judged last."""
    return bool(world.span(_alone_key(project, session), limit=1))


def hear(world: World, was: Message, row: Message) -> None:
    """A message that a hook tells of: shown at once where hooks are known to be alone, else when that turns out."""
    unhear(world, was)
    world.mark(_here_key(row.project, row.session), 0, "here")
    world.mark(_said_key(row.project, row.session), row.at, row.id)
    row.echo = not is_alone(world, row.project, row.session)
    if row.echo:
        world.silent[row.project, row.session] = None
    if turn := turn_of(row):
        world.mark(_turn_key(row, turn), row.at, row.id)
        _doubt(world, row, turn)


def unhear(world: World, was: Message) -> None:
    if was.source != SOURCE:
        return
    world.unmark(_said_key(was.project, was.session), was.at, was.id)
    world.silent[was.project, was.session] = None
    if turn := turn_of(was):
        world.unmark(_turn_key(was, turn), was.at, was.id)
        _doubt(world, was, turn)


def _doubt(world: World, row: Message, turn: str) -> None:
    for _, ref in world.span(_turn_key(row, turn), limit=2):
        if ref != row.id:
            world.doubted[ref] = None


def wake(world: World, row: Message) -> None:
    """Somebody else tells of the main line, or does so no longer."""
    if row.source != SOURCE and world.span(_here_key(row.project, row.session), limit=1):
        world.silent[row.project, row.session] = None


def judge(world: World, project: str, session: str) -> list[Message]:
    """Whether they are alone; if that has changed, the messages that are to be shown now, or no longer."""
    said, used = world.span(_said_key(project, session), limit=1), world.span(turns.used_key(project, session), limit=1)
    alone = bool(said or used) and not _others_tell(world, project, session)
    if alone == is_alone(world, project, session):
        return []
    (world.mark if alone else world.unmark)(_alone_key(project, session), 0, "alone")
    for _, ref in world.span(turns.used_key(project, session)):
        world.asking[ref] = None
    return [row for _, ref in world.span(_said_key(project, session)) if (row := world.message(ref)) is not None and row.echo == alone]


def _others_tell(world: World, project: str, session: str) -> bool:
    row = world.conversation(turns.conversation_of(project, session))
    if row is not None and row.calls:
        return True
    line = world.span(turns.main_key(turns.TIME, project, session))
    return any((one := world.message(ref)) is None or one.source != SOURCE for _, ref in line)


def begins(world: World, row: Message) -> bool:
    """What a person says while a turn runs has that turn's prompt id. Older clients have none: there every prompt begins one."""
    turn = turn_of(row)
    return not turn or [ref for _, ref in world.span(_turn_key(row, turn), limit=1)] == [row.id]


def turn_of(row: Message) -> str:
    return row.native.removeprefix(PROMPT).partition("#")[0] if row.native.startswith(PROMPT) else ""


# -- tool calls --------------------------------------------------------------------------------------------------------


def settle(world: World, was: ToolCall, tool: ToolCall) -> None:
    """A tool call that a hook tells of is found again by its time, and its task is looked for."""
    if (was.asker, _moment(was)) == (tool.asker, _moment(tool)):
        return
    place = turns.used_key(tool.project, tool.session)
    if was.asker:
        world.unmark(place, _moment(was), tool.id)
    if tool.asker:
        world.mark(_here_key(tool.project, tool.session), 0, "here")
        world.mark(place, _moment(tool), tool.id)
    world.asking[tool.id] = None
    if not (tool.asker and is_alone(world, tool.project, tool.session)):  # one more changes nothing about that
        world.silent[tool.project, tool.session] = None


def place(world: World, tool: ToolCall) -> None:
    """Of the task whose agent the hook named, or of the prompt before it; of none where an answer that asked for it may be known."""
    if tool.protocol:
        return
    task = ""
    if tool.asker and not tool.call and is_alone(world, tool.project, tool.session):
        main = tool.asker == MAIN
        task = turns.turn_at(world, tool.project, tool.session, _moment(tool)) if main else ids.agent_task_id(tool.project, tool.session, tool.asker)
    if task != tool.task:
        _give(world, tool.task, tool, False)
        tool.task = task
        _give(world, task, tool, True)
        world.save("tools", tool)


def count(world: World, task: Task, alone: bool = False) -> None:
    """A task may have been given tool calls before it was there itself: they count with its agent now. `alone`: it has just been given one."""
    found = world.span(_of_key(task.id))
    more = len(found) - task.heard
    if not more:
        return
    task.tool_calls, task.heard = task.tool_calls + more, len(found)
    world.save("tasks", task)
    for _, ref in found if not alone or abs(more) > 1 else ():
        if (tool := world.tool(ref)) is not None:
            world.save("tools", tool)


def _give(world: World, id: str, tool: ToolCall, there: bool) -> None:
    if not id:
        return
    (world.mark if there else world.unmark)(_of_key(id), 0, tool.id)
    if (task := world.task(id)) is not None:
        count(world, task, alone=True)


def _moment(tool: ToolCall) -> int:
    return tool.opened or (tool.told.at if tool.told else 0)


def _alone_key(project: str, session: str) -> int:
    return key("hooks-alone", project, session)


def _here_key(project: str, session: str) -> int:
    """There are hooks at all."""
    return key("hooks-here", project, session)


def _said_key(project: str, session: str) -> int:
    return key("hooks-said", project, session)


def _turn_key(row: Message, turn: str) -> int:
    return key("hooks-turn", row.project, row.session, turn)


def _of_key(task: str) -> int:
    return key("hooks-of", task)
