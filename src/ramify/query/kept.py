"""Rows of protocols that are kept as they were understood: nothing of them is read again from the log."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ramify.model.entity import Artifact, ArtifactPart, Message, Note, Task, ToolCall
from ramify.model.moment import iso
from ramify.query.shapes import ref
from ramify.storage.base import Store

Shape = dict[str, Any]
REASONING = ("thinking", "explanation", "progress", "context")


def tools_of(store: Store, tasks: Sequence[str]) -> list[ToolCall]:
    return [row for row in store.among("tools", "task", list(tasks)) if isinstance(row, ToolCall)]


def tool_shape(row: ToolCall) -> Shape:
    value = f"{row.details['ref']}" if "ref" in row.details else row.native
    return {
        "id": row.id,
        "call_id": row.native,
        "task": row.task,
        "call": row.call or None,
        "name": row.name or None,
        "type": row.phases[-1] if row.phases else "llm_response",
        "phases": list(row.phases),
        "args": value_of(row.args),
        "result": value_of(row.result),
        "status": row.status,
        "agent_name": row.agent_name or None,
        "timestamp": iso(row.opened),
        "started": iso(row.begun),
        "closed": iso(row.closed),
        "duration_ms": (row.closed - row.begun) / 1000 if row.closed and row.begun and row.closed >= row.begun else None,
        "spawned": list(row.children),
        "result_source": row.result_source or None,
        "occurrence": row.occurrence or None,
        "error": row.error or None,
        "synthetic": row.synthetic,
        "flags": row.details.get("flags", []),
        "refs": [ref(row.protocol, "call", value), *(ref("otel", "span", place) for place in row.details.get("spans", ()))],
    }


def message_shape(row: Message) -> Shape:
    return {
        "id": row.id,
        "task": row.line or None,
        "call": None,
        "role": row.role,
        "author": row.author,
        "author_id": row.author_id or None,
        "author_kind": row.author_kind or None,
        "reason": row.reason,
        "blocks": value_of(row.blocks) or [],
        "timestamp": iso(row.at),
        "source": row.source,
        "observation": row.observation or None,
    }


def notes_of(store: Store, tasks: Sequence[str], kinds: Sequence[str] = ()) -> list[Note]:
    rows = [row for row in store.among("notes", "task", list(tasks)) if isinstance(row, Note)]
    found = [row for row in rows if not kinds or row.kind in kinds]
    return sorted(found, key=lambda row: (row.at, row.position, row.id))


def reasoning_shape(row: Note, history: list[Any] | None = None) -> Shape:
    return {
        "task": row.task,
        "message_id": row.native or None,
        "call": row.details.get("call"),
        "timestamp": iso(row.at),
        "agent_name": row.agent_name or None,
        "kind": row.kind,
        "text": row.text,
        "withheld": bool(row.details.get("withheld")),
        "model": row.model or None,
        "message_ids": row.details.get("message_ids") or ([row.native] if row.native else []),
        "conversation_history": row.details.get("history", history),
    }


def feedback_of(store: Store, task: Task) -> list[Shape]:
    """What people said about how a task was done."""
    return [{**note.details, "timestamp": iso(note.at)} for note in notes_of(store, [task.id], ("feedback",))]


def artifacts_of(store: Store, task: Task) -> list[Shape]:
    return [artifact_shape(store, row) for row in artifact_rows(store, [task.id])]


def artifact_rows(store: Store, tasks: Sequence[str]) -> list[Artifact]:
    """Oldest first."""
    rows = [row for row in store.among("artifacts", "task", list(tasks)) if isinstance(row, Artifact)]
    return sorted(rows, key=lambda row: (row.at, row.position, row.id))


def artifact_shape(store: Store, row: Artifact) -> Shape:
    parts = value_of(row.parts) or []
    for number in range(1, row.more + 1):
        further = store.load("artifact_parts", f"{row.id}.{number}")
        parts += value_of(further.parts) or [] if isinstance(further, ArtifactPart) else []
    shape = {"artifactId": row.native, "name": row.name or None, "parts": parts, **row.details, "timestamp": iso(row.at)}
    return {**shape, "partial": True} if row.partial else shape


def value_of(text: bytes) -> Any:
    return msgspec.json.decode(text) if text else None
