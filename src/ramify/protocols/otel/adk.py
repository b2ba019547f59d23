"""What the Agent Development Kit writes down of a call to a model: the whole request and the whole answer, as JSON.

Its names are those of the Gemini API, in snake or in camel case. Ids of calls are left out: spans of tools that ran do not
always have them, and a call must not be there twice.
"""

from typing import Any

from ramify.protocols.otel.wire import Attributes, number, parsed, text

REQUEST, RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"
Table = dict[str, Any]


def asked(attributes: Attributes) -> list[Table]:
    request = table(parsed(attributes.get(REQUEST)))
    contents = request.get("contents")
    found = [message_of(one, "user") for one in contents if isinstance(one, dict)] if isinstance(contents, list) else []
    words = either(table(request.get("config")), "system_instruction")
    return [{"role": "system", "content": words}, *found] if text(words) else found


def answered(attributes: Attributes) -> list[Table]:
    content = table(table(parsed(attributes.get(RESPONSE))).get("content"))
    return [message_of(content, "model")] if content else []


def usage(attributes: Attributes) -> tuple[int | None, int | None, int]:
    """Given, answered, and read from the cache."""
    found = table(either(table(parsed(attributes.get(RESPONSE))), "usage_metadata"))
    said, thought = number(either(found, "candidates_token_count")), number(either(found, "thoughts_token_count"))
    output = (said or 0) + (thought or 0) if said is not None or thought is not None else None
    return number(either(found, "prompt_token_count")), output, number(either(found, "cached_content_token_count")) or 0


def message_of(content: Table, role: str) -> Table:
    parts = content.get("parts")
    return {"role": text(content.get("role")) or role, "parts": [part_of(table(one)) for one in parts] if isinstance(parts, list) else []}


def part_of(part: Table) -> Table:
    if call := table(either(part, "function_call")):
        return {"type": "tool_call", "name": call.get("name"), "arguments": call.get("args")}
    if response := table(either(part, "function_response")):
        return {"type": "tool_call_response", "response": response.get("response")}
    if "text" in part:
        return {"type": "reasoning" if part.get("thought") is True else "text", "content": text(part["text"])}
    return {"type": "other", **part}


def either(fields: Table, snake: str) -> Any:
    first, *rest = snake.split("_")
    return fields.get(snake, fields.get(first + "".join(word.capitalize() for word in rest)))


def table(value: Any) -> Table:
    return value if isinstance(value, dict) else {}
