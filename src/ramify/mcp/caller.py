"""Which task is asking. The client may say by which tool use it asks; else the use shows in the traffic, still unanswered."""

import time
from typing import Any, NamedTuple

from ramify.model.entity import Call, Task, ToolCall
from ramify.query.errors import Ambiguous, NotFound
from ramify.query.resolve import resolve
from ramify.query.service import Questions
from ramify.storage.base import Ask

TOOL_USE = "claudecode/toolUseId"
NEWEST = 500  # tool calls looked through for one that waits
PATIENCE = 2.0  # seconds: what was just said on the wire is stored in a moment
BETWEEN = 0.05


class Caller(NamedTuple):
    task: Task
    known_by: str


def caller(questions: Questions, tool: str, id: str | None, meta: dict[str, Any]) -> Caller:
    if id:
        return Caller(_task(questions, id), "the id that was given")
    use = meta.get(TOOL_USE)
    found = _patiently(lambda: _by_use(questions, use) if isinstance(use, str) else _waiting(questions, tool))
    if found is None:
        named = f"its tool use {use!r} was not captured" if isinstance(use, str) else f"no captured agent waits for an answer of `{tool}`"
        raise NotFound(f"it is not known who asks: {named}. Give your task's or session's id as `id`, or use `find`")
    return found


def _patiently(look: Any) -> Caller | None:
    until = time.monotonic() + PATIENCE
    while True:
        found: Caller | None = look()
        if found is not None or time.monotonic() > until:
            return found
        time.sleep(BETWEEN)


def _task(questions: Questions, id: str) -> Task:
    _, row = resolve(questions.store, id, ("tasks", "conversations", "calls", "tools"))
    if isinstance(row, Task):
        return row
    if isinstance(row, Call | ToolCall):
        return questions.task_above(row)
    roots = questions.store.page("tasks", Ask("opened", {"conversation": row.id, "kind": "root"}, 1))
    if not roots or not isinstance(roots[0], Task):
        raise NotFound(f"conversation {id!r} has no task")
    return roots[0]


def _by_use(questions: Questions, use: str) -> Caller | None:
    try:
        _, row = resolve(questions.store, f"claude:tool_use:{use}", ("tools",))
        return Caller(questions.task_above(row), "the tool use that the client names") if isinstance(row, ToolCall) else None
    except NotFound:
        return None


def _waiting(questions: Questions, tool: str) -> Caller | None:
    rows = questions.store.page("tools", Ask("opened", {}, NEWEST))
    waiting = [row for row in rows if isinstance(row, ToolCall) and row.status == "running" and row.name.endswith(f"__{tool}")]
    if len(waiting) > 1:
        candidates = [{"id": row.id, "kind": "tool call", "project": row.project} for row in waiting]
        raise Ambiguous(f"{len(waiting)} agents wait for an answer of {tool!r}: give your own task's id as `id`", candidates)
    return Caller(questions.task_above(waiting[0]), "the only call of this tool that waits for its answer") if waiting else None
