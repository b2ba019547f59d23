"""Values that a term of a filter can take: words that are fixed, and what the newest rows hold, most frequent first."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ramify.model.entity import Call, Conversation, Entity, Operation, Task
from ramify.model.rules import RULES
from ramify.query.filter import WORDS
from ramify.query.kept import tools_of
from ramify.query.meaning import DONE, OPEN, ORDER
from ramify.query.operations import operation_shape
from ramify.storage.base import Ask, Store

NEWEST = 500  # rows that are looked at, so that a large store answers as fast as a small one
STATUSES = {
    "calls": ("ok", "error", "aborted", "running"),
    "tools": ("ok", "error", "running", "canceled", "timed_out", "missing"),
    "operations": (*OPEN, *DONE, "partial", "unknown"),
}


def known_values(store: Store, table: str, name: str) -> list[str]:
    if name == "status":
        return list(STATUSES.get(table, (*OPEN, *DONE, "unknown")))
    if name in WORDS:
        return list(WORDS[name])
    if name == "rule":
        return list(RULES)
    read = _of_operations if table == "operations" else _of_others
    return [value for value, _ in Counter(value for value in read(store, name) if value).most_common()]


def _newest(store: Store, table: str) -> list[Entity]:
    return store.page(table, Ask(ORDER[table], limit=NEWEST))


def _of_operations(store: Store, name: str) -> Iterator[str]:
    fields: dict[str, Any] = {"agent": "agents", "tool": "taskTypes"}
    for row in _newest(store, "operations"):
        assert isinstance(row, Operation)
        if name in fields:
            yield from operation_shape(row)[fields[name]]
        elif name in ("project", "session"):
            yield row.project if name == "project" else operation_shape(row)["session"]


def _of_others(store: Store, name: str) -> Iterable[str]:
    match name:
        case "agent":
            return (row.agent_type or ("" if row.agent.startswith("@") else row.agent) for row in _newest(store, "tasks") if isinstance(row, Task))
        case "model":
            return (row.model for row in _newest(store, "calls") if isinstance(row, Call))
        case "stop":
            return (row.stop_reason for row in _newest(store, "calls") if isinstance(row, Call))
        case "tool":
            return _tools(store)
        case "project" | "session" | "client":
            return (getattr(row, name) for row in _newest(store, "conversations") if isinstance(row, Conversation))
        case _:
            return ()


def _tools(store: Store) -> Iterator[str]:
    """Of the newest calls, and of tasks that have tool calls of their own."""
    asked = store.among("tools", "call", [row.id for row in _newest(store, "calls")])
    owned = tools_of(store, [row.id for row in _newest(store, "tasks") if isinstance(row, Task) and row.protocol])
    for row in (*asked, *owned):
        yield getattr(row, "name", "")
