"""The shapes that the page is drawn from, beside those of `shapes.py`: columns, gaps, the cache, health, live changes."""

from typing import Literal

from msgspec import Struct

from ramify.web.insight_shapes import Hook
from ramify.web.shapes import Call, Moment, Task, Usage


class Columns(Struct, kw_only=True):
    """Rows of a tree in pre-order, column by column: the next sibling of row i is i + size[i].

    `open` are the rows that have not ended, `active` is when each of these last gave a sign of life.
    """

    id: list[str]
    depth: list[int]
    size: list[int]
    title: list[str]
    agent: list[int]
    status: list[str]
    start: list[int]
    ms: list[int | None]
    open: list[int]
    active: list[int]
    calls: list[int]
    tools: list[int]
    input: list[int]
    output: list[int]
    cached: list[int]
    cost: list[float | None]
    certainty: list[float | None]
    flags: list[list[str]]


class Skeleton(Struct, kw_only=True):
    """`base` is the moment from which `start` and `active` count, in milliseconds; `longest` is where titles are cut."""

    seq: int
    base: Moment
    n: int
    longest: int
    agents: list[str]
    rows: Columns
    unattached: Columns


class FilterTerm(Struct):
    """Where it stands in the filter, and what was understood."""

    start: int
    end: int
    says: str


class FilterProblem(Struct):
    start: int
    end: int
    message: str
    hint: str


class FilterSuggestion(Struct):
    """`text` may stand in place of what is there from `start` to `end`."""

    start: int
    end: int
    text: str
    meaning: str


class FilterHelp(Struct):
    terms: list[FilterTerm]
    error: FilterProblem | None
    suggestions: list[FilterSuggestion]


class Missing(Struct):
    kind: Literal["unattached", "unresolved", "inferred", "no_result", "cut_short", "failed_calls", "withheld"]
    count: int
    ids: list[str]


class Completeness(Struct, kw_only=True):
    tasks: int
    calls: int
    tools: int
    unreadable: int
    withheld_counted: bool
    missing: list[Missing]


class Difference(Struct, kw_only=True):
    segment: str
    instead: str
    at: int
    old: str
    new: str
    shown_from: int


class CacheEntry(Struct, kw_only=True):
    """How the prompt of a call begins like its predecessor's; `lost` are tokens that the cache held and did not give."""

    call: str
    before: str | None
    segments: int
    same: int
    difference: Difference | None
    held: int
    lost: int
    lost_usd: float | None
    cause: str | None


class Hit(Struct, kw_only=True):
    """`kind` is text, thinking, input, result, or what a note of a mesh is; `message` is a place in the call, or an id where no call said it."""

    call: str | None
    task: str | None
    conversation: str | None
    kind: str
    side: str
    message: int | str
    block: int
    snippet: str
    timestamp: Moment | None


class Capture(Struct, kw_only=True):
    waiting: int
    spooled: int
    lost: int
    unlinked: int
    stored: int
    problem: str | None


class Sending(Struct):
    """Spans on their way to an OTLP endpoint."""

    to: str
    sent: int
    dropped: int
    waiting: int
    problem: str | None


class Alive(Struct):
    alive: bool


class Ready(Struct):
    """`store`: it answers. Traffic may come without it, while the spool has room, once it has answered at all."""

    ready: bool
    store: bool
    problem: str | None
    waiting: int
    spooled: int


class Deriving(Struct):
    done: int
    total: int


class Engine(Struct, kw_only=True):
    """How the database stood `age_s` seconds ago: half a minute or so, while somebody asks every few minutes. None: there is no such thing there, or it is not shown."""

    engine: str
    version: str
    age_s: float  # how old this is
    schema: int  # how often the engine's tables have changed so far
    log: int  # how far it goes
    indexed: int  # how far of it search knows
    partitions: int | None = None  # PostgreSQL: tables of a day
    notices: bool | None = None  # PostgreSQL: whether servers hear of each other at once; a pooler carries none
    lacks: tuple[str, ...] = ()  # PostgreSQL: schemas of the views that are missing, and that the user may not make
    parts: int | None = None  # ClickHouse, active
    most_parts: int | None = None  # in one partition
    merges: int | None = None  # under way
    mutations: int | None = None  # deletions that are not done
    shards: int | None = None
    replicas: int | None = None
    answering: int | None = None  # of the replicas


class Health(Struct, kw_only=True):
    status: str
    version: str
    uptime_s: float
    store: str
    upstream: str
    capture: Capture
    agents: dict[str, str] = {}  # A2A agents that were named, and where they are
    store_bytes: int = 0
    engine: Engine | None = None  # not asked yet, or not for you
    store_limit: int | None = None
    findings: Hook | None = None  # where somebody is told of them
    otlp: Sending | None = None
    deriving: Deriving | None = None  # rows of an older version, in the background
    spool_limit: int = 0
    disk_free: int | None = None  # bytes beside a store that is a file
    notices: list[str] = []  # what a person should know, in words


class Forgotten(Struct):
    """What went. `shared`: observations that tell of others too, and stay."""

    forgotten: list[str]
    observations: int
    bytes: int
    shared: int
    pieces: int
    left: str  # why room was not given back yet; empty: it was
    waiting: int  # in spools of servers that run: what belongs to it is left out when they are stored
    dry_run: bool


class Leaving(Struct):
    """What goes when it is forgotten. `parted`: conversations that stay, of which a task loses its parent."""

    id: str
    title: str
    opened: Moment | None
    active: Moment | None
    tasks: int
    calls: int
    tool_calls: int
    events: int  # of a session of the event log
    working: bool  # it goes on, and would be seen again
    parted: list[str]


class ForgottenNote(Struct):
    """That something was forgotten: when, by whom, how much; nothing that was said."""

    id: str
    at: Moment
    by: str
    observations: int
    back: Moment | None  # when a person imported it again


class Unreadable(Struct):
    observation: str
    at: Moment
    reason: str


class Stats(Struct, kw_only=True):
    conversations: int
    tasks: int
    roots: int
    calls: int
    running: int
    failed: int
    aborted: int
    tool_calls: int
    usage: Usage | None
    unreadable: int
    unreadable_newest: list[Unreadable]
    indexed: int
    capture: Capture


class LiveTool(Struct, kw_only=True):
    id: str
    call_id: str
    call: str | None
    task: str | None
    name: str | None
    status: str
    timestamp: Moment
    closed: Moment
    spawned: list[str]


class LiveConversation(Struct, kw_only=True):
    id: str
    active: Moment
    usage: Usage
    calls: int


class LiveArtifact(Struct, kw_only=True):
    """It began, or grew."""

    id: str
    task: str
    artifactId: str
    name: str | None


class LiveOperation(Struct, kw_only=True):
    id: str
    operationId: str
    updatedAt: Moment


class Gone(Struct):
    kind: str
    id: str


class Change(Struct, kw_only=True):
    """One of these."""

    task: Task | None = None
    call: Call | None = None
    tool: LiveTool | None = None
    conversation: LiveConversation | None = None
    artifact: LiveArtifact | None = None
    operation: LiveOperation | None = None
    gone: Gone | None = None


class Changes(Struct):
    """`more`: the rest of what led to this number comes in further events."""

    seq: int
    changes: list[Change]
    more: bool = False


class Named(Struct):
    id: str
    title: str


class Said(Struct):
    """What a person said before."""

    act: Literal["link", "unlink"]
    parent: str | None


class Move(Struct, kw_only=True, rename={"origin": "from"}):
    child: str
    title: str
    origin: Named | None
    tasks: int
    usage: Usage
    refused: str | None
    before: Said | None


class Preview(Struct, kw_only=True):
    """`tasks` and `usage` are those of all that can be moved."""

    parent: Named | None
    moves: list[Move]
    tasks: int
    usage: Usage


class Observed(Struct, kw_only=True):
    id: str
    kind: str
    at: Moment
    line: str
    body: str


class ExportPreview(Struct):
    """What would be in an export; `redacted` counts marks by the kind of secret."""

    id: str
    entity: str
    title: str
    to: str
    bytes: int
    holds: dict[str, int]
    contents: list[str]
    left_out: list[str]
    redacted: dict[str, int]


PAGE_SHAPES: tuple[type[Struct], ...] = (
    Skeleton, Completeness, CacheEntry, Hit, Health, Alive, Ready, Stats, Changes, Observed, Preview, Named, Forgotten,
    ForgottenNote, FilterHelp, ExportPreview, Leaving,
)  # fmt: skip
