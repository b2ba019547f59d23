"""The fields of Chat Completions and Responses that we read, and how their messages stand in ours: blocks with a type.

What cannot be put into one of our blocks stays as it is, whole, and is compared whole.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

Block = dict[str, Any]
Message = dict[str, Any]
SYSTEM = ("system", "developer")
TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")


class ChatRequest(Struct):
    messages: list[Raw] = []
    model: Any = None
    tools: Raw = Raw(b"null")
    max_tokens: Any = None
    max_completion_tokens: Any = None
    user: Any = None
    safety_identifier: Any = None
    metadata: Any = None


class ResponsesRequest(Struct):
    input: Raw = Raw(b"[]")
    model: Any = None
    instructions: Raw = Raw(b"null")
    tools: Raw = Raw(b"null")
    max_output_tokens: Any = None
    user: Any = None
    safety_identifier: Any = None
    metadata: Any = None
    previous_response_id: Any = None
    conversation: Any = None


def chat_message(given: Any) -> Any:
    """A message of Chat Completions. A tool's result is a message of its own there; its role is the caller's here."""
    if not isinstance(given, dict):
        return given
    role = str(given.get("role", "unknown"))
    if role in ("tool", "function"):
        tool = given.get("tool_call_id") or given.get("name") or ""
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": str(tool), "content": result_content(given.get("content"))}]}
    blocks = [*thoughts(given), *content_blocks(given.get("content"))]
    if isinstance(refusal := given.get("refusal"), str) and refusal:
        blocks.append({"type": "text", "text": refusal})
    return {"role": "system" if role in SYSTEM else role, "content": blocks + called_tools(given)}


def thoughts(given: Message) -> list[Block]:
    """Not OpenAI's own, but of many that speak its protocol."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(text := given.get(name), str) and text:
            return [{"type": "thinking", "thinking": text}]
    return []


def called_tools(given: Message) -> list[Block]:
    calls = given.get("tool_calls")
    found = [called_tool(one) for one in calls if isinstance(one, dict)] if isinstance(calls, list) else []
    if isinstance(old := given.get("function_call"), dict):  # before tool calls had ids
        found.append(use(str(old.get("name") or ""), str(old.get("name") or ""), old.get("arguments")))
    return found


def called_tool(call: Block) -> Block:
    inner = call.get("function") or call.get("custom") or {}
    inner = inner if isinstance(inner, dict) else {}
    return use(str(call.get("id") or ""), str(inner.get("name") or ""), inner.get("arguments", inner.get("input")))


def use(id: str, name: str, arguments: Any) -> Block:
    return {"type": "tool_use", "id": id, "name": name, "input": parsed(arguments)}


def parsed(arguments: Any) -> Any:
    """Arguments are JSON inside a string; what is none stays a text."""
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        return msgspec.json.decode(arguments) if arguments.strip() else {}
    except (msgspec.MsgspecError, RecursionError):
        return {"": arguments}


def content_blocks(content: Any) -> list[Any]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [content_block(one) for one in content] if isinstance(content, list) else [content]


def content_block(part: Any) -> Any:
    match part:
        case {"type": str(kind), "text": str(text)} if kind in TEXTS:
            return {"type": "text", "text": text}
        case {"type": "refusal", "refusal": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image_url", "image_url": {"url": str(url)}} | {"type": "input_image", "image_url": str(url)}:
            return image(url)
        case str(text):
            return {"type": "text", "text": text}
        case _:
            return part


def image(url: str) -> Block:
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return {"type": "image", "source": {"type": "base64", "media_type": head.removeprefix("data:"), "data": data}}
    return {"type": "image", "source": {"type": "url", "url": url}}


def result_content(content: Any) -> Any:
    return [content_block(one) for one in content] if isinstance(content, list) else content


def response_item(given: Any) -> Any:
    """One item of a Responses input or output, as a message of its own."""
    if isinstance(given, str):
        return {"role": "user", "content": [{"type": "text", "text": given}]}
    if not isinstance(given, dict):
        return given
    kind = str(given.get("type") or "message")
    if kind == "message":
        role = str(given.get("role", "unknown"))
        return {"role": "system" if role in SYSTEM else role, "content": content_blocks(given.get("content"))}
    if kind.endswith("_output"):
        result = {"type": "tool_result", "tool_use_id": call_of(given), "content": result_content(given.get("output"))}
        return {"role": "user", "content": [result]}
    return {"role": "assistant", "content": item_blocks(given, kind)}


def item_blocks(given: Block, kind: str) -> list[Any]:
    match kind:
        case "reasoning":
            texts = [part.get("text") for name in ("summary", "content") for part in given.get(name) or () if isinstance(part, dict)]
            return [{"type": "thinking", "thinking": "\n".join(text for text in texts if isinstance(text, str))}]
        case "function_call" | "custom_tool_call":
            return [use(call_of(given), str(given.get("name") or ""), given.get("arguments", given.get("input")))]
        case "local_shell_call" | "computer_call" | "apply_patch_call" | "shell_call":
            return [use(call_of(given), kind.removesuffix("_call"), given.get("action", given.get("operation")))]
        case "mcp_call":
            return mcp_blocks(given)
        case _ if kind.endswith("_call"):  # the provider's own tools: web search, file search, code …
            rest = {name: value for name, value in given.items() if name not in ("id", "type", "status")}
            return [{"type": "server_tool_use", "id": call_of(given), "name": kind.removesuffix("_call"), "input": rest}]
    return [given]


def mcp_blocks(given: Block) -> list[Any]:
    """Called by the provider, which also brings the result."""
    called = {**use(call_of(given), str(given.get("name") or ""), given.get("arguments")), "type": "mcp_tool_use", "server_name": given.get("server_label")}
    if given.get("output") is None and given.get("error") is None:
        return [called]
    wrong = given.get("error") is not None
    result = given.get("error") if wrong else given.get("output")
    return [called, {"type": "mcp_tool_result", "tool_use_id": call_of(given), "content": result if isinstance(result, str) else [result], "is_error": wrong}]


def call_of(item: Block) -> str:
    return str(item.get("call_id") or item.get("id") or "")
