"""The session's events as they are stored: everything behind a number, once and in order, then live.

The stream reads the log itself and is only woken by news, so that nothing can be missed between the two. A reader that
does not take what it is sent is cut off; it comes back with the last number that it has.
"""

import asyncio
from typing import Any

import msgspec
from aiohttp import web

from ramify.model.mistake import UserMistake
from ramify.web.event_questions import AFTER, STREAMED, check_names, number
from ramify.web.event_sessions import Caller
from ramify.web.events import aside, failure, log_of
from ramify.web.live import HEADERS, abort, registered, send
from ramify.web.route import read_integer
from ramify.web.served import EventLog, seen

PING_SECONDS = 15.0
LOOK_SECONDS = 1.0  # another process may have written, and nobody told
PAGE = 500


def start_of(request: web.Request) -> int | None:
    header = request.headers.get("last-event-id", "").strip()
    if header:
        return read_integer(AFTER, header, f'The header Last-Event-ID is "{header[:60]}"')
    return number(request.query, AFTER)


async def streamed(request: web.Request) -> web.StreamResponse:
    ramify = seen(request)
    named = request.match_info.get("session")
    caller = Caller(request, ramify.session_secret)
    session = named or caller.session
    try:
        check_names(request.query, {parameter.name: parameter for parameter in STREAMED})
        after, events = start_of(request), log_of(request)
    except UserMistake as mistake:
        status, error = failure(mistake, request)
        return web.json_response({"success": False, "error": error, "timestamp": None}, status=status)
    response = web.StreamResponse(headers=HEADERS)
    if not named:
        caller.tell(response)
    async with registered(request):
        await response.prepare(request)
        stream = Stream(request, response, events, session)
        events.follows(session, 1)
        try:
            await stream.run(after)
        except (ConnectionError, TimeoutError):
            abort(request)
        finally:
            events.follows(session, -1)
    return response


class Stream:
    def __init__(self, request: web.Request, response: web.StreamResponse, events: EventLog, session: str) -> None:
        self.request = request
        self.response = response
        self.events = events
        self.session = session
        self.query = request.query
        self.seq = 0
        self.epoch: int | None = None

    async def run(self, after: int | None) -> None:
        await send(self.response, b": ready\nretry: 1000\n\n")
        row, _ = await aside(self.request, self.events.after, self.session, 1 << 62)
        self.epoch = row.epoch if row else 0
        self.seq = (row.seq if row else 0) if after is None else after
        with seen(self.request).news.heard() as arrived:
            await self.follow(arrived)

    async def follow(self, arrived: asyncio.Event) -> None:
        silent = 0.0
        while True:
            arrived.clear()
            if await self.catch_up():
                silent = 0.0
            elif silent >= PING_SECONDS:
                await send(self.response, b": ping\n\n")
                silent = 0.0
            try:
                await asyncio.wait_for(arrived.wait(), LOOK_SECONDS)
            except TimeoutError:
                silent += LOOK_SECONDS

    async def catch_up(self) -> bool:
        """Whether anything was sent."""
        sent = False
        while True:
            row, found = await aside(self.request, self.events.after, self.session, self.seq, PAGE)
            if row is not None and row.epoch != self.epoch:
                self.epoch, self.seq = row.epoch, max(self.seq, row.first - 1)
                await self.frame("cleared", {"firstSeq": row.first}, None)
                continue
            if row is not None and self.seq + 1 < row.first:
                await self.frame("gap", {"from": self.seq + 1, "to": row.first - 1}, None)
                self.seq = row.first - 1
                continue
            for logged, shape in found:
                self.seq = logged.seq
                if self.fits(logged.operation, logged.agent):
                    await self.frame("object" if logged.sort == "object" else "", shape, logged.seq)
                sent = True
            if len(found) < PAGE:
                return sent

    def fits(self, operation: str, agent: str) -> bool:
        return self.query.get("operation_id", operation) == operation and self.query.get("agent_id", agent) == agent

    async def frame(self, name: str, value: dict[str, Any], seq: int | None) -> None:
        head = (b"id: %d\n" % seq if seq is not None else b"") + (b"event: %s\n" % name.encode() if name else b"")
        await send(self.response, head + b"data: " + msgspec.json.encode(value) + b"\n\n")
