"""From a stored line to what it means: one event in our words, or the reason why it is none."""

import hashlib
import re
from collections.abc import Iterator

import msgspec

from ramify.model.event import Unreadable
from ramify.model.moment import micros
from ramify.model.nested import LARGEST_INTEGER
from ramify.model.observation import Record
from ramify.model.operation_event import (
    LOCAL,
    RANKS,
    Answered,
    Asked,
    Cleared,
    Heading,
    Introduced,
    OperationEvent,
    Progressed,
    Pushed,
    Said,
    Shown,
    Snapshots,
    Word,
)
from ramify.protocols.adcp import answers, forms
from ramify.protocols.adcp.lines import BadLine, check_line, stored
from ramify.protocols.adcp.wire import ASKED_AGAIN, LISTINGS, ONLY_ASKING, OWN, SOURCES, Line, named, table, text
from ramify.protocols.adcp.words import status_word

FORMAT = "adcp"
CLOCK, ZONE = re.compile(r"[T ]"), re.compile(r"[Zz]|[+-]\d\d")
SAYING = ("agentTaskId", "transportTaskId", "status", "result", "error")
"""What a status update says where it has no body."""
CLEARED = "session_cleared"
"""Written by the store itself, where a session is emptied."""


def decode(seen: Record) -> OperationEvent | Unreadable:
    try:
        line = msgspec.json.decode(seen.body)
        if not isinstance(line, dict):
            raise BadLine("is no JSON object")
        own = table(line.get(OWN))
        if own.get("act") == CLEARED:
            return OperationEvent(heading(seen, {}, own, ""), Cleared(text(own.get("reason")) or "cleared"))
        if OWN not in line:  # kept aside
            check_line(line, len(seen.body))
        view = stored(line)
        said = meaning(view, own)
    except (ValueError, RecursionError) as problem:
        return Unreadable(seen.id, seen.at, str(problem) if isinstance(problem, BadLine) else f"is no JSON: {problem}")
    return OperationEvent(heading(seen, view, own, text(line.get("op")), said), said)


def heading(seen: Record, view: Line, own: Line, meant: str, said: Said | None = None) -> Heading:
    words = said.words if isinstance(said, Pushed | Snapshots) else ()
    words = words if len({word.id for word in words if not word.carries}) < 2 else ()  # a list is about no task alone
    ids = {word.of: word.id for word in reversed(words)}
    answer = said if isinstance(said, Answered) else None
    operation = text(view.get("operationId"))
    sender = moment(view.get("timestamp"))
    status = answer.status if answer else words[0].status if words else status_word(view.get("status"))
    return Heading(
        observation=seen.id,
        project=seen.project,
        session=text(own.get("session")) or LOCAL,
        event=text(view.get("eventId")) or seen.id.removeprefix("obs_"),
        at=whole(own.get("at")) or seen.at,
        recorded=whole(own.get("recorded")) or seen.at,
        sort=sort(view, said),
        type=text(view.get("eventType")) or text(view.get("objectType")),
        operation=operation,
        meant=meant if "record" in view else operation,
        agent=text(view.get("agentId")) or text(view.get("targetEntity")),
        task_type=text(view.get("taskType")),
        source=source(view),
        protocol=text(view.get("protocol")),
        call=text(view.get("callId")),
        work=text(view.get("agentTaskId")) or (answer.work if answer else ids.get("work", "")),
        transport=text(view.get("transportTaskId")) or (answer.transport if answer else ids.get("transport", "")),
        context=text(view.get("contextId")) or named(table(view.get("metadata")).get("context_id")),
        parent=text(view.get("parentTaskId")),
        status=status,
        native=text(view.get("status")),
        sender=sender if sender and is_placed(view) else 0,
        uri=text(view.get("agentUri")),
        digest=text(own.get("digest")) or content_digest(view),
        size=len(seen.body),
        flags=tuple(flags(view, own, sender)),
    )


def sort(view: Line, said: Said | None) -> str:
    if said is None or isinstance(said, Introduced | Cleared):
        return ""
    return "object" if "eventType" not in view else "event"


def flags(view: Line, own: Line, sender: int | None) -> Iterator[str]:
    if view.get("timestamp") is not None and sender is None:
        yield "bad-timestamp"
    if own.get("truncated"):
        yield "truncated"
    if own.get("unverified"):
        yield "unverified"


def source(view: Line) -> str:
    found = text(view.get("source"))
    return found if found in SOURCES else "client"


def meaning(view: Line, own: Line) -> Said:
    if "eventType" not in view:
        return Shown()
    if view.get("record") == "agent":
        return Introduced(text(view.get("agentUri")))
    read = table(own.get("read"))  # the event was too large to be kept whole: what it said was read before
    if read.get("shown") is True:
        return Shown()
    if view["taskType"] in ONLY_ASKING or source(view) in ASKED_AGAIN:
        return asked_again(view, read)
    match view["eventType"]:
        case "protocol_request":
            return Asked()
        case "protocol_response" if view.get("record") == "activity":
            return Answered(status_word(view.get("status")), text(view.get("status")), bare=True)
        case "protocol_response":
            return answer(view, read)
        case "protocol_error":
            return answers.read_failure(view, read, "record" not in view)
        case "status_update":
            return pushed(view, own, read)
        case "progress":
            return progressed(view, read)
        case _:
            return Shown()


def answer(view: Line, read: Line) -> Answered:
    whole_answer = "record" not in view
    if read:
        return answers.read_before(view, read, whole_answer)
    return answers.read_answer(view, view.get("payload"), whole_answer)


def asked_again(view: Line, read: Line) -> Said:
    """Polls and listings, also where they come as plain calls: what they brought counts, the calls themselves do not."""
    if view["eventType"] == "protocol_request" or view.get("record") == "activity":
        return Shown()
    if answers.is_failure(view, view.get("payload")) or view.get("raised") is not None or view["eventType"] == "protocol_error":
        return Shown()
    if read:
        return Snapshots(tuple(msgspec.convert(read.get("words", ()), tuple[Word, ...])))
    data = forms.inner(view.get("payload"))
    if isinstance(data.get("tasks"), list) and (view["taskType"] in LISTINGS or source(view) == "listing"):
        words = tuple(word for one in data["tasks"] for word in forms.task_words(table(one)))
    else:
        words = forms.task_words(data) or (plain_words(view) if view["eventType"] == "status_update" else ())
    gone = tuple(one for one in table(view.get("reconciled")).get("gone", ()) if isinstance(one, str))
    return Snapshots(tuple(word for word in words if word.id and (RANKS.get(word.status, 0) or word.carries)), gone)


def plain_words(view: Line) -> tuple[Word, ...]:
    """Of a status update that names its task itself. A record of a push that names none says nothing of any."""
    native = text(view.get("status"))
    work, transport = text(view.get("agentTaskId")), text(view.get("transportTaskId"))
    if not (work or transport) and "record" in view:
        return ()
    word = Word("work" if work or not transport else "transport", work or transport, status_word(native), native)
    return (word, Word("transport", transport, "", "", work)) if work and transport not in ("", work) else (word,)


def pushed(view: Line, own: Line, read: Line) -> Pushed:
    body = table(view.get("payload"))
    wired = forms.carried(body) if body else None
    if read:
        words = tuple(msgspec.convert(read.get("words", ()), tuple[Word, ...]))
    elif wired is not None:
        words = wired.words
    else:
        words = plain_words(view)
    stamps = [f"id:{view[name]}" for name in ("notificationId",) if text(view.get(name))]
    stamps += [f"at:{view['timestamp']}"] if text(view.get("timestamp")) and source(view) != "client" else []
    key = text(view.get("idempotencyKey"))
    digest = text(own.get("body")) or canonical(body or {name: view.get(name) for name in SAYING})
    return Pushed(words, key, digest, tuple(stamps), source(view) == "stream")


def progressed(view: Line, read: Line) -> Progressed:
    if read:
        return Progressed(text(read.get("subtask")), text(read.get("status")), text(read.get("native")))
    payload = table(view.get("payload"))
    payload = table(payload.get("params")) or payload  # the notification as it was on the wire
    message = text(payload.get("message")) or text(view.get("message"))
    if message.lstrip().startswith("{"):
        try:
            part = table(msgspec.json.decode(message))
        except (ValueError, RecursionError):
            part = {}
        native = text(part.get("state")) or text(part.get("status"))
        if text(part.get("subtask")) and native:
            return Progressed(part["subtask"], status_word(native), native, message)
    return Progressed(text=message)


def moment(value: object) -> int | None:
    """Microseconds of a time with a zone; None where it is no time."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value * 1_000_000) if 0 <= value < 1e11 else None
    try:
        return micros(value) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def is_placed(view: Line) -> bool:
    """A remote clock that does not say its zone may be hours off or not at all: nobody can tell by how much."""
    value = view.get("timestamp")
    if source(view) == "client" or not isinstance(value, str):
        return True
    clock = CLOCK.search(value)
    return clock is not None and ZONE.search(value, clock.end()) is not None


def whole(value: object) -> int:
    return value if type(value) is int and -LARGEST_INTEGER <= value < LARGEST_INTEGER else 0


def canonical(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def content_digest(view: Line) -> str:
    return canonical(view)[:32]
