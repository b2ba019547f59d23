"""One named agent: what is asked of it and what it answers, with its card rewritten so that clients come back here."""

import json
import logging
from functools import partial

from aiohttp import web

from ramify.capture.a2a import cards
from ramify.capture.a2a.card_answer import CardAnswer, asks_for_card
from ramify.capture.a2a.secrets import scheme_names
from ramify.capture.a2a.watching import FramedExchange
from ramify.capture.pool import Pool
from ramify.capture.relay import Outgoing, Refusal, Relay
from ramify.capture.tee import Asked, Watch

log = logging.getLogger("ramify")
IDLE_SECONDS = 3.0
"""Many agents run on uvicorn, which closes what was quiet for five seconds."""
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
        card = CardAnswer(request, outgoing, rest, self._pool, partial(self._rewritten, ours))
        return await self._relay.carry_out(request, outgoing, exchange, card.give)

    def _outgoing(self, request: web.Request, rest: str, away: frozenset[bytes]) -> Outgoing:
        headers = tuple(pair for pair in request.raw_headers if pair[0].lower() not in away)
        path = self._pool.base_path + rest
        return Outgoing(request.method, path if path.startswith("/") else "/" + path, headers)

    def _rewritten(self, ours: str, body: bytes) -> bytes:
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
