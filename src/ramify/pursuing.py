"""Agents that are asked by ourselves: who may be asked, how, and where what they answer is kept."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit

from aiohttp import ClientSession, TCPConnector
from msgspec import Struct, convert

from ramify.acting import Acting, reaching
from ramify.capture.a2a.cards import origin
from ramify.capture.a2a_client.follower import Follower, NotThere, Watcher
from ramify.capture.a2a_client.forest import Followed
from ramify.capture.a2a_client.peer import Gone, NoCard, Peer
from ramify.capture.a2a_client.tape import Place
from ramify.capture.delivery import ServerAt
from ramify.capture.outbox import Away, Destination, Outbox
from ramify.capture.tee import Sink
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation, Record
from ramify.query.errors import NotFound
from ramify.recording import ThroughServer, server_of
from ramify.settings import Settings
from ramify.storage.address import shown
from ramify.storage.base import Store

SECONDS_TO_STORE = 60.0
Take = Callable[[list[Observation]], int]
Shown = dict[str, Any]


class Wish(Struct, frozen=True):
    """What is to be followed: a task that there is, or what comes of these words."""

    url: str
    task: str = ""
    words: str = ""
    resubscribe: bool = False
    headers: dict[str, str] = {}  # for the agent at this address alone


class Outcome(Struct, frozen=True):
    """What was followed, by the id under which it can be asked for; the reply, where it came to no task."""

    id: str
    reply: str = ""


class Here:
    """The store that is open in this process."""

    def __init__(self, take: Take) -> None:
        self._take = take

    def send(self, batch: Sequence[Record]) -> None:
        try:
            self._take(list(batch))
        except UserMistake as problem:
            raise Away(str(problem)) from problem

    def settle(self, seconds: float) -> bool:
        return True


def destination(settings: Settings, take: Take) -> Destination:
    """The server that was named, else the one that writes to this very store, else the store itself."""
    if settings.server:
        return ServerAt(settings.server, settings.token)
    server = server_of(settings)
    return Here(take) if server is None else ThroughServer(server, settings.store, lambda: Here(take))


class Audience(Protocol):
    """Who sees it. `asks` is None where nobody is there to answer questions."""

    asks: Callable[[Shown], Awaitable[str]] | None

    def see(self, task: Shown, tree: Callable[[], Shown]) -> None: ...


def follow_for(settings: Settings, take: Take, wish: dict[str, Any], audience: Audience) -> dict[str, Any]:
    """The same as `follow` for whoever has no loop of their own. Raises NotFound where there is nothing to follow."""
    try:
        outcome = asyncio.run(until_told_to_end(follow(settings, take, convert(wish, Wish), audience)))
    except (NotThere, NoCard, Gone) as problem:
        raise NotFound(f"{problem} — {problem.hint}") from problem
    return {"id": outcome.id, "reply": outcome.reply}


async def until_told_to_end(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Whoever ends this program lets go of the tasks as well as somebody who interrupts it."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def watcher_of(audience: Audience, follower: Callable[[], Follower]) -> Watcher:
    def see(task: Followed) -> None:
        audience.see(follower().forest.line(task), lambda: follower().forest.picture())

    async def asks(task: Followed) -> str:
        assert audience.asks is not None
        return await audience.asks(follower().forest.line(task))

    return Watcher(see, asks if audience.asks is not None else None)


async def follow(settings: Settings, take: Take, wish: Wish, audience: Audience) -> Outcome:
    """Everything that was heard is stored when this ends, in whichever way. Raises NotThere, Gone, NoCard."""
    outbox = Outbox(lambda: destination(settings, take))
    try:
        agents = await asyncio.to_thread(known_agents, settings)
        async with peers(agents, outbox, settings.project or "default") as (named, http, place):
            first = Peer(wish.url, http, place, name_of(wish.url, agents, settings.address), wish.headers)
            others = [peer for peer in named if peer.name != first.name]
            follower = Follower(first, others, watcher_of(audience, lambda: follower), wish.resubscribe)
            await (follower.attach(wish.task) if wish.task else follower.say(wish.words))
            return outcome_of(follower, first.name)
    finally:
        if not outbox.flush(SECONDS_TO_STORE):
            raise UserMistake(f"the store {shown(settings.store)} did not take everything that was heard", "see ramify doctor")


def act_for(settings: Settings, store: Store, take: Take, what: str, id: str, wish: dict[str, Any]) -> dict[str, Any]:
    """A person's act without a server: agents are reached at their own addresses, and what is said is stored."""
    outbox = Outbox(lambda: Here(take))
    acting = Acting(store, reaching(settings.a2a, lambda project: Place(outbox, project, now), lambda project: {}))
    try:
        return asyncio.run(acting.cancel(id) if what == "cancel" else acting.answer(id, wish["text"], wish["data"]))
    finally:
        outbox.flush(SECONDS_TO_STORE)


def outcome_of(follower: Follower, agent: str) -> Outcome:
    root = follower.forest.root
    if root.id:
        return Outcome(f"a2a:task:{agent}/{root.id}")
    return Outcome(f"a2a:message:{agent}/{follower.said}", follower.reply)


@asynccontextmanager
async def peers(agents: Mapping[str, str], sink: Sink, project: str) -> AsyncIterator[tuple[list[Peer], ClientSession, Place]]:
    """The agents that were named. No proxy of the environment is used, no cookie kept."""
    place = Place(sink, project, now)
    async with ClientSession(connector=TCPConnector(limit=0, limit_per_host=0), trust_env=False) as http:
        yield [Peer(url, http, place, name) for name, url in agents.items()], http, place


def known_agents(settings: Settings) -> dict[str, str]:
    """Those that are named here, and those that the server of this store was given. What cards say of themselves is no name."""
    server = ServerAt(settings.server, settings.token) if settings.server else server_of(settings)
    return {**(server.agents() if server else {}), **settings.a2a}


def name_of(url: str, agents: Mapping[str, str], ours: str) -> str:
    """An agent is known by where it is, or by the way through our own proxy; its card may stand elsewhere on its host."""
    given = urlsplit(url)
    path = given.path.partition("/.well-known/")[0].rstrip("/")
    if origin(given) == origin(urlsplit(ours)) and path.startswith("/a2a/"):
        name = path.split("/")[2]
        return name if name in agents else ""
    there = {name: urlsplit(address) for name, address in agents.items() if origin(urlsplit(address)) == origin(given)}
    exact = [name for name, place in there.items() if place.path.rstrip("/") == path]
    return (exact or list(there))[0] if exact or len(there) == 1 else ""


def now() -> int:
    return time.time_ns() // 1000
