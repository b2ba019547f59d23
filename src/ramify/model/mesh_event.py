"""What a message of an agent mesh says, in our words: decoded from the wire, folded into rows by `linking.mesh`."""

from typing import Any, Literal

from msgspec import Struct, field

from ramify.model.prices import Tokens

Kind = Literal["request", "status", "end", "error", "copy", "cancel", "feedback", "card"]


class Said(Struct, frozen=True):
    text: str


class PastResult(Struct, frozen=True):
    """A tool's result as the history of a later model call holds it."""

    call: str
    name: str
    response: bytes
    status: str = "ok"
    error: str = ""


class ModelAsked(Struct, frozen=True):
    """A call to a model begins. Its history stays in the observation; `results` are the tool results in it."""

    model: str
    results: tuple[PastResult, ...] = ()


class ToolAsked(Struct, frozen=True):
    call: str
    name: str
    args: bytes


class ModelAnswered(Struct, frozen=True):
    model: str
    text: str = ""
    tools: tuple[ToolAsked, ...] = ()
    tokens: Tokens | None = None
    partial: bool = False


class ToolStarted(Struct, frozen=True):
    call: str
    name: str
    args: bytes  # empty: it does not say
    group: str = ""  # calls that were started together


class ToolReturned(Struct, frozen=True):
    """`child` is the task whose end is the result, where it is one. `word` is the mesh's own for how it ended."""

    call: str
    name: str
    result: bytes
    status: str
    word: str = ""
    child: str = ""
    error: str = ""
    model: str = ""
    tokens: Tokens | None = None  # what the tool itself asked of a model


class Thought(Struct, frozen=True):
    text: str
    complete: bool = False


class Signalled(Struct, frozen=True):
    """Something failed: a model, or a tool that does not exist."""

    text: str
    details: dict[str, Any] = {}


class Noted(Struct, frozen=True):
    """What happened beside all that: progress, an artifact, a step of a workflow. `child` is the task that it names."""

    kind: str
    text: str = ""
    status: str = ""
    child: str = ""
    details: dict[str, Any] = {}


Part = Said | ModelAsked | ModelAnswered | ToolStarted | ToolReturned | Thought | Signalled | Noted


class Properties(Struct, frozen=True):
    """What the sender put beside the message."""

    user: str = ""
    delegator: str = ""
    depth: int = 0
    at: int = 0


class MeshMessage(Struct, frozen=True):
    """One delivery of one message. Deliveries of the same message share its `identity`."""

    observation: str
    project: str
    identity: str
    kind: Kind
    received: int
    task: str = ""
    topic: str = ""
    context: str = ""
    native: str = ""
    stamp: int = 0  # the agent's own clock; 0: it does not say
    guessed: bool = False  # a stamp came without a zone
    properties: Properties | None = None
    agent: str = ""  # whom a request is for; who says the rest
    state: str = ""
    parts: tuple[Part, ...] = ()
    blocks: bytes = b""  # what can be read of it, as JSON
    text: str = ""  # the prompt; the last words; the error
    role: str = ""
    parent: str = ""
    call: str = ""
    details: dict[str, Any] = {}

    @property
    def at(self) -> int:
        """Requests carry no stamp: their sender's clock stands beside them."""
        return self.stamp or (self.properties.at if self.properties else 0) or self.received


class Stir(Struct):
    """What is new of one task within a batch; `stale`: something that was there before is another now."""

    fresh: dict[tuple[int, str], MeshMessage] = field(default_factory=dict)
    stale: bool = False
