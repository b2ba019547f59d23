"""Where a request comes from, and what its browser holds: as the connection shows it, or the one proxy that is believed."""

from aiohttp import web

from ramify.web.served import RAMIFY

COOKIE = "ramify_login"
PLACE = "/api"  # not to agents and models: whatever a browser sends to those is passed on to them


def is_forwarded(request: web.Request) -> bool:
    return request.remote is not None and request.remote == request.app[RAMIFY].access.proxy


def address_of(request: web.Request) -> str:
    """The last address that our own proxy has seen; what stands before it anybody may have written."""
    seen = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip() if is_forwarded(request) else ""
    return seen[:64] or request.remote or ""


def is_secure(request: web.Request) -> bool:
    forwarded = is_forwarded(request) and request.headers.get("x-forwarded-proto", "").lower() == "https"
    return request.secure or request.app[RAMIFY].access.secure or forwarded


def cookie_name(request: web.Request) -> str:
    """Under TLS with the prefix by which a browser takes it under TLS alone."""
    return f"__Secure-{COOKIE}" if is_secure(request) else COOKIE


def cookie_of(request: web.Request) -> str:
    return request.cookies.get(cookie_name(request), "")
