"""One named agent: what is asked of it and what it answers, with its card rewritten so that clients come back here."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from aiohttp import hdrs, web
from aiohttp.http import RawResponseMessage, StreamWriter
from aiohttp.streams import StreamReader

from ramify.capture.a2a import cards
from ramify.capture.a2a.secrets import scheme_names
from ramify.capture.a2a.watching import FramedExchange
from ramify.capture.answer import Answer, left_over
from ramify.capture.head import request_head
from ramify.capture.pool import Pool
from ramify.capture.relay import Outgoing, Refusal, Relay, drop, final
from ramify.capture.tee import Asked, RawHeaders, Watch, Watched, find

log = logging.getLogger("ramify")
IDLE_SECONDS = 3.0
"""Many agents run on uvicorn, which closes what was quiet for five seconds."""
LARGEST_QUESTION = 4096
"""A request for the extended card has no parameters."""
LARGEST_CARD = 16 * 2**20
# A packed answer could not be rewritten, nor read as it streams.
NOT_SENT = frozenset((b"accept-encoding",))
# Whether a card is new is ours to say: the client has seen another one than the agent gave.
NOT_SENT_FOR_CARDS = NOT_SENT | {b"if-none-match", b"if-modified-since", b"range"}


class Agent:
    def __init__(self, name: str, url: str, watch: Watch) -> None:
        self.name = name
        self.url = url.rstrip("/")
        self._watch = watch
        self._pool = Pool(self.url, IDLE_SECONDS)
        self._relay = Relay(self._pool, self._refusal)
        self._secret_names: frozenset[str] = frozenset()  # headers that its card calls keys
        self._said: set[str] = set()

    def close(self) -> None:
        self._pool.close()

    async def handle(self, request: web.Request, asked: Asked, rest: str, ours: str) -> web.StreamResponse:
        """`rest` is the path below the agent's address; `ours` is the address that a client should use instead."""
        exchange = FramedExchange(asked, self.name, self._secret_names, self._watch)
        if not await asks_for_card(request, rest):
            return await self._relay.carry_out(request, self._outgoing(request, rest, NOT_SENT), exchange)
        outgoing = self._outgoing(request, rest, NOT_SENT_FOR_CARDS)
        answering = partial(self._answer_card, request, outgoing, rest, ours)
        return await self._relay.carry_out(request, outgoing, exchange, answering)

    def _outgoing(self, request: web.Request, rest: str, away: frozenset[bytes]) -> Outgoing:
        headers = tuple(pair for pair in request.raw_headers if pair[0].lower() not in away)
        path = self._pool.base_path + rest
        return Outgoing(request.method, path if path.startswith("/") else "/" + path, headers)

    async def _answer_card(
        self,
        request: web.Request,
        outgoing: Outgoing,
        rest: str,
        ours: str,
        answer: Answer,
        message: RawResponseMessage,
        payload: StreamReader,
        exchange: Watched,
    ) -> None:
        """The card of an agent below a path often stands at the root of its host: there it is looked for as well."""
        at_root = Outgoing(outgoing.method, rest, outgoing.headers)
        if message.code == 404 and outgoing.path != rest and rest.startswith(cards.WELL_KNOWN):
            try:
                async with self._asked(at_root) as (message, payload):
                    await self._give_card(request, ours, answer, message, payload, exchange)
                return
            except OSError:
                pass  # it answered a moment ago; what it said then is passed on
        await self._give_card(request, ours, answer, message, payload, exchange)

    @asynccontextmanager
    async def _asked(self, outgoing: Outgoing) -> AsyncIterator[tuple[RawResponseMessage, StreamReader]]:
        connection = await self._pool.connect(outgoing.method)
        try:
            writer = StreamWriter(connection, asyncio.get_running_loop())
            await writer.write(request_head(*outgoing, self._pool.host, chunked=False))
            yield await final(connection)
        finally:
            drop(connection)

    async def _give_card(
        self,
        request: web.Request,
        ours: str,
        answer: Answer,
        message: RawResponseMessage,
        payload: StreamReader,
        exchange: Watched,
    ) -> None:
        headers = message.raw_headers
        if message.code != 200 or b"json" not in find(headers, b"content-type") or find(headers, b"content-encoding"):
            await answer.relay(message, payload, exchange)
            return
        exchange.answer(message.code, headers)
        body = await payload.read()
        exchange.receive(body)
        if request.method == "HEAD":  # of a card whose size and tag are not those that a client will get
            await answer.give(200, tuple(pair for pair in headers if pair[0].lower() not in cards.REWRITTEN), b"")
            return
        await self._give(request, answer, headers, self._rewritten(body, ours))

    async def _give(self, request: web.Request, answer: Answer, headers: RawHeaders, body: bytes) -> None:
        tag = cards.entity_tag(body)
        if request.method == "GET" and cards.is_known(request.headers.get(hdrs.IF_NONE_MATCH, ""), tag):
            await answer.give(304, cards.unchanged_headers(headers, tag), b"")
            return
        await answer.give(200, cards.new_headers(headers, body, tag), body)

    def _rewritten(self, body: bytes, ours: str) -> bytes:
        """A card that we cannot rewrite goes on as it is: an agent is not to fail because it is watched."""
        if len(body) > LARGEST_CARD:
            return body
        rewritten = cards.rewrite(body, self.url, ours)
        for card in rewritten.cards:
            self._secret_names |= frozenset(scheme_names(card))
        for warning in rewritten.warnings:
            self._say(warning)
        return rewritten.body

    def _say(self, warning: str) -> None:
        if warning not in self._said:
            self._said.add(warning)
            log.warning("a2a agent %s: %s", self.name, warning)

    def _refusal(self, error: OSError) -> Refusal:
        reason = f"ramify: cannot reach the agent {self.name!r} at {self.url} ({error or type(error).__name__})"
        hint = "Start the agent, or give its address with --a2a NAME=URL"
        body = {"error": {"code": "agent_unreachable", "message": reason, "hint": hint}}
        return Refusal(reason, json.dumps(body).encode())


async def asks_for_card(request: web.Request, rest: str) -> bool:
    """By its path; or, over JSON-RPC, by its method, for which a small body is waited for. It stays to be read."""
    if request.method in ("GET", "HEAD"):
        return cards.is_card_path(rest)
    if request.method != "POST" or not 0 < (request.content_length or 0) <= LARGEST_QUESTION:
        return False
    await request.content.wait_eof()
    return any(method in left_over(request.content) for method in cards.METHODS)
