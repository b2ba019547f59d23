"""Any line as the one kind of event that people are shown: task events as they are, client records in the same words."""

from urllib.parse import unquote

import msgspec

from ramify.model.operation_event import LOCAL
from ramify.protocols.adcp import forms
from ramify.protocols.adcp.wire import IDS, KINDS, LARGEST_EVENT, LONGEST_ID, OWN, STORED, Line, camelled, table, text

ACTIVITIES = {"protocol_request", "protocol_response", "webhook_received"}


class BadLine(ValueError):
    """Why a line is no event."""


def sort_of(line: Line) -> str:
    """event, object, record: what kind of line it is."""
    if line.get("eventType") is not None:
        return "event"
    if line.get("objectType") is not None:
        return "object"
    if text(line.get("kind")) in KINDS:
        return "record"
    raise BadLine("has neither eventType nor objectType, and no kind that is known")


def viewed(given: Line) -> Line:
    """The event, in our spelling and with nothing that only the store may set. Raises BadLine."""
    line = camelled({name: value for name, value in given.items() if name != OWN})
    match sort_of(line):
        case "event":
            return checked(without_stored(line), ("eventType", "operationId", "agentId", "taskType"))
        case "object":
            return checked(without_stored(line), ("operationId", "objectType", "targetEntity", "status"))
        case _:
            return checked(recorded(line), ())


def stored(line: Line) -> Line:
    """The same of a line that the store has kept. What a client record says may stand deep in a field that was cut:
    then its short fields were read before."""
    short = table(line.get(OWN)).get("view")
    if not isinstance(short, dict):
        return viewed(line)
    try:
        return viewed(line) | short
    except BadLine:
        return {"payload": line.get("event", line.get("activity"))} | short


def without_stored(line: Line) -> Line:
    return {name: value for name, value in line.items() if name not in STORED}


def checked(line: Line, required: tuple[str, ...]) -> Line:
    for name in required:
        if not isinstance(line.get(name), str) or not line[name].strip():
            raise BadLine(f"{name} is missing" if line.get(name) is None else f"{name} must be a text that is not empty")
    for name in (*IDS, *required):
        value = line.get(name)
        if value is not None and not isinstance(value, str):
            raise BadLine(f"{name} must be a text")
        if isinstance(value, str) and len(value) > LONGEST_ID:
            raise BadLine(f"{name} has {len(value)} characters, more than {LONGEST_ID}")
    return line


def recorded(line: Line) -> Line:
    """A client record: what the table of its kind makes of it, and the fields that it has beyond that."""
    match line["kind"]:
        case "activity":
            return from_activity(line)
        case "webhook":
            return from_webhook(line)
        case "stream":
            return from_stream(line)
        case "progress":
            return {**common(line), "eventType": "progress", "payload": kept(line, "progress", "total", "message")}
        case "agent":
            return {**common(line), "eventType": "", "protocol": text(line.get("protocol")), "agentUri": text(line.get("uri"))}
        case kind:
            return from_result(line, kind)


def check_names(given: Line) -> None:
    """What says whose a record is must not be guessed because it is written as a number. Raises BadLine."""
    line = camelled(given)
    if sort_of(line) == "record":
        texts(line, "", "op", "agent", "call", "method")
        texts(table(line.get("activity")), "activity.", "operation_id", "agent_id", "task_type")


def check_line(line: Line, size: int) -> None:
    """What was refused when it came is not understood later either. Raises BadLine."""
    check_names(line)
    session_of(line)
    check_size(size)


def check_size(size: int) -> None:
    if size > LARGEST_EVENT:
        raise BadLine(f"has {size} bytes, more than {LARGEST_EVENT}")


def session_of(line: Line) -> str:
    """Of a line of a file."""
    named = line.get("session")
    if named is not None and not isinstance(named, str):
        raise BadLine("session must be a text")
    if len(named or "") > LONGEST_ID:
        raise BadLine(f"session has {len(named or '')} characters, more than {LONGEST_ID}")
    return named or LOCAL


def texts(line: Line, place: str, *names: str) -> None:
    for name in names:
        if line.get(name) is not None and not isinstance(line[name], str):
            raise BadLine(f"{place}{name} must be a text")


def common(line: Line, agent: str = "", operation: str = "") -> Line:
    view: Line = {
        "operationId": text(line.get("op")) or operation or None,
        "agentId": text(line.get("agent")) or agent,
        "taskType": text(line.get("method")),
        "protocol": text(line.get("protocol")) or None,
        "timestamp": line.get("at"),
        "callId": text(line.get("call")) or None,
        "source": "client",
        "record": line["kind"],
    }
    if not view["agentId"]:
        raise BadLine("agent is missing")
    return view


def kept(line: Line, *names: str) -> Line:
    return {name: line[name] for name in names if name in line}


def from_activity(line: Line) -> Line:
    activity = table(line.get("activity"))
    if text(activity.get("type")) not in ACTIVITIES:
        raise BadLine("activity.type is no activity that is known")
    view = common(line, text(activity.get("agent_id")), text(activity.get("operation_id")))
    own = text(activity.get("operation_id"))
    heard = activity["type"] == "webhook_received"
    metadata = table(activity.get("metadata"))
    view |= {
        "eventType": activity["type"],
        "operationId": (own or view["operationId"]) if heard else view["operationId"],
        "taskType": text(activity.get("task_type")),
        "status": text(metadata.get("status")) or None if heard else activity.get("status"),
        "timestamp": activity.get("timestamp"),
        "callId": view["callId"] if heard else view["callId"] or own or None,
        "agentTaskId": text(metadata.get("task_id")) or None if heard else None,
        "metadata": activity.get("metadata"),
    }
    return view


def from_result(line: Line, kind: str) -> Line:
    view = common(line)
    if not view["taskType"]:
        raise BadLine("method is missing")
    view |= kept(line, "status", "success", "adcp_error", "metadata", "message", "raised", "protocol_version")
    view |= {"durationMs": line.get("ms"), "payload": line.get("data"), "method": view["taskType"], "error": line.get("error")}
    if kind != "result":
        words = forms.task_words(table(line.get("data"))) if kind == "poll" else ()
        work = next((word.id for word in words), None)
        return view | {"eventType": "status_update", "source": kind, "agentTaskId": work,
                       "status": words[0].native if words else None}  # fmt: skip
    if line.get("raised") is not None:
        return view | {"eventType": "protocol_error", "error": line.get("message")}
    return view | {"eventType": "protocol_response"}


def from_webhook(line: Line) -> Line:
    type, agent, operation = from_path(text(line.get("path")))
    view = common({**line, "op": None}, agent)
    body = webhook_body(line)
    wired = forms.carried(body)
    named = "" if wired is not None else text(body.get("operation_id"))
    view |= kept(line, "headers", "signed", "path", "took", "rawSha256")
    view |= {
        "eventType": "status_update" if body else "webhook_received",
        "operationId": named or text(line.get("op")) or operation or None,
        "taskType": text(body.get("task_type")) or view["taskType"] or type,
        "source": "webhook",
        "payload": body or line.get("raw"),
        "idempotencyKey": body.get("idempotency_key"),
        "notificationId": body.get("notification_id"),
    }
    return view | pushed(body, wired)


def pushed(body: Line, wired: forms.Carried | None) -> Line:
    if wired is None:
        fields = {"agentTaskId": text(body.get("task_id")) or None, "status": body.get("status")}
        return fields | {"timestamp": body.get("timestamp"), "result": body.get("result"), "error": body.get("error")}
    ids = {word.of: word for word in reversed(wired.words)}
    first = wired.words[0] if wired.words else None
    return {
        "agentTaskId": ids["work"].id if "work" in ids else None,
        "transportTaskId": ids["transport"].id if "transport" in ids else None,
        "status": first.native or None if first else None,
        "contextId": wired.context or None,
        "timestamp": wired.stamp or None,
    }


def from_stream(line: Line) -> Line:
    event = table(line.get("event"))
    wired = forms.carried(event)
    if wired is None:
        raise BadLine("event is no A2A stream response")
    return {**common(line), "eventType": "status_update", "source": "stream", "payload": event} | pushed(event, wired)


def from_path(path: str) -> tuple[str, str, str]:
    """Task type, agent and operation of `/webhook/{}/{}/{}`."""
    parts = [unquote(part) for part in path.partition("?")[0].split("/")]
    if "webhook" not in parts:
        return "", "", ""
    found = parts[parts.index("webhook") + 1 :][:3] + [""] * 3
    return found[0], found[1], found[2]


def webhook_body(line: Line) -> Line:
    if isinstance(line.get("body"), dict):
        return table(line["body"])
    try:
        return table(msgspec.json.decode(text(line.get("raw"))))
    except (ValueError, RecursionError):
        return {}
