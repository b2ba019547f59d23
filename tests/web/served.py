"""A small server with hand-made answers: enough to try errors, guard and live feed on a real socket."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from ramify.access import Access
from ramify.event_log import EventLog
from ramify.hub import News
from ramify.ingest import Ingest
from ramify.model.audit import Noted
from ramify.model.identity import Identity
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation
from ramify.oidc import Provider
from ramify.query.direct import sql
from ramify.query.service import Ambiguous, Answer, BadQuestion, NotFound, Questions
from ramify.settings import Settings
from ramify.standing import Beat, Pulse
from ramify.storage.base import Bounds, StoreDown
from ramify.storage.sqlite import open_sqlite
from ramify.tokens import TokenDesk
from ramify.web.app import make_app
from ramify.web.served import Batch, Serve

Client = TestClient[web.Request, web.Application]


class HandMade(Questions):

    def __init__(self) -> None:
        super().__init__(open_sqlite("memory:"))
    def seq(self) -> int:
        return 41

    def tasks(self, **given: Any) -> Answer:
        return {"items": [given], "next": None}

    def task(self, id: str) -> Answer:
        match id:
            case "missing":
                raise NotFound('Nothing has the id "missing"')
            case "twice":
                raise Ambiguous('"twice" fits 2 things', [{"id": "task_a"}, {"id": "task_b"}])
            case "bad":
                raise BadQuestion('The cursor "x" is none of ours')
            case "mistake":
                raise UserMistake("The value is wrong", "Take another")
            case "bug":
                raise ZeroDivisionError("a secret detail")
        return {"id": id, "title": "x" * 5000}

    def tree(self, id: str) -> Answer:
        tree: Answer = {"asked": "tree", "id": id}
        for _ in range(50_000 if id == "deep" else 0):  # Pythons differ in how deep they go
            tree = {"children": [tree]}
        return tree

    def skeleton(self, id: str) -> Answer:
        return {"asked": "skeleton", "id": id}

    def body(self, id: str, side: str) -> tuple[bytes, list[tuple[str, str]]]:
        kind = "text/html\r\nx-evil: 1" if id == "evil" else "text/html; charset=utf-8"
        return b"<script>alert(1)</script>", [("Content-Type", kind), ("content-encoding", "gzip")]

    def search(self, text: str, *, limit: int = 50, cursor: str | None = None) -> Answer:
        return {"items": [{"text": text, "limit": limit}], "next": None}


class Feed:
    """A hub that replays a list and then waits, or ends when told to."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.arrived = asyncio.Event()
        self.ended = False
        self.asked: list[int | None] = []

    def publish(self, seq: int, *changes: dict[str, Any]) -> None:
        self.batches.append((seq, list(changes)))
        self.arrived.set()

    def end(self) -> None:
        self.ended = True
        self.arrived.set()

    @asynccontextmanager
    async def subscribe(self, since: int | None) -> AsyncIterator[AsyncIterator[Batch]]:
        self.asked.append(since)
        yield self.changes(since or 0)

    async def changes(self, since: int) -> AsyncIterator[Batch]:
        at = 0
        while True:
            while at < len(self.batches):
                at += 1
                if self.batches[at - 1][0] > since:
                    yield self.batches[at - 1]
            if self.ended:
                return
            self.arrived.clear()
            await self.arrived.wait()


class Silent:
    """A demonstration that always plays already."""

    def begin(self) -> str | None:
        return None


def store_all(ingest: Ingest, batch: Sequence[Observation]) -> None:
    ingest.step(batch)


class Small:
    def __init__(self, token: str | None = None) -> None:
        self.questions = HandMade()
        self.hub = Feed()
        self.demonstration = Silent()
        self.access = Access(self.questions.store, Settings(store="memory:", token=token), self.clock)
        self.acts: list[tuple[str, ...]] = []
        self.oidc: Provider | None = None
        self.observed: list[Observation] = []
        self.noted: list[tuple[Noted, str]] = []
        self.problem: StoreDown | None = None
        self.project = "default"
        self.news = News()
        self.session_secret = b"a secret of the store's own"
        ingest = Ingest(self.questions.store)
        self.events = EventLog(self.questions.store, lambda batch: store_all(ingest, batch), "default", self.clock)
        self.acting = self

    def seen_by(self, identity: Identity) -> "Small":
        return self

    def ask_sql(self, query: str, bounds: Bounds) -> Answer:
        return sql(self.questions.store, query, bounds)

    def events_of(self, project: str) -> EventLog:
        return self.events

    @property
    def agents(self) -> Serve:
        return self.proxy

    @property
    def openai(self) -> Serve:
        return self.proxy

    @property
    def proxy(self) -> Serve:
        return self.forward

    async def forward(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text=f"upstream {request.method} {request.path}")

    @property
    def tokens(self) -> TokenDesk:
        return TokenDesk(self.questions.store, self.clock)

    def note(self, noted: Noted, project: str = "") -> None:
        if self.problem is not None:
            raise self.problem
        self.noted.append((noted, project))

    def clock(self) -> int:
        return 1_700_000_000_000_000 + len(self.observed)

    def observe(self, seen: Observation) -> None:
        self.observed.append(seen)

    def commit(self, batch: Sequence[Observation]) -> None:
        if self.problem is not None:
            raise self.problem
        self.observed += batch

    async def answer(self, id: str, text: str, data: Any) -> Answer:
        self.acts.append(("answer", id, text or repr(data)))
        return {"task": id, "agent": "a", "message": "m", "status": "working"}

    async def cancel(self, id: str) -> Answer:
        self.acts.append(("cancel", id))
        return {"items": [], "next": None}
    async def reconcile_session(self, session: str | None, project: str) -> Answer:
        return {"checked": 0}

    def link(self, child: str, parent: str) -> Answer:
        self.acts.append(("link", child, parent))
        return {"id": child}

    def unlink(self, child: str) -> Answer:
        self.acts.append(("unlink", child))
        return {"id": child}

    def withdraw(self, child: str) -> Answer:
        self.acts.append(("withdraw", child))
        return {"id": child}

    def preview(self, children: list[str], parent: str) -> Answer:
        return {"moves": [{"child": child} for child in children]}

    async def beat(self) -> Beat:
        return await Pulse(self.questions.seq).beat()

    def health(self) -> Answer:
        return {"status": "ok"}

    def hook(self) -> Answer | None:
        return None

    def stats(self) -> Answer:
        return {"tasks": 0}


@asynccontextmanager
async def serving(small: Small) -> AsyncIterator[Client]:
    server = TestServer(make_app(small), host="127.0.0.1")
    await server.start_server(auto_decompress=False)  # as the real one
    async with TestClient(server) as client:
        yield client
