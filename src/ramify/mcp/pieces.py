"""Bytes as they were, a piece at a time: bodies of calls, inputs and results of tools, what was seen."""

import base64
from typing import Any

import msgspec

from ramify.mcp.budget import fits
from ramify.query.errors import BadQuestion
from ramify.query.observed import observed
from ramify.query.service import Questions

Answer = dict[str, Any]
PARTS = ("request", "response", "input", "result", "observation")


def piece(questions: Questions, id: str, part: str, offset: int, budget: int) -> Answer:
    whole = bytes_of(questions, id, part)
    if offset > len(whole):
        raise BadQuestion(f"offset {offset} lies behind the end: {part} of {id!r} has {len(whole)} bytes")
    length = min(len(whole) - offset, budget)
    while True:
        answer = one_piece(whole, offset, length)
        if fits(answer, budget) or length <= 1:
            return answer
        length = length * 3 // 4


def one_piece(whole: bytes, offset: int, length: int) -> Answer:
    taken = whole[offset : offset + length]
    try:
        form, data = "text", taken.decode()
    except UnicodeDecodeError as problem:
        # A character may be cut at the end; anything else is no text.
        if problem.start >= len(taken) - 3 and problem.start > 0:
            taken = taken[: problem.start]
            form, data = "text", taken.decode()
        else:
            form, data = "base64", base64.b64encode(taken).decode()
    end = offset + len(taken)
    answer: Answer = {"total_bytes": len(whole), "offset": offset, "next_offset": end if end < len(whole) else None, "form": form, "data": data}
    if end < len(whole):
        answer["left_out"] = f"{len(whole) - end:,} bytes behind this piece: ask again with offset {end}"
    return answer


def bytes_of(questions: Questions, id: str, part: str) -> bytes:
    match part:
        case "request" | "response":
            return questions.body(id, part)[0]
        case "input" | "result":
            tool = questions.tool(id)
            value = tool["args"] if part == "input" else tool["result"]
            return value.encode() if isinstance(value, str) else msgspec.json.encode(value)
        case "observation":
            return msgspec.json.encode(observed(questions.store, id))
    raise BadQuestion(f"there is no part {part!r}: it is one of {', '.join(PARTS)}")
