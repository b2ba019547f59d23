"""What the web layer needs from the rest: the questions, acts, the live feed, the capture proxy and a place for reports."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from aiohttp import web

from ramify.model.observation import Observation
from ramify.query.service import Answer, Questions

Batch = tuple[int, list[dict[str, Any]]]
"""The log's sequence number, and what changed up to it."""

Serve = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Hub(Protocol):
    def subscribe(self, since: int | None) -> AbstractAsyncContextManager[AsyncIterator[Batch]]:
        """Changes after `since`, or from now on. The iterator ends when the reader can no longer be given all
        of them: it was too slow, `since` is too long ago, or the server stops."""


class Demonstration(Protocol):
    def begin(self) -> str | None:
        """The session that begins to play; None while another still does."""


class Served(Protocol):
    @property
    def questions(self) -> Questions: ...
    @property
    def hub(self) -> Hub: ...
    @property
    def proxy(self) -> Serve: ...
    @property
    def demonstration(self) -> Demonstration: ...
    @property
    def agents(self) -> Serve: ...
    @property
    def token(self) -> str | None: ...
    @property
    def project(self) -> str: ...
    def clock(self) -> int:
        """Microseconds since 1970."""

    def observe(self, seen: Observation) -> None:
        """Takes what a program reports; never waits and never raises."""

    def link(self, child: str, parent: str) -> Answer: ...
    def unlink(self, child: str) -> Answer: ...
    def withdraw(self, child: str) -> Answer: ...
    def preview(self, children: list[str], parent: str) -> Answer: ...
    def health(self) -> Answer: ...
    def stats(self) -> Answer: ...


CAPTURED: web.AppKey[frozenset[web.AbstractRoute]] = web.AppKey("captured")
AGENTS: web.AppKey[frozenset[web.AbstractRoute]] = web.AppKey("agents")
RAMIFY: web.AppKey[Served] = web.AppKey("ramify")
