"""A reverse proxy that watches: every byte goes on as it came, and what passed is told to a sink afterwards.

Observations are made when the bytes they speak of are out.
The server must run with `SERVER_OPTIONS`: without `handler_cancellation` a client that leaves is noticed only
at the next write, and without `auto_decompress=False` compressed requests would be unpacked on the way.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

from aiohttp import ClientError, hdrs, web
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import HttpProcessingError, RawResponseMessage, StreamWriter
from aiohttp.streams import StreamReader
from multidict import istr

from ramify.capture.answer import Answer, ClientLeft
from ramify.capture.head import request_head
from ramify.capture.pool import LONGEST_FIELD, MOST_FIELDS, READ_BUFFER, Pool
from ramify.capture.tee import Asked, Exchange, Sink, Watch

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

PREFIX = "/anthropic"
PROJECT = istr("x-ramify-project")
BODY_LIMIT = 64 * 2**20
A_MOMENT = 0.01
"""Seconds. Putting the pieces of a large request together must not meet its answer on the way back."""
UPSTREAM_LEFT = (ClientError, HttpProcessingError, ConnectionError)
"""What reading an answer raises when no whole answer will come."""


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
    ) -> None:
        self._pool = Pool(upstream)
        self._project = project
        self._new_id = new_id
        self._watch = Watch(sink, clock, fingerprint, body_limit)

    @property
    def lost(self) -> int:
        """Observations that the sink refused with an exception. No client noticed."""
        return self._watch.lost

    async def close(self) -> None:
        self._pool.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        exchange = self._exchange(request)
        answer = Answer(request)
        try:
            try:
                connection = await self._pool.connect(request.method)
            except OSError as error:
                await self._refuse(request, answer, exchange, error)
            else:
                await self._relay(request, answer, connection, exchange)
        except (ClientLeft, asyncio.CancelledError) as left:
            exchange.tell_response("aborted", "the client left")
            if isinstance(left, asyncio.CancelledError):
                raise
        except Exception as error:
            exchange.tell_response("failed", f"ramify failed: {error!r}")
            raise
        return answer

    def _exchange(self, request: web.Request) -> Exchange:
        project = request.headers.get(PROJECT) or self._project
        path = target(request.raw_path)
        asked = Asked(self._new_id(), project, request.method, path, request.raw_headers)
        return Exchange(asked, self._watch)

    async def _relay(
        self, request: web.Request, answer: Answer, connection: ResponseHandler, exchange: Exchange
    ) -> None:
        whole = False
        sending = await self._send(request, connection, exchange)
        try:
            message, payload = await final(connection)
            await answer.relay(message, payload, exchange)
            whole = sending is None or sending.done()
            asyncio.get_running_loop().call_soon(exchange.tell_response, "complete")
        except UPSTREAM_LEFT as error:
            if sending is not None and sending.done() and sending.exception():
                raise ClientLeft from error
            answer.cut()
            exchange.tell_response("cut", f"the upstream closed early: {error!r}")
        finally:
            if sending is not None:
                sending.cancel()
            if whole:
                self._pool.release(connection)
            else:
                drop(connection)

    async def _send(
        self, request: web.Request, connection: ResponseHandler, exchange: Exchange
    ) -> asyncio.Task[None] | None:
        """A body that is already here goes out with its head in one piece; else a task carries it across."""
        chunked = hdrs.TRANSFER_ENCODING in request.headers
        path = self._pool.base_path + target(request.raw_path)
        head = request_head(request.method, path, request.raw_headers, self._pool.host, chunked=chunked)
        loop = asyncio.get_running_loop()
        writer = StreamWriter(connection, loop)
        if not request.content.is_eof() or chunked:
            await writer.write(head)
            if chunked:
                writer.enable_chunking()
            return loop.create_task(carry(request.content, writer, exchange, connection))
        body = request.content.read_nowait()
        exchange.request_body.add(body)
        await writer.write(head + body, drain=False)
        loop.call_soon(exchange.tell_request)
        return None

    async def _refuse(self, request: web.Request, answer: Answer, exchange: Exchange, error: OSError) -> None:
        """The rest of the request is read all the same: it is what a person will want to see."""
        while piece := await request.content.readany():
            exchange.request_body.add(piece)
        reason = (
            f"ramify: cannot reach upstream {self._pool.upstream} ({error or type(error).__name__}). "
            "Check the network, or give another address with --anthropic-upstream."
        )
        body = {"type": "error", "error": {"type": "api_error", "message": reason}}
        await answer.refuse(502, json.dumps(body).encode(), exchange)
        exchange.tell_response("failed", reason)


async def carry(
    content: StreamReader, writer: StreamWriter, exchange: Exchange, connection: ResponseHandler
) -> None:
    """The request's body, piece by piece. Ends with an exception only when it was the client that failed."""
    while True:
        try:
            piece = (await content.readchunk())[0]  # readany() would copy the pieces into one
        except Exception:
            drop(connection)  # wakes whoever waits for an answer that cannot come
            raise
        try:
            if not piece and content.at_eof():
                await writer.write_eof()
                break
            exchange.request_body.add(piece)
            await writer.write(piece)
        except ConnectionError:
            return  # the upstream left: perhaps with an answer, which its reader will find
    asyncio.get_running_loop().call_later(A_MOMENT, exchange.tell_request)


async def final(connection: ResponseHandler) -> tuple[RawResponseMessage, StreamReader]:
    """Skips 1xx: the server has said `100 Continue` itself, and nothing else of the kind is asked for."""
    while True:
        message, payload = await connection.read()
        if not 100 <= message.code < 200 or message.code == 101:
            return message, payload


def drop(connection: ResponseHandler) -> None:
    """At once, without flushing. Its own `abort` would leave a reader of the answer waiting for ever."""
    if connection.transport is not None:
        connection.transport.abort()


def target(raw_path: str) -> str:
    if raw_path == PREFIX or raw_path.startswith((PREFIX + "/", PREFIX + "?")):
        rest = raw_path.removeprefix(PREFIX)
        return rest if rest.startswith("/") else "/" + rest
    return raw_path
