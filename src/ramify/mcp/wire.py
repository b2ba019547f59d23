"""JSON-RPC in lines, and the few methods of MCP that a server of tools has. Knows no question of ours."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

Answer = dict[str, Any]
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Whose server side is the same for tools. Clients of later ones ask `server/discover` first and fall back."""
LONGEST = 1 << 20  # bytes of a question; ours are short
UNPARSED, NO_REQUEST, NO_METHOD, BAD_PARAMETERS = -32700, -32600, -32601, -32602


class BadParameters(ValueError):
    """The client named no tool of ours, or its arguments are not in the tool's form."""


class Tools:
    """What a server of tools does: list them, and call one. `call` gives the result's text and whether it is an error."""

    def __init__(self, listed: list[Answer], call: Callable[[str, Answer, Answer], tuple[str, bool]], about: Answer) -> None:
        self.listed = listed
        self.call = call
        self.about = about


def serve(lines: Iterable[bytes], write: Callable[[bytes], None], tools: Tools) -> None:
    for line in lines:
        if not line.strip():
            continue
        answer = answered(line, tools)
        if answer is not None:
            write(msgspec.json.encode(answer) + b"\n")


def answered(line: bytes, tools: Tools) -> Answer | list[Answer] | None:
    if len(line) > LONGEST:
        return failed(None, NO_REQUEST, f"a question of {len(line)} bytes is too long")
    try:
        asked = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as problem:
        return failed(None, UNPARSED, f"this is no JSON: {problem}")
    if isinstance(asked, list):  # a batch, which versions up to 2025-03-26 allow
        answers = [one for each in asked if (one := reply(each, tools)) is not None]
        return answers or None
    return reply(asked, tools)


def reply(asked: object, tools: Tools) -> Answer | None:
    if not isinstance(asked, dict) or not isinstance(asked.get("method"), str):
        known = isinstance(asked, dict) and ("result" in asked or "error" in asked)
        return None if known else failed(None, NO_REQUEST, "a question has a method")
    id, method, parameters = asked.get("id"), asked["method"], asked.get("params") or {}
    if id is None:
        return None  # a notification
    if not isinstance(parameters, dict):
        return failed(id, BAD_PARAMETERS, "params must be an object")
    try:
        result = carried_out(method, parameters, tools)
    except BadParameters as problem:
        return failed(id, BAD_PARAMETERS, str(problem))
    return failed(id, NO_METHOD, f"there is no method {method[:100]!r}") if result is None else {"jsonrpc": "2.0", "id": id, "result": result}


def carried_out(method: str, parameters: Answer, tools: Tools) -> Answer | None:
    match method:
        case "initialize":
            asked = parameters.get("protocolVersion")
            return {"protocolVersion": asked if asked in VERSIONS else VERSIONS[0], "capabilities": {"tools": {}}, **tools.about}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": tools.listed}
        case "tools/call":
            return called(parameters, tools)
    return None


def called(parameters: Answer, tools: Tools) -> Answer:
    name, arguments, meta = parameters.get("name"), parameters.get("arguments") or {}, parameters.get("_meta") or {}
    if not isinstance(name, str) or not isinstance(arguments, dict) or not isinstance(meta, dict):
        raise BadParameters("tools/call takes a name and an object of arguments")
    text, wrong = tools.call(name, arguments, meta)
    return {"content": [{"type": "text", "text": text}], "isError": wrong}


def failed(id: object, code: int, message: str) -> Answer:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}
