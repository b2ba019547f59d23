"""The side that asked: its answer is written here as bytes, past aiohttp's own heads and automatic fields."""

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader
from aiohttp.web_request import BaseRequest

from ramify.capture.head import response_head
from ramify.capture.tee import RawHeaders, Watched

LAST_CHUNK = b"0\r\n\r\n"


class ClientLeft(Exception):
    """Nobody is there to read the answer any more."""


class Answer(web.StreamResponse):
    """aiohttp asks every handler for a response to finish; this one is finished before it is returned."""

    def __init__(self, request: web.Request) -> None:
        super().__init__()
        self._request = request
        self._open = False

    @property
    def keep_alive(self) -> bool:
        return self._open

    async def prepare(self, request: BaseRequest) -> AbstractStreamWriter | None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None

    async def relay(self, message: RawResponseMessage, payload: StreamReader, exchange: Watched) -> None:
        """Head first, at once; then each piece the moment it is here. Raises what reading raises."""
        self.set_status(message.code)
        exchange.answer(message.code, message.raw_headers)
        head, chunked = self._head(message)
        if payload.is_eof():
            piece = payload.read_nowait()
            await self._write(head + framed(piece, chunked) + (LAST_CHUNK if chunked else b""))
            if piece:
                exchange.receive(piece)
            return
        await self._write(head)
        if chunked:
            self._request.writer.enable_chunking()
        await self._pass_on(payload, exchange)
        if chunked:
            await self._write_last()

    async def refuse(self, status: int, body: bytes, exchange: Watched) -> None:
        """An answer of our own, when there is nobody to ask."""
        headers: RawHeaders = (
            (b"Content-Type", b"application/json"),
            (b"Content-Length", str(len(body)).encode()),
        )
        exchange.answer(status, headers)
        exchange.receive(body)
        await self.give(status, headers, body)

    async def give(self, status: int, headers: RawHeaders, body: bytes) -> None:
        """A whole answer that is written anew; it goes out and is not told to anybody."""
        self.set_status(status)
        self._open = bool(self._request.keep_alive)
        version = self._request.version
        head = response_head(version, status, self.reason, headers, chunked=False, keep_alive=self._open)
        await self._write(head + (b"" if self._request.method == "HEAD" else body))

    def cut(self) -> None:
        """What was written still goes out, then the connection ends, without the mark of a whole answer."""
        self._open = False
        if self._request.transport is not None:
            self._request.transport.close()

    def _head(self, message: RawResponseMessage) -> tuple[bytes, bool]:
        version = self._request.version
        bodiless = self._request.method == "HEAD" or message.code in (204, 304)
        sized = hdrs.CONTENT_LENGTH in message.headers and not message.chunked
        chunked = not bodiless and not sized and version >= (1, 1)
        self._open = bool(self._request.keep_alive) and (bodiless or sized or chunked)
        head = response_head(
            version,
            message.code,
            message.reason,
            message.raw_headers,
            chunked=chunked,
            keep_alive=self._open,
        )
        return head, chunked

    async def _pass_on(self, payload: StreamReader, exchange: Watched) -> None:
        try:
            while not payload.at_eof():
                piece = (await payload.readchunk())[0]  # readany() would copy the pieces into one
                if piece:
                    exchange.receive(piece)
                    await self._write(piece)
        except Exception as error:
            # a reader hides what came before an early end; the client would have got it.
            if not isinstance(error, ClientLeft) and (rest := left_over(payload)):
                exchange.receive(rest)
                await self._write(rest)
            raise

    async def _write(self, piece: bytes) -> None:
        try:
            await self._request.writer.write(piece)
        except ConnectionError as error:
            raise ClientLeft from error

    async def _write_last(self) -> None:
        try:
            await self._request.writer.write_eof()
        except ConnectionError as error:
            raise ClientLeft from error


def left_over(payload: StreamReader) -> bytes:
    return b"".join(payload._buffer)[payload._buffer_offset :]


def framed(piece: bytes, chunked: bool) -> bytes:
    if not chunked or not piece:
        return piece
    return b"%x\r\n%b\r\n" % (len(piece), piece)
