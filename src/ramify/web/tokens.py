"""Tokens over HTTP, for admins: within their own projects, and no secret but the one that was just made."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from ramify.model.mistake import UserMistake
from ramify.query.service import Answer
from ramify.web.access_shapes import Rotation, WantedToken
from ramify.web.answering import EXECUTOR, LARGEST_ACT, document, json_body
from ramify.web.noting import note
from ramify.web.served import IDENTITY, RAMIFY

Shape = TypeVar("Shape")


async def listed(request: web.Request) -> web.StreamResponse:
    found = await aside(request, request.app[RAMIFY].tokens.listed, request[IDENTITY])
    return await answered(request, {"items": found, "next": None})


async def created(request: web.Request) -> web.StreamResponse:
    wish = await body_of(request, WantedToken, '{"name": "ci", "scopes": ["capture"], "projects": ["billing"], "expires_in": 7776000}')
    made = await changed(request, request.app[RAMIFY].tokens.create, wish.name, wish.scopes, wish.projects, wish.expires_in, request[IDENTITY])
    told = {"scopes": " ".join(made["scopes"]), "projects": " ".join(made["projects"] or ["*"]), "expires": made["expires"] or "never"}
    await note(request, "token-create", made["name"], {"id": made["id"], **told})
    return await answered(request, made)


async def revoked(request: web.Request) -> web.StreamResponse:
    gone = await changed(request, request.app[RAMIFY].tokens.revoke, request.match_info["name"], request[IDENTITY])
    await note(request, "token-revoke", gone["name"], {"id": gone["id"]})
    return await answered(request, gone)


async def rotated(request: web.Request) -> web.StreamResponse:
    wish = await body_of(request, Rotation, '{"grace": 3600}')
    made = await changed(request, request.app[RAMIFY].tokens.rotate, request.match_info["name"], wish.grace, request[IDENTITY])
    await note(request, "token-rotate", made["name"], {"id": made["id"], "grace": str(wish.grace)})
    return await answered(request, made)


async def body_of(request: web.Request, shape: type[Shape], example: str) -> Shape:
    body = await json_body(request, LARGEST_ACT)
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UserMistake(f"The body cannot be read: {error}", f"Send JSON: {example}") from None


async def changed(request: web.Request, act: Callable[..., Any], *arguments: Any) -> Any:
    """Here it counts before it is answered; other servers of the store hear of it within a second or two."""
    answer = await aside(request, act, *arguments)
    await aside(request, request.app[RAMIFY].access.read)
    return answer


async def aside(request: web.Request, act: Callable[..., Any], *arguments: Any) -> Any:
    """The store is not asked in the loop."""
    return await asyncio.get_running_loop().run_in_executor(request.app[EXECUTOR], act, *arguments)


async def answered(request: web.Request, answer: Answer) -> web.Response:
    seq = await aside(request, request.app[RAMIFY].questions.seq)
    return document({"seq": seq, **answer}, "gzip" in request.headers.get("accept-encoding", ""))
