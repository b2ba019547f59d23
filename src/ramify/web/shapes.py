"""The shapes of the answers, for the description of the API. Answers may carry more than is listed here."""

from typing import Any, Literal

from msgspec import Struct

from ramify.model.reported import Batch

Moment = str | None  # ISO 8601, UTC, microseconds

Certainty = float
Status = Literal[
    "pending", "submitted", "working", "input-required", "auth-required",
    "completed", "failed", "canceled", "rejected", "unknown",
]  # fmt: skip


class Ref(Struct):
    protocol: str
    kind: str
    value: str
    scope: str | None = None


class Usage(Struct):
    calls: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None


class Link(Struct):
    kind: str
    rule: str
    certainty: Certainty
    parent: str
    via: str | None
    via_id: str | None
    evidence: list[str]


class Progress(Struct):
    """Of everything under a task, itself not counted."""

    tasks: int
    done: int
    working: int
    failed: int
    waiting: int  # for a person


class Artifact(Struct, kw_only=True):
    """What a task produced; `partial` where its beginning was never seen. It may carry further fields of its protocol."""

    artifactId: str
    name: str | None
    parts: list[dict[str, Any]]
    timestamp: Moment
    partial: bool = False
    description: str | None = None
    task: str | None = None  # in lists of several tasks


class Task(Struct, kw_only=True):
    id: str
    title: str | None
    prompt: str | None
    prompt_author: str | None
    agent: str | None
    agent_type: str | None
    status: Status
    native_status: str | None
    flags: list[str]
    conversation: str | None
    branch: str | None
    operation: str | None
    root: str
    depth: int
    link: Link | None
    opened: Moment
    closed: Moment
    duration_ms: float | None
    usage: Usage
    tree_usage: Usage
    subtasks: int
    tool_calls: int
    refs: list[Ref]
    native: dict[str, Any]
    project: str
    progress: Progress | None = None
    parent: str | None = None
    artifacts: list[Artifact] | None = None  # of one task; lists leave them out
    feedback: list[dict[str, Any]] | None = None  # likewise: what people said about it


class TaskTree(Task, kw_only=True):
    children: list["TaskTree"]


class Tree(Struct, kw_only=True):
    """Of a task: the task with its children. Of a conversation or operation: that, its roots and the rest."""

    roots: list[TaskTree]
    unattached: list[Task]


class Call(Struct, kw_only=True):
    id: str
    task: str | None
    conversation: str | None
    branch: str | None
    parent: str | None
    kind: Literal["main", "subagent", "utility"]
    utility: str | None
    model: str | None
    attempt: int
    attempt_of: str | None
    status: Literal["ok", "error", "aborted", "running"]
    link: Link | None
    opened: Moment
    closed: Moment
    first_token_ms: float | None
    usage: Usage
    message_count: int
    new_messages: int
    stop_reason: str | None
    duration_ms: float | None
    http_status: int | None
    error: str | None
    agent: str | None
    refs: list[Ref]
    observations: list[str]
    sources: list[str]
    project: str


class ToolCall(Struct, kw_only=True):
    id: str
    call_id: str
    task: str | None
    call: str | None
    name: str | None
    type: Literal["llm_response", "tool_invocation_start", "tool_result"]
    phases: list[str]
    args: Any
    result: Any
    status: Literal["running", "ok", "error", "canceled", "timed_out", "missing"]
    agent_name: str | None
    timestamp: Moment
    closed: Moment
    duration_ms: float | None
    spawned: list[str]
    result_source: Literal["wire", "history", "child"] | None
    refs: list[Ref]
    error: str | None = None


class Reasoning(Struct, kw_only=True):
    task: str | None
    call: str | None
    message_id: str | None
    timestamp: Moment
    agent_name: str | None
    kind: Literal["thinking", "explanation", "progress", "context"]
    text: str
    withheld: bool
    model: str | None
    conversation_history: Any


class Message(Struct, kw_only=True):
    id: str
    task: str | None
    call: str | None
    role: str
    author: Literal["human", "agent", "tool", "harness", "system", "unknown"]
    author_id: str | None
    author_kind: str | None
    reason: str | None
    blocks: list[Any]
    timestamp: Moment
    source: str | None = None  # who reported it; the wire's own have none
    observation: str | None = None  # where it was seen, in protocols that keep their messages


class FlowEvent(Struct, kw_only=True):
    timestamp: Moment
    kind: Literal[
        "request", "model_call", "thinking", "explanation", "progress", "tool_call", "subtask", "artifact", "workflow_node",
        "cancel_request", "error", "compaction", "message", "other", "end",
    ]  # fmt: skip
    task: str | None
    id: str | None
    agent_name: str | None
    text: str | None
    status: str | None
    closed: Moment
    call_id: str | None = None
    author: str | None = None


class FlowTotals(Struct, kw_only=True):
    tasks: int
    subtasks: int
    tool_calls: int
    open_tool_calls: int
    own: Usage
    tree: Usage


class Flow(Struct, kw_only=True):
    """`open` are tasks that have not ended and tool calls that still run."""

    task: Task
    events: list[FlowEvent]
    totals: FlowTotals
    open: list[str]
    final_text: str | None
    feedback: list[dict[str, Any]]


class Breakdown(Struct):
    models: dict[str, Usage]
    agent_types: dict[str, Usage]


class Conversation(Struct, kw_only=True):
    id: str
    project: str
    session: str | None
    title: str
    opened: Moment
    active: Moment
    calls: int
    tasks: int
    roots: int
    subtasks: int
    branches: list[str]
    usage: Usage
    client: str | None
    refs: list[Ref]


class ExplainedLink(Link):
    """`explanation` says what the rule means; of a conversation, `child` says whose link it is."""

    explanation: str | None = None
    child: str | None = None


class Candidate(Struct):
    parent: str
    rule: str
    certainty: Certainty
    rejected_because: str
    explanation: str | None = None


class Witness(Struct):
    observation: str
    source: str
    rule: str | None
    explanation: str | None = None


class Why(Struct, kw_only=True):
    id: str
    links: list[ExplainedLink]
    candidates: list[Candidate]
    witnesses: list[Witness]


class Object(Struct):
    """An object whose fields are not fixed."""


class Fault(Struct, kw_only=True):
    code: str
    message: str
    hint: str
    candidates: list[dict[str, Any]] | None = None
    word: str | None = None  # of a filter: what is wrong, and where it stands
    start: int | None = None
    end: int | None = None


class Error(Struct):
    error: Fault


class NewLink(Struct, forbid_unknown_fields=True):
    child: str
    parent: str


class NewAnswer(Struct, forbid_unknown_fields=True):
    """To a task that waits for input: a text, or the data that a form asked for."""

    text: str = ""
    data: Any = None


class Answered(Struct):
    """Sent; what the agent makes of it is seen later. `status` is what it said at once."""

    task: str
    agent: str
    message: str
    status: Status | None


class Cancellation(Struct):
    """What became of one task. Not `asked`: it was over. `error`: the agent said no, or nothing."""

    task: str
    agent: str
    asked: bool
    status: Status | None
    error: str | None


class SqlQuery(Struct, forbid_unknown_fields=True):
    """`limit` is the number of rows at most."""

    sql: str
    limit: int = 1000


class SqlAnswer(Struct, kw_only=True):
    """`more`: there are more rows than were asked for, or than one answer holds."""

    columns: list[str]
    rows: list[list[Any]]
    more: bool
    ms: float


class Taken(Struct):
    """How many records were taken; they are stored a moment later."""

    taken: int


class Playing(Struct):
    """The session of the demo run that has begun."""

    session: str


class Nothing(Struct):
    """An empty object: an answer to a hook that asks for nothing."""


SHAPES: tuple[type[Struct], ...] = (
    Task, TaskTree, Tree, Artifact, Call, ToolCall, Reasoning, Message, Conversation, Why, Flow, Breakdown, Object, Error,
    NewLink, SqlQuery, SqlAnswer, NewAnswer, Answered, Cancellation, Batch, Taken, Playing, Nothing,
)  # fmt: skip
