"""Which agent wrote a message: the one that works on the task, the one that gave it, or another one that is named."""

import re
from typing import Any

from ramify.linking.authorship import Author
from ramify.model.entity import Call, Task, ToolCall
from ramify.model.ids import agent_task_id
from ramify.query.content import Content
from ramify.storage.base import Store

NAMED = re.compile(r'<agent-message\s[^>]*?from="([^"]+)"')


def writer_of(store: Store, task: Task | None, author: Author, blocks: list[dict[str, Any]], at: int, agent: str = "") -> str:
    """Its task; empty where nobody knows which it is. `agent`: as the message's own flags name it."""
    if author.author != "agent" or task is None:
        return ""
    if agent:
        return agent_task_id(task.project, task.session, agent)
    if author.who == "named":
        return _named(store, task, " ".join(str(block.get("text")) for block in blocks), at)
    return task.parent if author.who == "caller" else task.id


def _named(store: Store, task: Task, words: str, at: int) -> str:
    """By its id, or by the name with which it was started: the newest of that name."""
    found = NAMED.search(words)
    if found is None:
        return ""
    known = store.load("tasks", agent_task_id(task.project, task.session, found.group(1)))
    if known is not None:
        return known.id
    others = [one for one in store.among("tasks", "conversation", [task.conversation]) if isinstance(one, Task) and one.kind == "sub"]
    called = [one for one in others if one.opened <= at and found.group(1) in _names(store, one)]
    return max(called, key=lambda one: (one.opened, one.id)).id if called else ""


def _names(store: Store, task: Task) -> set[str]:
    names = {task.stated.name} if task.stated is not None else set()
    tool = store.load("tools", task.link.via_id) if task.link is not None and task.link.via_id else None
    if isinstance(tool, ToolCall):
        content, caller = Content(store), store.load("calls", tool.call)
        block = content.use(tool, caller if isinstance(caller, Call) else None) or content.reported(tool)[0]
        given = block.get("input")
        names.add(str(given.get("name") or "") if isinstance(given, dict) else "")
    return names - {""}
