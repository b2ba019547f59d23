"""From any id that people have at hand to the thing it names."""

from ramify.model.entity import TABLES, Call, Entity, Task
from ramify.model.ids import call_id
from ramify.model.steering import HALF
from ramify.query.errors import Ambiguous, NotFound
from ramify.storage.base import Ref, Store, Wish

PREFIXES = {"call_": "calls", "task_": "tasks", "tool_": "tools", "conv_": "conversations", "oper_": "operations"}
NAMES = {
    "calls": "call", "tasks": "task", "tools": "tool call", "conversations": "conversation", "operations": "operation",
}  # fmt: skip
SHOWN_BY = {"calls": "show", "tasks": "tree", "tools": "tool", "conversations": "tree", "operations": "tree"}

Found = list[tuple[str, Entity]]
"""Tables and rows. Each is loaded once: on a server every look is a journey."""


def resolve(store: Store, id: str, tables: tuple[str, ...] = ("tasks", "conversations", "calls", "tools")) -> tuple[str, Entity]:
    """The table and the row. Ramify's own ids may be shortened as long as they fit one thing."""
    found = [] if HALF.search(id) else _own(store, id) or _native(store, id) or _shortened(store, id)
    rows = [one for one in found if one[0] in tables] or found
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
        article = "an" if NAMES[table][0] in "aeiou" else "a"
        raise NotFound(f"{id!r} is {article} {NAMES[table]}, not a {wanted}", f"ramify {SHOWN_BY[table]} {row.id} leads to its tasks")
    return table, row


def _own(store: Store, id: str) -> Found:
    return [(table, row) for prefix, table in PREFIXES.items() if id.startswith(prefix) and (row := store.load(table, id)) is not None]


def _shortened(store: Store, id: str) -> Found:
    """After ids of protocols: some of these begin as ours do."""
    for prefix, table in PREFIXES.items():
        if id.startswith(prefix) and len(id) >= len(prefix) + 4:
            return [(table, row) for one in store.ids_like(table, id, 20) if (row := store.load(table, one)) is not None]
    return []


def _native(store: Store, id: str) -> Found:
    exact = id.split(":", 2)
    if len(exact) == 3 and exact[0] and exact[1]:
        return _named(store, exact[2], f"{exact[0]}:{exact[1]}")
    return _named(store, id)


def _named(store: Store, value: str, kind: str = "") -> Found:
    """What was seen of a call on the wire names it without being written down: its id follows from that. A context that a
    sub-task shares with a conversation means the conversation."""
    refs = [ref for ref in store.refs(value) if (ref.kind == kind if kind else ref.entity in TABLES)]
    wanted: dict[str, list[str]] = {"calls": [call_id(value)] if kind in ("", "capture:exchange") else []}
    for ref in refs:
        wanted.setdefault(ref.entity, []).append(ref.id)
    wishes = [Wish(table, "id", sorted(set(ids))) for table, ids in wanted.items() if ids]
    there = {(wish.table, row.id): row for wish, rows in zip(wishes, store.gather(wishes), strict=True) for row in rows}
    seen = {place for place, row in there.items() if isinstance(row, Call) and row.exchange == value and row.id == call_id(value)}
    refs = [ref for ref in refs if (row := there.get((ref.entity, ref.id))) is not None and _still(row, ref)]
    if any(ref.entity == "conversations" for ref in refs):
        refs = [ref for ref in refs if ref.entity != "tasks" or not ref.kind.endswith(":context")]
    return [(place[0], there[place]) for place in sorted(seen | {(ref.entity, ref.id) for ref in refs})]


def _still(row: Entity, ref: Ref) -> bool:
    """Refs are only ever added. A task that was taken for another for a while had its id, and has it no longer."""
    if not isinstance(row, Task) or not row.protocol or ref.kind == "ramify:task":
        return True
    own = [one for one in row.refs if one.kind != "context" or row.home != row.conversation]  # else that names the conversation
    return any(f"{one.protocol}:{one.kind}" == ref.kind and ref.value in (one.value, f"{one.scope}/{one.value}") for one in own)
