"""From observation to stored, linked, published. The only writer."""

from collections.abc import Callable, Sequence

import xxhash
from msgspec import Struct

from ramify.linking import decide
from ramify.linking.world import Rules, World
from ramify.model import ids
from ramify.model.entity import Call, Conversation, Entity, Task, ToolCall
from ramify.model.event import ModelAnswered, ModelCalled, Part, Unreadable
from ramify.model.observation import Correction, Observation, Record, Request, Response
from ramify.model.prices import Tokens
from ramify.protocols.anthropic import decode as anthropic
from ramify.protocols.anthropic.wire import Envelope, read_envelope, spans
from ramify.storage.base import Ask, Changes, Entry, Kept, Ref, Store

MEMO_BYTES = 64 * 1024 * 1024
Publish = Callable[[int, dict[tuple[str, str], Entity | None]], None]


def no_price(model: str, at: int, tokens: Tokens) -> int | None:
    return None


class Prices(Struct, frozen=True):
    """How a call's cost is found; `version` says by which table."""

    price: decide.Price = no_price
    version: str = ""


class Parts:
    """Messages read lately: a request repeats its history, so most of its messages were read before."""

    def __init__(self) -> None:
        self._memo: dict[bytes, tuple[bytes, Part]] = {}
        self._size = 0

    def read(self, raw: bytes) -> Part:
        digest = xxhash.xxh3_128_digest(raw)
        held = self._memo.get(digest)
        if held is not None and held[0] == raw:
            return held[1]
        part = anthropic.parse_part(raw)
        if self._size > MEMO_BYTES:
            self._memo.clear()
            self._size = 0
        self._memo[digest] = (raw, part)
        self._size += len(raw) + 500
        return part


class Reader:
    """Reads rows from the store and, where a call must be judged again, its events from the log."""

    def __init__(self, store: Store, parts: Parts, log: Store | None = None) -> None:
        self.store = store
        self.parts = parts
        self.log = log or store

    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]:
        return self.store.find(keys)

    def load(self, table: str, id: str) -> Entity | None:
        return self.store.load(table, id)

    def called(self, request: str) -> ModelCalled | None:
        seen = self.log.observation(request)
        return self.read_call(seen) if isinstance(seen, Request) else None

    def read_call(self, seen: Request) -> ModelCalled | None:
        events, _ = self.request_events(seen)
        return next((event for event in events if isinstance(event, ModelCalled)), None)

    def request_events(self, seen: Request) -> tuple[list[object], tuple[tuple[int, int], ...]]:
        body = anthropic.plain_body(seen.body, seen.headers)
        envelope = read_envelope(body)
        if not isinstance(envelope, Envelope):
            return list(anthropic.decode_request(seen, envelope, ())), ()
        parts = tuple(self.parts.read(bytes(raw)) for raw in envelope.messages)
        places = tuple(spans(body, envelope)) if body is seen.body else ()
        return list(anthropic.decode_request(seen, envelope, parts)), places

    def answered(self, response: str) -> ModelAnswered | None:
        seen = self.log.observation(response)
        if not isinstance(seen, Response):
            return None
        return next((event for event in anthropic.decode_response(seen) if isinstance(event, ModelAnswered)), None)


class Recent(Reader):
    """A reader that also knows what is in the batch at hand, before it is stored."""

    def __init__(self, store: Store, parts: Parts, log: Store | None = None) -> None:
        super().__init__(store, parts, log)
        self.calls: dict[str, ModelCalled] = {}
        self.answers: dict[str, ModelAnswered] = {}

    def called(self, request: str) -> ModelCalled | None:
        return self.calls.get(request) or super().called(request)

    def answered(self, response: str) -> ModelAnswered | None:
        return self.answers.get(response) or super().answered(response)


class Ingest:
    """`log` is where observations are read from, when that is not the store that is written to."""

    def __init__(
        self,
        store: Store,
        rules: Rules | None = None,
        prices: Prices | None = None,
        publish: Publish | None = None,
        log: Store | None = None,
    ) -> None:
        self.store = store
        self.prices = prices or Prices()
        self.publish = publish
        self.reader = Recent(store, Parts(), log)
        self.world = World(self.reader, rules or Rules())

    def step(self, batch: Sequence[Observation]) -> int:
        """How many were new. On `StoreDown` nothing was stored, and the same batch may be tried again."""
        try:
            with self.store.exclusive() as changed:
                if changed:
                    self.world.forget()
                fresh = self._fresh(batch)
                rows = self._derive(fresh, keep=True) if fresh else {}
                seq = self.store.seq()
        except BaseException:
            self.world.forget()
            raise
        if rows and self.publish:
            self.publish(seq, rows)
        self.world.trim()
        return len(fresh)

    def derive(self, batch: Sequence[Observation]) -> None:
        """Everything that follows, without the observations themselves: for deriving a log again."""
        with self.store.exclusive():
            self._derive(batch, keep=False)
        self.world.trim()

    def _derive(self, batch: Sequence[Observation], keep: bool) -> dict[tuple[str, str], Entity | None]:
        self.world.begin()
        self.reader.calls.clear()
        self.reader.answers.clear()
        unreadable: list[tuple[str, int, str]] = []
        kept = [Kept(seen, self._take(seen, unreadable)) for seen in batch]
        rows = self.world.dirty
        changes = Changes(rows, self.world.added, tuple(refs_of(rows)), tuple(unreadable))
        self.store.append(kept if keep else (), changes)
        return rows

    def keep_unlinked(self, seen: Observation, reason: str) -> None:
        """The last resort: what our own bug kept from being linked is stored all the same, and shown."""
        self.world.forget()
        self.store.append([Kept(seen)], Changes(unreadable=((seen.id, seen.at, reason),)))

    def _fresh(self, batch: Sequence[Observation]) -> list[Observation]:
        unique = {seen.id: seen for seen in batch}
        missing = self.store.missing(list(unique))
        return [seen for id, seen in unique.items() if id in missing]

    def _take(self, seen: Observation, unreadable: list[tuple[str, int, str]]) -> tuple[tuple[int, int], ...]:
        match seen:
            case Request():
                return self._take_request(seen, unreadable)
            case Response():
                self._take_response(seen, unreadable)
            case Correction():
                decide.corrected(self.world, seen)
            case Record():
                unreadable.append((seen.id, seen.at, f"{seen.place}: not in the format {seen.format!r}"))
        return ()

    def _take_request(self, seen: Request, unreadable: list[tuple[str, int, str]]) -> tuple[tuple[int, int], ...]:
        if not anthropic.is_model_call(seen.method, seen.path):
            return ()
        events, places = self.reader.request_events(seen)
        for event in events:
            if isinstance(event, ModelCalled):
                self.reader.calls[seen.id] = event
                decide.asked(self.world, event)
            elif isinstance(event, Unreadable):
                unreadable.append((event.observation, event.at, event.reason))
        return places

    def _take_response(self, seen: Response, unreadable: list[tuple[str, int, str]]) -> None:
        if not anthropic.is_model_call("POST", seen.path):
            return
        for event in anthropic.decode_response(seen):
            if isinstance(event, ModelAnswered):
                self.reader.answers[seen.id] = event
                decide.answered(self.world, event, self.prices.price, self.prices.version)
            elif isinstance(event, Unreadable):
                unreadable.append((event.observation, event.at, event.reason))


def refs_of(rows: dict[tuple[str, str], Entity | None]) -> list[Ref]:
    """Every id by which somebody else knows what changed."""
    found: list[Ref] = []
    for (table, id), row in rows.items():
        match row:
            case Call():
                found += [
                    Ref(value, kind, table, id)
                    for kind, value in (
                        ("capture:exchange", row.exchange), ("claude:message", row.message), ("claude:request", row.request_id)
                    )
                    if value
                ]
            case ToolCall():
                found.append(Ref(row.native, "claude:tool_use", table, id))
            case Task() if row.agent:
                found.append(Ref(row.agent, "claude:agent", table, id))
            case Conversation() if row.session:
                found.append(Ref(row.session, "claude:session", table, id))
            case _:
                pass
    return found


def lost_calls(store: Store, alive: Callable[[str], bool], at: int) -> list[Observation]:
    """Calls that a server which no longer runs left open: nobody will ever know how they ended."""
    found: list[Observation] = []
    for call in store.page("calls", Ask("started", {"status": "running", "source": "proxy"}, limit=1_000_000)):
        if isinstance(call, Call) and call.asked and not alive(call.exchange):
            ended = max(at, call.started)
            found.append(
                Response(
                    ids.observation_id("lost", call.request), call.project, ended, "proxy", call.request, "/v1/messages",
                    0, (), b"", "lost", error="the server stopped before the answer ended",
                )
            )
    return found
