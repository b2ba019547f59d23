"""The shapes of the event log's answers, for the description of the API and the page. Events carry what their callers sent."""

from typing import Any

from msgspec import Struct, field

from ramify.web.shapes import Moment, Task


class LoggedEvent(Struct, kw_only=True):
    eventId: str
    seq: int
    eventType: str | None = None
    operationId: str | None = None
    agentId: str | None = None
    agentTaskId: str | None = None
    taskType: str | None = None
    timestamp: Any = None
    status: str | None = None
    native_status: str | None = None
    payload: Any = None
    result: Any = None
    error: Any = None
    objectType: str | None = None
    objectId: str | None = None
    targetEntity: str | None = None
    source: str
    recordedAt: Moment
    observedAt: Moment
    flags: list[str]
    duplicateOf: int | None = None
    task: str | None
    observation: str


class EventGap(Struct):
    from_: int = field(name="from")
    to: int


class EventList(Struct, kw_only=True):
    events: list[LoggedEvent]
    firstSeq: int
    lastSeq: int
    gap: EventGap | None = None


class AgentShare(Struct, kw_only=True):
    status: str
    taskCount: int
    statusCounts: dict[str, int]
    firstAt: Moment
    lastAt: Moment
    durationMs: float
    responseMs: float | None
    skewMs: float | None


class Operation(Struct, kw_only=True):
    operationId: str
    id: str
    session: str
    status: str
    agents: list[str]
    taskTypes: list[str]
    taskCount: int
    subtaskCount: int
    eventCount: int
    objectCount: int
    objectTypes: dict[str, int]
    statusCounts: dict[str, int]
    byAgent: dict[str, AgentShare]
    startedAt: Moment
    updatedAt: Moment
    completedAt: Moment
    durationMs: float
    flags: list[str]


class Operations(Struct):
    operations: list[Operation]


class OperationDetail(Struct, kw_only=True):
    operationId: str
    exists: bool
    operation: Operation | None
    events: list[LoggedEvent]
    eventsTotal: int
    objectEvents: list[LoggedEvent]
    tasks: list[Task]


class SessionInfo(Struct, kw_only=True):
    session: str
    createdAt: Moment
    lastActiveAt: Moment
    expiresAt: Moment
    eventCount: int
    objectEventCount: int
    operationCount: int
    taskCount: int
    openTasks: int
    firstSeq: int
    lastSeq: int
    droppedEvents: int
    dropped: bool
    evictedSessions: int
    bytes: int
    limits: dict[str, int | None]


class EventOutcome(Struct, kw_only=True):
    status: str
    seq: int | None
    eventId: str | None
    reason: str | None


class EventOutcomes(Struct, kw_only=True):
    stored: int
    duplicates: int
    conflicts: int
    rejected: int
    results: list[EventOutcome]


class EmptiedSession(Struct):
    deleted: int


class Enveloped(Struct, kw_only=True):
    success: bool
    timestamp: Moment


class EventPage(Enveloped, kw_only=True):
    data: EventList


class Posted(Enveloped, kw_only=True):
    data: EventOutcomes


class Emptied(Enveloped, kw_only=True):
    data: EmptiedSession


class OperationList(Enveloped, kw_only=True):
    data: Operations


class OperationAnswer(Enveloped, kw_only=True):
    data: OperationDetail


class SessionAnswer(Enveloped, kw_only=True):
    data: SessionInfo


class Failed(Struct):
    agentId: str
    reason: str


class Unnamed(Struct):
    """An agent that is not asked, because nobody who runs the server has named its address."""

    agentId: str
    reason: str
    hint: str


class Reconciliation(Struct, kw_only=True):
    checked: int
    corrected: int
    unchanged: int
    missing: int
    anomalies: int
    errors: list[Failed]
    unnamed: list[Unnamed]
    startedAt: Moment
    endedAt: Moment


class Reconciled(Enveloped, kw_only=True):
    data: Reconciliation


EVENT_SHAPES: tuple[type[Struct], ...] = (EventPage, Posted, Emptied, OperationList, OperationAnswer, SessionAnswer, Reconciled)
