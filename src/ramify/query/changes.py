"""What changed, in the shapes that live readers know."""

from typing import Any

from ramify.model.entity import Artifact, Call, Conversation, Entity, Operation, Task, ToolCall
from ramify.model.moment import iso
from ramify.query.shapes import call_shape, task_shape, usage_shape

NAMES = {
    "calls": "call", "tasks": "task", "tools": "tool", "conversations": "conversation", "corrections": "correction",
    "operations": "operation", "artifacts": "artifact",
}  # fmt: skip


def change_shapes(rows: dict[tuple[str, str], Entity | None]) -> list[dict[str, Any]]:
    return [shape for (table, id), row in rows.items() if (shape := change_shape(table, id, row)) is not None]


def change_shape(table: str, id: str, row: Entity | None) -> dict[str, Any] | None:
    """One change: `{"task": {…}}`. What is no longer there: `{"gone": {"kind", "id"}}`. Names of branches are asked for."""
    match row:
        case None:
            return {"gone": {"kind": NAMES[table], "id": id}} if table in NAMES else None
        case Call():
            return {"call": call_shape(row, None, 1)} if row.asked or row.protocol else None
        case Task():
            return {"task": {**task_shape(row, None), "parent": row.parent or None}}
        case ToolCall():
            return {"tool": _tool(row)}
        case Conversation():
            return {"conversation": {"id": id, "active": iso(row.active), "usage": usage_shape(row.usage), "calls": row.calls}}
        case Operation():
            return {"operation": {"id": id, "operationId": row.native, "updatedAt": iso(row.updated)}}
        case Artifact():
            return {"artifact": {"id": id, "task": row.task, "artifactId": row.native, "name": row.name or None}}
        case _:
            return None


def _tool(row: ToolCall) -> dict[str, Any]:
    return {
        "id": row.id,
        "call_id": row.native,
        "call": row.call or None,
        "task": row.task or None,
        "name": row.name or None,
        "status": row.status,
        "timestamp": iso(row.opened),
        "closed": iso(row.closed),
        "spawned": list(row.children) or ([row.child] if row.child else []),
    }
