"""What is done and what is read whole leaves a line in the audit before it is answered: no line, no answer."""

import asyncio
from typing import Any

import msgspec
from aiohttp import web

from ramify.model.audit import Noted
from ramify.model.identity import Identity
from ramify.query.audit import project_of
from ramify.storage.base import Store
from ramify.web.answering import BODY, EXECUTOR
from ramify.web.client import address_of
from ramify.web.route import Route
from ramify.web.served import IDENTITY, RAMIFY, Serve

TOLD = ("child", "parent", "sql")  # of a body
NOTED: web.RequestKey[bool] = web.RequestKey("noted")


def noting(route: Route, serve: Serve) -> Serve:
    if not route.act:
        return serve

    async def served(request: web.Request) -> web.StreamResponse:
        try:
            response = await serve(request)
        except Exception:
            if route.tried and (asked := told_body(request.get(BODY, b""))):
                await note(request, route.act, more={**asked, "failed": "yes"})
            raise
        if response.status < 400 and not request.get(NOTED):
            await note(request, route.act)
        return response

    return served


async def note(request: web.Request, act: str, what: str = "", more: dict[str, str] | None = None, who: Identity | None = None) -> None:
    """Whoever answers piece by piece calls it before the first one. Without `more`, what was asked for is told."""
    request[NOTED] = True
    identity = who or request[IDENTITY]
    given = {**dict(request.query), **told_body(request.get(BODY, b""))} if more is None else more
    act = "withdraw" if act == "unlink" and given.pop("withdraw", "false").lower() not in ("false", "0", "no") else act
    what = what or next(iter(request.match_info.values()), "") or given.pop("child", "")
    noted = Noted(identity.name, act, what, "http", address_of(request), given)
    await asyncio.get_running_loop().run_in_executor(request.app[EXECUTOR], write, request, noted, identity)


def write(request: web.Request, noted: Noted, identity: Identity) -> None:
    ramify = request.app[RAMIFY]
    ramify.note(noted, project_concerned(ramify.questions.store, noted.what, identity))


def project_concerned(store: Store, what: str, identity: Identity) -> str:
    if identity.projects is not None and len(identity.projects) == 1:
        return next(iter(identity.projects))
    return project_of(store, what)


def told_body(body: bytes) -> dict[str, str]:
    try:
        found: Any = msgspec.json.decode(body) if body else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return {name: str(found[name]) for name in TOLD if found.get(name)} if isinstance(found, dict) else {}
