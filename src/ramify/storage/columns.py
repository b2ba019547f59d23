"""Which fields of a row stand in columns of their own, to be asked for; all of it is in `doc`.

A column is a pure function of its row: it can never say anything else than the row does.
"""

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
    match row:
        case Call():
            return call_columns(row)
        case ToolCall():
            told = row.told if not row.closed else None
            return (
                row.project, row.call, row.block, row.name, row.task, row.observation, row.native, row.opened,
                row.closed or (told.at if told else 0) or None, told.status if told else row.status, row.child or "".join(row.children[:1]), row.path,
            )
        case Task():
            return task_columns(row)
        case Line():
            return row.conversation, row.kind, row.order, row.position
        case Conversation():
            return row.project, row.session, row.active, row.opened, row.client, row.calls, row.usage.calls, *spent(row.usage)
        case Message():
            return row.line, row.at, row.observation if row.protocol else ""
        case Report():
            return row.conversation, row.at
        case Logged():
            return (
                row.session, row.seq, row.sort, row.type, row.operation, row.agent, row.work, row.task_type, row.status,
                row.source, row.recorded, row.subject, row.project,
            )
        case EventSession():
            return row.project, row.active
        case Note():
            return row.task, row.at, row.kind, row.observation
        case Artifact():
            return row.task, row.at
        case Operation():
            return row.project, row.session, row.updated
        case Agent():
            return (row.project,)
        case Tally():
            return row.project, row.at, row.kind
        case _:
            return ()


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


def task_columns(row: Task) -> tuple[Any, ...]:
    agent = "" if row.agent.startswith("@") else row.agent  # a stand-in: nobody named the agent
    return (
        row.project, row.conversation, row.parent, row.opened, row.kind, task_status(row), row.agent_type or agent, agent,
        row.title, row.prompt, row.prompt_author or "unknown", task_closed(row) or None, row.usage.calls, row.tool_calls,
        *spent(row.usage), *linked(row.link), *spent(row.extra),
    )  # fmt: skip


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
