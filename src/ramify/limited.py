"""A server as somebody sees it who may see some projects only: the same questions and acts, over what is theirs.

What is about the server as a whole (its address, how full it is, how much waits) is left empty, or refused.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ramify.acting import Acting
from ramify.acts import correction, preview
from ramify.belonging import event_session
from ramify.event_log import EventLog
from ramify.exporting.offer import Exports
from ramify.forgetting import note_shape, notes
from ramify.hub import Hub, Rows
from ramify.model.entity import Entity
from ramify.model.ids import observation_id
from ramify.model.mistake import NotYours
from ramify.model.observation import Correction, Observation, Record
from ramify.query.changes import change_shapes
from ramify.query.errors import Ambiguous
from ramify.query.leaving import leaving
from ramify.query.narrowed import Narrowed
from ramify.query.service import Answer
from ramify.retention import named
from ramify.storage.base import Bounds

if TYPE_CHECKING:
    from ramify.served import Served

REMEMBERED = 64  # sets of projects; each keeps findings of its runs
WHOLE = "it is about all projects, and this token is for some"
HINT = "ask whoever has a token for all projects"
NOTHING_WAITS = {
    "stored": 0, "lost": 0, "unlinked": 0, "waiting": 0, "waiting_bytes": 0, "spooled": 0, "spooled_bytes": 0, "lag_ms": 0, "problem": None,
}  # fmt: skip


class Views:
    """One for each set of projects, as they are asked for."""

    def __init__(self, served: "Served") -> None:
        self._served = served
        self._lock = threading.Lock()
        self._views: dict[frozenset[str], Limited] = {}

    def of(self, projects: frozenset[str]) -> "Limited":
        with self._lock:
            found = self._views.pop(projects, None) or Limited(self._served, projects)
            self._views[projects] = found  # last asked for, last to go
            if len(self._views) > REMEMBERED:
                del self._views[next(iter(self._views))]
            return found

    def changed(self, rows: Mapping[tuple[str, str], Entity | None] | None) -> None:
        with self._lock:
            views = list(self._views.values())
        for view in views:
            view.questions.lints.changed(rows)


class Limited:
    """What is passed on as it is: ways in, which have their own guard, and what is nobody's."""

    def __init__(self, served: "Served", projects: frozenset[str]) -> None:
        self._served = served
        self.projects = projects
        self.questions = served.questions.within(projects)
        self.store = self.questions.store
        self.questions.lints.remember()
        self.exports = Exports(self.questions, os.environ)
        self.hub = LimitedFeed(served.rows, Narrowed(served.store, projects))
        self.acting = Acting(self.store, served.reach)
        self.news, self.clock = served.news, served.clock
        self.session_secret, self.project = served.session_secret, served.project

    def _check(self, project: str) -> None:
        if project not in self.projects:
            raise NotYours(f"nothing of this token's is in the project {project!r}", f"it is for {', '.join(sorted(self.projects)) or 'no project'}")

    # -- what comes in -------------------------------------------------------------------------------------------------

    def observe(self, seen: Observation) -> None:
        self._check(seen.project)
        # A record's id comes from whoever sends it, and must not take the place of one that another project will send.
        own = replace(seen, id=observation_id("record", seen.project, "limited", seen.id)) if isinstance(seen, Record) else seen
        self._served.observe(own)

    def commit(self, batch: Sequence[Observation]) -> None:
        for seen in batch:
            self._check(seen.project)
        self._served.commit(batch)

    def events_of(self, project: str) -> EventLog:
        self._check(project)
        return self._served.events_of(project)

    @property
    def demonstration(self) -> Any:
        self._check(self.project)
        return self._served.demonstration

    def ask_sql(self, query: str, bounds: Bounds) -> Answer:
        return self._served.ask_sql(query, bounds, self.projects)

    # -- acts ----------------------------------------------------------------------------------------------------------

    def link(self, child: str, parent: str) -> Answer:
        return self._correct(correction(self.store, "link", child, parent))

    def unlink(self, child: str) -> Answer:
        return self._correct(correction(self.store, "unlink", child))

    def withdraw(self, child: str) -> Answer:
        return self._correct(correction(self.store, "withdraw", child))

    def _correct(self, seen: Correction) -> Answer:
        self._served.correct(seen)
        return self.questions.why(seen.child)

    def preview(self, children: list[str], parent: str) -> Answer:
        return preview(self.store, children, parent)

    def forget_one(self, id: str, by: str = "") -> Answer:
        """What others have in common with it would show in how much room it gave back."""
        return {**self._served.forget_one(self._conversation(id), by), "pieces": 0, "left": ""}

    def leaving(self, id: str) -> Answer:
        return {**leaving(self.store, self._conversation(id)), "seq": self.store.seq()}

    def _conversation(self, id: str) -> str:
        """Sessions of the event log are known by names that several projects may have."""
        sessions = {session for project in self.projects if (session := event_session(self.store, project, id))}
        if len(sessions) > 1:
            raise Ambiguous(f"{id!r} fits {len(sessions)} sessions", [{"id": one, "kind": "session"} for one in sorted(sessions)])
        return named(self.store, next(iter(sessions), id), "")

    def notes(self) -> Answer:
        found = [note_shape(id, note) for id, note in notes(self._served.store) if note.project in self.projects]
        return {"items": found, "next": None, "seq": self.store.seq()}

    async def reconcile_session(self, session: str | None, project: str) -> Answer:
        if session is None:
            raise NotYours(f"every open task is asked about: {WHOLE}", "ask for one session, or " + HINT)
        self._check(project)
        return await self._served.reconcile_session(session, project)

    # -- the server ----------------------------------------------------------------------------------------------------

    def health(self) -> Answer:
        """Whether it is well, and nothing of what others do with it."""
        whole = self._served.health()
        hidden = {"store": "", "upstream": "", "agents": {}, "store_bytes": 0, "engine": None, "store_limit": None, "findings": None, "otlp": None}
        return {**{name: whole[name] for name in ("seq", "status", "version", "uptime_s")}, **hidden, "capture": NOTHING_WAITS}

    def hook(self) -> None:
        return None

    def stats(self) -> Answer:
        return {**self.questions.stats(), "capture": NOTHING_WAITS}


class LimitedFeed:
    """What changed in these projects. Numbers go on as others write: they say how far one has read, and nothing else."""

    def __init__(self, hub: Hub, store: Narrowed) -> None:
        self._hub = hub
        self._store = store

    @asynccontextmanager
    async def subscribe(self, since: int | None) -> AsyncIterator[AsyncIterator[tuple[int, list[dict[str, Any]]]]]:
        async with self._hub.subscribe(since) as batches:
            yield self._seen(batches)

    async def _seen(self, batches: AsyncIterator[tuple[int, Rows]]) -> AsyncIterator[tuple[int, list[dict[str, Any]]]]:
        """Ends, so that the reader loads everything anew, where something went and it is not known whose it was."""
        async for seq, rows in batches:
            gone = {place: self._hub.project_of(place) for place, row in rows.items() if row is None}
            if None in gone.values():
                return
            shown = await asyncio.to_thread(self._mine, rows, gone)
            yield seq, change_shapes(shown)

    def _mine(self, rows: Rows, gone: Mapping[tuple[str, str], str | None]) -> Rows:
        there = {row.id for row in self._store.mine(row for row in rows.values() if row is not None)}
        return {
            place: row for place, row in rows.items() if (place[1] in there if row is not None else gone[place] in self._store.projects)
        }  # fmt: skip
