"""Where a call stands: conversation, line (branch) and task. Follows from its links, and moves with them."""

from ramify.linking import corrected, delegated, interruption, rollup, sessions, toolcalls, trace, turns, warmups
from ramify.linking.agents import wake_spawned
from ramify.linking.authorship import prompt_of
from ramify.linking.conversation import first_attempt
from ramify.linking.retelling import first_line, name_child, put_line, put_words, stated_link
from ramify.linking.world import World, children_of, key
from ramify.model import ids
from ramify.model.entity import Call, Line, Task
from ramify.model.link import Link


def place(world: World, call: Call) -> None:
    """Places one call, and puts whatever hangs on it on the list if it moved."""
    old = (call.conversation, call.line, call.task, call.origin)
    conversation, line, task = _where(world, call)
    origin = _origin(world, call)
    if (conversation, line, task, origin) != old:
        call.conversation, call.line, call.task, call.origin = conversation, line, task, origin
        world.save("calls", call)
        if old[1] in (call.id, ids.opened_task_id(call.id)) and old[1] != line:
            world.drop("lines", old[1])
        rollup.move(world, call, old[0], old[2])
        delegated.match_final(world, call)
        if call.parent_session:
            sessions.note(world, call)
        follow(world, call)
        if call.trace:
            trace.wake(world, call)
    interruption.note(world, call)
    if call.told_agent and call.relation != "agent" and (told := world.task(task)) and told.first == call.id:
        world.retold[task] = None  # an agent that names itself is put together below
    if line == call.id:
        _put_line(world, call)
    if task == ids.opened_task_id(call.id) or call.relation == "agent":
        _put_task(world, call)


def follow(world: World, call: Call) -> None:
    """What hangs on this call: the calls that go on from it, its attempts, the tasks it spawned."""
    for place in (children_of(call), key("attempt", call.id)):
        for _, ref in world.find(place):
            world.unplaced[ref] = None
    wake_spawned(world, call)
    corrected.wake_under(world, call.task)


def _origin(world: World, call: Call) -> str:
    if parent := world.call(call.parent):
        return parent.origin
    return call.id if call.relation == "opening" else ""


def _where(world: World, call: Call) -> tuple[str, str, str]:
    home = sessions.home(world, call)
    session = ids.session_conversation_id(call.project, home) if home else ""
    if call.relation == "seen":
        return _where_reported(world, call, session)
    if call.relation == "helper":
        return session, "", ""
    if call.owner and (owner := world.task(call.owner)):  # a span says whose it is
        return owner.conversation, owner.line, owner.id
    if call.attempt_of and (first := world.call(call.attempt_of)):
        return first.conversation, first.line, first.task
    if agent := call.agent or call.told_agent:
        task = ids.agent_task_id(call.project, call.session, agent)
        return session or ids.rooted_conversation_id(task), task, task
    if call.parent and (parent := world.call(call.parent)):
        return _behind(world, call, parent, session)
    return _at_the_start(world, call, session)


def _where_reported(world: World, call: Call, session: str) -> tuple[str, str, str]:
    """Where the wire has the same answer, that one stands for both."""
    if call.twin:
        return "", "", ""
    if warmups.put(world, call):
        return session, "", ""
    if call.agent:
        task = ids.agent_task_id(call.project, call.session, call.agent)
        return session, task, task
    return session, session, turns.turn_of(world, call)


def _behind(world: World, call: Call, parent: Call, session: str) -> tuple[str, str, str]:
    conversation = session or parent.conversation
    if conversation != parent.conversation:  # a session that took over from calls without one
        return conversation, call.id, ids.opened_task_id(call.id)
    line = world.line(parent.line)
    if line is not None and line.kind == "subtask":
        return conversation, parent.line, parent.task
    asked = None
    if call.utility != "compaction":
        asked = _asked(world, call)
    task = _root(world, call, asked) if asked is not None or call.twin else parent.task
    own_line = call.relation == "compacted" or (call.utility != "compaction" and not _goes_on(world, call, parent))
    return conversation, call.id if own_line else parent.line, task


def _asked(world: World, call: Call) -> str | None:
    return prompt_of(world.chain(call).parts, call.new_message, call.new_block, call.utility == "compaction")


def _root(world: World, call: Call, asked: str | None) -> str:
    """The root task that a call opens or goes on with: reports know the prompt itself, the wire only its words."""
    opened = ids.opened_task_id(call.id)
    if asked:
        turns.note_words(world, call, asked)
    told = turns.reported_root(world, call, asked)
    if not told:
        parent = world.call(call.parent)
        return parent.task if asked is None and parent is not None else opened
    if asked is not None:
        world.aliases[opened] = told
    return told


def _goes_on(world: World, call: Call, parent: Call) -> bool:
    """The first continuation stays on its parent's line; every further one is a fork."""
    group = first_attempt(parent)
    for _, ref in continuing(world, group):
        other = world.call(ref)
        if other is None or other.attempt_of or other.utility or other.relation != "continued":
            continue
        return other.id == call.id or bool(call.attempt_of)
    return True


def continuing(world: World, group: str) -> list[tuple[int, str]]:
    """Calls that go on from any attempt of one call, oldest first."""
    calls = [world.call(group), *world.calls_at(key("attempt", group))]
    return sorted(entry for call in calls if call is not None for entry in world.find(children_of(call)))


def _at_the_start(world: World, call: Call, session: str) -> tuple[str, str, str]:
    task = ids.opened_task_id(call.id)
    caller = _caller(world, call, task)
    if caller is not None:
        return session or caller.conversation, task, task
    if call.parent_session:
        return session, task, task
    if session:
        task = _root(world, call, _asked(world, call) or "")
    return session or ids.rooted_conversation_id(call.id), call.id, task


def _caller(world: World, call: Call, task: str) -> Call | None:
    if said := corrected.word_about(world, call, task):
        return corrected.caller_in(world, said.parent) if said.act == "link" else None
    tool = world.tool(call.offer)
    return world.call(tool.call) if tool else None


def _put_line(world: World, call: Call) -> None:
    kind = "root"
    if call.relation == "compacted":
        kind = "compact"
    elif call.parent:
        kind = "branch"
    line = Line(call.id, call.conversation, kind, call.started, 0, call.id)
    if world.line(call.id) != line:
        world.save("lines", line)


def _put_task(world: World, call: Call) -> None:
    """The task that this call opens: its words, who wrote them, and the link to its caller."""
    task = world.task(call.task)
    if task is None or (task.first != call.id and call.relation != "agent"):
        return
    before = task_facts(task)
    was = (task.kind, task.conversation, task.opened)
    task.first, task.opened = _beginning(world, call, task)
    tool = world.tool(call.offer)
    said = corrected.word_about(world, call, task.id)
    link, caller = _link(world, call, task)
    if task.stated is not None:
        link, caller = stated_link(world, task, link, caller)
        tool = world.tool(link.via_id) if link and link.via_id else tool
    name_child(world, task, tool if task.stated is not None else None)
    given = call.agent or call.parent_session
    task.kind = "sub" if link or given or (tool and not said) else "root"
    if task.kind == "root" and not said:
        link, caller = trace.link_of(world, call)
    task.conversation = call.conversation
    task.line = call.line
    task.session = call.session
    task.agent = call.agent
    task.agent_type = call.agent_type or (tool.agent_type if tool else "")
    _put_words(world, call, task)
    put_words(task, tool)
    if caller != task.caller:
        if task.caller:
            world.remove(key("spawned", task.caller), 0, task.id)
        if caller:
            world.add(key("spawned", caller), 0, task.id)
        task.caller = caller
    task.link = link
    task.parent = link.parent if link else ""
    if tool is not None and tool.child == task.id:
        toolcalls.settle_outcome(world, tool)
    elif task.kind == "root":
        interruption.settle(world, task)
    elif task.outcome:
        task.outcome, task.outcome_at = "", 0
        world.save("tasks", task)
    if task_facts(task) != before:
        world.save("tasks", task)
    if task.kind == "sub" and call.line == task.id:
        put_line(world, task, world.tool(task.link.via_id) if task.link else None)
    if was != (task.kind, task.conversation, task.opened):
        rollup.forget_root(world, task.id, was)
    if task.kind == "root":
        rollup.note_root(world, task)


def _beginning(world: World, call: Call, task: Task) -> tuple[str, int]:
    """An agent's first answer may only have been reported; the wire shows a later one."""
    first = world.call(task.first)
    if first is None or first.relation != "seen" or first.task != task.id or call.started <= first.started:
        return call.id, call.started
    told = task.stated.opened if task.stated is not None else 0
    return first.id, min(told or first.started, first.started)


def task_facts(task: Task) -> tuple[object, ...]:
    return (
        task.kind,
        task.conversation,
        task.line,
        task.opened,
        task.first,
        task.agent,
        task.agent_type,
        task.title,
        task.prompt,
        task.prompt_author,
        task.parent,
        task.caller,
        task.link,
    )


def _put_words(world: World, call: Call, task: Task) -> None:
    tool = world.tool(call.offer)
    if task.kind == "sub":
        texts = [
            text.normal for part in world.chain(call).parts if part.role == "user" for text in part.texts if text.normal
        ]
        asked = (
            tool.prompt_text
            if tool and tool.prompt_text
            else (texts[-1] if call.own_via and texts else texts[0] if texts else "")
        )
        task.prompt, task.prompt_author = asked, "agent"
        task.title = (tool.title if tool else "") or first_line(asked)
        return
    asked_by_person = _asked(world, call)
    task.prompt = asked_by_person or ""
    task.prompt_author = "human" if asked_by_person is not None else "unknown"
    task.title = first_line(task.prompt)


def _link(world: World, call: Call, task: Task) -> tuple[Link | None, str]:
    """The task's link and the calling model call, if one is known."""
    if said := corrected.word_about(world, call, task.id):
        return corrected.link_of(world, said)
    tool = world.tool(call.offer)
    caller = world.call(tool.call) if tool else None
    if call.link is not None and call.link.kind == "spawned" and caller:
        old = call.link
        return (
            Link("spawned", caller.task, old.rule, old.certainty, old.via, old.via_id, old.evidence, old.candidates),
            caller.id,
        )
    if call.agent or call.parent_session:
        return _loose(world, call, task), ""
    return None, ""


def _loose(world: World, call: Call, task: Task) -> Link | None:
    """The headers say whose sub-task it is, though not by which tool call."""
    world.add(key("loose", call.conversation), call.started, call.id)
    if call.parent_agent:
        parent = ids.agent_task_id(call.project, call.session, call.parent_agent)
    else:
        roots = [
            root.id
            for at, ref in world.find(key("roots", call.conversation))
            if at <= call.started and (root := world.task(ref)) is not None and root.kind == "root"
        ]
        parent = roots[-1] if roots else ""
    if not parent or parent == task.id:
        return None
    lost = call.link.candidates if call.link else ()
    rule = "agent-id-header" if call.agent else "parent-session-header"
    return Link("spawned", parent, rule, 1.0, evidence=(call.request,), candidates=lost)
