"""From a question to its answer: asked and encoded in a thread, so that the loop goes on serving others."""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from inspect import iscoroutinefunction
from typing import cast

import msgspec
from aiohttp import web

from ramify.model.mistake import UserMistake
from ramify.query.service import Answer
from ramify.web.route import Asked, Download, Respond, Route, read_parameters
from ramify.web.served import IDENTITY, Serve, seen

EXECUTOR: web.AppKey[ThreadPoolExecutor] = web.AppKey("executor")
BODY: web.RequestKey[bytes] = web.RequestKey("body")
THREADS = 4
LARGEST_ACT = 64 * 1024
PACKING = 1  # a large tree becomes a tenth larger than with 5, in a third of the time
WORTH_PACKING = 1024
CONTENT_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:; ?[\w-]+=\"?[\w.+-]+\"?)*", re.ASCII)
NAME = re.compile(r"[^\w.-]+", re.ASCII)
ENDINGS = {"application/json": "json", "text/event-stream": "txt"}


def serving(route: Route) -> Serve:
    if iscoroutinefunction(route.answer):
        return cast(Serve, route.answer)
    respond = cast(Respond, route.answer)

    async def serve(request: web.Request) -> web.StreamResponse:
        given = read_parameters(request.query.items(), route.parameters)
        body = request[BODY] = await json_body(request, LARGEST_ACT) if request.method == "POST" else b""
        asked = Asked(seen(request), request.match_info, given, body, request[IDENTITY].name)
        packed = "gzip" in request.headers.get("accept-encoding", "")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(request.app[EXECUTOR], answered, respond, asked, packed)

    return serve


async def json_body(request: web.Request, largest: int) -> bytes:
    """Only JSON: a form of a foreign page cannot send that without asking first."""
    if request.content_type != "application/json":
        hint = "Send the header content-type: application/json"
        raise UserMistake(f'The content type is "{request.content_type}"', hint)
    return await bounded_body(request, largest)


async def bounded_body(request: web.Request, largest: int) -> bytes:
    body = bytearray()
    async for piece in request.content.iter_chunked(64 * 1024):
        body += piece
        if len(body) > largest:
            raise UserMistake(f"The body is larger than {largest} bytes", "Send it in smaller parts")
    return bytes(body)


def answered(respond: Respond, asked: Asked, packed: bool) -> web.Response:
    # The number is read first: what is stored while the answer is put together is then sent again by the live
    # feed, never left out.
    numbered = {"seq": asked.ramify.questions.seq()}
    answer = respond(asked)
    if isinstance(answer, Download):
        return download(answer)
    return document({**numbered, **answer}, packed)


def document(answer: Answer, packed: bool) -> web.Response:
    try:
        body = msgspec.json.encode(answer)
    except RecursionError:
        hint = "shape=skeleton has a tree of any depth, as columns; subtasks with tree=true as a list"
        raise UserMistake("The answer is nested deeper than JSON can be written", hint) from None
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff", "vary": "accept-encoding"}
    if packed and len(body) > WORTH_PACKING:
        body = gzip.compress(body, PACKING, mtime=0)
        headers["content-encoding"] = "gzip"
    return web.Response(body=body, content_type="application/json", headers=headers)


def download(answer: Download) -> web.Response:
    """The bytes of strangers: a browser must save them, and must not take them for a page of ours."""
    stored = {name.lower(): value for name, value in answer.headers}
    kind = stored.get("content-type", "")
    kind = kind if CONTENT_TYPE.fullmatch(kind) else "application/octet-stream"
    name = NAME.sub("_", answer.name) + "." + ENDINGS.get(kind.partition(";")[0], "bin")
    headers = {
        "content-type": kind,
        "content-disposition": f'attachment; filename="{name}"',
        "content-security-policy": "sandbox; default-src 'none'",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    }
    if encoding := NAME.sub("", stored.get("content-encoding", "")):
        # Not as content-encoding: whoever asks wants the bytes of the wire, not what a client makes of them.
        headers["x-ramify-content-encoding"] = encoding
    return web.Response(body=answer.body, headers=headers)


async def threads(app: web.Application) -> AsyncIterator[None]:
    app[EXECUTOR] = ThreadPoolExecutor(THREADS, thread_name_prefix="question")
    yield
    app[EXECUTOR].shutdown(wait=False, cancel_futures=True)
