"""A run as a file to pass on, and what would be in it."""

import asyncio
from collections.abc import Iterator

from aiohttp import web

from ramify.query.service import Answer
from ramify.web.answering import EXECUTOR
from ramify.web.noting import note
from ramify.web.route import Asked, Parameter, read_parameters
from ramify.web.served import seen

WISH = (
    Parameter("to", "string", "the format", choices=("html", "markdown", "jsonl", "otlp", "parquet"), required=True),
    Parameter("results", "boolean", "html, markdown: with what tools gave back", True),
    Parameter("bodies", "boolean", "html: with requests and answers as they were on the wire", False),
    Parameter("content", "boolean", "otlp: with what was said", False),
)
TOGETHER = 256 * 1024


async def saved(request: web.Request) -> web.StreamResponse:
    """Piece by piece, each made in a thread: the log of a long run is larger than what should be in memory at once."""
    wish = read_parameters(request.query.items(), WISH)
    loop, executor = asyncio.get_running_loop(), request.app[EXECUTOR]
    offer = await loop.run_in_executor(executor, seen(request).exports.asked, request.match_info["id"], wish)
    piece = await loop.run_in_executor(executor, gathered, offer.pieces)  # before the head goes out: it may fail
    await note(request, "export")
    response = web.StreamResponse(headers={
        "content-type": offer.kind,
        "content-disposition": f'attachment; filename="{offer.name}"',
        "content-security-policy": "sandbox; default-src 'none'",  # to be saved, and not to be taken for a page of ours
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
    })  # fmt: skip
    await response.prepare(request)
    while piece:
        await response.write(piece)
        piece = await loop.run_in_executor(executor, gathered, offer.pieces)
    await response.write_eof()
    return response


def gathered(pieces: Iterator[bytes]) -> bytes:
    """Lines are short: so many that it is worth sending them."""
    found: list[bytes] = []
    size = 0
    while size < TOGETHER and (piece := next(pieces, b"")):
        found.append(piece)
        size += len(piece)
    return b"".join(found)


def previewed(asked: Asked) -> Answer:
    return asked.ramify.exports.previewed(asked.path["id"], asked.given)
