"""OTLP over HTTP: traces and logs of whoever exports them, in JSON or protobuf; metrics are accepted and left aside.

The answer has the request's encoding, and comes when everything is stored: an exporter that hears nothing sends again.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import msgspec
from aiohttp import web

from ramify.protocols.otel import protobuf
from ramify.protocols.otel.request import Export, Signal, read_json, read_protobuf
from ramify.storage.base import StoreDown
from ramify.web.served import Seen, Serve, seen
from ramify.whose import project_of

LARGEST = 64 * 2**20
PROTOBUF, JSON = "application/x-protobuf", "application/json"
REJECTED = {"traces": "rejectedSpans", "logs": "rejectedLogRecords"}
CODES = {400: 3, 413: 8, 415: 3, 503: 14}  # of google.rpc: INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAVAILABLE
RETRY_SECONDS = "5"
THREADS = 8  # each waits for a commit
WORKERS: web.AppKey[ThreadPoolExecutor] = web.AppKey("otlp")


class Wrong(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Sent(NamedTuple):
    """A request's body as it came, and how it is to be read."""

    signal: str
    type: str
    encoding: str
    project: str
    body: bytes


async def workers(app: web.Application) -> AsyncIterator[None]:
    app[WORKERS] = ThreadPoolExecutor(THREADS, thread_name_prefix="otlp")
    yield
    app[WORKERS].shutdown(wait=False, cancel_futures=True)


def receiving(signal: str) -> Serve:
    async def received(request: web.Request) -> web.StreamResponse:
        try:
            sent = await read(request, signal)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(request.app[WORKERS], take, seen(request), sent)
        except Wrong as wrong:
            return refusal(wrong, request.content_type)

    return received


async def read(request: web.Request, signal: str) -> Sent:
    if request.content_type not in (PROTOBUF, JSON):
        raise Wrong(415, f"{request.content_type} is not read here: send {PROTOBUF} or {JSON}")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "deflate"):
        raise Wrong(415, f"{encoding} is not read here: send gzip, deflate or nothing")
    project = project_of(request, seen(request).project)
    return Sent(signal, request.content_type, encoding, project, await whole(request))


async def whole(request: web.Request) -> bytes:
    body = bytearray()
    async for piece in request.content.iter_chunked(256 * 1024):
        body += piece
        if len(body) > LARGEST:
            raise Wrong(413, f"the body is larger than {LARGEST} bytes: send smaller batches")
    return bytes(body)


# -- in a thread -------------------------------------------------------------------------------------------------------


def take(ramify: Seen, sent: Sent) -> web.Response:
    body = inflated(sent.body, sent.encoding)
    if sent.signal == "metrics":
        return answer(sent.type, b"", {})
    export = export_of(sent, body)
    try:
        if export.records:
            ramify.commit(export.records)
    except StoreDown as problem:
        raise Wrong(503, f"not stored: {problem}") from None
    if not export.rejected:
        return answer(sent.type, b"", {})
    message = f"{export.rejected} of {export.items} could not be read, and are kept as they came: {export.problem}"
    partial = {"partialSuccess": {REJECTED[sent.signal]: str(export.rejected), "errorMessage": message}}
    return answer(sent.type, protobuf.partial_success(export.rejected, message), partial)


def export_of(sent: Sent, body: bytes) -> Export:
    signal: Signal = "traces" if sent.signal == "traces" else "logs"
    place = f"/v1/{signal}"
    try:
        if sent.type == PROTOBUF:
            return read_protobuf(body, signal, sent.project, place)
        return read_json(body, sent.project, place)
    except (ValueError, RecursionError) as problem:
        raise Wrong(400, f"the body is no OTLP {signal}: {problem}") from None


def inflated(body: bytes, encoding: str) -> bytes:
    """Never more than may be taken, whatever the body says of itself."""
    if encoding in ("", "identity"):
        return body
    raw = encoding == "deflate" and not is_zlib(body)
    inflater = zlib.decompressobj(-zlib.MAX_WBITS if raw else zlib.MAX_WBITS | 32)
    try:
        found = inflater.decompress(body, LARGEST + 1)
    except zlib.error as problem:
        raise Wrong(400, f"the body is no {encoding}: {problem}") from None
    if len(found) > LARGEST:
        raise Wrong(413, f"the body is larger than {LARGEST} bytes when inflated: send smaller batches")
    if not inflater.eof:
        raise Wrong(400, f"the body is no whole {encoding}")
    return found


def is_zlib(body: bytes) -> bool:
    """`deflate` means zlib's format; some senders take the word literally."""
    return len(body) > 1 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0


# -- answers -----------------------------------------------------------------------------------------------------------


def answer(type: str, packed: bytes, plain: object, status: int = 200) -> web.Response:
    if type == PROTOBUF:
        return web.Response(status=status, body=packed, content_type=PROTOBUF)
    return web.Response(status=status, body=msgspec.json.encode(plain), content_type=JSON)


def refusal(wrong: Wrong, type: str) -> web.Response:
    code = CODES[wrong.status]
    response = answer(type, protobuf.status(code, wrong.message), {"code": code, "message": wrong.message}, wrong.status)
    if wrong.status == 503:
        response.headers["retry-after"] = RETRY_SECONDS
    return response
