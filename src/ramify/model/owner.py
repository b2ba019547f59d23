"""Whose a row is: most say their project themselves, the others are part of something that does."""

from ramify.model.entity import (
    Agent,
    Artifact,
    ArtifactPart,
    Call,
    Conversation,
    Correction,
    Entity,
    EventSession,
    Line,
    Logged,
    Message,
    Note,
    Operation,
    Report,
    Sheet,
    Task,
    ToolCall,
)
from ramify.model.tally import Tally

Place = tuple[str, str]  # table and id
NOBODY: Place = ("", "")


def owner_of(row: Entity) -> str | Place:
    """The project, or what it is a part of. What a fold remembers tells nobody whose it is."""
    match row:
        case Call() | ToolCall() | Task() | Conversation() | Message() | Operation() | Agent() | Logged() | EventSession() | Tally():
            return row.project
        case Line() | Report():
            return "conversations", row.conversation
        case Note() | Artifact():
            return "tasks", row.task
        case ArtifactPart():
            return "artifacts", row.id.rpartition(".")[0]
        case Correction():
            return "tasks", row.id
        case Sheet():
            return NOBODY
