"""What the web layer needs from the rest: the questions, acts, the live feed, the capture proxy and a place for reports."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Literal, Protocol

from aiohttp import web

from ramify.model.audit import Noted
from ramify.model.entity import EventSession, Logged
from ramify.model.identity import Identity, Scope
from ramify.model.observation import Observation
from ramify.query.events import Wanted
from ramify.query.service import Answer, Questions
from ramify.storage.base import Bounds

Batch = tuple[int, list[dict[str, Any]]]
"""The log's sequence number, and what changed up to it."""

Serve = Callable[[web.Request], Awaitable[web.StreamResponse]]
Needed = Scope | Literal["open", "any"]
"""`open`: nobody has to say who they are. `any`: they have to, and that is all."""


class Hub(Protocol):
    def subscribe(self, since: int | None) -> AbstractAsyncContextManager[AsyncIterator[Batch]]:
        """Changes after `since`, or from now on. The iterator ends when the reader can no longer be given all
        of them: it was too slow, `since` is too long ago, or the server stops."""


class News(Protocol):
    def heard(self) -> AbstractContextManager[asyncio.Event]:
        """Set whenever something was stored."""


class EventLog(Protocol):
    """The event log, by sessions."""

    @property
    def project(self) -> str: ...
    def append_many(
        self, session: str, events: Sequence[object], *, place: str = "events", unverified: bool = False
    ) -> Sequence[Any]: ...
    def get_events(self, session: str, wanted: Wanted | None = None) -> Answer: ...
    def get_operations(self, session: str, limit: int = 50) -> list[Answer]: ...
    def get_operation(self, session: str, operation: str) -> Answer: ...
    def sessions(self, limit: int) -> list[Answer]: ...
    def session_info(self, session: str) -> Answer: ...
    def clear_session(self, session: str, reason: str = "cleared") -> int: ...
    def writer_of(self, operation: str) -> str: ...
    def flags_of(self, session: str, seq: int) -> tuple[tuple[str, ...], bool]: ...
    def after(self, session: str, seq: int, limit: int = 500) -> tuple[EventSession | None, list[tuple[Logged, Answer]]]: ...
    def follows(self, session: str, sign: int) -> None: ...


class Demonstration(Protocol):
    def begin(self) -> str | None:
        """The session that begins to play; None while another still does."""


class Acting(Protocol):
    """Asks agents to do something."""

    async def answer(self, id: str, text: str, data: Any) -> Answer: ...
    async def cancel(self, id: str) -> Answer: ...


class Offer(Protocol):
    """Something to be saved, in pieces that can be read once."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def pieces(self) -> Iterator[bytes]: ...


class Exports(Protocol):
    """`wish` says the format, and what is to be left out."""

    def asked(self, id: str, wish: Mapping[str, Any]) -> Offer: ...
    def previewed(self, id: str, wish: Mapping[str, Any]) -> Answer: ...


class Access(Protocol):
    """Who holds which token."""

    @property
    def guarded(self) -> bool:
        """Everybody must say who they are; else whoever reaches us is this machine's own user."""

    @property
    def strict(self) -> bool:
        """So must captured traffic of this machine."""

    @property
    def secure(self) -> bool:
        """Browsers reach us under TLS, whatever it looks like from here."""

    @property
    def proxy(self) -> str | None:
        """Whose word about addresses is believed."""

    @property
    def names(self) -> frozenset[str]:
        """By which this server is known, beside those of every machine."""

    def read(self) -> None:
        """Tokens as they are in the store now; never raises where that is away."""

    async def identify(self, secret: str) -> Identity | None: ...
    async def log_in(self, secret: str) -> tuple[str, Identity] | None:
        """The id of the login, for a cookie."""

    async def log_in_as(self, identity: Identity, until: int) -> str: ...
    async def logged_in(self, id: str) -> Identity | None: ...
    async def log_out(self, id: str) -> None: ...


class Vouching(Protocol):
    """Somebody else, who knows people. Both raise NotVouched."""

    @property
    def name(self) -> str: ...
    async def begin(self) -> tuple[str, str]:
        """Where to send a browser, and what it must hold when it comes back."""

    async def finish(self, browser: str, answer: Mapping[str, str]) -> Identity: ...


class Tokens(Protocol):
    """Whoever asks is told only of tokens within their own projects. The secret stands in the answer that made it, and nowhere else."""

    def create(self, name: str, scopes: Sequence[str], projects: Sequence[str] | None, seconds: int, by: Identity) -> Answer: ...
    def listed(self, by: Identity) -> list[Answer]: ...
    def revoke(self, name: str, by: Identity) -> Answer: ...
    def rotate(self, name: str, grace: int, by: Identity) -> Answer: ...


class Seen(Protocol):
    """What somebody is shown of a server: all of it, or what is in their projects."""

    @property
    def questions(self) -> Questions: ...
    def ask_sql(self, query: str, bounds: Bounds) -> Answer:
        """What a person wrote, within these bounds whatever it is."""

    @property
    def exports(self) -> Exports: ...
    @property
    def hub(self) -> Hub: ...
    @property
    def demonstration(self) -> Demonstration: ...
    def events_of(self, project: str) -> EventLog: ...
    @property
    def news(self) -> News: ...
    @property
    def session_secret(self) -> bytes:
        """Signs what is given to callers of the event log."""

    @property
    def project(self) -> str: ...
    def clock(self) -> int:
        """Microseconds since 1970."""

    def observe(self, seen: Observation) -> None:
        """Takes what a program reports; never waits and never raises."""

    def commit(self, batch: Sequence[Observation]) -> None:
        """The same, back when all of it is stored; raises StoreDown where that takes too long."""

    @property
    def acting(self) -> Acting: ...
    async def reconcile_session(self, session: str | None, project: str) -> Answer:
        """Asks the agents about the open tasks of a session, at once; None: of all, those that were only watched included."""

    def link(self, child: str, parent: str) -> Answer: ...
    def unlink(self, child: str) -> Answer: ...
    def withdraw(self, child: str) -> Answer: ...
    def forget_one(self, id: str, by: str) -> Answer:
        """`by`: who asks for it; empty where nobody said so."""

    def leaving(self, id: str) -> Answer: ...
    def notes(self) -> Answer: ...
    def preview(self, children: list[str], parent: str) -> Answer: ...
    def health(self) -> Answer: ...
    def hook(self) -> Answer | None: ...
    def stats(self) -> Answer: ...


class Beat(Protocol):
    """How far the log goes, as the store says now; None: it does not, and `problem` says why. `ever`: it has said so before."""

    @property
    def seq(self) -> int | None: ...
    @property
    def seconds(self) -> float: ...
    @property
    def problem(self) -> str: ...
    @property
    def ever(self) -> bool: ...


class Served(Seen, Protocol):
    """All of it, with the ways in."""

    @property
    def proxy(self) -> Serve: ...
    @property
    def openai(self) -> Serve: ...
    @property
    def agents(self) -> Serve: ...
    @property
    def access(self) -> Access: ...
    @property
    def oidc(self) -> Vouching | None: ...
    @property
    def tokens(self) -> Tokens: ...
    def note(self, noted: Noted, project: str = "") -> None:
        """A line of the audit. Back when it is safe; raises StoreDown."""

    def seen_by(self, identity: Identity) -> Seen: ...
    async def beat(self) -> Beat:
        """Whether the store answers; said within about a second, whatever it does."""


CAPTURED: web.AppKey[frozenset[web.AbstractRoute]] = web.AppKey("captured")
AGENTS: web.AppKey[frozenset[web.AbstractRoute]] = web.AppKey("agents")
NEEDED: web.AppKey[dict[web.AbstractRoute, Needed]] = web.AppKey("needed")
RAMIFY: web.AppKey[Served] = web.AppKey("ramify")
IDENTITY: web.RequestKey[Identity] = web.RequestKey("identity")


def seen(request: web.Request) -> Seen:
    """What whoever asks may see: the only way from a request to what is stored."""
    return request.app[RAMIFY].seen_by(request[IDENTITY])
