"""Which conversations an observation tells of: by its call, by the session it names, or by what follows from it alone."""

import re
from collections.abc import Sequence

from ramify import reporting
from ramify.ingest import no_price
from ramify.linking.keys import FOREVER
from ramify.linking.operations.sessions import conversation_of, session_id
from ramify.linking.world import Rules, World, key
from ramify.model import ids
from ramify.model.audit import is_audit
from ramify.model.entity import (
    Artifact,
    Call,
    Conversation,
    Entity,
    EventSession,
    Message,
    Note,
    Operation,
    Task,
    ToolCall,
)
from ramify.model.entity import Correction as Word
from ramify.model.event import Event, MessageSaid, ModelAnswered, ModelCalled
from ramify.model.observation import Correction, Observation, Record, Request, Response
from ramify.protocols.a2a.frame import Frame, read_frame
from ramify.protocols.anthropic import batches
from ramify.protocols.anthropic.decode import header
from ramify.protocols.claude import decode as claude
from ramify.scopes import told_conversation
from ramify.storage.base import Store

MOST_FRAMES = 1 << 26


NAMES = re.compile(rb'"(?:(?:task|context|session)_?)?id"\s*:\s*"([^"\\]+)"', re.IGNORECASE)


SPANS = re.compile(rb'"traceId"\s*:\s*"([0-9a-fA-F]{32})"\s*,\s*"spanId"\s*:\s*"([0-9a-fA-F]{16})"')
SPAN_SESSION = re.compile(rb'"session\.id"\s*,\s*"value"\s*:\s*\{\s*"stringValue"\s*:\s*"([^"\\]+)"')


class Alone:
    """A store that holds nothing but the records at hand."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}

    def between(self, first: int, last: int, most: int) -> list[tuple[int, int, str]]:
        return []

    def find(self, keys: Sequence[int]) -> dict[int, list[tuple[int, str]]]:
        return {}

    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[tuple[int, str]]:
        return []

    def load(self, table: str, id: str) -> Entity | None:
        return None

    def many(self, table: str, ids: Sequence[str]) -> Sequence[Entity]:
        return ()

    def members(self, conversation: str) -> Sequence[Call]:
        return ()

    def owned(self, table: str, task: str) -> Sequence[Entity]:
        return ()

    def corrected(self) -> Sequence[Word]:
        return ()

    def called(self, request: str) -> ModelCalled | None:
        return None

    def answered(self, response: str) -> ModelAnswered | None:
        return None

    def told(self, observation: str) -> Sequence[Event]:
        return ()

    def record(self, observation: str) -> Record | None:
        return self.records.get(observation)

    def message(self, observation: str) -> MessageSaid | None:
        return None


class Belonging:
    """Of one store, as it stands. Connections of A2A are told of as a whole: a piece of one means nothing alone."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connections: dict[str, frozenset[str]] = {}

    def of(self, seen: Observation) -> frozenset[str]:
        """Ids of conversations and of sessions of the event log; none: it tells of nobody."""
        match seen:
            case Request():
                return self._of_call(ids.call_id(seen.id)) or self._of_batch(seen) or of_headers(seen)
            case Response():
                return self._of_call(ids.call_id(seen.request)) or self._of_batch(seen) or self._of_request(seen.request)
            case Correction():
                found = [self._of_task(seen.child), self._of_task(seen.parent), self._of_tool(seen.parent)]
                return frozenset(one for one in found if one)
            case Record() if seen.format in claude.FORMATS:
                return frozenset({told_conversation(seen)} - {""})
            case Record() if is_audit(seen):
                return frozenset()
            case Record() if seen.format == "a2a":
                return self._of_frame(seen)
            case Record() if seen.format == "otlp":
                return self._of_span(seen)
            case Record():
                return self._alone([seen])

    def _of_call(self, id: str) -> frozenset[str]:
        call = self._store.load("calls", id)
        if not isinstance(call, Call):
            return frozenset()
        session = ids.session_conversation_id(call.project, call.session) if call.session else ""
        return frozenset({call.conversation or session} - {""})

    def _of_batch(self, seen: Request | Response) -> frozenset[str]:
        """A body that holds many requests, or their answers, tells of whatever those do."""
        if "/messages/batches" not in seen.path:
            return frozenset()
        asked: Observation | None = seen
        answer: Observation | None = seen
        if isinstance(seen, Response):
            asked = self._store.observation(seen.request)
        else:
            answer = next((self._store.observation(id) for _, id in self._store.span(key("reply", seen.id), 0, FOREVER, 1, False)), None)
        if not isinstance(answer, Response):
            return frozenset()
        held = batches.entries(asked if isinstance(asked, Request) else None, answer)
        requests = {one.id if isinstance(one, Request) else one.request for one in held if isinstance(one, Request | Response)}
        return frozenset().union(*(self._of_call(ids.call_id(one)) for one in requests))

    def _of_request(self, id: str) -> frozenset[str]:
        seen = self._store.observation(id)
        return of_headers(seen) if isinstance(seen, Request) else frozenset()

    def _of_task(self, id: str) -> str:
        task = self._store.load("tasks", id) if id.startswith("task_") else None
        return task.conversation if isinstance(task, Task) else ""

    def _of_tool(self, id: str) -> str:
        tool = self._store.load("tools", id) if id.startswith("tool_") else None
        call = self._store.load("calls", tool.call) if isinstance(tool, ToolCall) else None
        return call.conversation if isinstance(call, Call) else ""

    def _of_frame(self, seen: Record) -> frozenset[str]:
        frame = read_frame(seen)
        if not isinstance(frame, Frame):
            return frozenset()
        line = f"a2a:{ids.short('line', seen.project, frame.agent, frame.connection)}"
        if line not in self._connections:
            found = self._store.span(key("a2a-frames", line), 0, FOREVER, MOST_FRAMES, False)
            records = [self._store.observation(id) for _, id in found]
            self._connections[line] = self._alone([one for one in records if isinstance(one, Record)])
        return self._connections[line]

    def _of_span(self, seen: Record) -> frozenset[str]:
        """Spans by what they became, else by the sessions that they name, else by their traces; log records likewise."""
        pairs = {(trace.decode().lower(), span.decode().lower()) for trace, span in SPANS.findall(seen.body)}
        became = [self._of_refs(f"{trace}-{span}") for trace, span in pairs]
        sessions = {ids.session_conversation_id(seen.project, name.decode("utf-8", "replace")) for name in SPAN_SESSION.findall(seen.body)}
        return frozenset().union(*became) or frozenset(sessions) or frozenset().union(*(self._of_refs(trace) for trace, _ in pairs))

    def _of_refs(self, value: str) -> frozenset[str]:
        refs = self._store.refs(value)
        found = {self._of_task(ref.id) for ref in refs if ref.entity == "tasks"} | {self._of_tool(ref.id) for ref in refs if ref.entity == "tools"}
        calls = {name for ref in refs if ref.entity == "calls" for name in self._of_call(ref.id)}
        return frozenset((found | calls) - {""})

    def _alone(self, records: Sequence[Record]) -> frozenset[str]:
        """Tasks that are only mentioned are not what it tells of, unless there are no others."""
        loader = Alone()
        loader.records = {seen.id: seen for seen in records}
        world = World(loader, Rules())
        for seen in records:
            reporting.take(world, seen, no_price)
        reporting.settle(world, no_price)
        rows = [row for row in world.dirty.values() if row is not None]
        sessions = {row.id for row in rows if isinstance(row, EventSession)}
        if sessions:
            return frozenset(sessions)
        told = {task for row in rows if (task := subject(row))}
        tasks = [row for row in rows if isinstance(row, Task)]
        known = [row for row in tasks if row.id in told or not row.named] or tasks
        found = {self._of_task(row.id) or row.conversation for row in known}
        return frozenset(found or {row.id for row in rows if isinstance(row, Conversation)} or self._mentioned(records))

    def _mentioned(self, records: Sequence[Record]) -> set[str]:
        """What nothing follows from may still name a task or a context: a request to cancel it, a person's opinion of it."""
        names = {name.decode("utf-8", "replace") for seen in records for name in NAMES.findall(seen.body)}
        refs = [ref for name in names for ref in self._store.refs(name)]
        of_tasks = {self._of_task(ref.id) for ref in refs if ref.entity == "tasks"} - {""}
        return of_tasks or {ref.id for ref in refs if ref.entity == "conversations"}


def subject(row: Entity) -> str:
    return row.task if isinstance(row, Note | Artifact | ToolCall | Call) else row.line if isinstance(row, Message) else ""


def of_headers(seen: Request) -> frozenset[str]:
    """Of requests that are no calls to a model, such as those that only count."""
    session = header(seen.headers, "x-claude-code-session-id")
    return frozenset({ids.session_conversation_id(seen.project, session)}) if session else frozenset()


def aliases(store: Store, conversation: str) -> set[str]:
    """Under which names its observations may call it: the sessions of its calls, and those that wrote its events."""
    found = {conversation}
    for call in store.among("calls", "conversation", [conversation]):
        if isinstance(call, Call) and call.session:
            found.add(ids.session_conversation_id(call.project, call.session))
    tasks = [task for task in store.among("tasks", "conversation", [conversation]) if isinstance(task, Task) and task.operation]
    for operation in {task.operation for task in tasks}:
        homes = {task.home for task in tasks if task.operation == operation}
        found |= {session.id for session in _sessions_with(store, operation) if homes & _homes(session)}
    return found


def _sessions_with(store: Store, operation: str) -> list[EventSession]:
    """Sessions of the event log that have an operation of this name, which is the caller's own and may be another's as well."""
    rows = [store.load("operations", ref.id) for ref in store.refs(operation) if ref.entity == "operations"]
    sessions = [store.load("sessions", row.session) for row in rows if isinstance(row, Operation)]
    return [session for session in sessions if isinstance(session, EventSession)]


def _homes(session: EventSession) -> set[str]:
    """The conversations of its tasks, those from before it was emptied included."""
    return {conversation_of(session.project, f"{session.id}.{epoch}") for epoch in range(session.epoch + 1)}


def event_session(store: Store, project: str, name: str) -> str:
    """The id of a session of the event log, by its name or its id; empty where there is none."""
    for id in (name, session_id(project, name)):
        if isinstance(store.load("sessions", id), EventSession):
            return id
    return ""
