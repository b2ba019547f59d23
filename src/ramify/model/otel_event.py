"""What a span says, in our words: between the readers of dialects and the fold that makes tasks, calls and tool calls."""

from typing import Any

from msgspec import Struct, field

from ramify.model.prices import Tokens

AGENT, WORKFLOW, MODEL, TOOL, PLAIN = "agent", "workflow", "model", "tool", "plain"
"""What a span stands for. A workflow is a task only where nothing is above it; what is plain is walked through."""
LOOP = "loop"
"""Around one call to a model or many: a task where tools were used in between, else no more than a workflow."""
CLIENT_RUN = "client-run"
"""A span of the Claude client: whose work it is, its session and agent say, and its own reports make the rows."""


class Said(Struct, frozen=True, array_like=True, gc=False):
    role: str
    blocks: bytes  # JSON
    thought: bool = False


class Asked(Struct, frozen=True, array_like=True, gc=False):
    """A tool call that a model asked for, as its answer has it."""

    id: str
    name: str
    args: bytes  # JSON


class Returned(Struct, frozen=True, array_like=True, gc=False):
    """A tool's result, as the next request has it."""

    id: str
    result: bytes  # JSON
    failed: bool = False


class Content(Struct, frozen=True, array_like=True, gc=False):
    """What was said: kept in rows of its own, and not with the span."""

    said: tuple[Said, ...] = ()
    asked: tuple[Asked, ...] = ()
    returned: tuple[Returned, ...] = ()
    args: bytes = b""
    result: bytes = b""


NO_CONTENT = Content()


class SpanSeen(Struct, frozen=True, array_like=True, gc=False):
    """`place` is its name everywhere: the trace's id, a dash and its own."""

    project: str
    place: str
    observation: str
    parent: str = ""  # likewise; empty: none
    remote: bool = False  # the parent is in another process
    opened: int = 0
    closed: int = 0
    weight: int = 0  # how much it says: of two that end alike, the fuller counts
    role: str = PLAIN
    dialect: str = ""
    name: str = ""
    side: int = 0  # OTLP's kind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer
    status: str = "completed"
    native_status: str = ""
    error: str = ""
    service: str = ""
    conversation: str = ""
    agent: str = ""
    agent_type: str = ""
    model: str = ""
    message: str = ""
    request_id: str = ""
    stop_reason: str = ""
    first: int = 0  # when the first piece of an answer came
    utility: str = ""
    tool: str = ""
    tool_call: str = ""
    tokens: Tokens | None = None
    cost_nano: int | None = None
    links: tuple[str, ...] = ()
    session: str = ""  # of the Claude client
    task: str = ""  # protocol:id of the task that it names
    above: str = ""  # and of that task's parent
    prompt: str = ""
    native: dict[str, Any] = field(default_factory=dict)
    content: Content = NO_CONTENT
    messages: int = 0  # how many rows its content makes
    attempt: int = 1  # how many it took, of a call to a model


class LogTold(Struct, frozen=True, array_like=True, gc=False):
    """What a log record adds to a span."""

    project: str
    place: str
    observation: str
    at: int
    content: Content
