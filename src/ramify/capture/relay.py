"""One exchange across: a request to an upstream and its answer back, byte for byte, with somebody watching."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from aiohttp import ClientError, hdrs, web
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import HttpProcessingError, RawResponseMessage, StreamWriter
from aiohttp.streams import StreamReader

from ramify.capture.answer import Answer, ClientLeft
from ramify.capture.head import request_head
from ramify.capture.pool import Pool
from ramify.capture.tee import RawHeaders, Watched

A_MOMENT = 0.01
"""Seconds. Putting the pieces of a large request together must not meet its answer on the way back."""
UPSTREAM_LEFT = (ClientError, HttpProcessingError, ConnectionError)
"""What reading an answer raises when no whole answer will come."""


class Outgoing(NamedTuple):
    """What the upstream is asked; its body is the request's own."""

    method: str
    path: str
    headers: RawHeaders


Answering = Callable[[Answer, RawResponseMessage, StreamReader, Watched], Awaitable[None]]
"""How the upstream's answer reaches the client."""


class Refusal(NamedTuple):
    """What a client is told when nobody can be asked."""

    reason: str
    body: bytes


class Relay:
    def __init__(self, pool: Pool, refusal: Callable[[OSError], Refusal]) -> None:
        self._pool = pool
        self._refusal = refusal

    async def carry_out(
        self, request: web.Request, outgoing: Outgoing, exchange: Watched, answering: Answering = Answer.relay
    ) -> web.StreamResponse:
        answer = Answer(request)
        try:
            try:
                connection = await self._pool.connect(outgoing.method)
            except OSError as error:
                await self._refuse(request, answer, exchange, error)
            else:
                sending = await self._send(request, outgoing, connection, exchange)
                await self._relay(answer, connection, exchange, sending, answering)
        except (ClientLeft, asyncio.CancelledError) as left:
            exchange.tell_response("aborted", "the client left")
            if isinstance(left, asyncio.CancelledError):
                raise
        except Exception as error:
            exchange.tell_response("failed", f"ramify failed: {error!r}")
            raise
        return answer

    async def _relay(
        self,
        answer: Answer,
        connection: ResponseHandler,
        exchange: Watched,
        sending: asyncio.Task[None] | None,
        answering: Answering,
    ) -> None:
        whole = False
        try:
            message, payload = await final(connection)
            await answering(answer, message, payload, exchange)
            whole = sending is None or sending.done()
            asyncio.get_running_loop().call_soon(exchange.tell_response, "complete")
        except UPSTREAM_LEFT as error:
            if sending is not None and sending.done() and sending.exception():
                raise ClientLeft from error
            answer.cut()
            exchange.tell_response("cut", f"the upstream closed early: {error!r}")
            let_go(error)
        finally:
            if sending is not None:
                sending.cancel()
            if whole:
                self._pool.release(connection)
            else:
                drop(connection)

    async def _send(
        self, request: web.Request, outgoing: Outgoing, connection: ResponseHandler, exchange: Watched
    ) -> asyncio.Task[None] | None:
        """A body that is already here goes out with its head in one piece; else a task carries it across."""
        chunked = hdrs.TRANSFER_ENCODING in request.headers
        head = request_head(*outgoing, self._pool.host, chunked=chunked)
        loop = asyncio.get_running_loop()
        writer = StreamWriter(connection, loop)
        if not request.content.is_eof() or chunked:
            with suppress(ConnectionError):  # as in `carry`
                await writer.write(head)
            if chunked:
                writer.enable_chunking()
            return loop.create_task(carry(request.content, writer, exchange, connection))
        body = request.content.read_nowait()
        exchange.request_body.add(body)
        with suppress(ConnectionError):  # as in `carry`
            await writer.write(head + body, drain=False)
        loop.call_soon(exchange.tell_request)
        return None

    async def _refuse(self, request: web.Request, answer: Answer, exchange: Watched, error: OSError) -> None:
        """The rest of the request is read all the same: it is what a person will want to see."""
        while piece := await request.content.readany():
            exchange.request_body.add(piece)
        refusal = self._refusal(error)
        await answer.refuse(502, refusal.body, exchange)
        exchange.tell_response("failed", refusal.reason)


async def carry(
    content: StreamReader, writer: StreamWriter, exchange: Watched, connection: ResponseHandler
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


def let_go(error: BaseException | None) -> None:
    """The connection's reader keeps its error, that keeps the frames that it came through, and those keep the reader, and the bodies:
    all of it would stay until somebody looks for such rings."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def drop(connection: ResponseHandler) -> None:
    """At once, without flushing. Its own `abort` would leave a reader of the answer waiting for ever."""
    if connection.transport is not None:
        connection.transport.abort()
