"""Every id by which somebody else knows a row, as its own protocol writes it."""

from collections.abc import Iterable, Mapping, Sequence

from ramify.model.entity import Call, Conversation, Entity, NativeRef, Operation, Task, ToolCall
from ramify.protocols.anthropic.decode import BATCH
from ramify.storage.base import Ref

Names = list[tuple[str, str]]
"""Each with its kind, as `protocol:kind`."""
NAMED = frozenset({"calls", "tools", "tasks", "conversations", "operations"})
MOST = 50_000  # rows of which it is remembered that their names are written


def refs_of(rows: Mapping[tuple[str, str], Entity | None], written: dict[tuple[str, str], int] | None = None) -> list[Ref]:
    """Every id by which somebody else knows what changed, unless it stands in `written` that the store has just these."""
    known = written if written is not None else {}
    if len(known) > MOST:
        known.clear()
    found: list[Ref] = []
    for place, row in rows.items():
        names = names_of(row) if place[0] in NAMED else None
        if names and known.get(place) != (mark := hash(tuple(names))):
            known[place] = mark
            found += [Ref(value, kind, *place) for kind, value in names]
    return found


def names_of(row: Entity | None) -> Names:
    match row:
        case Call() if row.protocol:
            named = [(f"{row.protocol}:message", row.message), (f"{row.protocol}:request", row.request_id)]
            return [one for one in named if one[1]] + span_names(row.details.get("spans", ()))
        case Call():
            named = [("claude:message", row.message), ("claude:request", row.request_id)]
            other = [("capture:exchange", row.exchange)] if row.exchange != row.request else []  # the call's id follows from that
            other += [("claude:batch", row.exchange)] if row.source == BATCH else []
            spans = [row.span] if row.relation == "seen" and row.span else []  # of a request on the wire, that is the span around it
            return [one for one in (*other, *named) if one[1]] + span_names(spans)
        case ToolCall() if row.protocol:
            kind, other = f"{row.protocol}:call", row.details.get("ref", row.native)
            values = (row.native,) if other == row.native else sorted((row.native, other))
            return [(kind, value) for value in values] + span_names(row.details.get("spans", ()))
        case ToolCall():
            return [("claude:tool_use", row.native)]
        case Task() if row.protocol:
            # A context names its conversation; that of a sub-task elsewhere has none, and names the sub-task.
            return native_names([ref for ref in row.refs if ref.kind != "context" or row.home != row.conversation])
        case Conversation() if row.protocol:
            return native_names(row.refs)
        case Operation():
            return [("adcp:operation", row.native)]
        case Task() if row.agent and not row.agent.startswith("@"):
            return [("claude:agent", row.agent)]
        case Conversation() if row.session:
            return [("claude:session", row.session)]
        case _:
            return []


def span_names(spans: Iterable[str]) -> Names:
    return [("otel:span", span) for span in spans]


def native_names(refs: Sequence[NativeRef]) -> Names:
    """Where an id is unique only inside an agent, `AGENT/ID` names it exactly."""
    found: Names = []
    for ref in refs:
        kind = f"{ref.protocol}:{ref.kind}"
        found += [(kind, value) for value in dict.fromkeys((ref.value, f"{ref.scope}/{ref.value}" if ref.scope else ref.value))]
    return found
