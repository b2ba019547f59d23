"""The one surface of the program: a store that is open, what can be asked of it and done to it, and the server."""

import asyncio
import logging
import os
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ramify.acts import correction, preview
from ramify.capture.cleaner import Cleaner
from ramify.capture.formats import sources
from ramify.capture.redact import VERSION
from ramify.copying import copy, is_same
from ramify.event_log import EventLog
from ramify.exporting.offer import Exports
from ramify.following import Following
from ramify.forgetting import brought_back, forgotten, note_shape, notes
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.intake import Batch, Intake, batch_shape, import_all
from ramify.model.audit import Noted, audit_record
from ramify.model.mistake import UserMistake
from ramify.model.observation import Correction, Observation, Record
from ramify.query.flags import Patience
from ramify.query.service import Answer, Questions
from ramify.rebuild import rebuild
from ramify.scopes import told_conversation
from ramify.settings import Settings, load
from ramify.spools import Drained, drain_spools, waiting
from ramify.storage.base import Store, StoreDown
from ramify.storage.sealing import rekey
from ramify.tokens import TokenDesk
from ramify.upgrading import OLDER, is_outdated
from ramify.wiring import bounds_of, bring_up, make_ingest, now, open_store, prices_of, rules_of, taken_by
from ramify.wiring import watched as watched

if TYPE_CHECKING:
    from ramify.capture.broker.receiver import Receiver
    from ramify.pursuing import Audience
    from ramify.reconciling.run import Reconciler
    from ramify.retention import Keeper, Kept
    from ramify.served import Served
    from ramify.showing import Picture

Progress = Callable[[int, int], None]
Tell = Callable[[Answer], None]
log = logging.getLogger("ramify")
PATIENCE = 5.0  # seconds, for servers that are about to store what waits in their spools


class Ramify:
    """A store that is open, with everything that can be asked of it and done to it."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.rules = rules_of(settings)
        self.prices = prices_of(settings)
        self.questions = Questions(store, Patience(settings.stalled_after), self.prices.price)
        self._ingest: Ingest | None = None
        self._indexer = Indexer(store)

    @property
    def project(self) -> str:
        return self.settings.project or "default"

    @classmethod
    def open(
        cls, store: str | None, *, project: str | None = None, create: bool = True, write: bool = False
    ) -> "Ramify":
        settings = load({"store": store, "project": project}, os.environ)
        return cls(open_store(settings.store, create or write), settings)

    @property
    def ingest(self) -> Ingest:
        if self._ingest is None:
            self.bring_up()
            self._ingest = make_ingest(self.store, self.rules, self.prices, redaction=Cleaner())
        return self._ingest

    @property
    def exports(self) -> Exports:
        return Exports(self.questions, os.environ)

    def bring_up(self) -> None:
        with taken_by(self.store):
            bring_up(self.store, self.rules, self.prices)

    @property
    def notice(self) -> str:
        """What whoever asks should know of the answers; mostly nothing."""
        return f"the store {self.store.url}: {OLDER}; ramify serve or ramify rebuild does so" if is_outdated(self.store) else ""

    def close(self) -> None:
        self._indexer.close()
        self.store.close()

    @property
    def tokens(self) -> TokenDesk:
        return TokenDesk(self.store, now)

    def note(self, noted: Noted, project: str = "") -> None:
        """A line of the audit. Not by way of `ingest`, which brings an older store up first: nothing follows from it."""
        with taken_by(self.store):
            Ingest(self.store, self.rules, self.prices, redaction=Cleaner()).step([audit_record(noted, project, now(), secrets.token_hex(8))])

    # -- acts ---------------------------------------------------------------------------------------------------------

    def link(self, child: str, parent: str) -> Answer:
        return self._correct(correction(self.store, "link", child, parent))

    def unlink(self, child: str) -> Answer:
        return self._correct(correction(self.store, "unlink", child))

    def withdraw(self, child: str) -> Answer:
        return self._correct(correction(self.store, "withdraw", child))

    def preview(self, children: list[str], parent: str) -> Answer:
        return preview(self.store, children, parent)

    def _correct(self, seen: Correction) -> Answer:
        self.correct(seen)
        return self.questions.why(seen.child)

    def correct(self, seen: Correction) -> None:
        with taken_by(self.store):
            self.ingest.step([seen])

    def import_paths(self, given: list[Path], format: str, progress: Progress, zone: str = "") -> Answer:
        found, skipped = sources(given, format)
        intake = Intake(self.store, self.project, self._import, settled=True, zone=zone or self.settings.zone)
        report = import_all(intake, found, progress)
        self._index()
        return {**report, "skipped": skipped}

    def _import(self, batch: list[Observation]) -> int:
        """What was forgotten comes back when a person asks for it."""
        if gone := forgotten(self.store):
            told = {told_conversation(seen) for seen in batch if isinstance(seen, Record)}
            brought_back(self.store, sorted(told & gone), now())
        return self._take(batch)

    def _take(self, batch: list[Observation]) -> int:
        with taken_by(self.store):
            return self.ingest.take(batch)

    def watch(self, roots: list[Path], tell: Tell, stopping: threading.Event) -> None:
        """Follows transcripts until it is told to stop."""
        following = Following(self.store, self.project, roots, self.ingest.take)
        following.stopping = stopping

        def stored(batch: Batch, fresh: int) -> None:
            tell(batch_shape(batch, fresh))
            self._indexer.wake()

        following.tell = stored
        self._indexer.start()
        following.run()

    def follow(self, settings: Settings, wish: Answer, audience: "Audience") -> Answer:
        """Follows a task of an A2A agent and all that it started. An interruption leaves them, and cancels nothing."""
        from ramify.pursuing import follow_for

        try:
            return follow_for(settings, self._take, wish, audience)
        finally:
            self._index()

    def act(self, settings: Settings, what: str, id: str, wish: Answer) -> Answer:
        """`answer` or `cancel`, without a server."""
        from ramify.pursuing import act_for

        try:
            return act_for(settings, self.store, self._take, what, id, wish)
        finally:
            self._index()

    def listen(self, broker: "Receiver", exclude: tuple[str, ...], zone: str, tell: Tell, stopping: threading.Event) -> Answer:
        """Hears a broker until it is told to stop, or until there is nothing more to hear."""
        from ramify.listening import Listening

        listening = Listening(broker, self.project, self._take, zone, exclude)
        listening.tell = lambda heard: tell(heard.shape())
        self._indexer.start()
        listening.run(stopping)
        self._index()
        return listening.heard.shape()

    def _index(self) -> None:
        """What was done is done: an index that lags behind it is no reason to say otherwise."""
        try:
            self._indexer.catch_up()
        except StoreDown as problem:
            log.warning("the search index lags behind: %s; ramify serve catches up", problem)

    def rebuild(self, dry_run: bool, progress: Progress) -> Answer:
        with taken_by(self.store):
            report = rebuild(self.store, self.rules, self.prices, dry_run, progress)
        if not dry_run:
            self._index()
        return report

    # -- forgetting ----------------------------------------------------------------------------------------------------

    def forget(self, ids: list[str], dry_run: bool, progress: Progress, by: str = "command") -> Answer:
        return self._forgotten(lambda keeper: keeper.forget(ids, self.project, dry_run, progress), dry_run, by)

    def prune(self, kept: "Kept", dry_run: bool, progress: Progress, by: str = "command") -> Answer:
        return self._forgotten(lambda keeper: keeper.prune(kept, dry_run, progress), dry_run, by)

    def notes(self) -> Answer:
        return {"items": [note_shape(id, note) for id, note in notes(self.store)], "next": None, "seq": self.store.seq()}

    def _forgotten(self, act: "Callable[[Keeper], Answer]", dry_run: bool, by: str) -> Answer:
        from ramify.retention import Keeper

        self.bring_up()
        with taken_by(self.store):
            drained = drain_spools(self.settings, self.ingest, PATIENCE) if not dry_run else Drained()
            answer = act(Keeper(self.store, self.rules, self.prices, by))
        if not dry_run:
            self._index()
        return {**answer, "waiting": drained.waiting, "seq": self.store.seq()}

    def redact(self, sought: Answer, dry_run: bool, progress: Progress, by: str = "command") -> Answer:
        """Out of everything stored: what today's rules find, or what was sought, by `rules`, `patterns` and `texts`."""
        from ramify.capture.chosen import chosen
        from ramify.redacting import Order, look, redact

        search = chosen(**sought) if any(sought.values()) else None
        order = Order(search or Cleaner(), now(), by, 0 if search else VERSION, self.settings.project or "")
        if dry_run:
            return {**look(self.store, order, progress), "dry_run": True}
        self.bring_up()
        with taken_by(self.store):
            drain_spools(self.settings, self.ingest, PATIENCE)
            answer = redact(self.store, self.rules, self.prices, order, progress)
        self._index()
        return {**answer, "dry_run": False, "waiting": waiting(self.settings, self.store), "seq": self.store.seq()}

    def rekey(self) -> Answer:
        with taken_by(self.store):
            rekey(self.store, os.environ)
        return {"store": self.store.url, "rekeyed": True}

    def redactions(self) -> Answer:
        from ramify.redacting import notes as redacted

        return {"items": redacted(self.store), "next": None, "seq": self.store.seq()}

    def reconcile(self, settings: Settings | None = None) -> Answer:
        """Asks the agents that were named about every open task: of the event log, and of A2A agents."""
        from ramify.reconciling.alone import alone

        events = EventLog(self.store, self._commit, self.project, now, bounds_of(self.settings))
        return asyncio.run(alone(self.ingest, self.reconciler(events, settings), now))

    def reconciler(self, events: EventLog, settings: Settings | None = None) -> "Reconciler":
        from ramify.access import is_guarded
        from ramify.reconciling.addresses import Addresses
        from ramify.reconciling.run import Reconciler

        given = settings or self.settings
        near = not is_guarded(given) and self.store.url.startswith(("sqlite:", "memory:"))  # a database server is everybody's
        return Reconciler(self.store, events, events.project, now, Addresses(given.a2a, given.agent, near), os.environ)

    def _commit(self, batch: Sequence[Observation]) -> None:
        self._take(list(batch))

    def doctor(self) -> list[Answer]:
        from ramify.diagnosis import checks

        return list(checks(self.store, self.settings))


def doctor(settings: Settings) -> list[Answer]:
    from ramify.diagnosis import examine

    return examine(settings)


@contextmanager
def hearing(wanted: dict[str, Any]) -> Iterator["Receiver"]:
    """A broker that answers; before any store is made for what it will say. Raises UserMistake where there is none."""
    from ramify.capture.broker.opening import Wanted, open_receiver
    from ramify.capture.broker.receiver import Away

    try:
        with closing(open_receiver(Wanted(**wanted))) as receiver:
            yield receiver
    except Away as problem:
        raise UserMistake(str(problem), "check address, network and rights; see ramify listen --help") from None


def copy_store(source: str, target: str, progress: Progress, plain: bool = False, noted: Noted | None = None) -> Answer:
    """The source stays as it is, but for what waited for it and a line of its audit; `plain`: the target is not encrypted, although there is a key."""
    if source == target:
        raise UserMistake("a store cannot be copied onto itself", "name another store as TO")
    if "memory:" in (source, target):
        raise UserMistake("what lives in memory: is gone with its program", "name two stores that last")
    settings = load({"store": target}, os.environ)
    one = open_store(source, create=False, seal=False)
    try:
        other = open_store(target, seal=not plain)
        try:
            with taken_by(other):
                if is_same(one, other):
                    raise UserMistake(f"{other.url} is the store that is to be copied", "name another store as TO")
            left = drained_first(one, replace(settings, store=source))
            if not one.seq() and not left:
                raise UserMistake(f"the store {one.url} holds nothing; nothing was copied", "check the address of FROM")
            said = is_noted(one, noted) if noted is not None else True
            with taken_by(other):
                answer = copy(one, other, rules_of(settings), prices_of(settings), progress)
            return {**answer, "waiting": left, "verified": answer["verified"] and not left, "noted": said}
        finally:
            other.close()
    finally:
        one.close()


def drained_first(store: Store, settings: Settings) -> int:
    """What waits on this machine for the store that is copied belongs to it; how much still waits."""
    try:
        return drain_spools(settings, make_ingest(store, rules_of(settings), prices_of(settings), redaction=Cleaner()), PATIENCE).waiting
    except StoreDown as problem:
        log.warning("what waits for %s cannot be stored: %s", store.url, problem)
        return waiting(settings, store)


def is_noted(store: Store, noted: Noted) -> bool:
    """Who can read a store that takes nothing just now may copy it all the same: whoever does it is told."""
    try:
        Ingest(store, redaction=Cleaner()).step([audit_record(noted, "", now(), secrets.token_hex(8))])
    except StoreDown:
        return False
    return True


def report_hook(settings: Settings, body: bytes, at: int) -> None:
    from ramify.capture.outbox import Away
    from ramify.recording import report_hook as report

    try:
        report(settings, body, at)
    except Away as problem:
        raise UserMistake(f"the hook was not recorded: {problem}", "see ramify doctor") from problem


def serve(settings: Settings) -> int:
    from ramify.log_lines import begin_log
    from ramify.served import open_served
    from ramify.server import bound, end_when_told, run_server

    end_when_told()
    begin_log(settings, turns=True)
    with bound(settings.host, settings.port) as listener:  # first: who comes while the store is opened waits, and is not refused
        return run_server(open_served(settings), now, listener)


def demo(settings: Settings, picture: "Picture", pace: float = 1.0) -> int:
    """The whole of Ramify on a throw-away store, with a session that plays itself against a scripted model."""
    from ramify.served import open_served
    from ramify.showing import run_demo

    with tempfile.TemporaryDirectory(prefix="ramify-demo-") as folder:
        own = replace(settings, store=f"sqlite:{folder}/demo.db", watch=())

        def served(upstream: str, agents: dict[str, str]) -> "Served":
            return open_served(replace(own, anthropic_upstream=upstream, a2a={**own.a2a, **agents}))

        return run_demo(served, now, picture, pace)
