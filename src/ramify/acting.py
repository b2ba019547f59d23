"""What a person does to tasks of A2A agents: a question is answered, a task and what it started are canceled.

Agents are only asked. What comes of it is seen like everything else, on the way or by looking.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

from aiohttp import ClientSession, TCPConnector
from msgspec import Struct

from ramify.capture.a2a_client.heard import NOT_CANCELABLE, NOT_FOUND, Heard, is_over
from ramify.capture.a2a_client.peer import Gone, NoCard, Peer
from ramify.capture.a2a_client.question import Said
from ramify.capture.a2a_client.tape import Place
from ramify.model.entity import Task
from ramify.model.mistake import Conflict, Refused, UserMistake
from ramify.query.family import descend
from ramify.query.resolve import resolve
from ramify.storage.base import Store

Answer = dict[str, Any]
Reached = AbstractAsyncContextManager[Callable[[str], Peer]]
Reach = Callable[[str], Reached]
"""For a project: the agents that were named, each by its name. Raises Conflict for any other."""
FINE = (NOT_FOUND, NOT_CANCELABLE)


class Known(Struct, frozen=True):
    """A task as its own agent knows it."""

    row: Task
    native: str
    context: str
    above: str = ""  # the agent that named it, as long as nobody has shown more of it: it may be that one's own

    @property
    def agent(self) -> str:
        return self.row.agent or self.above


def known_task(store: Store, id: str) -> Known:
    _, row = resolve(store, id, ("tasks",))
    assert isinstance(row, Task)
    known = as_known(row)
    if known is None:
        what = "nobody knows its agent" if row.protocol == "a2a" else "it is no task of an A2A agent"
        raise Conflict(f"{id!r} cannot be asked about: {what}", "name its agent with --a2a NAME=URL, and look again")
    return known


def as_known(row: Task) -> Known | None:
    refs = {ref.kind: ref.value for ref in row.refs if ref.protocol == "a2a"}
    return Known(row, refs["task"], refs.get("context", "")) if "task" in refs and row.agent and not row.named else None


def as_named(row: Task, above: str) -> Known | None:
    """An agent named it, and nobody has seen more of it: mostly it has just begun, on the same agent."""
    native = next((ref.value for ref in row.refs if ref.protocol == "a2a" and ref.kind == "task"), "")
    return Known(row, native, "", above) if row.named and native and above else None


class Acting:
    """Both acts, for whoever has a store and a way to reach agents."""

    def __init__(self, store: Store, reach: Reach) -> None:
        self._store = store
        self._reach = reach

    async def answer(self, id: str, text: str, data: Any) -> Answer:
        task = await asyncio.to_thread(known_task, self._store, id)
        return await answer(task, self._reach, text, data)

    async def cancel(self, id: str) -> Answer:
        task = await asyncio.to_thread(known_task, self._store, id)
        return await cancel(task, await asyncio.to_thread(below, self._store, task.row), self._reach)


def reaching(addresses: Mapping[str, str], place: Callable[[str], Place], headers: Callable[[str], dict[str, str]]) -> Reach:
    """Agents by the names that somebody gave them, and nobody else."""

    @asynccontextmanager
    async def reach(project: str) -> AsyncIterator[Callable[[str], Peer]]:
        async with ClientSession(connector=TCPConnector(limit=0), trust_env=False) as http:

            def named(agent: str) -> Peer:
                if agent not in addresses:
                    known = ", ".join(sorted(addresses)) or "none"
                    raise Conflict(f"the agent {agent!r} was not named; known: {known}", "name it with --a2a NAME=URL")
                return Peer(addresses[agent], http, place(project), agent, headers(project))

            yield named

    return reach


# -- answers ------------------------------------------------------------------------------------------------------------


async def answer(task: Known, reach: Reach, text: str, data: Any) -> Answer:
    """Sent to the task that asks, in its own context; what the agent makes of it is not waited for."""
    if (data is None) == (not text.strip()):
        raise UserMistake("an answer is either a text or data", 'give one of them: {"text": …} or {"data": …}')
    async with reach(task.row.project) as agents:
        peer = agents(task.agent)
        with refusals(task):
            await check_waiting(task, peer)
            said = Said(f"ramify-{secrets.token_hex(12)}", text, data, task.native, task.context)
            heard = await peer.tell(said)
    if heard.kind == "error":
        raise Refused(f"{task.agent} does not take the answer: {heard.reason} ({heard.code})", "somebody else may have answered")
    return {"task": task.row.id, "agent": task.agent, "message": said.id, "status": heard.state or None}


async def check_waiting(task: Known, peer: Peer) -> None:
    """The agent itself knows better than we do, unless we know that it waits."""
    state = task.row.status
    if state != "input-required":
        state = (await peer.show(task.native)).state or state
    if state == "auth-required":
        raise Conflict("the task waits for a login", "log in where its agent says; secrets are not passed on from here")
    if state != "input-required":
        raise Conflict(f"the task waits for no answer: it is {state or 'unknown'}", "somebody else may have answered")


# -- cancellations ------------------------------------------------------------------------------------------------------


async def cancel(task: Known, below: Sequence[Known], reach: Reach) -> Answer:
    """The parent first; its agent may cancel what is below. Then, from the top down, what is still open."""
    items: list[Answer] = []
    async with reach(task.row.project) as agents:
        with refusals(task):
            items.append(await cancel_one(task, agents(task.agent)))
        items += [await cancel_if_open(child, agents) for child in below]
    return {"items": items, "next": None}


async def cancel_one(task: Known, peer: Peer) -> Answer:
    heard = await peer.cancel(task.native)
    after = await peer.show(task.native)
    return outcome(task, heard, after)


async def cancel_if_open(task: Known, agents: Callable[[str], Peer]) -> Answer:
    """Whatever goes wrong with one of them is said of that one."""
    try:
        peer = agents(task.agent)
        before = await peer.show(task.native)
        if before.kind == "task" and not is_over(before.state):
            return await cancel_one(task, peer)
        if before.kind != "task" and task.above:
            return {**outcome(task, Heard(""), Heard("")), "asked": False, "error": f"it was only named so far, and {task.above} does not have it"}
    except (Gone, NoCard, Conflict) as problem:
        return {**outcome(task, Heard(""), Heard("")), "error": str(problem)}
    return {**outcome(task, Heard(""), before), "asked": False}


def outcome(task: Known, heard: Heard, after: Heard) -> Answer:
    error = heard.reason if heard.kind == "error" and heard.code not in FINE else None
    status = after.state or heard.state or task.row.status
    return {"task": task.row.id, "agent": task.agent, "asked": True, "status": status or None, "error": error}


def below(store: Store, task: Task) -> list[Known]:
    """Everything under it whose agent is known, or may be the one above; parents before their children."""
    found: list[Known] = []
    whose = {task.id: task.agent}
    for row in preorder(descend(store, [task]), task.id):
        known = as_known(row) or as_named(row, whose.get(row.parent, ""))
        whose[row.id] = known.agent if known is not None else whose.get(row.parent, "")
        found += [known] if known is not None else []
    return found


def preorder(family: Mapping[str, Sequence[Task]], id: str) -> Iterator[Task]:
    waiting = list(reversed(family.get(id, ())))
    while waiting:
        row = waiting.pop()
        yield row
        waiting += reversed(family.get(row.id, ()))


@contextmanager
def refusals(task: Known) -> Iterator[None]:
    """An agent that cannot be asked is nobody's bug."""
    try:
        yield
    except (Gone, NoCard) as problem:
        raise Refused(f"the agent {task.agent} could not be asked: {problem}", "is it running?") from problem
