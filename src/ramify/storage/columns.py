"""Which fields of a row stand in columns of their own, to be asked for; all of it is in `doc`."""

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

COLUMNS = {
    "calls": ("project", "conversation", "task", "line", "attempt_of", "started", "status", "kind", "source"),
    "tools": ("project", "call", "block", "name", "task", "opened", "observation"),
    "tasks": ("project", "conversation", "parent", "opened", "kind"),
    "lines": ("conversation", "kind", "started", "position"),
    "conversations": ("project", "session", "active"),
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
        "subject",
    ),
    "sessions": ("project", "active"),
}  # fmt: skip


def columns_of(row: Entity) -> tuple[Any, ...]:
    match row:
        case Call():
            kind = "utility" if row.utility else "subagent" if row.agent or row.line == row.task else "main"
            if row.relation == "seen" and row.twin:
                kind = "twin"  # the wire's call stands for both
            return (
                row.project, row.conversation, row.task, row.line, row.attempt_of, row.started, row.status, kind,
                row.source,
            )
        case ToolCall():
            return row.project, row.call, row.block, row.name, row.task, row.opened, row.observation
        case Task():
            return row.project, row.conversation, row.parent, row.opened, row.kind
        case Line():
            return row.conversation, row.kind, row.order, row.position
        case Conversation():
            return row.project, row.session, row.active
        case Message():
            return row.line, row.at, row.observation if row.protocol else ""
        case Report():
            return row.conversation, row.at
        case Logged():
            return (
                row.session, row.seq, row.sort, row.type, row.operation, row.agent, row.work, row.task_type, row.status,
                row.source, row.recorded, row.subject,
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
        case _:
            return ()


def upsert(table: str) -> str:
    names = ("id", *COLUMNS[table], "doc")
    updates = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET {updates}"


UPSERT = {table: upsert(table) for table in TABLES}
