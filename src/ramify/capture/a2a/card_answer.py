"""The answer to a client that asks for a card: read whole, rewritten, and given with a tag of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import hdrs, web
from aiohttp.http import RawResponseMessage, StreamWriter
from aiohttp.streams import StreamReader

from ramify.capture.a2a import cards
from ramify.capture.answer import Answer, left_over
from ramify.capture.head import request_head
from ramify.capture.pool import Pool
from ramify.capture.relay import Outgoing, drop, final
from ramify.capture.tee import RawHeaders, Watched, find

LARGEST_QUESTION = 4096
"""A request for the extended card has no parameters."""


@dataclass(frozen=True, slots=True)
class CardAnswer:
    """`give` is how a relay answers such a request. `rest` is its path below the agent's address."""

    request: web.Request
    outgoing: Outgoing
    rest: str
    pool: Pool
    rewritten: Callable[[bytes], bytes]

    async def give(self, answer: Answer, message: RawResponseMessage, payload: StreamReader, exchange: Watched) -> None:
        """The card of an agent below a path often stands at the root of its host: there it is looked for as well."""
        elsewhere = self.rest.startswith(cards.WELL_KNOWN) and self.outgoing.path != self.rest
        if message.code == 404 and elsewhere:
            try:
                async with self._asked_at_root() as (other, content):
                    await self._give(answer, other, content, exchange)
                return
            except OSError:
                pass  # it answered a moment ago; what it said then is passed on
        await self._give(answer, message, payload, exchange)

    @asynccontextmanager
    async def _asked_at_root(self) -> AsyncIterator[tuple[RawResponseMessage, StreamReader]]:
        connection = await self.pool.connect(self.outgoing.method)
        try:
            head = request_head(self.outgoing.method, self.rest, self.outgoing.headers, self.pool.host, chunked=False)
            await StreamWriter(connection, asyncio.get_running_loop()).write(head)
            yield await final(connection)
        finally:
            drop(connection)

    async def _give(self, answer: Answer, message: RawResponseMessage, payload: StreamReader, exchange: Watched) -> None:
        """What is no card, or cannot be read as one, passes as it is."""
        headers = message.raw_headers
        if message.code != 200 or b"json" not in find(headers, b"content-type") or find(headers, b"content-encoding"):
            await answer.relay(message, payload, exchange)
            return
        exchange.answer(message.code, headers)
        body = await payload.read()
        exchange.receive(body)
        if self.request.method == "HEAD":  # of a card whose size and tag are not those that a client will get
            await answer.give(200, tuple(pair for pair in headers if pair[0].lower() not in cards.REWRITTEN), b"")
            return
        await self._give_tagged(answer, headers, self.rewritten(body))

    async def _give_tagged(self, answer: Answer, headers: RawHeaders, body: bytes) -> None:
        tag = cards.entity_tag(body)
        if self.request.method == "GET" and cards.is_known(self.request.headers.get(hdrs.IF_NONE_MATCH, ""), tag):
            await answer.give(304, cards.unchanged_headers(headers, tag), b"")
            return
        await answer.give(200, cards.new_headers(headers, body, tag), body)


async def asks_for_card(request: web.Request, rest: str) -> bool:
    """By its path; or, over JSON-RPC, by its method, for which a small body is waited for. It stays to be read."""
    if request.method in ("GET", "HEAD"):
        return cards.is_card_path(rest)
    if request.method != "POST" or not 0 < (request.content_length or 0) <= LARGEST_QUESTION:
        return False
    await request.content.wait_eof()
    return any(method in left_over(request.content) for method in cards.METHODS)
