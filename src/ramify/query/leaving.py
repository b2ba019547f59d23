"""What goes when a conversation is forgotten, as its rows say it: for whoever is about to do so."""

from typing import Any

from ramify.model.entity import Conversation, EventSession, Task
from ramify.model.moment import iso
from ramify.model.standing import task_status
from ramify.query.paging import ALL
from ramify.storage.base import Ask, Store

MOST = 20  # conversations that are named


def leaving(store: Store, id: str) -> dict[str, Any]:
    """`parted`: conversations that stay, of which a task loses its parent. `working`: it goes on, and would be seen again."""
    row = store.load("conversations", id) or store.load("sessions", id)
    tasks = [task for task in store.page("tasks", Ask("opened", {"conversation": id}, ALL, ascending=True)) if isinstance(task, Task) and task.kind != "none"]
    under = [task for task in store.among("tasks", "parent", [task.id for task in tasks]) if isinstance(task, Task)]
    return {
        "id": id,
        "title": next((task.title for task in tasks if task.title), ""),
        "opened": iso(row.opened) if isinstance(row, Conversation) else None,
        "active": iso(row.active) if isinstance(row, Conversation | EventSession) else None,
        "tasks": len(tasks),
        "calls": store.count("calls", {"conversation": id}, {"kind": "twin"}),
        "tool_calls": sum(task.tool_calls for task in tasks),
        "events": store.count("events", {"session": id}) if isinstance(row, EventSession) else 0,
        "working": any(task_status(task) == "working" for task in tasks),
        "parted": sorted({task.conversation for task in under if task.conversation not in ("", id)})[:MOST],
    }
