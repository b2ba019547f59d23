"""The parts of a message: words, files, and the data parts in which agents tell what they do."""

from typing import Any

from ramify.model.mesh_event import (
    ModelAnswered,
    ModelAsked,
    Noted,
    Part,
    PastResult,
    Said,
    Signalled,
    Thought,
    ToolAsked,
    ToolReturned,
    ToolStarted,
)
from ramify.model.nested import storable
from ramify.model.prices import Tokens
from ramify.model.usage import tokens_in
from ramify.protocols.sam.wire import Json, list_at, table_at, text_at, written

CHILD_ENDS = {"completed": "ok", "failed": "error", "rejected": "error", "canceled": "canceled"}
NOTES = {
    "agent_progress_update": "progress",
    "artifact_creation_progress": "artifact",
    "artifact_saved": "artifact",
    "compaction_notification": "compaction",
    "workflow_execution_start": "workflow_node",
    "workflow_execution_result": "workflow_node",
    "workflow_map_progress": "workflow_node",
    "workflow_node_execution_start": "workflow_node",
    "workflow_node_execution_result": "workflow_node",
}
ERROR_SIGNAL = "tool_execution_error"  # of failing models as well
SHOWN = ("status_text", "summary", "filename", "node_id", "error_message", "workflow_name", "description", "message")
"""Which field of a note says best what it is about."""


def parts_of(message: Json) -> tuple[Part, ...]:
    """One for each part on the wire, so that a place in one is a place in the other."""
    return tuple(part_of(part) for part in list_at(message, "parts"))


def part_of(part: Any) -> Part:
    match text_at(part, "kind"):
        case "text":
            return Said(text_at(part, "text"))
        case "data":
            return data_part(table_at(part, "data"))
        case "file":
            file = table_at(part, "file")
            about = {name: text_at(file, name) for name in ("name", "mimeType", "uri") if text_at(file, name)}
            return Noted("file", text_at(file, "name"), details=storable(about))
        case kind:
            return Noted("other", kind)


def data_part(data: Json) -> Part:
    match text_at(data, "type"):
        case "llm_invocation":
            request = table_at(data, "request")
            return ModelAsked(text_at(request, "model"), tuple(past_results(list_at(request, "contents"))))
        case "llm_response":
            return answered(data)
        case "tool_invocation_start":
            args = data.get("tool_args")
            return ToolStarted(*named(data), b"" if args is None else written(args), text_at(data, "parallel_group_id"))
        case "tool_result":
            return returned(data)
        case "thinking_content":
            return Thought(text_at(data, "content"), data.get("is_complete") is True)
        case "" if text_at(data, "a2a_signal_type") == ERROR_SIGNAL or text_at(data, "error_message"):
            return Signalled(text_at(data, "error_message"), storable(table_at(data, "details")))
        case type:
            return noted(type or text_at(data, "a2a_signal_type"), data)


def named(data: Json) -> tuple[str, str]:
    return text_at(data, "function_call_id"), text_at(data, "tool_name")


def past_results(contents: list[Any]) -> list[PastResult]:
    found = (table_at(part, "function_response") for content in contents for part in list_at(content, "parts"))
    return [past_result(one) for one in found if one]


def past_result(one: Json) -> PastResult:
    response = one.get("response")
    status, _, _, error = outcome(response)
    return PastResult(text_at(one, "id"), text_at(one, "name"), written(response), status, error)


def answered(data: Json) -> ModelAnswered:
    answer = table_at(data, "data")
    parts = list_at(table_at(answer, "content"), "parts")
    asked = [table_at(part, "function_call") for part in parts]
    words = [text_at(part, "text") for part in parts if not table_at(part, "function_call") and part_is_said(part)]
    usage = table_at(data, "usage")
    return ModelAnswered(
        text_at(usage, "model"),
        "".join(words),
        tuple(ToolAsked(text_at(one, "id"), text_at(one, "name"), arguments(one)) for one in asked if one),
        tokens_of(usage) or tokens_of(table_at(answer, "usage_metadata")),
        answer.get("partial") is True,
    )


def part_is_said(part: Any) -> bool:
    """Some models mark their thoughts inside the answer."""
    return isinstance(part, dict) and part.get("thought") is not True


def arguments(asked: Json) -> bytes:
    args = asked.get("args")
    return written({} if args is None else args)


def tokens_of(usage: Json) -> Tokens | None:
    if usage.get("input_tokens") is not None or usage.get("output_tokens") is not None:
        cached = tokens_in(usage.get("cached_input_tokens"))
        return Tokens(tokens_in(usage.get("input_tokens")), tokens_in(usage.get("output_tokens")), cached)
    if usage.get("prompt_token_count") is not None or usage.get("candidates_token_count") is not None:
        return Tokens(tokens_in(usage.get("prompt_token_count")), tokens_in(usage.get("candidates_token_count")))
    return None


def returned(data: Json) -> ToolReturned:
    result = data.get("result_data")
    usage = table_at(data, "llm_usage")
    call, name = named(data)
    return ToolReturned(call, name, written(result), *outcome(result), text_at(usage, "model"), tokens_of(usage))


def outcome(result: Any) -> tuple[str, str, str, str]:
    """Our word for how it ended, the mesh's own, the task whose end it is, and what went wrong."""
    if text_at(result, "kind") == "task":
        word = text_at(table_at(result, "status"), "state")
        status, child = CHILD_ENDS.get(word, "ok"), text_at(result, "id")
    else:
        word, child = text_at(result, "status"), ""
        status = "error" if word == "error" else "ok"
    return status, word, child, (failure(result) or word) if status == "error" else ""


def failure(result: Any) -> str:
    return text_at(result, "message") or texts(table_at(table_at(result, "status"), "message"), " ")


def texts(message: Json, between: str) -> str:
    said = (part for part in list_at(message, "parts") if text_at(part, "kind") == "text")
    return between.join(text_at(part, "text") for part in said)


def noted(type: str, data: Json) -> Noted:
    """What is not known by name is kept and shown all the same."""
    kind = NOTES.get(type, "other")
    text = next((text for name in SHOWN if (text := text_at(data, name))), "")
    kept = {name: value for name, value in data.items() if value is not None and name != "artifact_chunk"}
    return Noted(kind, text or type, text_at(data, "status"), text_at(data, "sub_task_id"), storable(kept))
