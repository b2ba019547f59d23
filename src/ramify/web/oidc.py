"""Logging in by somebody else's word: there, and back again. What goes wrong is told in the audit, not to the browser."""

import logging

from aiohttp import web

from ramify.oidc import NotVouched
from ramify.web.attempts import LOGINS, MOST
from ramify.web.client import address_of, is_secure
from ramify.web.errors import Refused
from ramify.web.guard import NOBODY
from ramify.web.login import forget_cookie, give_cookie
from ramify.web.noting import note
from ramify.web.served import RAMIFY, Vouching

log = logging.getLogger("ramify.web")
COOKIE, PLACE, SECONDS = "ramify_oidc", "/api/oidc", 600
LASTS = 12 * 3600 * 1_000_000  # rights that the provider takes away are gone after that


async def sent_there(request: web.Request) -> web.StreamResponse:
    try:
        address, browser = await provider(request).begin()
    except NotVouched as problem:
        log.warning("no login by OpenID Connect: %s", problem)
        return onwards("/?login=failed")
    response = onwards(address)
    # Lax: the provider sends the browser back from another site, and the cookie must come along.
    response.set_cookie(COOKIE, browser, path=PLACE, max_age=SECONDS, httponly=True, samesite="Lax", secure=is_secure(request))
    return response


async def come_back(request: web.Request) -> web.StreamResponse:
    vouching, attempts, address = provider(request), request.app[LOGINS], address_of(request)
    if attempts.count(address) >= MOST:
        raise Refused(429, "too_many_attempts", "Too many attempts from your address", "Wait a minute")
    try:
        identity = await vouching.finish(request.cookies.get(COOKIE, ""), request.query)
    except NotVouched as problem:
        attempts.failed(address)
        await note(request, "login-failed", "", {"by": vouching.name, "why": str(problem)}, NOBODY)
        response = onwards("/?login=unknown" if problem.unknown else "/?login=failed")
        response.del_cookie(COOKIE, path=PLACE)
        return response
    access = request.app[RAMIFY].access
    await forget_cookie(request)
    id = await access.log_in_as(identity, request.app[RAMIFY].clock() + LASTS)
    await note(request, "login", "", {"by": vouching.name}, identity)
    response = onwards("/")
    response.del_cookie(COOKIE, path=PLACE)
    give_cookie(request, response, id)
    return response


def provider(request: web.Request) -> Vouching:
    found = request.app[RAMIFY].oidc
    if found is None:
        raise Refused(404, "not_found", "Nobody vouches for people here", "Log in with a token, or set oidc_issuer")
    return found


def onwards(address: str) -> web.Response:
    return web.Response(status=302, headers={"location": address, "cache-control": "no-store", "referrer-policy": "no-referrer"})
