"""What reports say about tasks and tools: every source tells some of it, in any order, and all of it is kept as said.

The row that people see is put together again (`retell`) whenever one of the things it rests on changes.
"""

from ramify.linking import corrected, results, rollup, toolcalls, turns
from ramify.linking.world import FOREVER, World, key
from ramify.model import ids
from ramify.model.entity import Conversation, NamedAgent, Returned, Stated, Task, Told, ToolCall
from ramify.model.event import Place, Scope, TaskMoved, TaskOpened, TaskReferred, ToolCalled, ToolReturned

INSIDE = "@"  # before a name that is no agent's id: whoever ran inside a tool call, or on a side line
SIDE = INSIDE + "line "


def note_told(world: World, scope: Scope, at: int) -> None:
    """From now on, calls of this session look for what was reported about them."""
    id = turns.conversation_of(scope.project, scope.session)
    row = world.conversation(id)
    if row is None:
        row = Conversation(id, scope.project, scope.session)
    elif row.told and (not at or row.opened <= at <= row.steady):
        return
    row.told = True
    if at:
        rollup.note_life(row, at, at)
    world.save("conversations", row)


def line_agent(world: World, scope: Scope, under: str, place: Place | None = None) -> str:
    """The agent that speaks; a stand-in where only its tool call or the beginning of its line is known."""
    if scope.agent:
        return scope.agent
    if place is not None and place.side:
        row = world.message(ids.message_id(scope.project, place.id))
        return f"{SIDE}{row.start if row else place.id}"
    if under:
        tool = world.tool(ids.tool_call_id(scope.project, scope.session, under))
        return tool.agent if tool and tool.agent else INSIDE + under
    return ""


def warm_key(project: str, session: str, agent: str) -> int:
    """Calls that look like an old client's warm-up, as long as nothing more is known of their agent."""
    return key("warm-up", project, session, agent)


def stated_task(world: World, project: str, session: str, agent: str) -> tuple[Task, Stated]:
    id = ids.agent_task_id(project, session, agent)
    task = world.task(id) or Task(
        id, project, turns.conversation_of(project, session), id, "sub", agent=agent, session=session
    )
    if task.stated is None:
        task.stated = Stated()
    world.save("tasks", task)
    corrected.wake_under(world, id)
    world.retold[id] = None
    return task, task.stated


def opened(world: World, event: TaskOpened) -> None:
    scope = event.scope
    if not scope.agent:
        return
    note_told(world, scope, event.at)
    _, stated = stated_task(world, scope.project, scope.session, scope.agent)
    if event.at:
        stated.opened = min(stated.opened or event.at, event.at)
    if event.prompt:
        _take_prompt(stated, event)
    stated.title = _fuller(stated.title, event.title)
    stated.agent_type = _fuller(stated.agent_type, event.agent_type)
    stated.name = _fuller(stated.name, event.name)
    stated.parent_agent = _fuller(stated.parent_agent, scope.parent_agent)
    stated.background = stated.background or bool(event.background)
    stated.from_main = stated.from_main or event.from_main
    _remember(stated, Told("opened", event.source, event.observation))


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


def moved(world: World, event: TaskMoved) -> None:
    scope = event.scope
    note_told(world, scope, event.at)
    agent = line_agent(world, scope, event.under)
    if not agent:
        turns.end_turn(world, event)
        return
    _, stated = stated_task(world, scope.project, scope.session, agent)
    _remember(stated, Told("moved", event.source, event.observation))
    if event.at and (event.at, event.status) > (stated.moved, stated.status):
        stated.moved, stated.status, stated.native = event.at, event.status, event.native


def referred(world: World, event: TaskReferred) -> None:
    scope = event.scope
    note_told(world, scope, event.at)
    if not scope.agent:
        _tie_run(world, event)
        return
    task, stated = stated_task(world, scope.project, scope.session, scope.agent)
    if event.run:
        stated.run = _fuller(stated.run, event.run)
        world.add(key("run-tasks", scope.project, scope.session, event.run), 0, task.id)
        _remember(stated, Told("opened", event.source, event.observation))
    if event.tool:
        stated.parent_agent = _fuller(stated.parent_agent, scope.parent_agent)
        _remember(stated, Told(event.rule, event.source, event.observation, event.tool))
        tool = _tool(world, scope, event.tool)
        was = toolcalls.remembered(tool)
        tool.named = True
        world.add(key("via", scope.project, scope.session, event.tool), 0, task.id)
        results.report_agent(tool, NamedAgent(event.at, event.observation, scope.agent, event.rule))
        toolcalls.settle(world, was, tool)


def name_origin(world: World, scope: Scope, native: str) -> None:
    """Whoever ran inside this call is a task of it, named or not."""
    tool = _tool(world, scope, native)
    task = ids.agent_task_id(scope.project, scope.session, INSIDE + native)
    world.add(key("via", scope.project, scope.session, native), 0, task)
    was = toolcalls.remembered(tool)
    tool.named = True
    toolcalls.settle(world, was, tool)


def _tie_run(world: World, event: TaskReferred) -> None:
    scope = event.scope
    if event.run and event.tool:
        world.add(key("run", scope.project, scope.session, event.run), 0, f"{event.tool} {event.observation}")
        for _, ref in world.find(key("run-tasks", scope.project, scope.session, event.run)):
            world.retold[ref] = None


def _tool(world: World, scope: Scope, native: str) -> ToolCall:
    id = ids.tool_call_id(scope.project, scope.session, native)
    return world.tool(id) or ToolCall(id, native, scope.project, scope.session)


def tool_called(world: World, event: ToolCalled) -> None:
    """Reported by itself: it fills in what is not known yet, and asks for nothing."""
    note_told(world, event.scope, event.at)
    tool = _tool(world, event.scope, event.use.id)
    was = toolcalls.remembered(tool)
    if not tool.call and (not tool.opened or event.at < tool.opened):
        tool.name, tool.opened = event.use.name, event.at
        tool.title, tool.agent_type = event.use.title, event.use.agent_type
        toolcalls.settle(world, was, tool)


def tool_returned(world: World, event: ToolReturned) -> None:
    result = event.result
    if not result.id:
        return
    note_told(world, event.scope, event.at)
    tool = _tool(world, event.scope, result.id)
    was = toolcalls.remembered(tool)
    status = event.status or ("error" if result.error else "ok")
    told = Returned(event.at, event.observation, status, result.receipt, event.source)
    if tool.told is None or _earlier(told, tool.told):
        tool.told = told
    if not result.receipt and (tool.closing is None or _earlier(told, tool.closing)):
        tool.closing = told
    if result.agent:
        results.report_agent(tool, NamedAgent(event.at, event.observation, result.agent))
    toolcalls.settle(world, was, tool)


def _earlier(one: Returned, other: Returned) -> bool:
    """A transcript or a stream has the result's own words, a hook only what its tool handed over."""
    return (one.source == "hook", one.at, one.observation) < (other.source == "hook", other.at, other.observation)
