"""JSON-RPC to agents over HTTP: one request, one answer, plain or as a stream of events. Bounded in size and time."""

from typing import Any

import aiohttp
import msgspec

LARGEST = 16 * 2**20
SECONDS = 20.0
METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST = -32601, -32602, -32600
TASK_NOT_FOUND = -32001  # A2A's


class AgentError(Exception):
    """The agent, or the way to it, failed: nothing can be concluded. `code` is JSON-RPC's or HTTP's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


async def post(http: aiohttp.ClientSession, url: str, message: dict[str, Any], headers: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The result, and the answer's headers. Raises AgentError."""
    accepted = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    try:
        async with http.post(url, data=msgspec.json.encode(message), headers=accepted | headers, allow_redirects=False) as answer:
            given = {name.lower(): value for name, value in answer.headers.items()}
            if "id" not in message:
                return {}, given
            if answer.content_type == "text/event-stream":
                return result(await first_answer(answer, message["id"]), answer.status), given
            raw = await answer.content.read(LARGEST + 1)
            while not answer.content.at_eof() and len(raw) <= LARGEST:
                raw += await answer.content.read(LARGEST + 1 - len(raw))
            return result(document(raw, answer.status), answer.status), given
    except (aiohttp.ClientError, TimeoutError, ConnectionError) as problem:
        raise AgentError(0, f"{type(problem).__name__}: {problem}".rstrip(": ")) from problem


async def first_answer(answer: aiohttp.ClientResponse, id: object) -> dict[str, Any]:
    """Of a stream, the message that answers; what comes before it is only progress."""
    size, data = 0, b""
    async for line in answer.content:
        size += len(line)
        if size > LARGEST:
            raise AgentError(answer.status, f"the answer is larger than {LARGEST} bytes")
        if line.startswith(b"data:"):
            data += line[5:].strip()
        elif not line.strip() and data:
            found = document(data, answer.status)
            data = b""
            if found.get("id") == id and ("result" in found or "error" in found):
                return found
    raise AgentError(answer.status, "the stream ended without an answer")


def document(raw: bytes, status: int) -> dict[str, Any]:
    if len(raw) > LARGEST:
        raise AgentError(status, f"the answer is larger than {LARGEST} bytes")
    try:
        found = msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        raise AgentError(status, f"HTTP {status}, and no JSON") from None
    if not isinstance(found, dict):
        raise AgentError(status, f"HTTP {status}, and no JSON object")
    return found


def result(found: dict[str, Any], status: int) -> dict[str, Any]:
    error = found.get("error")
    if isinstance(error, dict):
        code = error.get("code")
        raise AgentError(code if isinstance(code, int) else status, str(error.get("message", "error"))[:200])
    given = found.get("result")
    if not isinstance(given, dict):
        raise AgentError(status, f"HTTP {status}, and no result")
    return given
