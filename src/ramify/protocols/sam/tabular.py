"""A message as a row of a table, with JSON in the words of the wire: for questions in SQL."""

from typing import Any

from ramify.model.event import Unreadable
from ramify.model.mesh_event import MeshMessage
from ramify.model.moment import iso
from ramify.model.observation import Record
from ramify.protocols.sam.decode import decode
from ramify.protocols.sam.identity import message_of
from ramify.protocols.sam.wire import Envelope, Json, list_at, read_envelope, storable, table_at, text_at, written

KINDS = {"request": "request", "status": "status-update", "end": "task", "error": "error"}
Row = tuple[Any, ...]


def row_of(seen: Record) -> Row | None:
    """None where it is no message of a task: a copy, a card, a cancel request, feedback."""
    message, found = decode(seen), read_envelope(seen.body)
    if message is None or isinstance(message, Unreadable) or isinstance(found, str) or message.kind not in KINDS:
        return None
    inner = message_of(found.payload)
    parts = list_at(inner, "parts")
    usage = usage_of(found.payload, parts)
    return (
        message.identity, message.native or None, message.context or None, message.task, message.at, message.received,
        message.role or None, message.agent or None, message.topic, found.correlation or None, found.sender or None,
        KINDS[message.kind], is_final(found.payload, message), *tokens_of(parts),
        text(parts) if inner else None, text(calls_in(parts, message.at)), text(found.payload), profile_of(found), text(usage),
        text(table_at(inner, "metadata") or table_at(table_at(found.payload, "result"), "metadata")),
    )  # fmt: skip


def text(value: Any) -> str | None:
    return written(storable(value)).decode() if value else None


def is_final(payload: Json, message: MeshMessage) -> int:
    return int(message.kind in ("end", "error") or table_at(payload, "result").get("final") is True)


def datas(parts: list[Any]) -> list[Json]:
    return [table_at(part, "data") for part in parts if text_at(part, "kind") == "data"]


def tokens_of(parts: list[Any]) -> tuple[int | None, int | None, str | None]:
    """Only of answers: the sums that ends repeat would count everything twice."""
    for data in datas(parts):
        usage = table_at(data, "usage")
        if text_at(data, "type") == "llm_response" and usage:
            return usage.get("input_tokens"), usage.get("output_tokens"), text_at(usage, "model") or None
    return None, None, None


def usage_of(payload: Json, parts: list[Any]) -> Json:
    end = table_at(table_at(table_at(payload, "result"), "metadata"), "token_usage")
    return end or next((usage for data in datas(parts) if (usage := table_at(data, "usage"))), {})


def profile_of(found: Envelope) -> str | None:
    return text(table_at(table_at(found.properties or {}, "a2aUserConfig"), "user_profile"))


def calls_in(parts: list[Any], at: int) -> list[Json]:
    """One entry for each phase of a tool call."""
    stamp, calls = iso(at), list[Json]()
    for data in datas(parts):
        match text_at(data, "type"):
            case "llm_response":
                answer = list_at(table_at(table_at(data, "data"), "content"), "parts")
                asked = [one for part in answer if (one := table_at(part, "function_call"))]
                calls += [call("llm_response", one.get("id"), one.get("name"), {"args": one.get("args")}, stamp) for one in asked]
            case "tool_invocation_start" as kind:
                calls.append(call(kind, data.get("function_call_id"), data.get("tool_name"), {"args": data.get("tool_args")}, stamp))
            case "tool_result" as kind:
                calls.append(call(kind, data.get("function_call_id"), data.get("tool_name"), {"result": data.get("result_data")}, stamp))
            case _:
                pass
    return calls


def call(kind: str, id: Any, name: Any, about: Json, stamp: str | None) -> Json:
    return {"type": kind, "id": id, "name": name, **about, "timestamp": stamp}
