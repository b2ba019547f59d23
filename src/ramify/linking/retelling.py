"""Puts a task together from all that was reported about it, beside what the wire shows."""

from msgspec import structs

from ramify.linking import corrected, hooked, results, rollup, toolcalls, trace, turns
from ramify.linking.agents import first_on_wire
from ramify.linking.speaker import INSIDE, SIDE, is_stand_in
from ramify.linking.world import FOREVER, World, key
from ramify.model import ids
from ramify.model.entity import Call, Line, Stated, Task, Told, ToolCall
from ramify.model.link import Candidate, Link

# Strongest first: what the client wrote down when it spawned, then what it said later.
RULES = (
    "sidecar", "task_started", "parent_tool_use_id", "span-parent", "agent-id-in-result", "workflow-run", "hook", "task-notification",
)
ANSWERING = "SendMessage"  # wakes an agent that is there; it spawns none


def retell(world: World, id: str) -> None:
    task = world.task(id)
    if task is None or task.protocol:  # whoever tells of it by its own id knows better
        return
    hooked.count(world, task)
    first = world.call(task.first)
    if task.kind == "root":
        if task.stated is not None or (first is not None and first.relation == "seen"):
            _retell_root(world, task, first)
    elif (begun := first_on_wire(world, task)) is not None and begun.relation == "agent":
        world.unplaced[begun.id] = None  # the wire has it too, and puts both together
    else:
        _retell_agent(world, task, first)


# -- root tasks --------------------------------------------------------------------------------------------------------


def _retell_root(world: World, task: Task, first: Call | None) -> None:
    stated, was = task.stated, (task.kind, task.conversation, task.opened)
    if stated is not None and not stated.guessed:
        task.opened, task.prompt, task.prompt_author = stated.opened, stated.prompt, "human"
        task.title = first_line(stated.prompt)
    elif first is not None:  # a turn whose prompt nobody showed
        task.opened, task.session, task.prompt_author = first.started, first.session, "unknown"
        task.stated = stated = Stated(first.started, guessed=True)
    else:
        task.prompt_author = "unknown"
    if stated is not None and stated.guessed and (words := turns.words_of(world, task)):
        task.prompt, task.prompt_author, task.title = words, "human", first_line(words)
    task.conversation = turns.conversation_of(task.project, task.session)
    task.line = task.line or task.conversation
    if stated is not None:
        stated.moved, stated.status, stated.native = turns.last_end(world, task)
    _set_link(world, task, *trace.link_of(world, first))
    world.save("tasks", task)
    if was != (task.kind, task.conversation, task.opened):
        rollup.forget_root(world, task.id, was)
    rollup.note_root(world, task)


def first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:200]


# -- sub-tasks ---------------------------------------------------------------------------------------------------------


def _retell_agent(world: World, task: Task, first: Call | None) -> None:
    stated = task.stated or Stated()
    before, opened = _facts(task), task.opened
    if task.agent.startswith(SIDE) and not task.calls and _is_on_the_wire(world, task):
        _hide(world, task)
        return
    task.kind, task.prompt_author = "sub", "agent"
    task.conversation, task.line = turns.conversation_of(task.project, task.session), task.id
    task.opened = min((at for at in (stated.opened, first.started if first else 0) if at), default=0)
    link, caller = stated_link(world, task, *_wire_link(world, first))
    tool = world.tool(link.via_id) if link else None
    task.agent_type = stated.agent_type or (first.agent_type if first else "") or (tool.agent_type if tool else "")
    task.prompt = stated.prompt or (tool.prompt_text if tool else "")
    task.title = stated.title or (tool.title if tool else "") or first_line(task.prompt)
    name_child(world, task, tool)
    _set_link(world, task, link, caller)
    put_line(world, task, tool)
    if tool is not None:
        toolcalls.settle_outcome(world, tool)
    if _facts(task) != before:
        world.save("tasks", task)
    if tool is not None and task.opened != opened:
        toolcalls.wake_named(world, tool)  # of several that are given to one call, the first is its child


def name_child(world: World, task: Task, tool: ToolCall | None) -> None:
    """A workflow starts any number of agents by one call: none of them is its child."""
    before = world.tool(task.link.via_id) if task.link else None
    if before is not None and before is not tool:
        toolcalls.disown(world, before, task.id)
    if tool is not None and tool.prompt == results.WORKFLOW:
        toolcalls.disown(world, tool, task.id)
    elif tool is not None and _is_surest(world, task, tool):
        toolcalls.adopt(world, tool, task.id)


def _is_surest(world: World, task: Task, tool: ToolCall) -> bool:
    """Where reports give several tasks to one call, an agent goes before a stand-in, and the first before the rest."""
    other = world.task(tool.told_child)
    return other is None or (is_stand_in(task.agent), task.opened, task.id) <= (is_stand_in(other.agent), other.opened, other.id)


def _wire_link(world: World, first: Call | None) -> tuple[Link | None, str]:
    """What the words of its first request say, where an old client's wire does not name the agent."""
    if first is None or first.link is None or first.link.kind != "spawned":
        return None, ""
    tool = world.tool(first.offer)
    caller = world.call(tool.call) if tool else None
    return (structs.replace(first.link, parent=caller.task), caller.id) if caller else (None, "")


def _is_on_the_wire(world: World, task: Task) -> bool:
    """Old clients name nobody: the same line is a task of the wire's, by its answers or by its prompt."""
    if world.find(key("absorbed", task.id)):
        return True
    link, _ = _by_prompt(world, task)
    tool = world.tool(link.via_id) if link else None
    child = world.task(tool.child) if tool else None
    first = world.call(child.first) if child and child.id != task.id else None
    return first is not None and first.relation != "seen"


def _facts(task: Task) -> tuple[object, ...]:
    named = (task.agent_type, task.title, task.prompt)
    return task.kind, task.conversation, task.opened, *named, task.link, task.parent, task.caller


def _hide(world: World, task: Task) -> None:
    if task.kind != "none":
        name_child(world, task, None)
        hidden = Task(task.id, task.project, kind="none", agent=task.agent, session=task.session, stated=task.stated)
        world.drop("lines", task.id)
        world.save("tasks", hidden)


def put_words(task: Task, tool: ToolCall | None) -> None:
    """Reports name an agent's own type and title; a header only says `custom`."""
    stated = task.stated
    if stated is not None:
        task.agent_type = stated.agent_type or task.agent_type or (tool.agent_type if tool else "")
        task.title = stated.title or task.title
        task.prompt = stated.prompt or task.prompt


def _set_link(world: World, task: Task, link: Link | None, caller: str) -> None:
    if caller != task.caller:
        if task.caller:
            world.remove(key("spawned", task.caller), 0, task.id)
        if caller:
            world.add(key("spawned", caller), 0, task.id)
    task.caller, task.link, task.parent = caller, link, link.parent if link else ""


def put_line(world: World, task: Task, tool: ToolCall | None) -> None:
    """Sub-tasks are numbered by the calls that spawned them; where those are unknown, by their own beginning."""
    caller = world.call(tool.call) if tool else None
    order, position = task.opened, 0
    if tool and caller:
        waited = min(max(task.opened - caller.started, 0), (1 << 40) - 1)
        order, position = caller.started, (min(tool.block, 1 << 20) << 40) + waited
    line, known = Line(task.id, task.conversation, "subtask", order, position, task.first), world.line(task.id)
    if known is None:
        for _, ref in world.span(key("in", task.id)):
            world.unplaced[ref] = None  # whoever goes on within it begins no line
    if known != line:
        world.save("lines", line)


def stated_link(world: World, task: Task, known: Link | None, known_caller: str) -> tuple[Link | None, str]:
    """The strongest word of the reports; `known` is what the wire says, which keeps its candidates and its evidence."""
    if said := corrected.word_about(world, world.call(task.first), task.id):
        return corrected.link_of(world, said)
    found = _named(world, task)
    if not found:
        if known is not None:
            return known, known_caller
        return _by_prompt(world, task) if task.agent.startswith(SIDE) else (_loose(world, task), "")
    rule, native = found[0].rule, found[0].tool
    tool = world.tool(ids.tool_call_id(task.project, task.session, native))
    caller = world.call(tool.call) if tool else None
    parent = caller.task if caller else _parent(world, task)
    evidence = [told.observation for told in found if told.tool == native]
    lost: tuple[Candidate, ...] = ()
    if known is not None:
        lost = known.candidates
        if known.via == native:
            evidence += known.evidence
        elif known.via_id:
            lost = (*lost, Candidate(known.via_id, known.rule, known.certainty, "a report names another call"))
    if not parent or parent == task.id:
        return known, known_caller
    link = Link(
        "spawned", parent, rule, 1.0, native, tool.id if tool else "", tuple(dict.fromkeys(evidence)), lost
    )
    return link, caller.id if caller else ""


def _named(world: World, task: Task) -> list[Told]:
    """Every word that names a spawning call, strongest first."""
    stated = task.stated or Stated()
    found = [told for told in stated.told if told.tool and told.rule in RULES]
    if stated.run:
        for _, ref in world.find(key("run", task.project, task.session, stated.run)):
            native, observation = ref.split(" ", 1)
            found.append(Told("workflow-run", "", observation, native))
    if task.agent.startswith(INSIDE) and not task.agent.startswith(SIDE):
        found.append(Told("parent_tool_use_id", "", "", task.agent.removeprefix(INSIDE)))
    elif not found:
        found = [
            Told("agent-id-in-result", "", tool.agent_evidence, tool.native)
            for tool in world.tools_at(key("agent", task.project, task.session, task.agent))
            if tool.agent == task.agent and tool.name in world.rules.spawn_tools
        ]
    for native in {told.tool for told in found}:
        world.add(key("via", task.project, task.session, native), 0, task.id)  # what becomes known of it is asked for again
    names = {told.tool: world.tool(ids.tool_call_id(task.project, task.session, told.tool)) for told in found}
    spawning = [told for told in found if (tool := names[told.tool]) is None or tool.name != ANSWERING]
    return sorted(spawning, key=lambda told: (RULES.index(told.rule), told.tool, told.source, told.observation))


def _parent(world: World, task: Task) -> str:
    """Whose sub-task it is, where the spawning call itself was not seen."""
    stated = task.stated or Stated()
    if stated.parent_agent:
        return ids.agent_task_id(task.project, task.session, stated.parent_agent)
    world.mark(key("loose-told", task.conversation), 0, task.id)  # another prompt may come between, and this one may go
    return turns.turn_at(world, task.project, task.session, task.opened) or _newest_root(world, task)


def _newest_root(world: World, task: Task) -> str:
    roots = [ref for at, ref in world.find(key("roots", task.conversation)) if at <= task.opened]
    return roots[-1] if roots else ""


def _loose(world: World, task: Task) -> Link | None:
    """The reports name the parent, though not the call. Where they name nobody, its session's prompt of that time may
    have led to it; without one it stays unattached."""
    stated = task.stated or Stated()
    world.mark(key("loose-told", task.conversation), 0, task.id)
    known = bool(stated.parent_agent or stated.from_main)
    parent = _parent(world, task) if known else turns.turn_at(world, task.project, task.session, task.opened)
    if not parent or parent == task.id:
        return None
    evidence = tuple(told.observation for told in stated.told)[:4]
    rule, certainty = ("parent-agent", 1.0) if known else ("same-session", 0.5)
    return Link("spawned", parent, rule, certainty, evidence=evidence)


def _by_prompt(world: World, task: Task) -> tuple[Link | None, str]:
    """Old clients name no agent. They write an agent's line when its result is there: the n-th line that began with a
    prompt is that of the n-th result of a call that gave it."""
    stated = task.stated or Stated()
    prompt = results.prompt_key(stated.prompt)
    lines = [ref for _, ref in world.find(key("lines", task.project, task.session, prompt))]
    offers = sorted(
        (tool.told.at if tool.told else FOREVER, caller.started, tool.block, tool.id, tool, caller)
        for tool in world.tools_at(key("offer", task.project, task.session, prompt))
        if (caller := world.call(tool.call)) is not None
    )
    place = lines.index(task.id) if task.id in lines else len(offers)
    if place >= len(offers):
        return None, ""
    *_, tool, caller = offers[place]
    certainty = 0.95 if len(offers) == len(lines) == 1 else 0.6
    lost = tuple(Candidate(other[3], "prompt-match", 0.5, "another call with the same prompt comes first") for other in offers if other[4] is not tool)
    link = Link("spawned", caller.task, "prompt-match", certainty, tool.native, tool.id, (), lost[:8])
    return link, caller.id
