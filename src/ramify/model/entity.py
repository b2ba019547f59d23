"""What people look at, as the store keeps it: derived from the log, thrown away and derived again at will.

`array_like` keeps a row small; fields are only ever added at the end.
"""

from typing import Any

from msgspec import Struct, field

from ramify.model.link import Link
from ramify.model.tally import Tally
from ramify.model.usage import NOTHING, Usage


class Answered(Struct, frozen=True, array_like=True):
    """An atom of an answer: enough to know it again in a later request."""

    digest: bytes
    head: str = ""
    tool: bool = False


class NativeRef(Struct, frozen=True, array_like=True, order=True, gc=False):
    """An id as its own protocol writes it; `scope` is the agent inside which alone it is unique."""

    protocol: str
    kind: str
    value: str
    scope: str = ""


class Told(Struct, frozen=True, array_like=True):
    """Who said so: the rule, the source and the observation."""

    rule: str
    source: str
    observation: str
    tool: str = ""  # the tool call that it names


class Stated(Struct, array_like=True):
    """What reports say about a task: every source tells some of it, and the order in which they come does not matter."""

    opened: int = 0
    prompt: str = ""
    prompt_at: int = 0
    title: str = ""
    agent_type: str = ""
    name: str = ""
    background: bool = False
    parent_agent: str = ""
    from_main: bool = False
    told: tuple[Told, ...] = ()
    moved: int = 0
    status: str = ""
    native: str = ""
    run: str = ""  # the workflow that it is a step of
    guessed: bool = False  # nobody showed the prompt: it is there as long as it has calls


class Returned(Struct, array_like=True):
    """A tool's result as a report has it; the earliest counts."""

    at: int
    observation: str
    status: str
    receipt: bool = False
    source: str = ""


class NamedAgent(Struct, frozen=True, array_like=True, order=True):
    """Which agent a tool call started, as a report has it; the earliest counts."""

    at: int
    evidence: str
    agent: str
    rule: str = ""


class Call(Struct, array_like=True, gc=False):
    """One request to a model. A retry is a call of its own with `attempt_of`."""

    id: str
    request: str = ""
    response: str = ""
    exchange: str = ""
    source: str = ""
    project: str = ""
    user: str = ""
    session: str = ""
    agent: str = ""
    parent_agent: str = ""
    started: int = 0
    ended: int = 0
    first_byte: int = 0
    status: str = "running"
    http_status: int = 0
    error: str = ""
    model: str = ""
    utility: str = ""
    agent_type: str = ""
    client: str = ""
    message: str = ""
    request_id: str = ""
    stop_reason: str = ""
    # identity
    asked: bool = False
    strict: bytes = b""
    atoms: int = 0
    end: bytes = b""  # the chain at the end of the request
    after: bytes = b""  # and after the answer
    answer: tuple[Answered, ...] = ()
    uses: tuple[str, ...] = ()
    opening: bool = False
    claims: tuple[bytes, ...] = ()
    previous: str = ""
    thread: bool = False
    summary: str = ""  # what it offers (a summarising call), squashed
    own_via: str = ""  # the spawning call that a forked agent's own request names
    # judged
    relation: str = ""  # root, continued, compacted, agent, opening, helper
    parent: str = ""
    attempt_of: str = ""
    link: Link | None = None
    offer: str = ""  # tool call that this opening answers
    new_message: int = 0
    new_block: int = 0
    message_count: int = 0
    # placed
    conversation: str = ""
    line: str = ""
    task: str = ""
    usage: Usage = NOTHING
    price_version: str = ""
    base: bytes = b""  # the chain before the words with which the request itself began the answer
    prefill: tuple[Answered, ...] = ()  # those words
    lost: bool = False  # nobody knows how it ended: a real answer may still come
    parent_session: str = ""  # the session that started this call's own
    soft_offers: tuple[str, ...] = ()  # tools of one's own whose input and result fit this opening
    final: bytes = b""  # fingerprint of the words that ended its turn
    repeated: bool = False  # an earlier attempt of the same call was answered: it counts once
    twin: str = ""  # the same answer: what the wire has for a reported one, and the other way round
    under: str = ""  # the tool call inside which a reported answer was given
    sources: tuple[str, ...] = ()  # which sources reported it
    complete: bool = False  # a report has the answer's last figures
    told_agent: str = ""  # the agent whose call it is, where only a report says so
    order: int = 0  # where a transcript has it; 0: only its time is known
    told_via: str = ""  # the tool call inside which a report has it
    trace: str = ""  # the distributed trace that it is part of
    origin: str = ""  # the opening with which its line began
    beside: str = ""  # a message of it on a side line, where the agent itself is not named
    signs: tuple[bytes, ...] = ()  # of each use, what was asked for: the tool and its input
    protocol: str = ""  # empty: Anthropic's wire, or a report about it
    details: dict[str, Any] = field(default_factory=dict)
    span: str = ""  # the span that it is, or inside which it was asked; trace first
    owner: str = ""  # the task that its span gives it to
    cuts: str = ""  # the root task that a person interrupted before the prompt that it brings
    lent: bool = False  # the wire has only the beginning of the answer, and a report more of it
    told_session: bool = False  # its session is that of a report


class ToolCall(Struct, array_like=True, gc=False):
    id: str
    native: str
    project: str = ""
    session: str = ""
    call: str = ""  # the model call that asked for it
    block: int = 0
    name: str = ""
    opened: int = 0
    closed: int = 0  # a result was seen
    shut: int = 0  # a result that is no mere receipt was seen: it takes no child any more
    status: str = "running"
    prompt: bytes = b""  # fingerprint, where it can spawn
    title: str = ""
    agent_type: str = ""
    prompt_text: str = ""
    result_call: str = ""  # the request that brought the result, and where in it
    result_message: int = 0
    result_block: int = 0
    result_atom: bytes = b""
    result_text: bytes = b""
    agent: str = ""  # the agent that its result or a notice names
    agent_evidence: str = ""
    agent_at: int = 0
    notice_status: str = ""
    child: str = ""  # the task it spawned
    server: bool = False
    notice_at: int = 0
    told: Returned | None = None  # the result, as a report has it
    closing: Returned | None = None  # the first that is no mere receipt
    agent_rule: str = ""  # by which rule the agent is known; empty: its result or a notice names it
    named: bool = False  # reports name it as the origin of some task
    shown: str = ""  # the report that shows the call itself
    path: str = ""  # the file that it is about
    told_agent: NamedAgent | None = None  # the agent, as a report has it
    shown_at: int = 0  # when that report was made
    shown_by: str = ""  # and its source
    paired: str = ""  # the call that begins its child, as the wire has it
    told_child: str = ""  # the task that reports name as its child
    # of protocols in which a task owns its tool calls itself
    protocol: str = ""
    task: str = ""
    args: bytes = b""  # JSON
    result: bytes = b""  # JSON
    phases: tuple[str, ...] = ()
    begun: int = 0
    occurrence: int = 0
    agent_name: str = ""
    error: str = ""
    result_source: str = ""
    children: tuple[str, ...] = ()  # the tasks that it spawned
    synthetic: bool = False  # written by the host, not by the model
    details: dict[str, Any] = field(default_factory=dict)
    observation: str = ""  # the last that told of it
    started: bool = False  # a report says that its result tells only that work was started
    asked_in: tuple[str, ...] = ()  # requests and spans in which reports of it alone have it
    guess: str = ""  # the call that asked for it as far as those say; nobody has shown its answer
    asker: str = ""  # the agent that a hook names, or a stroke for the main line


class Task(Struct, array_like=True, gc=False):
    id: str
    project: str = ""
    conversation: str = ""
    line: str = ""
    kind: str = "root"  # root, sub
    first: str = ""
    opened: int = 0
    agent: str = ""
    agent_type: str = ""
    title: str = ""
    prompt: str = ""
    prompt_author: str = ""
    parent: str = ""
    caller: str = ""
    link: Link | None = None
    calls: int = 0
    usage: Usage = NOTHING
    tool_calls: int = 0
    last: str = ""  # newest call: its status is the task's
    last_started: int = 0
    last_status: str = ""
    last_stop: str = ""
    last_ended: int = 0
    outcome: str = ""  # what the caller's side says: completed, failed, canceled
    outcome_at: int = 0
    session: str = ""
    stated: Stated | None = None
    extra: Usage = NOTHING  # booked here, because no call explains it
    loops: int = 0  # how often it did the same thing in a row, at most
    tail: bytes = b""  # what it did last
    tail_run: int = 0  # and how often by then
    # of protocols in which tasks have ids of their own: what they say outright
    protocol: str = ""  # empty: Claude's
    status: str = ""  # wins over everything that could be judged
    closed: int = 0
    flags: tuple[str, ...] = ()
    native_status: str = ""
    refs: tuple[NativeRef, ...] = ()
    native: dict[str, Any] = field(default_factory=dict)
    operation: str = ""
    home: str = ""  # the conversation that its own context names; it stands in its root's
    refers: tuple[Link, ...] = ()  # tasks that it only mentions
    named: bool = False  # nobody has seen more of it than its name
    active: int = 0  # the last sign of life
    found: Link | None = None  # what the rules found; a person may have said otherwise
    order: int = 0  # among its siblings, where that is not when it was opened
    booked: Usage = NOTHING  # what its conversation's sums hold of it
    booked_calls: int = 0
    stood: int = 0  # since when it is listed there
    standing: bool = False
    place: int = 0  # among siblings that were opened at one moment
    signed: int = 0  # its last sign of life, as its conversation knows it
    heard: int = 0  # tool calls of which only hooks tell; they are among its own


class Line(Struct, array_like=True, gc=False):
    """A branch of a conversation; its name is counted when somebody asks."""

    id: str
    conversation: str = ""
    kind: str = "root"  # root, branch, compact, subtask
    order: int = 0
    position: int = 0
    head: str = ""


class Conversation(Struct, array_like=True):
    id: str
    project: str = ""
    session: str = ""
    opened: int = 0
    active: int = 0
    calls: int = 0
    usage: Usage = NOTHING
    sends_agents: bool = False
    client: str = ""
    forked_from: str = ""
    steady: int = 0  # the last activity of calls that can never move elsewhere
    told: bool = False  # somebody reported about it
    extra: Usage = NOTHING  # what the client counted and no call explains
    summed: int = 0  # calls that began later are in none of the client's sums
    forked_at: int = 0  # the newest message that it has from there
    client_at: int = 0  # when that client was seen first
    born: int = 0  # its first sign of life, and where that stands: what follows and is older is another session's
    born_place: int = 0
    heard: int = 0  # the earliest that was heard of it, copies included
    protocol: str = ""
    context: str = ""  # what its own protocol calls it
    refs: tuple[NativeRef, ...] = ()


class Message(Struct, array_like=True, gc=False):
    """A message that was reported. Its words stay in its observation; the main line's belong to the task of their time."""

    id: str
    project: str = ""
    line: str = ""  # the agent's task, or the session's conversation
    at: int = 0
    position: int = 0
    observation: str = ""
    source: str = ""
    native: str = ""
    answer: str = ""  # the answer that it is a piece of
    agent: str = ""
    session: str = ""
    under: str = ""
    before: str = ""
    side: bool = False
    start: str = ""  # of a side line without an agent id: the message with which it began
    copies: tuple[str, ...] = ()  # other sessions that hold it as their history
    opens: bool = False  # a root task
    command: int = 0  # 1: a slash command's text, 2: the body behind one, 3: a local command's output
    echo: bool = False  # told without an id, and told by another source with one
    told_agent: str = ""  # the agent that said it, where it is named
    also: tuple[str, ...] = ()  # further observations of its session that tell of it
    said: int = 0  # when it was said first, where other sessions hold it too
    # of protocols whose messages are kept as they were understood
    protocol: str = ""
    role: str = ""
    author: str = ""
    author_id: str = ""
    author_kind: str = ""
    reason: str = ""
    blocks: bytes = b""  # JSON


class Report(Struct, array_like=True):
    """What a client counted by itself, and how much of it was booked because no call explains it."""

    id: str
    conversation: str = ""
    at: int = 0
    since_last: bool = False
    usage: Usage = NOTHING
    booked: Usage = NOTHING
    task: str = ""
    source: str = ""
    turn: Usage = NOTHING  # what the main line's last turn used alone


class Correction(Struct, array_like=True):
    """The last word of a person about one child."""

    id: str
    act: str = "link"
    parent: str = ""
    observation: str = ""
    at: int = 0


class Note(Struct, array_like=True, gc=False):
    """Something that happened in a task and is neither a message nor a call: a thought, a step, an error, a verdict."""

    id: str
    task: str = ""
    at: int = 0
    position: int = 0
    kind: str = ""
    text: str = ""
    status: str = ""
    closed: int = 0
    agent_name: str = ""
    model: str = ""
    native: str = ""  # the message that it stood in
    observation: str = ""
    details: dict[str, Any] = field(default_factory=dict)


class Artifact(Struct, array_like=True):
    """What a task produced. A long one has further rows (`ArtifactPart`), so that growing rewrites only the last."""

    id: str
    task: str = ""
    native: str = ""
    name: str = ""
    at: int = 0
    position: int = 0
    partial: bool = False  # its beginning was never seen
    parts: bytes = b""  # JSON
    more: int = 0  # how many further rows there are
    closed: int = 0
    details: dict[str, Any] = field(default_factory=dict)


class ArtifactPart(Struct, array_like=True):
    id: str  # the artifact's, a dot and the number from 1
    parts: bytes = b""  # JSON


class Operation(Struct, array_like=True):
    """Tasks that their caller grouped."""

    id: str
    project: str = ""
    session: str = ""
    native: str = ""
    opened: int = 0
    updated: int = 0
    details: dict[str, Any] = field(default_factory=dict)


class Logged(Struct, array_like=True):
    """An event of the event log, as it is listed; its words stay in its observation."""

    id: str
    project: str = ""
    session: str = ""
    seq: int = 0
    sort: str = "event"  # event, object
    type: str = ""
    operation: str = ""
    agent: str = ""
    task_type: str = ""
    work: str = ""
    status: str = ""
    source: str = ""
    recorded: int = 0
    at: int = 0
    subject: str = ""  # the task that it was taken for when it came
    observation: str = ""
    native: str = ""
    digest: str = ""
    size: int = 0
    flags: tuple[str, ...] = ()
    native_status: str = ""
    same_as: int = 0  # of a repetition: the one before


class EventSession(Struct, array_like=True):
    """Who writes to the event log, and how much there is of it. `epoch` counts how often it was emptied."""

    id: str
    project: str = ""
    name: str = ""
    active: int = 0
    opened: int = 0
    epoch: int = 0
    seq: int = 0
    first: int = 1  # events before it are gone
    events: int = 0
    objects: int = 0
    operations: int = 0
    tasks: int = 0
    open: int = 0
    bytes: int = 0
    dropped: int = 0
    cleared: int = 0
    reason: str = ""  # why it was emptied last


class Agent(Struct, array_like=True):
    """An agent that is known by name and address."""

    id: str
    project: str = ""
    protocol: str = ""
    name: str = ""
    url: str = ""
    details: dict[str, Any] = field(default_factory=dict)


class Sheet(Struct, array_like=True, gc=False):
    """What a fold knows of one subject, up to its last entry: nobody looks at it but the fold."""

    id: str
    kind: str = ""
    at: int = 0
    ref: str = ""
    state: bytes = b""


Entity = (
    Call
    | ToolCall
    | Task
    | Line
    | Conversation
    | Correction
    | Message
    | Report
    | Note
    | Artifact
    | ArtifactPart
    | Operation
    | Agent
    | Sheet
    | Logged
    | EventSession
    | Tally
)
TABLES: dict[str, type[Entity]] = {
    "calls": Call,
    "tools": ToolCall,
    "tasks": Task,
    "lines": Line,
    "conversations": Conversation,
    "corrections": Correction,
    "messages": Message,
    "reports": Report,
    "notes": Note,
    "artifacts": Artifact,
    "artifact_parts": ArtifactPart,
    "operations": Operation,
    "agents": Agent,
    "sheets": Sheet,
    "events": Logged,
    "sessions": EventSession,
    "tallies": Tally,
}
SHOWN = frozenset({"calls", "tasks", "tools", "conversations", "corrections", "operations", "artifacts"})
"""Tables of which live readers are told; what a fold remembers, for one, may be large and is nobody's to see."""
