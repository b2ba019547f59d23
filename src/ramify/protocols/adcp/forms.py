"""A task in the three forms that agents give it: AdCP's own, A2A's and MCP's; and answers that hold one of them."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from ramify.model.operation_event import RANKS, Word
from ramify.protocols.adcp.wire import Line, named, table, text
from ramify.protocols.adcp.words import OPEN, status_word

ENVELOPE = frozenset(
    {
        "status", "task_id", "message", "context_id", "replayed", "errors", "adcp_error", "context", "ext", "result",
        "progress", "adcp_version",
    }
)  # fmt: skip
MCP_TASK = frozenset(
    {
        "taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "ttlMs", "pollInterval", "pollIntervalMs",
        "resultType", "result", "error", "inputRequests", "requestState", "_meta",
    }
)  # fmt: skip
UPDATES = {"statusUpdate": "status-update", "artifactUpdate": "artifact-update", "task": "task", "message": "message"}


class Carried(Struct, frozen=True):
    """A transport's task: its state, when the agent says that was, and the work that it names."""

    words: tuple[Word, ...]
    context: str = ""
    stamp: str = ""
    data: Line | None = None  # what it brought


def inner(payload: object) -> Line:
    """An answer without what its transport has put around it."""
    found = table(payload)
    for _ in range(4):
        if "jsonrpc" in found and isinstance(found.get("result"), dict):
            found = found["result"]
        elif isinstance(found.get("structuredContent"), dict):
            found = found["structuredContent"]
        elif isinstance(found.get("content"), list) and (spoken := json_content(found["content"])) is not None:
            found = spoken
        else:
            break
    return found


def json_content(content: list[Any]) -> Line | None:
    """Older MCP agents put their whole answer into a text."""
    if len(content) != 1 or not text(table(content[0]).get("text")).lstrip().startswith("{"):
        return None
    try:
        found = msgspec.json.decode(content[0]["text"])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def payload_status(data: Line) -> str:
    """The status of the work, where the word cannot be that of a domain object (a `canceled` media buy is an answer)."""
    word = status_word(data.get("status"))
    if word in OPEN:
        return word
    # A word that nobody has agreed on says at least that the work with this id has not ended.
    counts = RANKS.get(word, 0) or named(data.get("task_id"))
    return word if counts and data.keys() <= ENVELOPE else ""


def carried(body: Line) -> Carried | None:
    """An A2A stream response, a task or an update of it, in the words of 1.0 or of 0.3; None: it is none of these."""
    for name, kind in UPDATES.items():
        if isinstance(body.get(name), dict) and "task_id" not in body and is_form(kind, body[name]):
            return update(kind, body[name])
    kind = text(body.get("kind"))
    if kind in UPDATES.values() and is_form(kind, body):
        return update(kind, body)
    return update("task", body) if is_form("task", body) else None


def is_form(kind: str, event: Line) -> bool:
    """What an agent's own domain calls a task or a message looks otherwise, and so does a task of MCP."""
    if kind == "task":
        return isinstance(event.get("id"), str) and isinstance(table(event.get("status")).get("state"), str)
    return kind != "message" or isinstance(event.get("parts"), list)


def update(kind: str, event: Line) -> Carried:
    id = named(event.get("id")) if kind == "task" else named(event.get("taskId")) or named(event.get("task_id"))
    status = table(event.get("status"))
    native = text(status.get("state"))
    artifacts = [event.get("artifact")] if kind == "artifact-update" else event.get("artifacts")
    works = tuple(named_work(artifacts))
    own = (Word("transport", id, status_word(native), native, works[0].id if works else ""),) if id else ()
    context = text(event.get("contextId")) or text(event.get("context_id"))
    return Carried((*works, *own), context, text(status.get("timestamp")), next(brought(artifacts), None))


def brought(artifacts: object) -> Iterator[Line]:
    for artifact in artifacts if isinstance(artifacts, list) else ():
        parts = table(artifact).get("parts")
        for part in parts if isinstance(parts, list) else ():
            data = table(part).get("data")
            if isinstance(data, dict):
                yield data


def named_work(artifacts: object) -> Iterator[Word]:
    """The work that rides in a transport's task: the transport may end long before it."""
    for data in brought(artifacts):
        word = status_word(data.get("status"))
        if named(data.get("task_id")) and RANKS.get(word, 0):
            yield Word("work", data["task_id"], word, text(data.get("status")))


def mcp_task(data: Line) -> Word | None:
    """MCP's own task, flat or inside `task`."""
    found = data["task"] if isinstance(data.get("task"), dict) else data
    id = named(found.get("taskId"))
    if not id or not isinstance(found.get("status"), str):
        return None
    return Word("transport", id, status_word(found["status"]), found["status"])


def made_task(data: Line) -> Word | None:
    """The task that an MCP server made of a call. An answer about a task of somebody's project is none."""
    found = data["task"] if isinstance(data.get("task"), dict) else data
    word = mcp_task(data)
    is_told = data.get("resultType") == "task" or (found.keys() <= MCP_TASK and word is not None and word.status != "unknown")
    return word if is_told else None


def task_words(data: Line) -> tuple[Word, ...]:
    """What one task of a poll or a listing says."""
    found = inner(data)
    if named(found.get("task_id")):
        native = text(found.get("status"))
        return (Word("work", found["task_id"], status_word(native), native),) if native else ()
    if (wired := carried(found)) is not None:
        return wired.words
    mcp = mcp_task(found)
    return (mcp,) if mcp is not None else ()
