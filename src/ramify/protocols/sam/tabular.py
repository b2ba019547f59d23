"""A message as a row of a table, with JSON in the words of the wire: for questions in SQL.

Each column is read when it is asked for: histories are long, and most questions want no history.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from ramify.model.mesh_event import MeshMessage
from ramify.model.moment import iso
from ramify.model.observation import Record
from ramify.protocols.sam.decode import bare, message_in
from ramify.protocols.sam.identity import message_of
from ramify.protocols.sam.parts import answered
from ramify.protocols.sam.wire import Envelope, Json, list_at, read_envelope, table_at, text_at, written

KINDS = {"request": "request", "status": "status-update", "end": "task", "error": "error"}
Row = tuple[Any, ...]


class Told:
    """What one message says, part by part."""

    def __init__(self, message: MeshMessage, found: Envelope) -> None:
        self.message = message
        self.found = found

    @cached_property
    def inner(self) -> Json:
        return message_of(self.found.payload)

    @cached_property
    def parts(self) -> list[Any]:
        return list_at(self.inner, "parts")

    @cached_property
    def tokens(self) -> tuple[int | None, int | None, str | None]:
        return tokens_of(self.parts)

    @property
    def metadata(self) -> Json:
        return table_at(self.inner, "metadata") or table_at(table_at(self.found.payload, "result"), "metadata")


COLUMNS: dict[str, Callable[[Told], Any]] = {
    "identity": lambda told: told.message.identity,
    "message_id": lambda told: told.message.native or None,
    "context_id": lambda told: told.message.context or None,
    "task_id": lambda told: told.message.task,
    "at": lambda told: told.message.at,
    "received": lambda told: told.message.received,
    "role": lambda told: told.message.role or None,
    "agent": lambda told: told.message.agent or None,
    "topic": lambda told: told.message.topic,
    "correlation_id": lambda told: told.found.correlation or None,
    "sender_id": lambda told: told.found.sender or None,
    "message_kind": lambda told: KINDS[told.message.kind],
    "is_final": lambda told: is_final(told.found.payload, told.message),
    "input_tokens": lambda told: told.tokens[0],
    "output_tokens": lambda told: told.tokens[1],
    "model_used": lambda told: told.tokens[2],
    "message_content": lambda told: text(told.parts) if told.inner else None,
    "tool_calls": lambda told: text(calls_in(told.parts, told.message.at)),
    "raw_payload": lambda told: text(told.found.payload),
    "user_context_raw": lambda told: profile_of(told.found),
    "token_usage_raw": lambda told: text(usage_of(told.found.payload, told.parts)),
    "metadata": lambda told: text(told.metadata),
}


def told_by(seen: Record) -> Told | None:
    """None where it is no message of a task: a copy, a card, a cancel request, feedback."""
    found = read_envelope(seen.body)
    if isinstance(found, str) or not isinstance(found.payload, dict):
        return None
    message = message_in(found, bare(found, seen))
    return Told(message, found) if message is not None and message.kind in KINDS else None


def row_of(seen: Record) -> Row | None:
    told = told_by(seen)
    return None if told is None else tuple(read(told) for read in COLUMNS.values())


def text(value: Any) -> str | None:
    return written(value).decode() if value else None


def is_final(payload: Json, message: MeshMessage) -> int:
    return int(message.kind in ("end", "error") or table_at(payload, "result").get("final") is True)


def datas(parts: list[Any]) -> list[Json]:
    return [table_at(part, "data") for part in parts if text_at(part, "kind") == "data"]


def tokens_of(parts: list[Any]) -> tuple[int | None, int | None, str | None]:
    """Only of answers: the sums that ends repeat would count everything twice."""
    for answer in (answered(data) for data in datas(parts) if text_at(data, "type") == "llm_response"):
        if answer.tokens is not None:
            return answer.tokens.input, answer.tokens.output, answer.model or None
    return None, None, None


def answer_words(parts: list[Any]) -> list[str]:
    """What a model said beside the tools that it asked for."""
    answers = [table_at(data, "data") for data in datas(parts) if text_at(data, "type") == "llm_response"]
    said = [text_at(part, "text") for answer in answers for part in list_at(table_at(answer, "content"), "parts")]
    return [words for words in said if words]


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
