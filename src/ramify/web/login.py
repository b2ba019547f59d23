"""People log in with a token once; their browser then holds a random id that no script can read and no other site can send."""

from aiohttp import web

from ramify.model.identity import Identity
from ramify.web.access_shapes import Credentials
from ramify.web.answering import document
from ramify.web.attempts import LOGINS, MOST, SECONDS
from ramify.web.client import PLACE, address_of, cookie_name, cookie_of, is_secure
from ramify.web.errors import Refused
from ramify.web.guard import NOBODY
from ramify.web.noting import note
from ramify.web.served import IDENTITY, RAMIFY
from ramify.web.tokens import body_of

DAYS = 7 * 24 * 3600


async def ways(request: web.Request) -> web.StreamResponse:
    """All that a stranger is told."""
    ramify = request.app[RAMIFY]
    return document({"needed": ramify.access.guarded, "token": True, "oidc": ramify.oidc.name if ramify.oidc else None}, False)


async def logged_in(request: web.Request) -> web.StreamResponse:
    attempts, address = request.app[LOGINS], address_of(request)
    if attempts.count(address) >= MOST:
        raise Refused(429, "too_many_attempts", "Too many attempts from your address", f"Wait {SECONDS} seconds")
    given = await body_of(request, Credentials, '{"token": "rmf_…"}')
    found = await request.app[RAMIFY].access.log_in(given.token.strip())
    if found is None:
        times = attempts.failed(address)
        await note(request, "login-failed", "", {"attempt": str(times)}, NOBODY)
        raise Refused(401, "unauthorized", "This token opens nothing", "It may be mistyped, revoked or expired")
    return await entered(request, *found)


async def entered(request: web.Request, id: str, identity: Identity) -> web.Response:
    """What the browser held before counts no more: nobody can have planted it."""
    await forget_cookie(request)
    await note(request, "login", "", {}, identity)
    response = document(who(identity, True), False)
    give_cookie(request, response, id)
    return response


async def logged_out(request: web.Request) -> web.StreamResponse:
    access, id = request.app[RAMIFY].access, cookie_of(request)
    identity = await access.logged_in(id) if id else None
    await forget_cookie(request)
    if identity is not None:
        await note(request, "logout", "", {}, identity)
    response = document({"out": identity is not None}, False)
    response.del_cookie(cookie_name(request), path=PLACE, httponly=True, samesite="Strict", secure=is_secure(request))
    return response


async def me(request: web.Request) -> web.StreamResponse:
    return document(who(request[IDENTITY], bool(cookie_of(request))), False)


def who(identity: Identity, login: bool) -> dict[str, object]:
    projects = None if identity.projects is None else sorted(identity.projects)
    return {"name": identity.name, "scopes": sorted(identity.scopes), "projects": projects, "login": login}


async def forget_cookie(request: web.Request) -> None:
    if id := cookie_of(request):
        await request.app[RAMIFY].access.log_out(id)


def give_cookie(request: web.Request, response: web.StreamResponse, id: str) -> None:
    response.set_cookie(cookie_name(request), id, path=PLACE, max_age=DAYS, httponly=True, samesite="Strict", secure=is_secure(request))

