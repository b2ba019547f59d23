"""What one server process runs: a store that is open, with capture and the live feed."""

import hmac
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from ramify.access import Access
from ramify.acting import Acting, Reached, reaching
from ramify.app import Ramify
from ramify.capture.a2a_client.tape import Place
from ramify.capture.cleaner import Cleaner
from ramify.event_log import EventLog
from ramify.exporting.sending import Endpoint
from ramify.exporting.stream import SpanStream
from ramify.following import Following
from ramify.hub import Hub, News
from ramify.ingest import Ingest
from ramify.limited import Limited, Views
from ramify.messenger import messenger
from ramify.model.audit import Noted, audit_record
from ramify.model.entity import Entity
from ramify.model.identity import Identity
from ramify.model.mistake import Conflict, Unreachable
from ramify.model.observation import Correction, Observation
from ramify.notifying import Notifying
from ramify.oidc import Client, Provider, require_library
from ramify.pipeline import Pipeline
from ramify.query.changes import change_shapes
from ramify.query.direct import sql
from ramify.query.leaving import leaving
from ramify.query.narrowed import narrowed
from ramify.query.service import Answer
from ramify.reconciling.alone import Periodic, alone
from ramify.recording import Nowhere
from ramify.renewal import Renewal
from ramify.retaining import LOOK_SECONDS, Order, Retaining, carry_out, quiet
from ramify.retention import Kept, named
from ramify.room import Room, free_beside, notices
from ramify.settings import Settings, check_exposure, check_provider
from ramify.spools import check_spool, spool_folder
from ramify.sql_process import SqlProcesses
from ramify.standing import Beat, Pulse, Standing
from ramify.storage.base import Bounds, Store, StoreDown
from ramify.storage.later import Later, later
from ramify.storage.sqlite import Sqlite
from ramify.tokens import read_tokens
from ramify.upgrading import deriving_notice, is_outdated
from ramify.wiring import (
    bounds_of,
    bring_up,
    follow,
    note_rules,
    now,
    open_store,
    prices_of,
    process_name,
    rules_of,
    taken_by,
)
from ramify.writer import RemotePipeline

log = logging.getLogger("ramify")
COMMIT_SECONDS = 30.0
RETRY_SECONDS = 0.5
NOTE_SECONDS = 10.0  # whoever waits for a line of the audit keeps a thread from other questions


class Feed:
    """The hub in the shapes that live readers know."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    @asynccontextmanager
    async def subscribe(self, since: int | None) -> AsyncIterator[AsyncIterator[tuple[int, list[dict[str, Any]]]]]:
        async with self._hub.subscribe(since) as batches:
            yield ((seq, change_shapes(rows)) async for seq, rows in batches)


class Served(Ramify):
    """The same, with capture and the live feed: what one server process runs."""

    def __init__(self, store: Store, settings: Settings) -> None:
        super().__init__(store, settings)
        self._hub = Hub()
        self.hub, self.rows = Feed(self._hub), self._hub
        self.news = News()
        self.run = secrets.token_hex(6)
        self._spans = stream_of(store, settings)
        self._following: Following | None = None  # where the writer is a process of its own, it follows as well
        self.pipeline = self._pipeline()
        self.access = Access(store, settings, now)
        self.oidc = provider_of(settings, lambda: self.settings.public_url or self.address, lambda: self.session_secret)
        self._standing = Standing(store)
        late = isinstance(store, Later)
        self._pulse = Pulse(lambda: store.seq(), ever=not late)
        self.proxy: Any = None  # these are set when the server listens
        self.openai: Any = None
        self.demonstration: Any = None
        self.agents: Any = None
        self.address = ""
        self.acting = Acting(store, self.reach)
        self.started = time.monotonic()
        self._spool = spool_folder(settings)  # beside the store, where that is a file
        self._numbers: Iterator[int] = iter(range(1, 1 << 62))
        self._secret: bytes | None = None
        self._unfollow: Callable[[], None] = lambda: None
        self._ending = threading.Event()
        self._reconciling: Periodic | None = None
        self._retaining: Retaining | None = None
        self._notifying: Notifying | None = None
        self._renewal = Renewal(store, settings, self._renewed) if store.path and is_outdated(store) else None
        self.questions.lints.remember()
        self.events = EventLog(store, self.commit, self.project, now, bounds_of(settings))
        self._logs: dict[str, EventLog] = {}  # of other projects
        self._views = Views(self)
        self._sql = SqlProcesses(store) if isinstance(store, Sqlite) and os.name == "posix" else None
        if not late:
            with taken_by(store):
                self._hub.start_at(self.begin_on(store))

    def begin_on(self, store: Store) -> int:
        """Once it is open; how far its log goes."""
        store.sign(self.run)  # our writer's too: what it writes we hear from itself
        note_rules(store)
        self._secret = store_secret(store)
        store.set_fact(f"server:{self.run}", f"{socket.gethostname()}/{process_name(os.getpid())}")
        seq = store.seq()
        self._unfollow = store.follow(self._heard)
        return seq

    def _await_store(self, store: Later) -> None:
        """One that was away at the start. What our writer has to derive again it derives; everybody loads everything anew."""
        while not self._ending.is_set():
            try:
                store.opened()
                self._publish(store.seq(), None)
                log.info("the store is there")
                return
            except StoreDown:
                self._ending.wait(RETRY_SECONDS)

    @property
    def session_secret(self) -> bytes:
        if self._secret is None:
            raise StoreDown("it was not open yet")
        return self._secret

    def reach(self, project: str) -> Reached:
        """Agents are reached as clients reach them, so that what is said is seen on its way; not a second time from here."""
        addresses = {name: f"{self.address}/a2a/{name}" for name in self.settings.a2a}
        own = {"x-ramify-project": project, "x-ramify-token": self.access.own}
        return reaching(addresses, lambda project: Place(Nowhere(), project, now), lambda project: own)(project)

    def _pipeline(self) -> Pipeline | RemotePipeline:
        """A file is written by a process of its own; what lives in our memory can only be written by us."""
        settings = self.settings
        # A person's correction is stored from here in either case, and live readers hear of it.
        self._ingest = Ingest(self.store, self.rules, self.prices, self._written, redaction=Cleaner())
        if settings.store != "memory:" and os.name == "posix":
            start = {"settings": msgspec.to_builtins(settings), "run": self.run}
            return RemotePipeline(start, self._written, settings.queue_limit, settings.queue_bytes)
        pipeline = Pipeline(self._ingest, Cleaner().observation, None, settings.queue_limit, settings.queue_bytes)
        pipeline.on_stored = self._indexer.wake
        self._indexer.busy, self._indexer.worked = lambda: not pipeline.idle, pipeline.worked
        self._indexer.start()
        self._following = follow(settings, self._ingest, self._indexer)
        self._following.busy = lambda: not pipeline.idle
        return pipeline

    def _heard(self, seq: int, rows: Sequence[tuple[str, str]] | None, after: int | None = None, /) -> None:
        """Another server has written these; where it is not said what, it may be what we have told already."""
        if rows is None and self._hub.has_reached(seq):
            return
        found: dict[tuple[str, str], Entity | None] | None = None
        with suppress(StoreDown):
            found = {(table, id): self.store.load(table, id) for table, id in rows} if rows is not None else None
        self._publish(seq, found, after)

    def _written(self, seq: int, rows: dict[tuple[str, str], Entity | None] | None, after: int | None = None, /) -> None:
        """We have written these: what others write they send on themselves."""
        if self._spans is not None:
            self._spans.heard(rows)
        self._publish(seq, rows, after)

    def seen_by(self, identity: Identity) -> "Served | Limited":
        return self if identity.projects is None else self._views.of(identity.projects)

    def ask_sql(self, query: str, bounds: Bounds, projects: frozenset[str] | None = None) -> Answer:
        """A database server bounds what it is asked by itself; SQLite does in a process of its own."""
        if self._sql is not None:
            return self._sql.ask(query, bounds, projects)
        return sql(self.store if projects is None else narrowed(self.store, projects), query, bounds)

    def events_of(self, project: str) -> EventLog:
        if project == self.project:
            return self.events
        if project not in self._logs:
            own = EventLog(narrowed(self.store, frozenset({project})), self.commit, project, now, bounds_of(self.settings))
            return self._logs.setdefault(project, own)
        return self._logs[project]

    def _publish(self, seq: int, rows: dict[tuple[str, str], Entity | None] | None, after: int | None = None, /) -> None:
        self.questions.lints.changed(rows)
        self._views.changed(rows)
        self._hub.publish(seq, rows, after)
        self.news.tell()

    def commit(self, batch: Sequence[Observation]) -> None:
        """By the one writer, like all else; back when it is stored, and not only on the way."""
        numbers = [self.pipeline.put(seen) for seen in batch]
        if not all(numbers) or not self.pipeline.wait(numbers[-1], COMMIT_SECONDS):
            raise StoreDown("the writer is too far behind")
        # What lives in memory has no disk to wait on, and may have let the oldest go again already.
        if self.settings.store != "memory:" and self.store.missing([seen.id for seen in batch]):
            raise StoreDown("it waits on disk until the store is back")

    def note(self, noted: Noted, project: str = "") -> None:
        """By the one writer: back when the line is stored, or waits on disk for a store that is away. Nobody who is captured waits."""
        number = self.pipeline.put(audit_record(noted, project, now(), secrets.token_hex(8)))
        if not number or not self.pipeline.wait(number, NOTE_SECONDS):
            raise StoreDown("the audit cannot be written")

    async def reconcile_session(self, session: str | None, project: str) -> Answer:
        return await alone(self.ingest, self.reconciler(self.events_of(project)), now, session=session)

    def leaving(self, id: str) -> Answer:
        return {**leaving(self.store, named(self.store, id, self.project)), "seq": self.store.seq()}

    def forget_one(self, id: str, by: str = "") -> Answer:
        """By a process of its own, so that clients do not wait; what lives in our memory only we can forget."""
        self._check_settled()
        named(self.store, id, self.project)  # who asks for nothing is told so at once
        by = by or "api"
        answer = self.forget([id], False, quiet, by) if self._lives_here else carry_out(Order(self.settings, (id,), by=by))
        self._publish(self.store.seq(), None)
        return answer

    def _prune(self) -> Answer:
        """One of all servers on the store, each time: the others would only do the same again."""
        kept, at = self.settings.retention or 0, now()
        if self._renewal is not None and not self._renewal.over:
            return {"observations": 0}
        if not self.ingest.claim("lease:retention", self.run, at, at + int(LOOK_SECONDS * 900_000)):
            return {"observations": 0}
        answer = self.prune(Kept(kept), False, quiet, "retention") if self._lives_here else carry_out(Order(self.settings, older_than=kept))
        if answer["observations"]:
            self._publish(self.store.seq(), None)
        return answer

    @property
    def _lives_here(self) -> bool:
        return self.settings.store == "memory:"

    def _renewed(self) -> None:
        self._written(self.store.seq(), None)

    def _check_settled(self) -> None:
        """Who acts must see what on."""
        if self._renewal is not None and not self._renewal.over:
            raise Conflict(deriving_notice(self._renewal.share), "try again when it is done; /api/health says how far it is")

    def _correct(self, seen: Correction) -> Answer:
        self._check_settled()
        return super()._correct(seen)

    def start(self) -> None:
        self.pipeline.start()
        if isinstance(self.store, Later):
            threading.Thread(target=self._await_store, args=(self.store,), name="ramify-await", daemon=True).start()
        if self._renewal is not None:
            self._renewal.start()
        if self._spans is not None:
            self._spans.start()
        self._reconciling = Periodic(self.ingest, self.reconciler(self.events), now)
        self._reconciling.start()
        if self.settings.retention:
            self._retaining = Retaining(self._prune)
            self._retaining.start()
        if self.settings.on_finding:
            tell = messenger(self.settings.on_finding)
            self._notifying = Notifying(self.store, self.questions.lints, self.ingest.claim, self.run, tell, now)
            self._notifying.start()

    @property
    def project(self) -> str:
        return self.settings.project or "default"

    def clock(self) -> int:
        return now()

    def observe(self, seen: Observation) -> None:
        self.pipeline.put(seen)

    def new_id(self) -> str:
        return f"obs_{self.run}-{next(self._numbers)}"

    def fingerprint(self, credential: str) -> str:
        """Nothing, while the store that has the key was not open yet: it would be one that fits no other."""
        if self._secret is None:
            return ""
        return hmac.new(self._secret, credential.encode("utf-8", "surrogateescape"), "sha256").hexdigest()[:16]

    async def beat(self) -> Beat:
        return await self._pulse.beat()

    def health(self) -> Answer:
        state = self.pipeline.state()
        room = self._room(state)
        return {
            "seq": self._hub.reached,
            "status": "degraded" if state["problem"] or state["lost"] or self._is_full() else "ok",
            "version": version(),
            "uptime_s": round(time.monotonic() - self.started, 3),
            "store": self.store.url,
            "upstream": self.settings.anthropic_upstream,
            "agents": self.settings.a2a,
            "capture": state,
            "store_bytes": room.store,
            "engine": self._standing.engine(),
            "store_limit": room.store_limit,
            "spool_limit": room.spool_limit,
            "disk_free": room.free,
            "notices": [*self._notices(), *notices(room)],
            "findings": self.hook(),
            "deriving": self._deriving(),
            "otlp": self._spans.state() if self._spans is not None else None,
        }

    def _room(self, state: Answer) -> Room:
        settings = self.settings
        whose = "store" if self.store.path else "spool"
        free = free_beside(str(self._spool or ""))
        return Room(self._standing.bytes(), settings.store_limit, int(state["spooled_bytes"]), settings.spool_limit, free, whose)

    def _notices(self) -> list[str]:
        return [] if self._renewal is None or self._renewal.over else [deriving_notice(self._renewal.share)]

    def _deriving(self) -> Answer | None:
        renewal = self._renewal
        return {"done": renewal.done, "total": renewal.total} if renewal is not None and not renewal.over else None

    def hook(self) -> Answer | None:
        """Who is told of findings, and how that went."""
        return self._notifying.state() if self._notifying is not None else None

    def _is_full(self) -> bool:
        limit = self.settings.store_limit
        return bool(limit and self._standing.bytes() >= limit)

    def stats(self) -> Answer:
        return {**self.questions.stats(), "capture": self.pipeline.state()}

    def close(self) -> None:
        self._ending.set()
        self._standing.close()
        self._pulse.close()
        if self._renewal is not None:
            self._renewal.close()
        if self._following is not None:
            self._following.close()
        if self._reconciling is not None:
            self._reconciling.close()
        if self._retaining is not None:
            self._retaining.close()
        if self._notifying is not None:
            self._notifying.close()
        if self._sql is not None:
            self._sql.close()
        self._unfollow()
        self.pipeline.close()
        if self._spans is not None:
            self._spans.close()
        self._hub.close()
        super().close()


def provider_of(settings: Settings, address: Callable[[], str], key: Callable[[], bytes]) -> Provider | None:
    check_provider(settings)
    if settings.oidc_issuer is None:
        return None
    require_library()
    secret = os.environ.get("RAMIFY_OIDC_SECRET", "")
    client = Client(settings.oidc_issuer, settings.oidc_client_id or "", secret, settings.oidc_scopes, settings.oidc_map)
    return Provider(client, lambda: f"{address()}/api/oidc/callback", key)


def stream_of(store: Store, settings: Settings) -> SpanStream | None:
    if settings.otlp_to is None:
        return None
    return SpanStream(store, Endpoint(settings.otlp_to, os.environ), settings.otlp_content, now)


def version() -> str:
    from ramify import __version__

    return __version__


def store_secret(store: Store) -> bytes:
    """A key of the store's own: a fingerprint of a credential tells nothing outside of it."""
    found = store.fact("secret")
    if not isinstance(found, bytes):
        found = secrets.token_bytes(32)
        store.set_fact("secret", found)
    return found


def open_served(settings: Settings) -> Served:
    try:
        return served_now(settings)
    except Unreachable as problem:
        if settings.store.startswith("sqlite:"):
            raise
        log.warning("store is away problem=%r; what is seen waits in the spool until it is there", problem.message)
        return served_later(settings, problem.message)


def served_now(settings: Settings) -> Served:
    store = open_store(settings.store)
    try:
        with taken_by(store):
            check_exposure(settings, any(token.lives(now()) for token in read_tokens(store)))
            check_spool(settings)
            if not store.path:  # a file is derived again while it is captured into
                bring_up(store, rules_of(settings), prices_of(settings))
        return Served(store, settings)
    except BaseException:
        store.close()
        raise


def served_later(settings: Settings, problem: str) -> Served:
    """For clients it is as if the store were there. Who may see anything is not known yet, so nobody does but by settings."""
    check_spool(settings)

    def opened() -> Store:
        store = open_store(settings.store)
        try:
            served.begin_on(store)
        except BaseException:
            store.close()
            raise
        return store

    served = Served(later(settings.store, opened, problem), settings)
    return served
