"""The shapes of what is found out about runs: comparisons, sums, findings."""

from typing import Any, Literal

from msgspec import Struct

from ramify.web.shapes import Moment, Usage


class ComparedTask(Struct, kw_only=True):
    id: str
    title: str
    agent: str
    status: str
    opened: Moment
    usage: Usage | None = None
    tree_usage: Usage | None = None


class ComparedRun(ComparedTask, kw_only=True):
    prompt: str | None
    models: list[str]
    duration_ms: float | None
    tree_usage: Usage
    tasks: int
    tools: int


class Act(Struct, kw_only=True):
    """A tool call, as it is compared."""

    id: str
    call_id: str
    call: str | None
    name: str
    text: str
    status: str
    timestamp: Moment
    spawned: list[str]


class ComparedStep(Struct, kw_only=True):
    """`folded`: so many that both did alike."""

    kind: Literal["same", "changed", "left", "right", "folded"]
    at: int
    count: int
    a: Act | None
    b: Act | None


class ComparedNode(Struct, kw_only=True):
    """`under`: only something that it started differs. Steps are told where they differ."""

    depth: int
    kind: Literal["same", "changed", "left", "right", "under"]
    size: int
    a: ComparedTask | None
    b: ComparedTask | None
    steps: list[ComparedStep]


class PartingSide(Struct, kw_only=True):
    task: str
    status: str
    act: Act | None


class PartingPlace(Struct, kw_only=True):
    """Where two runs first part: `passed` steps of that task are the same."""

    kind: Literal["step", "input", "result", "outcome", "task"]
    depth: int
    passed: int
    text: str
    a: PartingSide | None
    b: PartingSide | None


class SpentSince(Struct, kw_only=True):
    a: Usage
    b: Usage
    more_usd: float | None


class Comparison(Struct, kw_only=True):
    """`since`: what each spent on calls from the one on that decided otherwise."""

    a: ComparedRun
    b: ComparedRun
    asked_the_same: bool
    same: bool
    parting: PartingPlace | None
    since: SpentSince | None
    tasks: list[ComparedNode]
    more: bool


class Figures(Struct, kw_only=True):
    """Of calls, uses of tools, or tasks. `success` is the share of those that ended well among those that ended well or badly."""

    count: int
    ok: int
    failed: int
    canceled: int
    open: int
    success: float | None
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None


class Sums(Struct, kw_only=True):
    """By tool, the tokens of a model call are divided among the tools that it asked for."""

    usage: Usage
    calls: Figures | None
    tools: Figures | None
    tasks: Figures | None


class SumsRow(Sums, kw_only=True):
    """Those that were asked for have a value."""

    day: str | None = None
    project: str | None = None
    agent: str | None = None
    model: str | None = None
    tool: str | None = None


class Statistics(Struct, kw_only=True):
    """Sums of whole days, UTC."""

    by: list[str]
    since: Moment
    until: Moment
    rows: list[SumsRow]
    more: bool
    total: Sums


class Finding(Struct, kw_only=True):
    """Something that a person should look at. `evidence` are ids of tasks, calls and tool calls."""

    id: str
    check: str
    severity: Literal["error", "warning", "note"]
    text: str
    task: str
    title: str
    conversation: str
    project: str
    since: Moment
    evidence: list[str]
    figures: dict[str, Any]


class Check(Struct):
    """What is looked for, in words."""

    name: str
    severity: Literal["error", "warning", "note"]
    summary: str
    advice: str


class Hook(Struct):
    """Who is told of findings, and how that went."""

    told: int
    failed: int
    waiting: int
    problem: str | None


class Findings(Struct, kw_only=True):
    """`looked`: how many runs; `next` leads to older ones. `hook`: where somebody is told."""

    items: list[Finding]
    next: str | None
    looked: int
    checks: list[Check]
    hook: Hook | None = None


INSIGHT_SHAPES: tuple[type[Struct], ...] = (Statistics, Comparison, Findings)
