"""What an observation means: twelve events, a closed union. Adding one is a decision record."""

from typing import Any

from msgspec import Struct, field

from ramify.model.prices import Tokens


class Atom(Struct, frozen=True, array_like=True):
    """The smallest thing that matters for identity: one block of one role in its normal form.

    `digest` is None where the client replaced the content by a placeholder; `tool` then says which result it was.
    """

    digest: bytes | None
    block: int
    kind: str  # text, use, result, other
    tool: str = ""
    head: str = ""  # the beginning of an agent's text: an interrupted answer is known by it


class Use(Struct, frozen=True):
    """A tool call inside an answer or a history."""

    id: str
    name: str
    block: int
    prompt: bytes | None = None  # fingerprint of input.prompt
    strings: tuple[bytes, ...] = ()  # fingerprints of every string in the input
    title: str = ""
    agent_type: str = ""
    text: str = ""  # the prompt itself


class Result(Struct, frozen=True):
    """A tool's result inside a request."""

    id: str
    block: int
    atom: bytes | None
    text: bytes | None  # fingerprint of its text
    error: bool = False
    receipt: bool = False  # says only that work was started
    fork: bool = False
    agent: str = ""  # the agent that the result names


class Notice(Struct, frozen=True):
    """A message of the harness that names an agent and the call that started it."""

    agent: str
    tool: str
    status: str


class Text(Struct, frozen=True):
    block: int
    raw: str
    normal: str  # reminders out; may be empty


class Part(Struct, frozen=True):
    """One message of a list, read once: its atoms, and what else it tells."""

    role: str
    strict: bytes
    atoms: tuple[Atom, ...] = ()
    texts: tuple[Text, ...] = ()
    uses: tuple[Use, ...] = ()
    results: tuple[Result, ...] = ()
    notices: tuple[Notice, ...] = ()
    compaction: tuple[str, ...] = ()  # contents of compaction blocks


class Scope(Struct, frozen=True, array_like=True):
    """Whose it is. Two different values on one level never share anything; a missing one separates nothing."""

    project: str
    user: str = ""
    session: str = ""
    agent: str = ""
    parent_agent: str = ""
    parent_session: str = ""


class ModelCalled(Struct, frozen=True):
    request: str
    exchange: str
    source: str
    at: int
    scope: Scope
    model: str = ""
    utility: str = ""
    strict: bytes = b""
    parts: tuple[Part, ...] = ()
    previous: str = ""  # message id that the caller says it continues
    thread: bool = False  # only the new messages were sent
    agent_type: str = ""
    client: str = ""
    native: dict[str, Any] = field(default_factory=dict)


class ModelAnswered(Struct, frozen=True):
    request: str
    response: str
    project: str
    at: int
    status: str  # ok, error, aborted
    first_byte: int = 0
    http_status: int = 0
    message: str = ""
    request_id: str = ""
    model: str = ""
    stop_reason: str = ""
    tokens: Tokens | None = None
    extra_tokens: tuple[tuple[str, Tokens], ...] = ()  # iterations at another model's price
    part: Part | None = None
    error: str = ""
    lost: bool = False  # nobody knows how it ended


class ToolCalled(Struct, frozen=True):
    task: str
    use: Use


class ToolReturned(Struct, frozen=True):
    task: str
    result: Result


class MessageSaid(Struct, frozen=True):
    task: str
    role: str
    text: str


class TaskOpened(Struct, frozen=True):
    task: str
    at: int


class TaskMoved(Struct, frozen=True):
    task: str
    at: int
    status: str


class ArtifactGrew(Struct, frozen=True):
    task: str
    artifact: str


class TaskReferred(Struct, frozen=True):
    child: str
    parent: str
    rule: str


class OperationNamed(Struct, frozen=True):
    operation: str


class AgentSeen(Struct, frozen=True):
    agent: str
    agent_type: str = ""


class Unreadable(Struct, frozen=True):
    observation: str
    at: int
    reason: str


Event = (
    MessageSaid
    | ModelCalled
    | ModelAnswered
    | ToolCalled
    | ToolReturned
    | TaskOpened
    | TaskMoved
    | ArtifactGrew
    | TaskReferred
    | OperationNamed
    | AgentSeen
    | Unreadable
)
