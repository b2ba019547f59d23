"""Who speaks, where a source names only the tool call inside which it was said, or the side line that it is on.

Such a name is a stand-in: it gives way to the agent's own id as soon as anybody tells it.
"""

from ramify.linking import toolcalls
from ramify.linking.conversation import later_alike
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, Message

INSIDE = toolcalls.STAND_IN  # before a name that is no agent's id: whoever ran inside a tool call, or on a side line
SIDE = INSIDE + "line "


def of_message(world: World, row: Message) -> str:
    return row.told_agent or _inside(world, row.project, row.session, row.under) or (_beside(world, row) if row.side else "")


def of_call(world: World, call: Call) -> str:
    named = call.told_agent or _inside(world, call.project, call.session, call.under)
    row = world.message(call.beside)
    return named or (_beside(world, row) if row else "")


def of_tool(world: World, project: str, session: str, native: str) -> str:
    """Whoever ran inside a tool call."""
    return _inside(world, project, session, native)


def side_of(row: Message) -> str:
    return f"{SIDE}{row.start or row.native}"


def side_of_call(world: World, call: Call) -> str:
    row = world.message(call.beside)
    return side_of(row) if row else ""


def name_side(world: World, call: Call) -> bool:
    """One source has an answer on a side line, another says inside which tool call it was given: so was the whole line.

    Whether this is news."""
    row = world.message(call.beside)
    if row is None or not call.under or (0, call.under) in world.span(place := _side_key(row)):
        return False
    world.mark(place, 0, call.under)
    return True


def _beside(world: World, row: Message) -> str:
    known = world.span(_side_key(row), limit=1)
    return _inside(world, row.project, row.session, known[0][1]) if known else side_of(row)


def _side_key(row: Message) -> int:
    return key("side-under", row.project, row.session, row.start or row.native)


def is_stand_in(agent: str) -> bool:
    return agent.startswith(INSIDE)


def _inside(world: World, project: str, session: str, native: str) -> str:
    if not native:
        return ""
    tool = world.tool(ids.tool_call_id(project, session, native))
    return tool.agent if tool and tool.agent else INSIDE + native


# -- calls of clients that do not name the agent on the wire ------------------------------------------------------------


def reported(world: World, call: Call) -> str:
    """The agent of a call: by its own word, or by that of a report of the same answer."""
    twin = world.call(call.twin)
    return call.agent or (twin.agent if twin is not None and not is_stand_in(twin.agent) else "")


def name_wire(world: World, call: Call) -> None:
    """Where no report has its answer, the tool call that it was paired with may be known to have started an agent. Reports are not
    needed where the request names the agent itself, and it may come after them."""
    tool, twin = world.tool(call.offer), world.call(call.twin)
    agent = reported(world, call) if twin is not None else tool.agent if tool is not None and tool.named else ""
    via = twin.under if twin is not None else ""
    if call.agent:
        agent = via = ""
    if (call.told_agent, call.told_via) == (agent, via):
        return
    _note_agent(world, call, agent)
    _note_via(world, call, via)
    call.told_agent, call.told_via = agent, via
    world.save("calls", call)
    world.unplaced[call.id] = None
    for other in (call, *later_alike(world, call)):
        world.openings[other.id] = None  # the same words are no attempt of another agent's
    if tool is not None:
        toolcalls.put_child(world, tool)


def unname(world: World, call: Call) -> None:
    _note_agent(world, call, "")
    _note_via(world, call, "")
    call.told_agent = call.told_via = ""


def _note_agent(world: World, call: Call, agent: str) -> None:
    """A tool call that names this agent later finds it, wherever it stands."""
    for named, place in ((call.told_agent, world.unmark), (agent, world.mark)):
        if named:
            place(toolcalls.told_key(call.project, call.session, named), call.started, call.id)


def _note_via(world: World, call: Call, via: str) -> None:
    """The tool call inside which a report has it finds it again."""
    for native, place in ((call.told_via, world.remove), (via, world.add)):
        if native and native != call.own_via:
            place(key("own", ids.tool_call_id(call.project, call.session, native)), call.started, call.id)
