"""What was said, as attributes of spans: only when somebody asks for it, and without secrets."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ramify.capture.redact import redact_json
from ramify.exporting.span import Attributes
from ramify.model.entity import Call, Task, ToolCall
from ramify.protocols.anthropic.normal import blocks_of
from ramify.query.assembly import tool_shapes
from ramify.query.content import AT_ONCE, Content
from ramify.query.speech import said_with
from ramify.storage.base import Store


class Said:
    def __init__(self, store: Store) -> None:
        self._store = store

    def of_task(self, task: Task) -> Attributes:
        if not task.prompt:
            return {}
        return {"gen_ai.input.messages": written([{"role": "user", "parts": [{"type": "text", "content": task.prompt}]}])}

    def of_calls(self, calls: Sequence[Call]) -> dict[str, Attributes]:
        """Of each request only what it added: the rest stands in the spans before it."""
        content = Content(self._store)
        found: dict[str, Attributes] = {}
        for number, call in enumerate(calls):
            if number % AT_ONCE == 0:
                content.expect(id for one in calls[number : number + AT_ONCE] for id in said_with(one))
            asked = [message(one) for _, _, one in content.new_messages(call) if isinstance(one, dict)]
            answer = content.answer(call).blocks
            told = [{"role": "assistant", "parts": [part(block) for block in answer], "finish_reason": call.stop_reason}] if answer else []
            pairs = (("gen_ai.input.messages", asked), ("gen_ai.output.messages", told))
            found[call.id] = {name: written(value) for name, value in pairs if value}
        return found

    def of_tools(self, tools: Sequence[ToolCall]) -> dict[str, Attributes]:
        shapes = tool_shapes(self._store, list(tools), Content(self._store))
        pairs = (("gen_ai.tool.call.arguments", "args"), ("gen_ai.tool.call.result", "result"))
        return {shape["id"]: {name: written(shape[own]) for name, own in pairs if shape[own] is not None} for shape in shapes}


def written(value: Any) -> str:
    return redact_json(value.encode() if isinstance(value, str) else msgspec.json.encode(value)).decode()


def message(raw: dict[str, Any]) -> dict[str, Any]:
    blocks = [block for block in blocks_of(raw.get("content")) if isinstance(block, dict)]
    return {"role": raw.get("role"), "parts": [part(block) for block in blocks]}


def part(block: dict[str, Any]) -> dict[str, Any]:
    match block.get("type"):
        case "text":
            return {"type": "text", "content": block.get("text")}
        case "thinking":
            return {"type": "reasoning", "content": block.get("thinking")}
        case "tool_use":
            return {"type": "tool_call", "id": block.get("id"), "name": block.get("name"), "arguments": block.get("input")}
        case "tool_result":
            return {"type": "tool_call_response", "id": block.get("tool_use_id"), "response": block.get("content")}
        case _:
            return block
