"""The live feed, as server-sent events: what changed, at most ten times a second, resumable by its number.

A reader that cannot keep up is not waited for: it gets `event: resync`, which tells it to load everything
again, and the connection ends. So does one whose last number is too long ago.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
from aiohttp import web

from ramify.model.mistake import UserMistake
from ramify.web.errors import Refused
from ramify.web.guard import asked_by
from ramify.web.route import Parameter, read_parameters, read_value
from ramify.web.served import IDENTITY, Batch, seen

COALESCE_SECONDS = 0.1
PING_SECONDS = 15.0
STUCK_SECONDS = 30.0
LOOK_SECONDS = 2.0  # so often it is asked whether a reader still may read
MOST_WAITING = 20_000  # changes that a reader may lag behind
MOST_IN_EVENT = 200  # a browser takes in an event at one go, and must still draw its frames

log = logging.getLogger("ramify.web")
READERS: web.AppKey[set[asyncio.Task[Any]]] = web.AppKey("readers")

SINCE = Parameter("since", "integer", "the number of the last change already known")
RESYNC = b"event: resync\ndata: {}\n\n"
HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # some reverse proxies hold streams back without it
}


class Waiting:
    """Changes between the hub and one reader."""

    def __init__(self) -> None:
        self.seq = 0
        self.changes: list[dict[str, Any]] = []
        self.ended = False
        self.arrived = asyncio.Event()

    async def fill(self, batches: AsyncIterator[Batch]) -> None:
        try:
            async for seq, changes in batches:
                self.seq = seq
                self.changes += changes
                self.arrived.set()
                if len(self.changes) > MOST_WAITING:
                    break
        except Exception:
            log.exception("live feed failed")  # the reader starts again, as after any other end
        finally:
            self.ended = True
            self.arrived.set()

    @property
    def lost(self) -> bool:
        return len(self.changes) > MOST_WAITING

    def take(self) -> Iterator[bytes]:
        """Everything that waits. Of several events only the last has a number: who hears less asks for all of it again."""
        seq, changes = self.seq, self.changes
        self.changes = []
        for start in range(0, len(changes), MOST_IN_EVENT):
            part = changes[start : start + MOST_IN_EVENT]
            more = start + MOST_IN_EVENT < len(changes)
            body = msgspec.json.encode({"seq": seq, "changes": part} | ({"more": True} if more else {}))
            yield (b"" if more else b"id: %d\n" % seq) + b"event: changes\ndata: %s\n\n" % body


def since(request: web.Request) -> int | None:
    """A reader that reconnects says where it was in a header, which is newer than the address."""
    given = read_parameters(request.query.items(), (SINCE,))["since"]
    header = request.headers.get("last-event-id", "").strip()
    if not header:
        return int(given) if given is not None else None
    try:
        return int(read_value(SINCE, header))
    except UserMistake as mistake:
        raise UserMistake(f'The header Last-Event-ID is "{header[:60]}"', mistake.hint) from None


async def live(request: web.Request) -> web.StreamResponse:
    start = since(request)
    response = web.StreamResponse(headers=HEADERS)
    async with registered(request), seen(request).hub.subscribe(start) as batches:
        await response.prepare(request)
        waiting = Waiting()
        filling = asyncio.create_task(waiting.fill(batches))
        try:
            await send(response, b"retry: 1000\n\n")
            await deliver(response, waiting)
        except (ConnectionError, TimeoutError):
            abort(request)
        finally:
            filling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await filling
    return response


async def deliver(response: web.StreamResponse, waiting: Waiting) -> None:
    while True:
        try:
            await asyncio.wait_for(waiting.arrived.wait(), PING_SECONDS)
        except TimeoutError:
            await send(response, b": ping\n\n")
            continue
        await asyncio.sleep(COALESCE_SECONDS)
        waiting.arrived.clear()
        if waiting.changes and not waiting.lost:
            for event in waiting.take():
                await send(response, event)
        if waiting.ended and (waiting.lost or not waiting.changes):
            await send(response, RESYNC)
            return


@contextlib.asynccontextmanager
async def registered(request: web.Request) -> AsyncIterator[None]:
    task = asyncio.current_task()
    assert task is not None
    request.app[READERS].add(task)
    watching = asyncio.create_task(watch(request, task))
    try:
        yield
    finally:
        watching.cancel()
        request.app[READERS].discard(task)


async def watch(request: web.Request, feed: asyncio.Task[Any]) -> None:
    """A feed goes on for hours: it ends when whoever opened it may no longer ask."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            now = await asked_by(request)
        except Refused:
            break
        if now != request[IDENTITY]:
            break
    abort(request)
    feed.cancel()


async def readers(app: web.Application) -> AsyncIterator[None]:
    """A feed never ends by itself, so a server that stops must end it."""
    tasks: set[asyncio.Task[Any]] = set()
    app[READERS] = tasks
    app.on_shutdown.append(dismiss)
    yield


async def dismiss(app: web.Application) -> None:
    tasks = app[READERS]
    for task in list(tasks):
        task.cancel()


async def send(response: web.StreamResponse, event: bytes) -> None:
    await asyncio.wait_for(response.write(event), STUCK_SECONDS)


def abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
