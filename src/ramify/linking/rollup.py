"""Sums over calls, kept with tasks and conversations: each call is in exactly one of each, so nothing counts twice."""

from msgspec import structs

from ramify.linking import adoption, corrected, loops, sessions, toolcalls
from ramify.linking.conversation import before, in_time
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, Conversation, Task
from ramify.model.event import ENDED_EARLY
from ramify.model.usage import NOTHING, Usage


def move(world: World, call: Call, conversation: str, task: str) -> None:
    """Takes a call out of where it was counted and counts it where it is now."""
    if conversation != call.conversation:
        _count_conversation(world, call, conversation, -1)
        _count_conversation(world, call, call.conversation, 1)
    if task != call.task:
        _leave(world, call, task)
        _join(world, call)


def lift(world: World, call: Call) -> None:
    """Takes a call out of everything that counts it, because its place in time changes; it is placed again."""
    conversation, task = call.conversation, call.task
    call.conversation = call.line = call.task = ""
    move(world, call, conversation, task)
    world.unplaced[call.id] = None


def change(world: World, call: Call, before: Usage, tools: int) -> None:
    """A counted call reported something new: `before` it, it had used this much and asked for so many tools."""
    delta = counted(call) - before
    if delta != NOTHING:
        _compare_again(world, call)
    task = world.task(call.task)
    if task is not None and len(call.uses) != tools:
        task.tool_calls += len(call.uses) - tools
        loops.join(world, task, call, newest=not tools and task.last == call.id)
        world.save("tasks", task)
    if delta != NOTHING:
        for table, row in (("tasks", world.task(call.task)), ("conversations", world.conversation(call.conversation))):
            if isinstance(row, Task) or (isinstance(row, Conversation) and not row.protocol):
                row.usage = row.usage + delta
                world.save(table, row)
                _book_own(world, row)
    _refresh_end(world, call)


def _book_own(world: World, row: Task | Conversation) -> None:
    """A task that has an id of its own counts in its conversation as a whole."""
    if isinstance(row, Task) and row.protocol:
        adoption.again(world, row.id)


def counted(call: Call) -> Usage:
    """What a call adds to a sum: its tokens always, itself unless an earlier attempt of it was answered."""
    return structs.replace(call.usage, calls=0) if call.repeated else call.usage


def recount(world: World, first: str) -> None:
    """Attempts of one call are one call: the first that was answered counts."""
    one = world.call(first)
    group = ([one] if one and not one.attempt_of else []) + world.calls_at(key("attempt", first))
    answered = False
    for call in sorted(group, key=lambda call: (call.started, call.id)):
        repeated = answered and call.usage.calls > 0
        answered = answered or call.usage.calls > 0
        if call.repeated != repeated:
            before = counted(call)
            call.repeated = repeated
            world.save("calls", call)
            change(world, call, before, len(call.uses))


def _compare_again(world: World, call: Call) -> None:
    """A call that may be in the client's newest sum explains some of it."""
    row = world.conversation(call.conversation)
    if row is not None and call.started <= row.summed:
        world.recounted[row.id] = None


def book(world: World, table: str, row: Task | Conversation | None, extra: Usage) -> None:
    """What the client counted and no call explains, as a whole."""
    if row is not None and row.extra != extra:
        row.usage, row.extra = row.usage + (extra - row.extra), extra
        world.save(table, row)


def _count_conversation(world: World, call: Call, id: str, sign: int) -> None:
    if not id:
        return
    row = world.conversation(id) or new_conversation(world, call, id)
    if row.protocol:
        return
    row.calls += sign
    row.usage = row.usage + counted(call) if sign > 0 else row.usage - counted(call)
    if call.relation == "seen":
        pass  # each report of it is a sign of life by itself
    elif is_steady(call):
        _note_steady(row, call)
    else:
        _keep_member(world, row, call, sign)
    if call.started <= row.summed:
        world.recounted[id] = None
    if row.told and row.calls in (0, 1):
        world.silent[row.project, row.session] = None  # hooks may have been alone with it
    if row.calls <= 0 and not row.sends_agents and not row.told:
        world.drop("conversations", id)
    else:
        world.save("conversations", row)


def note_life(row: Conversation, began: int, active: int) -> None:
    """A sign of life that never moves elsewhere. From the first of them on, those that may move date nothing."""
    if not row.steady:
        row.heard, row.client, row.client_at = began, "", 0
    row.heard, row.steady = min(row.heard, began), max(row.steady, active)
    row.active = max(row.active, active)
    put_opening(row)


def put_opening(row: Conversation) -> None:
    """A copied history is older than the session that holds it."""
    row.opened = max(row.heard, row.born)


def _note_steady(row: Conversation, call: Call) -> None:
    note_life(row, call.started, last_active(call))
    _note_client(row, call)


def _note_client(row: Conversation, call: Call) -> None:
    """The earliest call says with which client it began."""
    if call.client and (not row.client or (call.started, call.client) < (row.client_at, row.client)):
        row.client, row.client_at = call.client, call.started


def _keep_member(world: World, row: Conversation, call: Call, sign: int) -> None:
    """Only calls without a session of their own ever move to another conversation."""
    members = key("member", row.id)
    if sign > 0:
        world.add(members, call.started, call.id)
        row.active = max(row.active, last_active(call))
        _note_member(row, call)
        return
    world.remove(members, call.started, call.id)
    calls = world.calls_at(members)
    row.active = max([row.steady, *map(last_active, calls)])
    if not row.steady and call.started in (row.opened, row.client_at):
        row.opened, row.client, row.client_at = 0, "", 0
        for one in calls:
            _note_member(row, one)


def _note_member(row: Conversation, call: Call) -> None:
    if not row.steady:
        row.opened = min(row.opened or call.started, call.started)
        _note_client(row, call)


def last_active(call: Call) -> int:
    """When it was noticed that an answer is lost says nothing about its line."""
    return call.started if call.lost else call.ended or call.started


def is_steady(call: Call) -> bool:
    return bool(call.session) and not call.parent_session and not call.told_session


def new_conversation(world: World, call: Call, id: str) -> Conversation:
    session = sessions.home(world, call)
    named = session if id == ids.session_conversation_id(call.project, session) else ""
    return Conversation(id, call.project, named)


def _leave(world: World, call: Call, id: str) -> None:
    task = world.task(id)
    if task is None:
        return
    world.unmark(key("in", id), call.started, call.id)
    task.calls -= 1
    task.usage = task.usage - counted(call)
    task.tool_calls -= len(call.uses)
    if call.signs:
        loops.doubt(world, id)
    if task.protocol:
        if task.last == call.id:
            _set_last(task, _newest(world, id))
        world.save("tasks", task)
        adoption.again(world, task.id)
        return
    if task.calls <= 0 and (task.stated is None or task.stated.guessed):
        drop(world, task)
        return
    if task.stated is not None or call.relation == "seen":
        world.retold[task.id] = None
    began = task.first == call.id or (bool(call.twin) and task.first == call.twin)  # the wire's own call may be another task's
    if began and task.id != ids.opened_task_id(call.id):
        earliest = world.span(key("in", id), limit=1)
        same = [one for at, _ in earliest for _, ref in world.span(key("in", id), at, at) if (one := world.call(ref)) is not None]
        task.first = min(same, key=in_time).id if same else ""
    if task.last == call.id:
        _set_last(task, _newest(world, id))
    world.save("tasks", task)


def note_root(world: World, task: Task) -> None:
    """Sub-tasks of which only the session is known belong to the newest root before them."""
    entry = (task.opened, task.id)
    roots = key("roots", task.conversation)
    if entry not in world.find(roots):
        world.add(roots, *entry)
        _wake_loose(world, task.conversation)
        _book_again(world, task.conversation)


def forget_root(world: World, id: str, was: tuple[str, str, int]) -> None:
    kind, conversation, opened = was
    if kind == "root":
        world.remove(key("roots", conversation), opened, id)
        _wake_loose(world, conversation)
        _book_again(world, conversation)


def _wake_loose(world: World, conversation: str) -> None:
    for _, ref in world.find(key("loose", conversation)):
        world.unplaced[ref] = None
    wake_loose_told(world, conversation)


def wake_loose_told(world: World, conversation: str) -> None:
    """Sub-tasks that belong to whatever prompt was the newest at their time."""
    for _, ref in world.span(key("loose-told", conversation)):
        world.retold[ref] = None


def drop(world: World, task: Task) -> None:
    world.drop("tasks", task.id)
    _book_again(world, task.conversation)
    corrected.wake_under(world, task.id)
    forget_root(world, task.id, (task.kind, task.conversation, task.opened))
    if task.caller:
        world.remove(key("spawned", task.caller), 0, task.id)
    if task.link and (tool := world.tool(task.link.via_id)):
        toolcalls.disown(world, tool, task.id)
    if task.line == task.id:
        world.drop("lines", task.id)


def _join(world: World, call: Call) -> None:
    if not call.task:
        return
    task = world.task(call.task) or _begin(world, call)
    if call.relation == "seen" or call.told_agent or task.stated is not None:
        _note_first(world, task, call)
    world.mark(key("in", task.id), call.started, call.id)
    task.calls += 1
    task.usage = task.usage + counted(call)
    task.tool_calls += len(call.uses)
    newest = _is_newest(world, task, call)
    loops.join(world, task, call, newest)
    if newest:
        _set_last(task, call)
    elif call.utility and not task.last_started:
        _set_last(task, _newest(world, task.id))
    world.save("tasks", task)
    _book_own(world, task)


def _begin(world: World, call: Call) -> Task:
    task = Task(call.task, call.project, call.conversation, call.line, first=call.id, opened=call.started)
    world.save("tasks", task)
    corrected.wake_under(world, task.id)
    _book_again(world, task.conversation)
    return task


def _book_again(world: World, conversation: str) -> None:
    row = world.conversation(conversation)
    if row is not None and row.summed:
        world.recounted[row.id] = None


def _note_first(world: World, task: Task, call: Call) -> None:
    """Reports may come in any order: the earliest call is the first."""
    agent = call.agent or call.told_agent
    if agent and task.id == ids.agent_task_id(call.project, call.session, agent):
        task.kind, task.agent, task.session = "sub", agent, call.session
    first = world.call(task.first)
    if first is None or first.task != task.id or before(call, first):
        task.first = call.id
    world.retold[task.id] = None


def _is_newest(world: World, task: Task, call: Call) -> bool:
    last = world.call(task.last) if call.started == task.last_started else None
    return not call.utility and (call.started >= task.last_started if last is None else in_time(call) >= in_time(last))


def _newest(world: World, id: str) -> Call:
    """How a summary went, or another call that the client made for itself, says nothing of the task: only where there is no other."""
    calls = world.calls_at(key("in", id))
    own = [call for call in calls if not call.utility]
    return max(own or calls or [Call("", status="")], key=in_time)


def _set_last(task: Task, call: Call) -> None:
    """One of the client's own gives way to whichever comes."""
    task.last, task.last_started = call.id, 0 if call.utility else call.started
    unfinished = "tool_use" if call.relation == "seen" and call.uses else ""  # a report may leave out why it ended
    status = "cut" if call.status == "error" and call.error == ENDED_EARLY else call.status
    task.last_status, task.last_stop, task.last_ended = status, call.stop_reason or unfinished, call.ended


def _refresh_end(world: World, call: Call) -> None:
    task = world.task(call.task)
    if task is not None and (task.last == call.id or _is_newest(world, task, call)):
        _set_last(task, _newest(world, task.id) if call.utility else call)
        world.save("tasks", task)
        _book_own(world, task)
    row = world.conversation(call.conversation)
    end = last_active(call)
    if row is not None and not row.protocol and call.relation != "seen" and (end > row.active or (is_steady(call) and end > row.steady)):
        row.active = max(row.active, end)
        row.steady = max(row.steady, end) if is_steady(call) else row.steady
        world.save("conversations", row)
