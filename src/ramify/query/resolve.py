"""From any id that people have at hand to the thing it names."""

from ramify.model.entity import TABLES, Entity, Task
from ramify.query.errors import Ambiguous, NotFound
from ramify.storage.base import Ref, Store

PREFIXES = {"call_": "calls", "task_": "tasks", "tool_": "tools", "conv_": "conversations", "oper_": "operations"}
NAMES = {
    "calls": "call", "tasks": "task", "tools": "tool call", "conversations": "conversation", "operations": "operation",
}  # fmt: skip


def resolve(store: Store, id: str, tables: tuple[str, ...] = ("tasks", "conversations", "calls", "tools")) -> tuple[str, Entity]:
    """The table and the row. Ramify's own ids may be shortened as long as they fit one thing."""
    found = _own(store, id) or _native(store, id) or _shortened(store, id)
    fitting = [one for one in found if one[0] in tables] or found
    rows = [(table, row) for table, one in fitting if (row := store.load(table, one)) is not None]
    if len(rows) > 1:
        candidates = [
            {"id": row.id, "kind": NAMES[table], "project": getattr(row, "project", "")} for table, row in rows
        ]
        raise Ambiguous(f"{id!r} fits {len(rows)} things", candidates)
    if not rows:
        raise NotFound(f"nothing has the id {id!r}")
    table, row = rows[0]
    if table not in tables:
        wanted = " or ".join(NAMES[one] for one in tables)
        raise NotFound(f"{id!r} is a {NAMES[table]}, not a {wanted}")
    return table, row


def _own(store: Store, id: str) -> list[tuple[str, str]]:
    return [(table, id) for prefix, table in PREFIXES.items() if id.startswith(prefix) and store.load(table, id) is not None]


def _shortened(store: Store, id: str) -> list[tuple[str, str]]:
    """After ids of protocols: some of these begin as ours do."""
    for prefix, table in PREFIXES.items():
        if id.startswith(prefix) and len(id) >= len(prefix) + 4:
            return [(table, one) for one in store.ids_like(table, id, 20)]
    return []


def _native(store: Store, id: str) -> list[tuple[str, str]]:
    exact = id.split(":", 2)
    if len(exact) == 3 and exact[0] and exact[1]:
        kind = f"{exact[0]}:{exact[1]}"
        return sorted({(ref.entity, ref.id) for ref in store.refs(exact[2]) if ref.kind == kind and _still(store, ref)})
    return sorted({(ref.entity, ref.id) for ref in store.refs(id) if ref.entity in TABLES and _still(store, ref)})


def _still(store: Store, ref: Ref) -> bool:
    """Refs are only ever added. A task that was taken for another for a while had its id, and has it no longer."""
    row = store.load(ref.entity, ref.id)
    if not isinstance(row, Task) or not row.protocol or ref.kind == "ramify:task":
        return True
    return any(
        f"{one.protocol}:{one.kind}" == ref.kind and ref.value in (one.value, f"{one.scope}/{one.value}") for one in row.refs
    )
