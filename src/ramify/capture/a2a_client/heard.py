"""What an agent answers, one answer or one event of a stream at a time, whichever version and binding it speaks."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ramify.model.a2a_event import INTERRUPTED, TERMINAL, Spoken, Status
from ramify.model.ids import digest
from ramify.protocols.a2a.wire import encoded, is_old_rest, items, recognise, shape, spoken_of, status_of, text

NOT_FOUND, NOT_CANCELABLE = -32001, -32002


class Heard(Struct, frozen=True):
    """`kind`: task, statusUpdate, artifactUpdate, message, error; empty for what is none of them."""

    kind: str
    task: str = ""
    context: str = ""
    status: Status | None = None
    said: tuple[Spoken, ...] = ()
    code: int = 0
    reason: str = ""
    content: Any = None  # of something else than these: a card, a page of a list
    print: bytes = b""  # of a task: equal where nothing has changed

    @property
    def state(self) -> str:
        return self.status.state if self.status else ""

    @property
    def references(self) -> Iterator[tuple[str, str]]:
        """Tasks that the agent itself names, in its order, each with its title."""
        for spoken in self.said:
            if spoken.role == "agent":
                yield from ((id, spoken.title) for id in spoken.references)


def is_over(state: str) -> bool:
    return state in TERMINAL


def waits(state: str) -> bool:
    """For somebody, and needs no stream for that."""
    return state in INTERRUPTED


def hear(value: Any, old_rest: bool = False, status: int = 200) -> Heard:
    """Never raises. `status` is HTTP's: an answer without a body that we know is an error then."""
    kind, body = recognise(value)
    old = old_rest or ("jsonrpc" not in shape(value) and is_old_rest(value))
    match kind:
        case "error":
            return _refused(body, status)
        case _ if status >= 400:
            return Heard("error", code=status, reason=text(shape(body).get("message")) or f"HTTP status {status}")
        case "task":
            return task_of(body, old)
        case "statusUpdate":
            now = status_of(body.get("status"), old)
            said = (now.message,) if now and now.message else ()
            return Heard(kind, text(body.get("taskId")), text(body.get("contextId")), now, said)
        case "artifactUpdate":
            return Heard(kind, text(body.get("taskId")), text(body.get("contextId")))
        case "message":
            spoken = spoken_of(body, old, "agent")
            return Heard(kind, "", text(body.get("contextId")), None, (spoken,) if spoken else ())
        case "tasks":
            return Heard("tasks", content=shape(shape(value).get("result")) or shape(value))
        case _:
            return Heard("", content=body)


def task_of(body: dict[str, Any], old: bool = False) -> Heard:
    status = status_of(body.get("status"), old)
    history = (spoken_of(one, old) for one in items(body.get("history")))
    said = [one for one in history if one is not None]
    if status and status.message:
        said.append(status.message)
    return Heard("task", text(body.get("id")), text(body.get("contextId")), status, tuple(said), print=digest(encoded(body)))


def _refused(error: Any, status: int) -> Heard:
    """REST says what JSON-RPC has numbers for in words and in HTTP's own numbers."""
    given = shape(error)
    code = given.get("code")
    number = code if isinstance(code, int) else status
    reasons = {text(shape(detail).get("reason")) for detail in items(given.get("details"))}
    if "TASK_NOT_FOUND" in reasons or number == 404:
        number = NOT_FOUND
    elif "TASK_NOT_CANCELABLE" in reasons or number == 409:
        number = NOT_CANCELABLE
    return Heard("error", code=number, reason=text(given.get("message")) or f"error {number}")
