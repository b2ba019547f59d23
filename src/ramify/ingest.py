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
from ramify.model.event import ModelAnswered, ModelCalled, Unreadable
from ramify.model.observation import Correction, Observation, Record, Request, Response
from ramify.model.prices import Tokens
from ramify.naming import refs_of
from ramify.protocols import model_api
from ramify.protocols.anthropic import batches
from ramify.protocols.claude import decode as claude
from ramify.reader import Log, Recent
from ramify.readied import Readied, Readying
from ramify.redaction import Redaction
from ramify.scopes import left_key, told_conversation
from ramify.storage.base import Ask, Changes, Kept, Overtaken, Ref, Store, StoreDown

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
        self._readying = Readying(self.reader, redaction)
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
        with self._turn:
            readied = self._read(batch)
            if not readied:
                return 0
            try:
                return self._step(readied)
            except Overtaken:
                return self._step(readied)

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

    def _read(self, batch: Sequence[Observation]) -> list[Readied]:
        """Of those that seem new. Nobody waits for that: it is no turn yet."""
        unique: dict[str, Observation] = {}
        for seen in batch:
            unique.setdefault(seen.id, seen)  # the first stays, in one batch as over several
        missing = self.store.missing(list(unique))
        return [self._readying.ready(seen) for id, seen in unique.items() if id in missing]

    def _step(self, readied: Sequence[Readied]) -> int:
        try:
            with self.store.exclusive() as changed:
                if changed:
                    self._hear()
                fresh = self._fresh(readied)
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

    def _settle(self, fresh: Sequence[Readied]) -> Rows:
        """Rows of an older version are not gone on with: until they have been derived again, only the log grows."""
        if not self.is_behind:
            return self._derive(fresh, keep=True)
        self.store.append([Kept(one.seen, one.layout) for one in fresh], Changes())
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
                self._derive([self._readying.ready(seen) for seen in batch], keep=False)
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

    def _derive(self, batch: Sequence[Readied], keep: bool) -> Rows:
        self.world.begin()
        self.reader.begin()
        self._foresee(batch)
        unreadable: list[tuple[str, int, str]] = []
        for one in batch:
            self._take(one, unreadable)
        problems = reporting.settle(self.world, self.prices.price)
        unreadable += [(problem.observation, self._time_of(problem), problem.reason) for problem in problems]
        self._leave_keys([one.seen for one in batch])
        sums.compare(self.world)
        loops.count_again(self.world)
        tallies.settle(self.world)
        rows = self.world.dirty
        aliases = [Ref(old, "ramify:task", "tasks", new) for old, new in self.world.aliases.items()]
        changes = Changes(
            rows, self.world.added, (*refs_of(rows, self.world.named), *aliases), tuple(unreadable), tuple(self.world.forgotten)
        )
        self.store.append([self._placed(Kept(one.seen, one.layout)) for one in batch] if keep else (), changes)
        for one in batch:
            if one.layout is not None:
                one.layout.forget_before()
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

    def _fresh(self, readied: Sequence[Readied]) -> list[Readied]:
        """Looked at again where nobody else writes: another may have been faster."""
        wanted = self.store.missing([one.seen.id for one in readied]) if readied else set()
        if self._late and wanted:
            wanted = {seen.id for seen in self._still_wanted([one.seen for one in readied if one.seen.id in wanted])}
        return [one for one in readied if one.seen.id in wanted]

    def _still_wanted(self, late: list[Observation]) -> list[Observation]:
        wanted = self.awaited(late)
        if gone := len(late) - len(wanted):
            log.info("left out what was forgotten while it waited observations=%d", gone)
            self.withheld += gone
        return wanted

    def _take(self, one: Readied, unreadable: list[tuple[str, int, str]]) -> None:
        for event in one.said:
            if isinstance(event, ModelCalled):
                self.reader.calls[one.seen.id] = event
                decide.asked(self.world, event, self.prices.price)
            elif isinstance(event, ModelAnswered):
                self.reader.answers[one.seen.id] = event
                decide.answered(self.world, event, self.prices.price, self.prices.version)
            elif isinstance(event, Unreadable):
                unreadable.append((event.observation, event.at, event.reason))
        if isinstance(one.seen, Correction):
            decide.corrected(self.world, one.seen)
        elif isinstance(one.seen, Record):
            self._take_report(one.seen, unreadable)

    def _time_of(self, problem: Unreadable) -> int:
        """Its own, whatever was being read when it turned out: a damaged frame may be met by way of another one."""
        seen = self.reader.record(problem.observation)
        return seen.at if seen is not None else problem.at

    def _take_report(self, seen: Record, unreadable: list[tuple[str, int, str]]) -> None:
        self.reader.records[seen.id] = seen
        problems = reporting.take(self.world, seen, self.prices.price)
        unreadable += [(event.observation, event.at, f"{seen.place}: {event.reason}") for event in problems]

    def _foresee(self, batch: Sequence[Readied]) -> None:
        """What taking in the calls of a batch asks for, in a few reads: where the store is far away, each is a journey."""
        spoken = [one.seen for one in batch if one.said]
        asked = [seen for seen in spoken if isinstance(seen, Request)]
        requests = [seen.request if isinstance(seen, Response) else seen.id for seen in spoken]
        self.world.gather("calls", list(map(ids.call_id, dict.fromkeys(requests))))
        sessions = {seen.id: model_api.header(seen.headers, "x-claude-code-session-id") for seen in asked}
        events = [event for one in batch for event in one.said if isinstance(event, ModelAnswered)]
        self.world.gather("tools", [id for event in events for id in self._tools_of(event, sessions)])
        awaited = [event for event in events if event.message and any_waits(self.world, event.project)]
        self.world.foresee(key("waits-message", event.project, event.message) for event in awaited)

    def _tools_of(self, event: ModelAnswered, sessions: dict[str, str]) -> list[str]:
        call = self.world.call(ids.call_id(event.request))
        session = call.session if call is not None else sessions.get(event.request, "")
        return [ids.tool_call_id(event.project, session, use.id) for use in (event.part.uses if event.part else ()) if use.id]


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
