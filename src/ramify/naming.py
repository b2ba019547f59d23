"""Every id by which somebody else knows a row, as its own protocol writes it."""

from collections.abc import Iterable, Mapping, Sequence

from ramify.model.entity import Call, Conversation, Entity, NativeRef, Operation, Task, ToolCall
from ramify.storage.base import Ref


def refs_of(rows: Mapping[tuple[str, str], Entity | None]) -> list[Ref]:
    """Every id by which somebody else knows what changed."""
    found: list[Ref] = []
    for (table, id), row in rows.items():
        match row:
            case Call() if row.protocol:
                named = [(f"{row.protocol}:message", row.message), (f"{row.protocol}:request", row.request_id)]
                found += [Ref(value, kind, table, id) for kind, value in named if value]
                found += span_refs(table, id, row.details.get("spans", ()))
            case Call():
                found += [
                    Ref(value, kind, table, id)
                    for kind, value in (
                        ("capture:exchange", row.exchange), ("claude:message", row.message), ("claude:request", row.request_id)
                    )
                    if value
                ]
            case ToolCall() if row.protocol:
                values = {row.native, row.details.get("ref", row.native)}
                found += native_refs(table, id, [NativeRef(row.protocol, "call", value) for value in sorted(values)])
                found += span_refs(table, id, row.details.get("spans", ()))
            case ToolCall():
                found.append(Ref(row.native, "claude:tool_use", table, id))
            case Task() | Conversation() if row.protocol:
                found += native_refs(table, id, row.refs)
            case Operation():
                found.append(Ref(row.native, "adcp:operation", table, id))
            case Task() if row.agent and not row.agent.startswith("@"):
                found.append(Ref(row.agent, "claude:agent", table, id))
            case Conversation() if row.session:
                found.append(Ref(row.session, "claude:session", table, id))
            case _:
                pass
    return found


def span_refs(table: str, id: str, spans: Iterable[str]) -> list[Ref]:
    return [Ref(span, "otel:span", table, id) for span in spans]


def native_refs(table: str, id: str, refs: Sequence[NativeRef]) -> list[Ref]:
    """Where an id is unique only inside an agent, `AGENT/ID` names it exactly."""
    found: list[Ref] = []
    for ref in refs:
        kind = f"{ref.protocol}:{ref.kind}"
        if table == "tasks" and ref.kind == "context":
            continue  # that names the conversation
        found += [Ref(value, kind, table, id) for value in {ref.value, f"{ref.scope}/{ref.value}" if ref.scope else ref.value}]
    return found
