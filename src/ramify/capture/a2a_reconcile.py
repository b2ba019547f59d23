"""How things stand with A2A tasks that are not known to have ended: their agents are asked, and what they answer is told.

    report = await reconcile_a2a(agents, tasks, place)      # or, without a loop: asyncio.run(…)

`agents` are names and addresses, `tasks` those that are open or that nobody has shown yet, `place` is where frames go. Frames
are all that comes of it: they are observations like any others, and what they mean is decided where all are read. An agent that
does not answer changes nothing.
"""

import asyncio
from collections.abc import Container, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from aiohttp import ClientSession, TCPConnector
from msgspec import Struct, field

from ramify.capture.a2a_client.finding import find
from ramify.capture.a2a_client.heard import Heard, task_of
from ramify.capture.a2a_client.peer import Gone, NoCard, Peer
from ramify.capture.a2a_client.tape import Place
from ramify.model.moment import iso
from ramify.protocols.a2a.wire import items, shape, text

AT_ONCE = 16
PAGE = 100
MOST_LISTED = 10_000


class OpenTask(Struct, frozen=True):
    """By its agent's name and the id that this one gave it. Without an agent nobody has shown it; `near` is its parent's."""

    id: str
    agent: str = ""
    near: str = ""
    opened: int = 0  # microseconds since 1970; what its agent has been doing since then is of interest


class Reconciled(Struct):
    asked: int = 0
    moved: dict[str, str] = field(default_factory=dict)  # the state that each task is said to be in, by agent and id
    found: list[str] = field(default_factory=list)  # that were listed besides
    missing: list[str] = field(default_factory=list)  # that no agent knows (any more)
    silent: dict[str, str] = field(default_factory=dict)  # agents that could not be asked, and why


async def reconcile_a2a(
    agents: Mapping[str, str], tasks: Iterable[OpenTask], place: Place, over: Container[tuple[str, str]] = frozenset()
) -> Reconciled:
    """Repeats for children that are found on the way, until nothing is new. `over`: agent and id of tasks that are known to
    have ended; they are not asked about when an agent lists them."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(ClientSession(connector=TCPConnector(limit=0), trust_env=False))
        round_ = Round({name: Peer(url, http, place, name) for name, url in agents.items()})
        await round_.meet()
        waiting = list(tasks)
        waiting += [task for task in await round_.listed(waiting) if (task.agent, task.id) not in over]
        while waiting:
            waiting = await round_.ask(waiting)
        return round_.report


class Round:
    """One reconciliation. `ask` gives the tasks that came up while others were asked about."""

    def __init__(self, peers: dict[str, Peer]) -> None:
        self.report = Reconciled()
        self._peers = peers
        self._seen: set[tuple[str, str]] = set()
        self._named: set[str] = set()
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def meet(self) -> None:
        await asyncio.gather(*(self._meet(name, peer) for name, peer in self._peers.items()))
        for name in self.report.silent:
            del self._peers[name]

    async def _meet(self, name: str, peer: Peer) -> None:
        try:
            await peer.meet()
        except (Gone, NoCard) as problem:
            self.report.silent[name] = str(problem)

    # -- one by one ---------------------------------------------------------------------------------------------------

    async def ask(self, tasks: list[OpenTask]) -> list[OpenTask]:
        fresh = [task for task in tasks if self._is_new(task)]
        answers = await asyncio.gather(*(self._ask(task) for task in fresh))
        return [child for children in answers for child in children]

    def _is_new(self, task: OpenTask) -> bool:
        key = (task.agent, task.id)
        known = key in self._seen or (not task.agent and task.id in self._named)
        self._seen.add(key)
        self._named.add(task.id)
        return not known

    async def _ask(self, task: OpenTask) -> list[OpenTask]:
        async with self._turn:
            self.report.asked += 1
            peer, heard = await self._look(task)
        if heard is None:
            if not task.agent or task.agent in self._peers:
                self.report.missing.append(f"{task.agent}/{task.id}" if task.agent else task.id)
            return []
        self.report.moved[f"{peer}/{task.id}"] = heard.state
        return [OpenTask(id, near=peer) for id, _ in heard.references if id not in self._named]

    async def _look(self, task: OpenTask) -> tuple[str, Heard | None]:
        if not task.agent:
            found = await find(task.id, self._peers.get(task.near), self._peers.values())
            return (found.peer.name, found.heard) if found else ("", None)
        peer = self._peers.get(task.agent)
        try:
            heard = await peer.show(task.id) if peer else None
        except Gone as problem:
            self.report.silent[task.agent] = str(problem)
            return task.agent, None
        return task.agent, heard if heard and heard.kind == "task" else None

    # -- what an agent has besides ------------------------------------------------------------------------------------

    async def listed(self, tasks: list[OpenTask]) -> list[OpenTask]:
        """Tasks that an agent of 1.0 has worked on since the oldest one that is open there, and that are not known."""
        since: dict[str, int] = {}
        for task in tasks:
            name = task.agent or task.near
            if task.opened and name in self._peers:
                since[name] = min(since.get(name, task.opened), task.opened)
        lists = await asyncio.gather(*(self._list(self._peers[name], at) for name, at in since.items()))
        known = {(task.agent, task.id) for task in tasks}
        fresh = [task for listed in lists for task in listed if (task.agent, task.id) not in known]
        self.report.found += [f"{task.agent}/{task.id}" for task in fresh]
        return fresh

    async def _list(self, peer: Peer, since: int) -> list[OpenTask]:
        """Newest first: what moves while pages are turned can be skipped, so the beginning is read again until it is known."""
        if (await peer.meet()).version != "1.0":
            return []
        found: dict[str, None] = {}
        token, fresh = "", True
        try:
            while fresh and len(found) < MOST_LISTED:
                page = await self._page(peer, since, token)
                ids = [task_of(shape(task)).task for task in items(page.get("tasks"))]
                fresh = any(id not in found for id in ids)
                found |= dict.fromkeys(id for id in ids if id)
                token = text(page.get("nextPageToken"))
        except Gone as problem:
            self.report.silent[peer.name] = str(problem)
        return [OpenTask(id, peer.name) for id in found]

    async def _page(self, peer: Peer, since: int, token: str) -> dict[str, Any]:
        more = {"pageToken": token} if token else {}
        heard = await peer.list_tasks(pageSize=PAGE, statusTimestampAfter=iso(since), **more)
        return shape(heard.content) if heard.kind == "tasks" else {}
