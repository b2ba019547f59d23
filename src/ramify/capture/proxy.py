"""A reverse proxy that watches: every byte goes on as it came, and what passed is told to a sink afterwards.

Observations are made when the bytes they speak of are out.
The server must run with `SERVER_OPTIONS`: without `handler_cancellation` a client that leaves is noticed only
at the next write, and without `auto_decompress=False` compressed requests would be unpacked on the way.
"""

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from aiohttp import web

from ramify.capture.pool import LONGEST_FIELD, MOST_FIELDS, READ_BUFFER, Pool
from ramify.capture.relay import Outgoing, Refusal, Relay
from ramify.capture.tee import Asked, Clock, Exchange, Sink, Watch
from ramify.whose import project_of

SERVER_OPTIONS: Final[dict[str, Any]] = {
    "handler_cancellation": True,
    "auto_decompress": False,
    "read_bufsize": READ_BUFFER,
    "max_line_size": LONGEST_FIELD,
    "max_field_size": LONGEST_FIELD,
    "max_headers": MOST_FIELDS,
    "access_log": None,
}
"""Keyword arguments for `aiohttp.web.AppRunner`. Other routes must unpack compressed bodies themselves."""

BODY_LIMIT = 64 * 2**20


class Provider(NamedTuple):
    """A model's API: the prefix under which clients may reach it here, the setting that names its place, and its form of errors."""

    prefix: str
    setting: str
    problem: Callable[[str], dict[str, Any]]


ANTHROPIC = Provider("/anthropic", "--anthropic-upstream", lambda text: {"type": "error", "error": {"type": "api_error", "message": text}})
OPENAI = Provider("/openai", "--openai-upstream", lambda text: {"error": {"message": text, "type": "server_error", "param": None, "code": None}})


class Proxy:
    """`handle` is the handler of every route that is passed on; `close` when the server has stopped."""

    def __init__(
        self,
        upstream: str,
        sink: Sink,
        project: str,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        fingerprint: Callable[[str], str],
        body_limit: int = BODY_LIMIT,
        provider: Provider = ANTHROPIC,
        ticks: Clock | None = None,
    ) -> None:
        self._provider = provider
        self._pool = Pool(upstream)
        self._relay = Relay(self._pool, self._refusal)
        self._project = project
        self._new_id = new_id
        self._watch = Watch(sink, clock, fingerprint, body_limit, ticks)

    @property
    def lost(self) -> int:
        """Observations that the sink refused with an exception. No client noticed."""
        return self._watch.lost

    async def close(self) -> None:
        self._pool.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = target(request.raw_path, self._provider.prefix)
        project = project_of(request, self._project)
        asked = Asked(self._new_id(), project, request.method, path, request.raw_headers)
        outgoing = Outgoing(request.method, self._pool.base_path + path, request.raw_headers)
        return await self._relay.carry_out(request, outgoing, Exchange(asked, self._watch))

    def _refusal(self, error: OSError) -> Refusal:
        reason = (
            f"ramify: cannot reach upstream {self._pool.upstream} ({error or type(error).__name__}). "
            f"Check the network, or give another address with {self._provider.setting}."
        )
        return Refusal(reason, json.dumps(self._provider.problem(reason)).encode())


def target(raw_path: str, prefix: str) -> str:
    if raw_path == prefix or raw_path.startswith((prefix + "/", prefix + "?")):
        rest = raw_path.removeprefix(prefix)
        return rest if rest.startswith("/") else "/" + rest
    return raw_path
