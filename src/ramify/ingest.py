"""From observation to stored, linked, published. The only writer."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct, structs

from ramify import reporting
from ramify.linking import decide, loops, sums, tallies
from ramify.linking.conversation import any_waits
from ramify.linking.world import FOREVER, Rules, World, key
from ramify.model import ids
from ramify.model.entity import Call, Entity
from ramify.model.entity import Correction as CorrectionRow
from ramify.model.event import Event, MessageSaid, ModelAnswered, ModelCalled, Unreadable
from ramify.model.observation import Correction, Observation, Record, Request, Response
from ramify.model.prices import Tokens
from ramify.naming import refs_of
from ramify.protocols import model_api
from ramify.protocols.anthropic import batches
from ramify.protocols.anthropic.answer import Answer
from ramify.protocols.anthropic.bodies import Bodies, Reading
from ramify.protocols.claude import decode as claude
from ramify.protocols.sam import decode as sam
from ramify.protocols.sam.layout import Pieces
from ramify.redaction import Redaction, is_clean
from ramify.scopes import left_key, told_conversation
from ramify.storage.base import Ask, Changes, Entry, Kept, Overtaken, Ref, Store, StoreDown

log = logging.getLogger("ramify")
Rows = dict[tuple[str, str], Entity | None]
Awaited = Callable[[Sequence[Observation]], list[Observation]]
CHUNK = 200  # of what is cut out of one body: it may be very much
DERIVED = "derived"  # a fact of a store that is derived: up to where in the log; -1: that cannot be said


class Publish(Protocol):
    """Rows None: another process has written, so what changed is not known. `after` is where the log ended before."""

    def __call__(self, seq: int, rows: Rows | None, after: int | None = None, /) -> None: ...


def no_price(model: str, at: int, tokens: Tokens) -> int | None:
    return None


class Prices(Struct, frozen=True):
    """How a call's cost is found; `version` says by which table."""

    price: decide.Price = no_price
    version: str = ""


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
        self.responses: dict[str, tuple[Response, list[Event]]] = {}  # without secrets, and what they say

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


class Ingest:
    """`log` is where observations are read from, when that is not the store that is written to."""

    def __init__(
        self,
        store: Store,
        rules: Rules | None = None,
        prices: Prices | None = None,
        publish: Publish | None = None,
        log: Log | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        self.store = store
        self.prices = prices or Prices()
        self.publish = publish
        self.redaction = redaction
        self.reader = Recent(store, log)
        self.world = World(self.reader, rules or Rules())
        self._pieces = Pieces()
        self.unlinked = 0  # stored, but a bug of ours kept them from being linked
        self.lost = 0
        self.awaited: Awaited = list  # asked of what comes late, when nobody else writes: what of it is still wanted
        self.withheld = 0  # came late, and was not
        self.cuts = True  # message batches; another store's log has what was cut out of them beside them
        self._late = False
        self._behind = True  # until it was looked
        self._turn = threading.RLock()  # a person's correction comes from another thread than the traffic

    def take(self, batch: Sequence[Observation]) -> int:
        """As `step`, but our own bugs cost nothing: what cannot be linked is stored all the same, and shown."""
        try:
            return self.step(batch)
        except StoreDown:
            raise
        except Exception as bug:
            if len(batch) == 1:
                return self._keep_unlinked(batch[0], bug)
        return sum(self.take([seen]) for seen in batch)  # one bad observation must not take its neighbours with it

    def take_late(self, batch: Sequence[Observation]) -> int:
        """What waited on a disk: meanwhile somebody may have forgotten what it tells of."""
        with self._turn:
            self._late = True
            try:
                return self.take(batch)
            finally:
                self._late = False

    def step(self, batch: Sequence[Observation]) -> int:
        """How many were new. On `StoreDown` nothing of it was stored, and the same batch may be tried again."""
        cut = self._cut_out(batch) if self.cuts else []
        for start in range(0, len(cut), CHUNK):
            self.take(cut[start : start + CHUNK])
        try:
            return self._step(batch)
        except Overtaken:
            return self._step(batch)

    def _cut_out(self, batch: Sequence[Observation]) -> list[Observation]:
        """What message batches hold, as exchanges of their own. They go first: what is stored has been cut."""
        pairs = [pair for seen in batch if "/messages/batches" in getattr(seen, "path", "") for pair in self._paired(seen, batch)]
        return [entry for asked, answer in pairs for entry in batches.entries(asked, answer)]

    def _paired(self, seen: Observation, batch: Sequence[Observation]) -> list[tuple[Request | None, Response]]:
        """With what it answers, or was answered with: either may be seen first."""
        log = self.reader.log
        if isinstance(seen, Response):
            asked = next((one for one in batch if one.id == seen.request), None) or log.observation(seen.request)
            return [(asked if isinstance(asked, Request) else None, seen)]
        known = [log.observation(id) for _, id in self.store.span(key("reply", seen.id), 0, FOREVER, 1, False)]
        return [(seen, answer) for answer in known if isinstance(seen, Request) and isinstance(answer, Response)]

    def _step(self, batch: Sequence[Observation]) -> int:
        with self._turn:
            try:
                with self.store.exclusive() as changed:
                    if changed:
                        self._hear()
                    fresh = self._fresh(batch)
                    rows = self._settle(fresh) if fresh else {}
                    seq = self.store.seq()
            except BaseException:
                self.world.forget()
                raise
            if self.publish and (fresh or rows or (changed and not self.store.tells)):
                self.publish(seq, None if changed and not self.store.tells else rows, seq - len(fresh))
            self.world.trim()
        return len(fresh)

    def _hear(self) -> None:
        """Others have written: what is remembered of that may not be true any more, and of all, where nobody can say what it was."""
        others = self.store.others()
        if others is None:
            self.world.forget()
        else:
            self.world.doubt(others.rows, others.keys)

    def _settle(self, fresh: Sequence[Observation]) -> Rows:
        """Rows of an older version are not gone on with: until they have been derived again, only the log grows."""
        if not self.is_behind:
            return self._derive(fresh, keep=True)
        self.store.append([self._unread(seen) for seen in fresh], Changes())
        return {}

    @property
    def is_behind(self) -> bool:
        if self._behind:
            self._behind = bool(self.store.fact("outdated"))
        return self._behind

    def claim(self, name: str, owner: str, now: int, until: int) -> bool:
        """A lease among all that use the store: whether it is ours until then."""
        with self._turn, self.store.exclusive() as changed:
            if changed:
                self._hear()
            held, _, holder = str(self.store.fact(name) or "0 ").partition(" ")
            free = int(held) <= now or int(held) > until or holder == owner  # further off than anybody asks for: the clock was set back
            if free:
                self.store.set_fact(name, f"{until} {owner}")
            seq = self.store.seq()
        if changed and self.publish and not self.store.tells:
            self.publish(seq, None)
        return free

    def derive(self, batch: Sequence[Observation], reached: int = 0) -> None:
        """Everything that follows, without the observations themselves: for deriving a log again. `reached` is kept with it."""
        try:
            with self._turn, self.store.exclusive():
                self._derive(batch, keep=False)
                self.store.set_fact(DERIVED, reached)
        except StoreDown:
            raise
        except Exception as bug:
            self.world.forget()
            if len(batch) == 1:
                self.store.append((), Changes(unreadable=(not_linked(batch[0], bug),)))
            else:
                for seen in batch:
                    self.derive([seen], -1)  # cut in the middle of this, nobody could say where
            self.store.set_fact(DERIVED, reached)
        self.world.trim()

    def _derive(self, batch: Sequence[Observation], keep: bool) -> Rows:
        self.world.begin()
        self.reader.calls.clear()
        self.reader.answers.clear()
        self.reader.records.clear()
        self.reader.reports.clear()
        self.reader.responses.clear()
        self._foresee(batch)
        unreadable: list[tuple[str, int, str]] = []
        kept = [self._take(seen, unreadable) for seen in batch]
        problems = reporting.settle(self.world, self.prices.price)
        unreadable += [(problem.observation, self._time_of(problem), problem.reason) for problem in problems]
        self._leave_keys(batch)
        sums.compare(self.world)
        loops.count_again(self.world)
        tallies.settle(self.world)
        rows = self.world.dirty
        aliases = [Ref(old, "ramify:task", "tasks", new) for old, new in self.world.aliases.items()]
        changes = Changes(
            rows, self.world.added, (*refs_of(rows, self.world.named), *aliases), tuple(unreadable), tuple(self.world.forgotten)
        )
        self.store.append([self._placed(item) for item in kept] if keep else (), changes)
        for item in kept:
            if item.layout is not None:
                item.layout.forget_before()
        return rows

    def _placed(self, item: Kept) -> Kept:
        """With what it belongs to, as far as that is known by now."""
        belongs = ""
        match item.observation:
            case Request(id=id) as seen if model_api.is_model_call(seen.method, seen.path):
                belongs = self._owner(id)
            case Response(request=id) as seen if model_api.is_model_call("POST", seen.path):
                belongs = self._owner(id)
            case Record() as seen if seen.format in claude.FORMATS:
                belongs = told_conversation(seen)
        return structs.replace(item, belongs=belongs) if belongs else item

    def _owner(self, request: str) -> str:
        call = self.world.call(ids.call_id(request))
        return (call.conversation or call.session) if call is not None else ""

    def _leave_keys(self, batch: Sequence[Observation]) -> None:
        """Where whoever forgets a conversation finds what was seen of it."""
        for seen in batch:
            call = self.world.call(ids.call_id(seen.id)) if isinstance(seen, Request) else None
            place = left_key(seen, call.session if call is not None else "")
            if place is not None:
                self.world.add(place, seen.at, seen.id)
            if isinstance(seen, Response) and (batch_id := batches.batch_of(seen)):
                for id in (seen.request, seen.id):
                    self.world.add(key("batch", seen.project, batch_id), seen.at, id)
        for gone in map(self.reader.record, self.world.forgotten):
            if gone is not None and (place := left_key(gone, "")) is not None:
                self.world.remove(place, gone.at, gone.id)

    def _keep_unlinked(self, seen: Observation, bug: Exception) -> int:
        log.error("could not link observation id=%s: %r", seen.id, bug, exc_info=bug)
        try:
            with self._turn:
                seq = self.store.append([Kept(self._without_secrets(seen))], Changes(unreadable=(not_linked(seen, bug),)))
            if self.publish:
                self.publish(seq, {}, seq - 1)
        except StoreDown:
            raise
        except Exception:
            log.exception("lost observation id=%s: the store cannot hold it", seen.id)
            self.lost += 1
            return 0
        self.unlinked += 1
        return 1

    def _without_secrets(self, seen: Observation) -> Observation:
        """Where even that fails, the body stays away: a gap is better than a secret."""
        try:
            return self.redaction.observation(seen) if self.redaction is not None else seen
        except Exception:
            log.exception("could not search observation id=%s for secrets; its body is not kept", seen.id)
            bare = seen if isinstance(seen, Correction) else structs.replace(seen, body=b"")
            return structs.replace(bare, headers=()) if isinstance(bare, Request | Response) else bare

    def _fresh(self, batch: Sequence[Observation]) -> list[Observation]:
        unique: dict[str, Observation] = {}
        for seen in batch:
            unique.setdefault(seen.id, seen)  # the first stays, in one batch as over several
        missing = self.store.missing(list(unique))
        fresh = [seen for id, seen in unique.items() if id in missing]
        return self._still_wanted(fresh) if self._late and fresh else fresh

    def _still_wanted(self, late: list[Observation]) -> list[Observation]:
        wanted = self.awaited(late)
        if gone := len(late) - len(wanted):
            log.info("left out what was forgotten while it waited observations=%d", gone)
            self.withheld += gone
        return wanted

    def _take(self, seen: Observation, unreadable: list[tuple[str, int, str]]) -> Kept:
        if isinstance(seen, Request) and model_api.is_model_call(seen.method, seen.path):
            return self._take_request(seen, unreadable)
        if isinstance(seen, Response) and model_api.is_model_call("POST", seen.path):
            return Kept(self._take_response(seen, unreadable))
        if self.redaction is not None:
            seen = self.redaction.observation(seen)
        if isinstance(seen, Correction):
            decide.corrected(self.world, seen)
        elif isinstance(seen, Record):
            self._take_report(seen, unreadable)
            return Kept(seen, self._pieces.layout(seen.body) if seen.format == sam.FORMAT else None)
        return Kept(seen)

    def _time_of(self, problem: Unreadable) -> int:
        """Its own, whatever was being read when it turned out: a damaged frame may be met by way of another one."""
        seen = self.reader.record(problem.observation)
        return seen.at if seen is not None else problem.at

    def _take_report(self, seen: Record, unreadable: list[tuple[str, int, str]]) -> None:
        self.reader.records[seen.id] = seen
        problems = reporting.take(self.world, seen, self.prices.price)
        unreadable += [(event.observation, event.at, f"{seen.place}: {event.reason}") for event in problems]

    def _take_request(self, seen: Request, unreadable: list[tuple[str, int, str]]) -> Kept:
        reading = self.reader.read_body(seen)
        if self.redaction is not None:
            seen, reading = self._redacted(self.redaction, seen, reading)
        event, problem = self.reader.read_call(seen, reading)
        self.reader.calls[seen.id] = event
        decide.asked(self.world, event, self.prices.price)
        if problem is not None:
            unreadable.append((problem.observation, problem.at, problem.reason))
        layout = reading.layout if isinstance(reading, Reading) and reading.layout.body is seen.body else None
        return Kept(seen, layout)

    def _unread(self, seen: Observation) -> Kept:
        """Without secrets and in pieces, as if it had been read."""
        if not isinstance(seen, Request) or not model_api.is_model_call(seen.method, seen.path):
            clean = self.redaction.observation(seen) if self.redaction is not None else seen
            pieces = self._pieces.layout(clean.body) if isinstance(clean, Record) and clean.format == sam.FORMAT else None
            return Kept(clean, pieces)
        reading = self.reader.read_body(seen)
        if self.redaction is not None:
            seen, reading = self._redacted(self.redaction, seen, reading)
        return Kept(seen, reading.layout if isinstance(reading, Reading) and reading.layout.body is seen.body else None)

    def _redacted(self, redaction: Redaction, seen: Request, reading: Reading | str) -> tuple[Request, Reading | str]:
        """Each piece is searched once; where a secret is found, the body is cleaned as a whole and read again."""
        if isinstance(reading, Reading) and reading.layout.body is seen.body and is_clean(redaction, reading.layout):
            return redaction.head(seen), reading
        clean = redaction.observation(seen)
        assert isinstance(clean, Request)
        return clean, self.reader.read_body(clean)

    def _foresee(self, batch: Sequence[Observation]) -> None:
        """What taking in the calls of a batch asks for, in a few reads: where the store is far away, each is a journey."""
        asked = [seen for seen in batch if isinstance(seen, Request) and model_api.is_model_call(seen.method, seen.path)]
        answered = [seen for seen in batch if isinstance(seen, Response) and model_api.is_model_call("POST", seen.path)]
        self.reader.responses = {seen.id: self._read_response(seen) for seen in answered}
        calls = {seen.id: ids.call_id(seen.id) for seen in asked} | {seen.request: ids.call_id(seen.request) for seen in answered}
        self.world.gather("calls", list(calls.values()))
        sessions = {seen.id: model_api.header(seen.headers, "x-claude-code-session-id") for seen in asked}
        events = [event for _, found in self.reader.responses.values() for event in found if isinstance(event, ModelAnswered)]
        self.world.gather("tools", [id for event in events for id in self._tools_of(event, sessions)])
        awaited = [event for event in events if event.message and any_waits(self.world, event.project)]
        self.world.foresee(key("waits-message", event.project, event.message) for event in awaited)

    def _tools_of(self, event: ModelAnswered, sessions: dict[str, str]) -> list[str]:
        call = self.world.call(ids.call_id(event.request))
        session = call.session if call is not None else sessions.get(event.request, "")
        return [ids.tool_call_id(event.project, session, use.id) for use in (event.part.uses if event.part else ()) if use.id]

    def _read_response(self, seen: Response) -> tuple[Response, list[Event]]:
        answer: Answer | None = model_api.read_answer(seen)
        if self.redaction is not None:
            if answer is not None and answer.complete and self.redaction.finds_nothing(seen, answer.blocks):
                seen = self.redaction.head(seen)
            else:
                clean = self.redaction.observation(seen)
                assert isinstance(clean, Response)
                seen, answer = clean, None
        return seen, list(model_api.decode_response(seen, answer))

    def _take_response(self, seen: Response, unreadable: list[tuple[str, int, str]]) -> Response:
        seen, events = self.reader.responses[seen.id]
        for event in events:
            if isinstance(event, ModelAnswered):
                self.reader.answers[seen.id] = event
                decide.answered(self.world, event, self.prices.price, self.prices.version)
            elif isinstance(event, Unreadable):
                unreadable.append((event.observation, event.at, event.reason))
        return seen


def not_linked(seen: Observation, bug: Exception) -> tuple[str, int, str]:
    return seen.id, seen.at, f"not linked: {bug!r}"


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
