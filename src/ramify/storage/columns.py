"""Which fields of a row stand in columns of their own, to be asked for; all of it is in `doc`.

A column is a pure function of its row: it can never say anything else than the row does.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from ramify.model.entity import (
    TABLES,
    Agent,
    Artifact,
    Call,
    Conversation,
    Entity,
    EventSession,
    Line,
    Logged,
    Message,
    Note,
    Operation,
    Report,
    Task,
    ToolCall,
)
from ramify.model.link import Link
from ramify.model.standing import task_closed, task_status
from ramify.model.tally import Tally
from ramify.model.usage import NOTHING, Usage

SPENT = ("input", "output", "cache_read", "cache_write", "cost")
LINKED = ("link_kind", "rule", "certainty", "via")
COLUMNS: dict[str, tuple[str, ...]] = {
    "calls": (
        "project", "conversation", "task", "line", "attempt_of", "started", "status", "kind", "source",
        "model", "agent", "utility", "parent", "message", "ended", "first_byte", "stop_reason", "http_status",
        "message_count", "new_messages", "counted", *SPENT, *LINKED,
    ),
    "tools": ("project", "call", "block", "name", "task", "observation", "native", "opened", "closed", "status", "child", "path"),
    "tasks": (
        "project", "conversation", "parent", "opened", "kind", "status", "agent", "agent_id", "title", "prompt",
        "prompt_author", "closed", "calls", "tool_calls", *SPENT, *LINKED,
        "extra_input", "extra_output", "extra_cache_read", "extra_cache_write", "extra_cost",
    ),
    "lines": ("conversation", "kind", "started", "position"),
    "conversations": ("project", "session", "active", "opened", "client", "calls", "counted", *SPENT),
    "corrections": (),
    "messages": ("line", "at", "observation"),
    "reports": ("conversation", "at"),
    "notes": ("task", "at", "kind", "observation"),
    "artifacts": ("task", "at"),
    "artifact_parts": (),
    "operations": ("project", "session", "updated"),
    "agents": ("project",),
    "sheets": (),
    "events": (
        "session", "seq", "sort", "type", "operation", "agent", "agent_task_id", "task_type", "status", "source", "recorded",
        "subject", "project",
    ),
    "sessions": ("project", "active"),
    "tallies": ("project", "at", "kind"),
}  # fmt: skip
NUMBERS = frozenset((
    "started", "opened", "closed", "ended", "first_byte", "active", "at", "updated", "seq", "recorded", "block", "position", "calls",
    "counted", "tool_calls", "http_status", "message_count", "new_messages", "input", "output", "cache_read", "cache_write", "cost",
    "extra_input", "extra_output", "extra_cache_read", "extra_cache_write", "extra_cost",
))  # fmt: skip
OPTIONAL = frozenset(("closed", "ended", "first_byte", "http_status", "cost", "extra_cost", "certainty"))  # may be unknown
NO_LINK = ("", "", None, "")
SPARSE = frozenset((
    ("tasks", "parent"), ("calls", "attempt_of"), ("tools", "task"), ("tools", "observation"), ("messages", "observation"),
    ("notes", "observation"), ("events", "subject"),
))  # fmt: skip
"""Empty in many rows: their index leaves those out, and is used only where a query says that it wants none of them."""


def columns_of(row: Entity) -> tuple[Any, ...]:
    read = READERS.get(type(row))
    return read(row) if read is not None else ()


def value_of(table: str, column: str, row: Entity) -> Any:
    return row.id if column == "id" else columns_of(row)[COLUMNS[table].index(column)]


def call_columns(row: Call) -> tuple[Any, ...]:
    kind = "utility" if row.utility else "subagent" if row.agent or row.line == row.task else "main"
    if row.relation == "seen" and row.twin:
        kind = "twin"  # the wire's call stands for both
    return (
        row.project, row.conversation, row.task, row.line, row.attempt_of, row.started, row.status, kind, row.source,
        row.model, row.agent, row.utility, row.parent, row.message, row.ended or None, row.first_byte or None,
        row.stop_reason, row.http_status or None, row.message_count, max(row.message_count - row.new_message, 0),
        0 if row.repeated else row.usage.calls, *spent(row.usage), *linked(row.link),
    )  # fmt: skip


def tool_columns(row: ToolCall) -> tuple[Any, ...]:
    told = row.told if not row.closed else None
    return (
        row.project, row.call, row.block, row.name, row.task, row.observation, row.native, row.opened,
        row.closed or (told.at if told else 0) or None, told.status if told else row.status, row.child or "".join(row.children[:1]), row.path,
    )  # fmt: skip


def task_columns(row: Task) -> tuple[Any, ...]:
    agent = "" if row.agent.startswith("@") else row.agent  # a stand-in: nobody named the agent
    return (
        row.project, row.conversation, row.parent, row.opened, row.kind, task_status(row), row.agent_type or agent, agent,
        row.title, row.prompt, row.prompt_author or "unknown", task_closed(row) or None, row.usage.calls, row.tool_calls,
        *spent(row.usage), *linked(row.link), *spent(row.extra),
    )  # fmt: skip


def conversation_columns(row: Conversation) -> tuple[Any, ...]:
    return row.project, row.session, row.active, row.opened, row.client, row.calls, row.usage.calls, *spent(row.usage)


def event_columns(row: Logged) -> tuple[Any, ...]:
    return (
        row.session, row.seq, row.sort, row.type, row.operation, row.agent, row.work, row.task_type, row.status,
        row.source, row.recorded, row.subject, row.project,
    )  # fmt: skip


READERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    Call: call_columns,
    ToolCall: tool_columns,
    Task: task_columns,
    Line: lambda row: (row.conversation, row.kind, row.order, row.position),
    Conversation: conversation_columns,
    Message: lambda row: (row.line, row.at, row.observation if row.protocol else ""),
    Report: lambda row: (row.conversation, row.at),
    Logged: event_columns,
    EventSession: lambda row: (row.project, row.active),
    Note: lambda row: (row.task, row.at, row.kind, row.observation),
    Artifact: lambda row: (row.task, row.at),
    Operation: lambda row: (row.project, row.session, row.updated),
    Agent: lambda row: (row.project,),
    Tally: lambda row: (row.project, row.at, row.kind),
}
"""By type, and not one test after the other: most rows are of the kinds that would be tried last."""


def spent(usage: Usage) -> tuple[int | None, ...]:
    """Money in billionths of a dollar; nothing where it cannot be known."""
    unknown = usage.unpriced or usage == NOTHING
    return usage.input, usage.output, usage.cache_read, usage.cache_write, None if unknown else usage.cost_nano


def linked(link: Link | None) -> tuple[Any, ...]:
    return (link.kind, link.rule, link.certainty, link.via) if link is not None and link.kind else NO_LINK


def upsert(table: str) -> str:
    names = ("id", *COLUMNS[table], "doc")
    updates = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET {updates}"


UPSERT = {table: upsert(table) for table in TABLES}


STEADY: dict[str, tuple[str, ...]] = {
    "calls": ("project", "conversation", "attempt_of", "started", "model"),
    "tools": ("project", "call", "block", "name", "observation"),
    "tasks": ("project", "conversation", "parent", "opened", "kind", "agent"),
    "messages": ("at", "observation"),
}
"""Columns that indexes are made of and that seldom change while others of their row do."""


def steady_of(table: str) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Of what `columns_of` gives."""
    return itemgetter(*(COLUMNS[table].index(name) for name in STEADY[table]))


def moving_of(table: str) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Of an id, the columns and `doc`: what `narrow` takes."""
    names = ("id", *COLUMNS[table], "doc")
    return itemgetter(*(names.index(name) for name in (*moving(table), "id", *STEADY[table])))


def moving(table: str) -> tuple[str, ...]:
    return tuple(name for name in (*COLUMNS[table], "doc") if name not in STEADY[table])


def narrow(table: str) -> str:
    """Of a row that is there. A column that is named is written to every index that has it, even if it says the same as before."""
    updates = ", ".join(f"{name} = ?" for name in moving(table))
    same = " AND ".join(f"{name} = ?" for name in ("id", *STEADY[table]))
    return f"UPDATE {table} SET {updates} WHERE {same}"


NARROW = {table: (narrow(table), steady_of(table), moving_of(table)) for table in STEADY}
