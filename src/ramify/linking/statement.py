"""What reports say about tasks: every source tells some of it, in any order, and all of it is kept as said.

The row that people see is put together again (`retell`) whenever one of the things it rests on changes.
"""

from ramify.linking import corrected, rollup, speaker, turns, warmups
from ramify.linking.world import FOREVER, World, key
from ramify.model import ids
from ramify.model.entity import Conversation, Line, Stated, Task, Told
from ramify.model.event import MessageSaid, Scope, TaskMoved, TaskOpened, TaskReferred

Statement = TaskOpened | TaskMoved | TaskReferred | MessageSaid


def reports_key(project: str) -> int:
    """Marks that anything was reported of a project at all."""
    return key("reports-of", project)


def note_told(world: World, scope: Scope, at: int) -> None:
    """From now on, calls of this session look for what was reported about them."""
    id = turns.conversation_of(scope.project, scope.session)
    row = world.conversation(id)
    if row is None:
        row = Conversation(id, scope.project, scope.session)
    if not row.told:
        world.save("lines", Line(id, id, "root"))
        world.add(reports_key(scope.project), 0, "")
    elif not at or row.heard <= at <= row.steady:
        return
    row.told = True
    if at:
        rollup.note_life(row, at, at)
    world.save("conversations", row)


# -- whom it is about --------------------------------------------------------------------------------------------------


def opened(world: World, event: TaskOpened) -> None:
    if event.scope.agent:
        tell(world, event.scope, event.scope.agent, event)


def moved(world: World, event: TaskMoved) -> None:
    scope, agent = event.scope, mover(world, event)
    if not agent:
        turns.end_turn(world, event)
        return
    if event.under and not scope.agent:
        world.mark(key("under", scope.project, scope.session, event.under), 0, event.observation)
    tell(world, scope, agent, event)


def mover(world: World, event: TaskMoved) -> str:
    scope = event.scope
    return scope.agent or speaker.of_tool(world, scope.project, scope.session, event.under)


def referred(world: World, event: TaskReferred) -> None:
    scope = event.scope
    if not scope.agent:
        _tie_run(world, event)
        return
    tell(world, scope, scope.agent, event)
    task = ids.agent_task_id(scope.project, scope.session, scope.agent)
    if event.run:
        world.add(key("run-tasks", scope.project, scope.session, event.run), 0, task)


def _tie_run(world: World, event: TaskReferred) -> None:
    if event.run and event.tool:
        world.add(_run_key(event), 0, f"{event.tool} {event.observation}")
        _wake_run(world, event)


def untie_run(world: World, event: TaskReferred) -> None:
    world.remove(_run_key(event), 0, f"{event.tool} {event.observation}")
    _wake_run(world, event)


def _run_key(event: TaskReferred) -> int:
    return key("run", event.scope.project, event.scope.session, event.run)


def _wake_run(world: World, event: TaskReferred) -> None:
    for _, ref in world.find(key("run-tasks", event.scope.project, event.scope.session, event.run)):
        world.retold[ref] = None


# -- what is said ------------------------------------------------------------------------------------------------------


def tell(world: World, scope: Scope, agent: str, event: Statement) -> None:
    id = ids.agent_task_id(scope.project, scope.session, agent)
    task = world.task(id) or Task(
        id, scope.project, turns.conversation_of(scope.project, scope.session), id, "sub", agent=agent, session=scope.session
    )
    if task.stated is None:
        task.stated = Stated()
        warmups.wake(world, scope.project, scope.session, agent)
    _state(task.stated, event)
    world.mark(key("tellers", id), 0, event.observation)
    world.save("tasks", task)
    corrected.wake_under(world, id)
    world.retold[id] = None


def take_back(world: World, scope: Scope, agent: str, observation: str) -> None:
    """One report turned out to be about something else: the others tell the task again."""
    task = world.task(ids.agent_task_id(scope.project, scope.session, agent))
    if task is None or task.stated is None:
        return
    world.unmark(key("tellers", task.id), 0, observation)
    tellers = world.span(key("tellers", task.id))
    task.stated = Stated() if tellers else None
    for _, teller in tellers:
        for event in world.loader.told(teller):
            if task.stated is not None and isinstance(event, Statement) and _is_about(world, event, task):
                _state(task.stated, event)
    world.retold[task.id] = None
    warmups.wake(world, scope.project, scope.session, agent)
    if task.stated is None and not task.calls:
        rollup.drop(world, task)
    else:
        world.save("tasks", task)


def _is_about(world: World, event: Statement, task: Task) -> bool:
    if isinstance(event, MessageSaid):
        row = world.message(ids.message_id(event.scope.project, event.place.id))
        return row is not None and row.side and speaker.side_of(row) == task.agent
    return (mover(world, event) if isinstance(event, TaskMoved) else event.scope.agent) == task.agent


def _state(stated: Stated, event: Statement) -> None:
    match event:
        case TaskOpened():
            _state_opening(stated, event)
        case TaskMoved():
            _remember(stated, Told("moved", event.source, event.observation))
            if event.at and (event.at, event.status, event.native) > (stated.moved, stated.status, stated.native):
                stated.moved, stated.status, stated.native = event.at, event.status, event.native
        case TaskReferred():
            stated.run = _fuller(stated.run, event.run)
            stated.parent_agent = _fuller(stated.parent_agent, event.scope.parent_agent if event.tool else "")
            if event.run:
                _remember(stated, Told("opened", event.source, event.observation))
            if event.tool:
                _remember(stated, Told(event.rule, event.source, event.observation, event.tool))
        case MessageSaid():  # the first one of a side line
            stated.opened = min(stated.opened or event.at, event.at)
            stated.prompt = _fuller(stated.prompt, words_of(event))
            _remember(stated, Told("opened", event.source, event.observation))


def _state_opening(stated: Stated, event: TaskOpened) -> None:
    if event.at:
        stated.opened = min(stated.opened or event.at, event.at)
    if event.prompt:
        _take_prompt(stated, event)
    stated.title = _fuller(stated.title, event.title)
    stated.agent_type = _fuller(stated.agent_type, event.agent_type)
    stated.name = _fuller(stated.name, event.name)
    stated.parent_agent = _fuller(stated.parent_agent, event.scope.parent_agent)
    stated.background = stated.background or bool(event.background)
    stated.from_main = stated.from_main or event.from_main
    _remember(stated, Told("opened", event.source, event.observation))


def words_of(event: MessageSaid) -> str:
    return "\n\n".join(text.normal for text in event.part.texts if text.normal)


def _take_prompt(stated: Stated, event: TaskOpened) -> None:
    """The first; an agent that is woken again gets another one."""
    mine = (event.at or FOREVER, event.prompt)
    if not stated.prompt or mine < (stated.prompt_at or FOREVER, stated.prompt):
        stated.prompt, stated.prompt_at = event.prompt, event.at


def _fuller(one: str, other: str) -> str:
    """The longer of two versions, whichever came first."""
    return max((one, other), key=lambda text: (len(text), text))


def _remember(stated: Stated, told: Told) -> None:
    """One observation for each rule and source: the smallest id, so that order does not matter."""
    same = [one for one in stated.told if (one.rule, one.source, one.tool) == (told.rule, told.source, told.tool)]
    if same and same[0].observation <= told.observation:
        return
    rest = [one for one in stated.told if one not in same]
    stated.told = tuple(sorted([*rest, told], key=lambda one: (one.rule, one.source, one.tool)))
