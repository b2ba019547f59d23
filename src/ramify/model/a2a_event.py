"""What frames of A2A say, whichever version and binding wrote them: parts, roles, states and times in one form.

Content is JSON in bytes: it passes from the wire into rows without being understood on the way.
"""

from msgspec import Struct

ACTIVE = ("submitted", "working")
INTERRUPTED = ("input-required", "auth-required")
TERMINAL = ("completed", "failed", "canceled", "rejected")
UNKNOWN = "unknown"


def plain_word(word: str) -> str:
    """A state's word without the spelling of a version."""
    return word.strip().lower().removeprefix("task_state_").replace("_", "-")


class Sign(Struct, frozen=True, array_like=True):
    """Where something was said. Signs of everything that passed have one order: `at`, then `ref`."""

    at: int
    ref: str  # connection, frame and place in it: text that sorts
    observation: str
    stream: str = ""  # the stream that carried it; empty: a single answer, or a request
    pushed: bool = False  # the agent called by itself
    own: bool = False  # the answer to a question of ours
    place: int = 0  # inside its connection, as a number


class Piece(Struct, frozen=True, array_like=True):
    """A part of a message or an artifact. Equal digests: the same content, however it was written down."""

    json: bytes
    digest: bytes


class Spoken(Struct, frozen=True, array_like=True):
    id: str
    role: str  # user, agent
    parts: tuple[Piece, ...] = ()
    text: str = ""  # its text parts, joined by newlines
    references: tuple[str, ...] = ()
    title: str = ""  # of the work that it refers to
    parent: str = ""  # the task inside which its sender says it was sent
    span: str = ""  # the trace and span inside which its sender says it was sent
    metadata: bytes = b""


class Status(Struct, frozen=True, array_like=True):
    state: str  # our word
    word: str  # the agent's
    time: int = 0  # nanoseconds by the agent's clock; 0: it does not say
    message: Spoken | None = None


class Produced(Struct, frozen=True, array_like=True):
    """An artifact, or a chunk of one."""

    id: str
    name: str = ""
    parts: tuple[Piece, ...] = ()
    more: bytes = b""  # its other fields


class TaskMade(Struct, frozen=True):
    """A request that led to a task that was not there before. The sign is the request's."""

    sign: Sign
    task: str
    context: str
    message: Spoken
    parent: str = ""
    span: str = ""


class MessageAdded(Struct, frozen=True):
    """A request that went on with a task and was not refused. The sign is the request's."""

    sign: Sign
    task: str
    context: str
    message: Spoken


class MessageReplied(Struct, frozen=True):
    """A message answered by a message: no task was made of it. The sign is the request's, where that was seen."""

    sign: Sign
    context: str
    message: Spoken | None
    reply: Spoken
    replied: Sign
    parent: str = ""
    span: str = ""


class TaskShown(Struct, frozen=True):
    """A task as its agent keeps it. What it leaves out is not gone."""

    sign: Sign
    task: str
    context: str
    status: Status | None
    history: tuple[Spoken, ...] = ()
    artifacts: tuple[Produced, ...] = ()
    metadata: bytes = b""
    parent: str = ""
    span: str = ""
    begins: bool = False  # the first word of a stream


class StatusSaid(Struct, frozen=True):
    sign: Sign
    task: str
    context: str
    status: Status
    late: bool = False  # the same stream had ended the task before
    parent: str = ""


class ChunkCame(Struct, frozen=True):
    sign: Sign
    task: str
    context: str
    artifact: Produced
    append: bool = False
    last: bool = False
    late: bool = False
    time: int = 0  # of the last status that its stream brought


class StreamBroke(Struct, frozen=True):
    """A stream ended before its task did, and not because the client left."""

    sign: Sign
    task: str
    time: int = 0  # of the last status that it brought


class AgentShown(Struct, frozen=True):
    sign: Sign
    name: str
    url: str
    card: bytes


Event = TaskMade | MessageAdded | MessageReplied | TaskShown | StatusSaid | ChunkCame | StreamBroke | AgentShown
