"""Broker messages to events. Never raises: what cannot be read says so, what means nothing here is nothing."""

from msgspec.structs import replace

from ramify.model.event import Unreadable
from ramify.model.mesh_event import MeshMessage, Properties
from ramify.model.nested import storable
from ramify.model.observation import Record
from ramify.protocols.sam.identity import HOUR, identity_of
from ramify.protocols.sam.parts import parts_of, texts
from ramify.protocols.sam.wire import (
    Envelope,
    Json,
    count_at,
    list_at,
    moment_of,
    read_envelope,
    table_at,
    text_at,
    topic_below,
    written,
)

FORMAT = "sam"
ASKING = ("message/stream", "message/send")
GATEWAY_STAMP = "Request received by gateway at: "
MARKER = "Now please execute this task that was given to you:"
NOBODY = ("", "unknown_agent")
NOT_SHOWN = ("data",)
REFUSALS = (-32001, -32002)
"""No such task, and none that can be canceled: whoever asked is told so, and no task ends by it."""
BESIDE = (["trust"], ["client"])
"""Topics that say nothing new of tasks: who vouches for whom, and what gateways hand on to their clients."""


def decode(seen: Record) -> MeshMessage | Unreadable | None:
    found = read_envelope(seen.body)
    if isinstance(found, str):
        return Unreadable(seen.id, seen.at, found)
    if not isinstance(found.payload, dict):
        return None  # text, bytes or nothing: kept, and no business of ours
    return message_in(found, bare(found, seen))


def bare(found: Envelope, seen: Record) -> MeshMessage:
    return MeshMessage(
        seen.id, seen.project, identity_of(found), "status", found.received or seen.at,
        topic=found.topic, guessed=found.guessed, properties=properties_of(found),
    )  # fmt: skip


def properties_of(found: Envelope) -> Properties | None:
    beside = found.properties
    if beside is None:
        return None
    at, _ = moment_of(beside.get("timestamp"), found.zone)
    return Properties(
        text_at(beside, "userId"), text_at(beside, "delegating_agent_name"), count_at(beside, "callDepth"), at
    )


def message_in(found: Envelope, seen: MeshMessage) -> MeshMessage | None:
    payload: Json = found.payload
    below = topic_below(found.topic)
    if below[:1] == ["discovery"]:
        return card(payload, below, seen)
    if below[:1] in BESIDE:
        return None
    if isinstance(payload.get("feedback"), dict):
        return feedback(payload["feedback"], seen)
    match text_at(payload, "method"):
        case "message/stream" | "message/send":
            return request(payload, below, seen)
        case "tasks/cancel":
            return cancel(payload, below, seen)
    if isinstance(payload.get("error"), dict):
        return failed(payload, below, seen)
    return result(payload, found.zone, seen)


def card(payload: Json, below: list[str], seen: MeshMessage) -> MeshMessage | None:
    """Equal cards are kept once an hour, so their time is no finer."""
    name = text_at(payload, "name")
    if not name:
        return None
    about = {key: payload[key] for key in ("description", "version", "url", "displayName") if text_at(payload, key)}
    about["card"] = below[-1]
    return replace(seen, kind="card", agent=name, received=seen.received // HOUR * HOUR, details=storable(about))


def feedback(given: Json, seen: MeshMessage) -> MeshMessage | None:
    task = text_at(given, "task_id")
    if not task:
        return None
    details = {"rating": text_at(given, "feedback_type") or None, "comment": text_at(given, "feedback_text") or None}
    return replace(seen, kind="feedback", task=task, context=text_at(given, "session_id"), details=details)


def cancel(payload: Json, below: list[str], seen: MeshMessage) -> MeshMessage | None:
    """Its own id is no task's."""
    target = text_at(table_at(payload, "params"), "id")
    return replace(seen, kind="cancel", task=target, agent=addressee(below)) if target else None


def addressee(below: list[str]) -> str:
    return below[2] if len(below) == 3 and below[:2] == ["agent", "request"] else ""


def request(payload: Json, below: list[str], seen: MeshMessage) -> MeshMessage | None:
    message = table_at(table_at(payload, "params"), "message")
    task = text_at(payload, "id")
    if not task or not message:
        return None
    beside = table_at(message, "metadata")
    details = {
        "workflow_name": text_at(beside, "workflow_name"),
        "node_id": text_at(beside, "node_id"),
        "topic": seen.topic,
    }
    return replace(
        seen, kind="request", task=task, context=text_at(message, "contextId"), native=text_at(message, "messageId"),
        agent=addressee(below) or text_at(beside, "agent_name"), parts=parts_of(message), blocks=blocks_of(message),
        text=prompt_of(message, bool(text_at(beside, "parentTaskId"))), role=text_at(message, "role") or "user",
        parent=text_at(beside, "parentTaskId"), call=text_at(beside, "function_call_id"), details=details,
    )  # fmt: skip


def prompt_of(message: Json, is_given: bool) -> str:
    """Without what gateway and platform put around the words."""
    said = [text_at(part, "text") for part in list_at(message, "parts") if text_at(part, "kind") == "text"]
    whole = "\n".join(said)
    lines = whole.split("\n")
    if lines[0].startswith(GATEWAY_STAMP):
        whole = "\n".join(lines := lines[1:])
    marker = next((at for at, line in enumerate(lines) if line.strip() == MARKER), None) if is_given else None
    return (whole if marker is None else "\n".join(lines[marker + 1 :])).strip()


def blocks_of(message: Json) -> bytes:
    """What people read. Data parts become rows of their own, and are long."""
    every = [part for part in list_at(message, "parts") if isinstance(part, dict)]
    parts = [part for part in every if text_at(part, "kind") not in NOT_SHOWN]
    return written([block_of(part) for part in parts]) if parts else b""


def block_of(part: Json) -> Json:
    kind = text_at(part, "kind")
    return {"type": kind, **{name: value for name, value in part.items() if name != "kind"}}


def failed(payload: Json, below: list[str], seen: MeshMessage) -> MeshMessage | None:
    """An answer to a cancel request is an error, too, and may name the task that was meant."""
    error = payload["error"]
    about = table_at(error, "data")
    own, named = text_at(payload, "id"), text_at(about, "taskId")
    task = named or (own if below and below[-1] == own else "")
    if not task or (own != task and error.get("code") in REFUSALS):
        return None
    details = {"code": error.get("code")}
    return replace(
        seen, kind="error", task=task, context=text_at(about, "contextId"), state="failed",
        text=text_at(error, "message"), details=storable(details),
    )  # fmt: skip


def result(payload: Json, zone: str, seen: MeshMessage) -> MeshMessage | None:
    found = table_at(payload, "result")
    task = text_at(payload, "id")
    kind = text_at(found, "kind")
    if not task or kind not in ("status-update", "task"):
        return None
    status = table_at(found, "status")
    message = table_at(status, "message")
    stamp, guessed = moment_of(status.get("timestamp"), zone)
    seen = replace(
        seen, task=task, context=text_at(found, "contextId"), native=text_at(message, "messageId"), stamp=stamp,
        guessed=guessed or seen.guessed, agent=speaker(found), state=text_at(status, "state"),
        role=text_at(message, "role") or "agent",
    )  # fmt: skip
    if copied := copy(found, message, seen):
        return copied
    seen = replace(seen, parts=parts_of(message), blocks=blocks_of(message), text=texts(message, " "))
    return seen if kind == "status-update" else replace(seen, kind="end", details=end_details(found, message))


def speaker(found: Json) -> str:
    name = text_at(table_at(found, "metadata"), "agent_name")
    return "" if name in NOBODY else name


def copy(found: Json, message: Json, seen: MeshMessage) -> MeshMessage | None:
    """A peer's event, published again under the task of the agent that asked it."""
    for beside in (table_at(message, "metadata"), table_at(found, "metadata")):
        peer = text_at(beside, "forwarded_from_peer")
        if peer:
            original = text_at(beside, "original_peer_event_taskId") if peer != "UnknownPeer" else ""
            details = {"original": original, "peer": peer}
            return replace(seen, kind="copy", agent="", call=text_at(beside, "function_call_id"), details=details)
    return None


def end_details(found: Json, message: Json) -> Json:
    beside = table_at(found, "metadata")
    kept = {name: beside[name] for name in ("token_usage", "produced_artifacts", "output") if beside.get(name)}
    results = [table_at(part, "data") for part in list_at(message, "parts") if text_at(part, "kind") == "data"]
    structured = next((one for one in results if text_at(one, "type") == "structured_invocation_result"), None)
    if structured is not None:
        kept["result"] = {name: value for name, value in structured.items() if value is not None}
    kept["workflow_name"] = text_at(beside, "workflow_name")
    details: Json = storable({name: value for name, value in kept.items() if value})
    return details
