"""The Python SDK's message objects in the shape of the stream that they were made from.

The classes drop much of it (which agent speaks, flags, times), and their blocks have no type: it follows from the keys.
"""

from typing import Any

from ramify.protocols.claude.shape import mapping, mappings, text

# A server's tool has the same class of keys as a client's; its ids begin otherwise.
SERVER = "srvtoolu_"


def to_stream(fields: dict[str, Any]) -> dict[str, Any]:
    """An empty dictionary where the stream has nothing of the kind."""
    match fields.get("class"):
        case "AssistantMessage":
            return assistant(fields)
        case "UserMessage":
            return user(fields)
        case "ResultMessage":
            return {**fields, "type": "result", "modelUsage": fields.get("model_usage")}
        case "StreamEvent":
            return {**fields, "type": "stream_event"}
        case _:
            return mapping(fields.get("data"))  # system messages of any class keep what they were made from


def assistant(fields: dict[str, Any]) -> dict[str, Any]:
    message = {
        "id": fields.get("message_id"),
        "role": "assistant",
        "model": fields.get("model"),
        "content": typed(fields.get("content")),
        "stop_reason": fields.get("stop_reason"),
        "usage": fields.get("usage"),
    }
    return {**fields, "type": "assistant", "message": message}


def user(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "type": "user", "message": {"role": "user", "content": typed(fields.get("content"))}}


def typed(content: Any) -> Any:
    return content if isinstance(content, str) else [with_type(block) for block in mappings(content)]


def with_type(block: dict[str, Any]) -> dict[str, Any]:
    return block if "type" in block else {"type": type_of(block), **block}


def type_of(block: dict[str, Any]) -> str:
    if "tool_use_id" in block:
        return "server_tool_result" if text(block["tool_use_id"]).startswith(SERVER) else "tool_result"
    if "thinking" in block:
        return "thinking"
    if "input" in block:
        return "server_tool_use" if text(block.get("id")).startswith(SERVER) else "tool_use"
    return "text" if "text" in block else "unknown"
