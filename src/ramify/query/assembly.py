"""Shapes of many rows at once: names, ancestors, totals and contents are read together, not row by row."""

from collections.abc import Mapping, Sequence
from typing import Any

from ramify.model.entity import Call, Conversation, Task, ToolCall
from ramify.model.moment import iso
from ramify.model.standing import task_status
from ramify.query import family, kept
from ramify.query.ahead import ahead
from ramify.query.branches import branch_names, branches_of
from ramify.query.content import AT_ONCE, Content, result_value
from ramify.query.flags import Patience, flags_of, is_stalled
from ramify.query.shapes import call_shape, conversation_shape, task_shape, usage_shape
from ramify.storage.base import Store

Answer = dict[str, Any]
WAITING = "waiting for a child"  # at work, by way of another


def task_shapes(
    store: Store, tasks: Sequence[Task], patience: Patience, under: family.Under | None = None
) -> list[Answer]:
    if under is None:
        store = ahead(store, *family.wishes(tasks))
    names = branch_names(store, (task.conversation for task in tasks))
    under = family.gathered(store, list(tasks)) if under is None else under
    above = family.ancestry(store, tasks)
    since = patience.since()
    shapes: list[Answer] = []
    for task in tasks:
        shape = task_shape(task, names.get(task.line))
        path = above[task.id]
        shape["root"], shape["depth"] = (path[-1] if path else task.id), len(path)
        shape["tree_usage"] = usage_shape(family.tree_usage(task, under))
        shape["subtasks"] = len(under.get(task.id, []))
        if shape["status"] == "working" and not task.protocol and any(task_status(child) == "working" for child in under.get(task.id, [])):
            shape["native_status"] = WAITING  # no word of its own: a protocol's stands as it was said
        if shape["status"] == "working":
            shape["flags"] = flags_of(task, is_stalled(task, "working", family.is_busy(task, under), since))
        shapes.append(shape)
    return shapes


def call_shapes(store: Store, calls: list[Call], names: Mapping[str, str] | None = None) -> list[Answer]:
    """`names`: of their branches, for whoever asks for the calls of many tasks of one conversation."""
    names = branch_names(store, (call.conversation for call in calls)) if names is None else names
    firsts = sorted({call.attempt_of for call in calls if call.attempt_of})
    group: dict[str, list[tuple[int, str]]] = {}
    for other in store.among("calls", "attempt_of", firsts):
        if isinstance(other, Call):
            group.setdefault(other.attempt_of, []).append((other.started, other.id))
    shapes = []
    for call in calls:
        earlier = sum((call.started, call.id) >= one for one in group.get(call.attempt_of, []))
        shapes.append(call_shape(call, names.get(call.line), 1 + earlier if call.attempt_of else call.details.get("attempt", 1)))
    return shapes


def conversation_shapes(store: Store, rows: list[Conversation]) -> list[Answer]:
    names = branches_of(store, (row.id for row in rows))
    openings = store.openings([row.id for row in rows])
    shapes = []
    for row in rows:
        title, tasks, roots = openings.get(row.id, ("", 0, 0))
        shapes.append(conversation_shape(row, title, tasks, roots, sorted(set(names.get(row.id, {}).values()))))
    return shapes


def tool_shapes(store: Store, rows: list[ToolCall], content: Content) -> list[Answer]:
    asked, answered = {row.call for row in rows if row.call}, {row.result_call for row in rows if row.result_call}
    calls = [call for call in store.among("calls", "id", sorted(asked | answered)) if isinstance(call, Call)]
    callers = {call.id: call for call in calls if call.id in asked}
    bringers = {call.id: call for call in calls if call.id in answered}
    content.expect(newest_of(list(callers.values()), list(bringers.values())))
    uses, results = content.tool_blocks(list(bringers.values()), rows)
    content.expect(behind(row, callers, bringers, uses) for row in rows if not row.protocol)
    results |= {row.native: content.server_result(row, bringers.get(row.result_call)) for row in rows if row.server}
    owners = {row.task for row in rows if row.task and not row.protocol}
    tasks = {task.id: task for task in store.among("tasks", "id", sorted(owners | {call.task for call in callers.values()}))}
    return [
        kept.tool_shape(row) if row.protocol else tool_shape(store, row, callers.get(row.call), tasks, content, uses, results)
        for row in rows
    ]


def newest_of(callers: Sequence[Call], bringers: Sequence[Call]) -> list[str]:
    """Of each task the request that repeats most, and the answers that no later one repeats: these are read in any case."""
    last: dict[str, Call] = {}
    for call in sorted(bringers, key=lambda call: call.started):
        last[call.task] = call
    behind = [call.response for call in callers if call.task not in last or call.started >= last[call.task].started]
    return [*(call.request for call in last.values()), *behind][:AT_ONCE]


def behind(row: ToolCall, callers: Mapping[str, Call], bringers: Mapping[str, Call], uses: Mapping[str, Any]) -> str:
    """The answer in which it stands, where no later request repeated it; the result of a server's own tool stands in one, too."""
    call = bringers.get(row.result_call) if row.server else None if row.native in uses else callers.get(row.call)
    return call.response if call else ""


def tool_shape(store: Store, row: ToolCall, caller: Call | None, tasks: dict[str, Any], content: Content, uses: Any, results: Any) -> Answer:
    use = uses.get(row.native) or content.use(row, caller)
    result = results.get(row.native)
    if row.shown or row.told or row.asker:
        shown, brought = content.reported(row)
        use, result = use or shown, result or brought
    owner = caller.task if caller else row.task
    task = tasks.get(owner)
    closed = row.closed or (row.told.at if row.told else 0)
    phases = ["llm_response"] + (["tool_result"] if closed or row.told else [])
    return {
        "id": row.id,
        "call_id": row.native,
        "task": owner or None,
        "call": row.call or None,
        "name": row.name or use.get("name") or None,
        "type": phases[-1],
        "phases": phases,
        "args": use.get("input", use.get("input_text")),
        "result": result_value(result) if result else None,
        "status": row.status if row.closed or not row.told else row.told.status,
        "agent_name": (task.agent_type or task.agent or None) if isinstance(task, Task) else None,
        "timestamp": iso(row.opened),
        "closed": iso(closed),
        "duration_ms": max(closed - row.opened, 0) / 1000 if closed and row.opened else None,
        "spawned": [row.child] if row.child else [],
        "result_source": "wire" if row.closed else "history" if row.told else None,
        "refs": [{"protocol": "claude", "kind": "tool_use", "value": row.native}],
    }
