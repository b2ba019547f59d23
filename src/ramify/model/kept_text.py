"""The words of a row that was kept as it was understood, one text for each block: what is searched for, and shown when found."""

from typing import Any

import msgspec

from ramify.model.entity import Message, Note, ToolCall


def kept_texts(row: Message | Note | ToolCall) -> list[tuple[str, str]]:
    """Kind and text."""
    match row:
        case Message():
            return [("text", words_of(block)) for block in msgspec.json.decode(row.blocks or b"[]")]
        case Note():
            return [(row.kind, row.text)]
        case ToolCall():
            return [("input", row.args.decode()), ("result", row.result.decode())]


def words_of(block: Any) -> str:
    if isinstance(block, dict) and isinstance(block.get("text"), str):
        return str(block["text"])
    return msgspec.json.encode(block).decode()
