"""What a line of the event log means, in our words: who asked whom, what was answered, pushed, or seen when asked again."""

from msgspec import Struct

RANKS = {
    "pending": 0, "unknown": 0, "submitted": 1, "working": 2, "input-required": 2, "auth-required": 2,
    "completed": 3, "failed": 3, "rejected": 3, "canceled": 3,
}  # fmt: skip
ENDED = 3
LOCAL = "local"
"""The session of whatever comes without one: imports, captures, the command line."""


class Heading(Struct, frozen=True, kw_only=True):
    """What every line has. Empty: it does not say."""

    observation: str
    project: str
    session: str
    event: str  # its own id
    at: int  # when it was observed, by a clock near the observer
    recorded: int  # when the store took it
    sort: str = "event"  # event, object; empty: listed nowhere
    type: str = ""
    operation: str = ""
    meant: str = ""  # the operation that the caller named: a call and its result are paired inside it
    agent: str = ""
    task_type: str = ""
    source: str = "client"
    protocol: str = ""
    call: str = ""
    work: str = ""
    transport: str = ""
    context: str = ""
    parent: str = ""
    status: str = ""
    native: str = ""
    sender: int = 0  # the sender's own clock
    uri: str = ""
    digest: str = ""  # of the content: the same id with another digest is a conflict
    size: int = 0
    flags: tuple[str, ...] = ()

    @property
    def is_told(self) -> bool:
        """By an agent, of its own accord or asked by ourselves: that does not make its operation anybody's."""
        return self.source in ("webhook", "reconciler") or self.type == "webhook_received"


class Word(Struct, frozen=True):
    """A state that somebody claims, of the work or of the transport's own task."""

    of: str  # work, transport
    id: str
    status: str
    native: str = ""
    carries: str = ""  # of a transport's task: the work that rides in it


class Asked(Struct, frozen=True, tag=True):
    """A call was made."""


class Answered(Struct, frozen=True, tag=True):
    """A call came back, or broke. `bare`: only that it came back is known, and what the transport said of it."""

    status: str
    native: str = ""
    work: str = ""
    transport: str = ""
    bare: bool = False
    raised: bool = False
    whole: bool = True  # False: the awaited result, told apart from the response that the client noticed
    carried: bool = False  # the state is that of the transport's task: it counts as long as no work of its own is known
    milliseconds: float | None = None


class Pushed(Struct, frozen=True, tag=True):
    """An agent told by itself. Two words where a transport's task names the work that rides in it."""

    words: tuple[Word, ...]
    key: str = ""  # the idempotency key's hash
    body: str = ""  # digest of the canonical body
    stamps: tuple[str, ...] = ()  # what makes a repetition with a new key the same notification
    streamed: bool = False


class Snapshots(Struct, frozen=True, tag=True):
    """What an agent said when it was asked again. `gone`: the ids that it does not know any more."""

    words: tuple[Word, ...]
    gone: tuple[str, ...] = ()


class Progressed(Struct, frozen=True, tag=True):
    """A sign of life of a call; with a title, of a part of it."""

    subtask: str = ""
    status: str = ""
    native: str = ""
    text: str = ""


class Introduced(Struct, frozen=True, tag=True):
    """Where an agent answers."""

    uri: str


class Cleared(Struct, frozen=True, tag=True):
    """Everything of the session goes."""

    reason: str = "cleared"


class Shown(Struct, frozen=True, tag=True):
    """Listed, and nothing follows from it."""


Said = Asked | Answered | Pushed | Snapshots | Progressed | Introduced | Cleared | Shown


class OperationEvent(Struct, frozen=True):
    heading: Heading
    said: Said
