"""What linking reads: rows and keys of the store, and events of the log, where a call must be judged again."""

from collections.abc import Sequence
from typing import Protocol

from ramify.model.entity import Call, Entity
from ramify.model.entity import Correction as CorrectionRow
from ramify.model.event import Event, MessageSaid, ModelAnswered, ModelCalled, Unreadable
from ramify.model.observation import Observation, Record, Request, Response
from ramify.protocols import model_api
from ramify.protocols.anthropic.bodies import Bodies, Reading
from ramify.protocols.claude import decode as claude
from ramify.storage.base import Entry, Store


class Log(Protocol):
    """Where observations are read."""

    def observation(self, id: str) -> Observation | None: ...


class Reader:
    """Reads rows from the store and, where a call must be judged again, its events from the log."""

    def __init__(self, store: Store, log: Log | None = None) -> None:
        self.store = store
        self.log = log or store
        self.bodies = {api.name: Bodies(api) for api in model_api.APIS}

    def between(self, first: int, last: int, most: int) -> list[tuple[int, int, str]]:
        return self.store.between(first, last, most)

    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]:
        return self.store.find(keys)

    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[Entry]:
        return self.store.span(key, low, high, limit, newest)

    def load(self, table: str, id: str) -> Entity | None:
        return self.store.load(table, id)

    def many(self, table: str, ids: Sequence[str]) -> Sequence[Entity]:
        return self.store.among(table, "id", ids)

    def members(self, conversation: str) -> Sequence[Call]:
        rows = self.store.among("calls", "conversation", [conversation])
        return [row for row in rows if isinstance(row, Call)]

    def owned(self, table: str, task: str) -> Sequence[Entity]:
        return self.store.among(table, "task", [task])

    def corrected(self) -> Sequence[CorrectionRow]:
        return [row for row in self.store.docs("corrections") if isinstance(row, CorrectionRow)]

    def called(self, request: str) -> ModelCalled | None:
        seen = self.log.observation(request)
        return self.read_call(seen, self.read_body(seen))[0] if isinstance(seen, Request) else None

    def read_body(self, seen: Request) -> Reading | str:
        body = model_api.plain_body(seen.body, seen.headers)
        session = model_api.header(seen.headers, "x-claude-code-session-id")
        agent = model_api.header(seen.headers, "x-claude-code-agent-id")
        line = f"{seen.project}/{session}/{agent}".encode() if session else body[:200]
        return self.bodies[model_api.api_at(seen.path).name].read(body, line)

    def read_call(self, seen: Request, reading: Reading | str) -> tuple[ModelCalled, Unreadable | None]:
        if isinstance(reading, str):
            return model_api.decode_unreadable(seen), Unreadable(seen.id, seen.at, f"request body: {reading}")
        return model_api.decode_request(seen, reading.envelope, reading.parts, reading.strict[-1]), None

    def answered(self, response: str) -> ModelAnswered | None:
        seen = self.log.observation(response)
        if not isinstance(seen, Response):
            return None
        return next((event for event in model_api.decode_response(seen) if isinstance(event, ModelAnswered)), None)

    def record(self, observation: str) -> Record | None:
        seen = self.log.observation(observation)
        return seen if isinstance(seen, Record) else None

    def told(self, observation: str) -> Sequence[Event]:
        seen = self.record(observation)
        return claude.decode(seen) if seen is not None else ()

    def message(self, observation: str) -> MessageSaid | None:
        return next((event for event in self.told(observation) if isinstance(event, MessageSaid)), None)


class Recent(Reader):
    """A reader that also knows what is in the batch at hand, before it is stored."""

    def __init__(self, store: Store, log: Log | None = None) -> None:
        super().__init__(store, log)
        self.calls: dict[str, ModelCalled] = {}
        self.answers: dict[str, ModelAnswered] = {}
        self.records: dict[str, Record] = {}
        self.reports: dict[str, Sequence[Event]] = {}

    def begin(self) -> None:
        for held in (self.calls, self.answers, self.records, self.reports):
            held.clear()

    def record(self, observation: str) -> Record | None:
        return self.records.get(observation) or super().record(observation)

    def told(self, observation: str) -> Sequence[Event]:
        known = self.reports.get(observation)
        if known is None and observation in self.records:
            known = self.reports[observation] = super().told(observation)
        return super().told(observation) if known is None else known

    def called(self, request: str) -> ModelCalled | None:
        return self.calls.get(request) or super().called(request)

    def answered(self, response: str) -> ModelAnswered | None:
        return self.answers.get(response) or super().answered(response)
