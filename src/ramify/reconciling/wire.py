"""JSON-RPC to agents over HTTP: one request, one answer, plain or as a stream of events. Bounded in size and time."""

from collections.abc import AsyncIterator
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
            return result(document(await body(answer, LARGEST), answer.status), answer.status), given
    except (aiohttp.ClientError, TimeoutError, ConnectionError) as problem:
        raise AgentError(0, f"{type(problem).__name__}: {problem}".rstrip(": ")) from problem


async def body(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """All of it, in however many pieces it comes, or a little more than there may be."""
    raw = b""
    while not answer.content.at_eof() and len(raw) <= most:
        raw += await answer.content.read(most + 1 - len(raw))
    return raw


async def first_answer(answer: aiohttp.ClientResponse, id: object) -> dict[str, Any]:
    """Of a stream, the message that answers; what comes before it is only progress."""
    data = b""
    async for line in lines_of(answer):
        if line.startswith(b"data:"):
            data += line[5:].strip()
        elif not line.strip() and data:
            found = document(data, answer.status)
            data = b""
            if found.get("id") == id and ("result" in found or "error" in found):
                return found
    raise AgentError(answer.status, "the stream ended without an answer")


async def lines_of(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """However long they are, up to what is read of an answer at all."""
    size = 0
    begun: list[bytes] = []
    async for piece in answer.content.iter_any():
        size += len(piece)
        if size > LARGEST:
            raise AgentError(answer.status, f"the answer is larger than {LARGEST} bytes")
        *whole, rest = piece.split(b"\n")
        for line in whole:
            yield b"".join((*begun, line))
            begun = []
        begun.append(rest)


def listed(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list that an answer may leave out."""
    given = found.get(name)
    if given is not None and not isinstance(given, list):
        raise AgentError(0, f"its {name} are no list")
    return [one for one in given or () if isinstance(one, dict)]


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
