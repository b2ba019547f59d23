"""Rows that follow from one message alone, whatever came before it: what was said, and what was noted beside it."""

from msgspec.structs import replace

from ramify.linking.mesh import names
from ramify.linking.mesh.deliveries import evidence
from ramify.linking.mesh.state import TERMINAL
from ramify.linking.world import World
from ramify.model.entity import Message, Note
from ramify.model.mesh_event import MeshMessage, ModelAsked, Noted, Part, Signalled

SYNTHETIC = "host-notify-"
NOT_NOTED = ("file", "")  # parts of messages, and shown as such
PARTS = 64  # more places than that at one moment are not told apart


def say(world: World, message: MeshMessage) -> None:
    """A message may come again with better times: the ids of its rows stay."""
    if message.blocks:
        world.save("messages", said(message))
    for part, told in enumerate(message.parts):
        if (note := note_of(message, part, told)) is not None:
            world.save("notes", note)
    if message.kind in ("end", "error") and message.state in TERMINAL:
        world.save("notes", ended(message))


def said(message: MeshMessage) -> Message:
    own = names.task_id(message.project, message.task)
    row = Message(
        names.message_id(message.project, message.identity), message.project, own, message.at, message.received,
        evidence(message), names.PROTOCOL, message.native, protocol=names.PROTOCOL, role=message.role,
        blocks=message.blocks, author="agent", author_id=own, reason="an agent of the mesh said it",
    )  # fmt: skip
    if message.kind != "request":
        return row
    row.author_id = names.task_id(message.project, message.parent) if message.parent else ""
    row.author = "agent" if message.parent else "human"
    row.reason = "the request names the task that gave it" if message.parent else "a request that no task gave"
    return row


def bare(message: MeshMessage, kind: str, part: int) -> Note:
    return Note(
        names.note_id(message.project, message.identity, kind, part),
        names.task_id(message.project, message.task),
        message.at,
        message.received * PARTS + min(part, PARTS - 1),
        kind,
        agent_name=message.agent,
        native=message.native,
        observation=evidence(message),
    )


def note_of(message: MeshMessage, part: int, told: Part) -> Note | None:
    match told:
        case Noted() if told.kind not in NOT_NOTED and message.kind != "request":
            note = bare(message, told.kind, part)
            note.text, note.status, note.details = told.text, told.status, told.details
            return note
        case ModelAsked():
            note = bare(message, "context", part)
            note.model = told.model
            note.details = {"call": names.model_call_id(message.project, message.identity, part), "part": part}
            return note
        case Signalled():
            note = bare(message, "error", part)
            note.text, note.details = told.text, told.details
            return note
        case _:
            return None


def ended(message: MeshMessage) -> Note:
    note = bare(message, "end", 0)
    note.text, note.status, note.details = message.text, message.state, message.details
    return note


def judged(world: World, message: MeshMessage) -> None:
    """A person's verdict on a task."""
    note = bare(message, "feedback", 0)
    comment = message.details.get("comment")
    note.text, note.status = comment or "", message.details.get("rating") or ""
    note.details = message.details
    world.save("notes", note)


def moved(note: Note, task: str) -> Note:
    return replace(note, task=task)
