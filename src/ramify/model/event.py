"""What an observation means: thirteen events, a closed union. Adding one is a decision record."""

from typing import Any

from msgspec import Struct, field

from ramify.model.prices import Tokens

ENDED_EARLY = "the stream ended early"  # and nobody said why: whoever recorded it may have gone away


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
    path: str = ""  # the file that it is about
    sign: bytes = b""  # what is asked for, whoever asks and when: the tool and its input


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
    canceled: bool = False  # a person stopped it


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
    served: tuple[Result, ...] = ()  # of tools that ran at the model's side: they stand in an answer


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
    trace: str = ""  # the distributed trace that it is part of
    span: str = ""  # and the span inside which it was asked, trace first


class Place(Struct, frozen=True, array_like=True):
    """Which message of its source it is: its own id, the one before it, and where it stood."""

    id: str = ""
    before: str = ""
    position: int = 0
    side: bool = False  # a sub-agent's line, which old clients mark without naming the agent


class ModelAnswered(Struct, frozen=True):
    """An answer. On the wire it belongs to a request of ours; elsewhere (a transcript, a stream) only its own id is
    known, `request` is empty and `scope` says whose it is. Such a sighting may show one block of several."""

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
    scope: Scope | None = None
    source: str = ""  # transcript, stream, hook
    final: bool = True  # False: the figures of the answer's beginning; how much was said is not known yet
    under: str = ""  # the tool call inside which it was said, where the agent itself is not named
    place: Place | None = None
    began: int = 0  # when it was asked for, where that is known; `at` may be unknown then
    span: str = ""  # its own span, trace first
    within: str = ""  # and the span around that
    cost_nano: int | None = None  # as the source states it
    utility: str = ""  # what a helper's call is for, where the source says so
    entry: str = ""  # `batch/custom_id`: it tells by itself whose answer it is, and its request may never be seen


class Hint(Struct, frozen=True):
    """What the source's own flags say about the author; the words of the message say the rest."""

    author: str = ""  # human, agent, tool, harness; empty: the flags do not tell
    kind: str = ""
    reason: str = ""
    meta: bool = False  # the client wrote it; which of its kinds, the words tell
    during_turn: bool = False  # it joined a running turn: it opens nothing
    begins_turn: bool = False  # the source says that a turn began with it
    agent: str = ""  # the agent that wrote it


class MessageSaid(Struct, frozen=True):
    """A message that was reported as such. `message` is set where it is a piece of a model's answer."""

    scope: Scope
    source: str
    observation: str
    at: int
    part: Part
    blocks: tuple[dict[str, Any], ...] = ()  # as the source has them
    hint: Hint = Hint()
    place: Place = Place()
    message: str = ""
    under: str = ""
    copied_from: str = ""  # the session that it was first said in, where it says so


class ToolCalled(Struct, frozen=True):
    """A tool call that was reported by itself, not inside an answer (a hook)."""

    scope: Scope
    source: str
    observation: str
    at: int
    use: Use
    asked: str = ""  # the request whose answer asked for it, or the span that stands around both


class ToolReturned(Struct, frozen=True):
    scope: Scope
    source: str
    observation: str
    at: int
    result: Result
    under: str = ""
    status: str = ""  # "canceled", "timed_out" where the result says more than an error


class TaskOpened(Struct, frozen=True):
    """An agent (`scope.agent`) was given work; every source tells some of it."""

    scope: Scope
    source: str
    observation: str
    at: int  # 0: not known
    prompt: str = ""
    title: str = ""
    agent_type: str = ""
    name: str = ""
    background: bool | None = None
    from_main: bool = False  # no agent gave it: the main line did
    native: dict[str, Any] = field(default_factory=dict)


class TaskMoved(Struct, frozen=True):
    """`scope.agent` empty: whatever root task runs on the main line at that time."""

    scope: Scope
    source: str
    observation: str
    at: int  # 0: not known
    status: str  # our word
    native: str = ""
    under: str = ""
    ends_turn: bool = False  # the main line's turn is over
    wakes: bool = False  # this turn was begun by a notification, not by a prompt
    words: str = ""  # the prompt of the turn that is over, where its end is all that tells of it
    began: int = 0  # and when that turn began


class TaskReferred(Struct, frozen=True):
    """Who spawned whom. With a `run` in between, one side is told by one source and the other by another."""

    scope: Scope  # scope.agent is the child; empty: only the run is tied to the tool
    source: str
    observation: str
    at: int
    rule: str
    tool: str = ""
    run: str = ""
    certainty: float = 1.0


class UsageReported(Struct, frozen=True):
    """The client's own sum over a session: everything, helpers and sub-agents included."""

    scope: Scope
    source: str
    observation: str
    at: int
    models: tuple[tuple[str, Tokens, int | None], ...]  # model, tokens, cost in billionths of a dollar
    since_last: bool  # since the report before; else since the session began
    turn: Tokens | None = None  # the main line's part of the turn that ended here


class ArtifactGrew(Struct, frozen=True):
    task: str
    artifact: str


class OperationNamed(Struct, frozen=True):
    operation: str


class AgentSeen(Struct, frozen=True):
    """A session was at work at that time: what stands behind this and is older was copied from another one."""

    scope: Scope
    source: str
    observation: str
    at: int
    place: Place = Place()


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
    | UsageReported
    | OperationNamed
    | AgentSeen
    | Unreadable
)
