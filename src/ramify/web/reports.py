"""What programs report: records of messages, and what a client tells its hooks. Taken at once, stored later."""

import asyncio
import logging

import msgspec
from aiohttp import web

from ramify.model.mistake import UserMistake
from ramify.model.reported import decode_records, hook_record
from ramify.web.answering import EXECUTOR, bounded_body, json_body
from ramify.web.served import Seen, seen
from ramify.whose import project_of

log = logging.getLogger("ramify.web")
LARGEST_BATCH = 64 * 2**20
LARGEST_HOOK = 64 * 2**20
NOTHING = b"{}"
"""An answer to a hook may tell the client to do something. This one never does."""


async def records(request: web.Request) -> web.StreamResponse:
    body = await json_body(request, LARGEST_BATCH)
    loop = asyncio.get_running_loop()
    ramify = seen(request)
    taken = await loop.run_in_executor(request.app[EXECUTOR], take_records, ramify, body, project_of(request, ramify.project))
    return web.json_response({"taken": taken})


def take_records(ramify: Seen, body: bytes, project: str) -> int:
    try:
        batch = decode_records(body, project)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        hint = 'Send JSON: {"records": [{"id", "at", "source", "format", "body"}, …]}'
        raise UserMistake(f"The body holds no records: {error}", hint) from None
    for record in batch:
        ramify.observe(record)
    return len(batch)


async def hook(request: web.Request) -> web.StreamResponse:
    """Whatever comes is kept, and whatever happens here, the client goes on as if nobody had listened."""
    try:
        body = await bounded_body(request, LARGEST_HOOK)
        ramify = seen(request)
        ramify.observe(hook_record(body, project_of(request, ramify.project), ramify.clock()))
    except UserMistake as mistake:
        log.warning("a hook was not kept: %s", mistake)
    return web.Response(body=NOTHING, content_type="application/json")

