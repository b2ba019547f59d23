"""Who may ask. On this machine everybody; web pages opened on it, and other machines, only with good reason.

- A page can point its own name at 127.0.0.1 and then read what is answered (DNS rebinding). So, without a
  token, only names of this machine are accepted as Host.
- A page can send requests without reading the answer. So acts need an Origin that is our own, or none at all.
- With a token, every question and act needs it, as `Authorization: Bearer`; never in an address, where it
  would be logged and remembered. Captured traffic uses that header for its own upstream, so there it is
  `x-ramify-token`, and only when the traffic comes from outside.
- An agent on this machine often asks for no credential at all. So, unlike a model's API, agents are kept from foreign
  pages and foreign names; pages of this machine may talk to them.
"""

import hmac
import ipaddress
from urllib.parse import urlsplit

from aiohttp import web

from ramify.model.identity import LOCAL
from ramify.web.errors import Refused
from ramify.web.served import AGENTS, CAPTURED, IDENTITY, RAMIFY, Serve

CAPTURE_TOKEN = "x-ramify-token"
SAFE = {"GET", "HEAD", "OPTIONS"}


def is_local(name: str) -> bool:
    name = name.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    # A socket for both kinds of address shows those of version 4 inside version 6.
    inner = getattr(address, "ipv4_mapped", None) or address
    return bool(inner.is_loopback)


def host_name(host: str) -> str:
    """Without the port; "" for what is no host."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def same_origin(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def equal(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())


def check_host(request: web.Request, token: str | None) -> None:
    host = request.headers.get("host", "")
    if token is None and not is_local(host_name(host)):
        raise Refused(
            403,
            "foreign_host",
            f'"{host}" is no name of this machine',
            "Use 127.0.0.1 or localhost, or set a token",
        )


def check_origin(request: web.Request) -> None:
    if request.method in SAFE:
        return
    origin = request.headers.get("origin")
    foreign = origin is not None and not same_origin(origin, request.headers.get("host", ""))
    if foreign or request.headers.get("sec-fetch-site") == "cross-site":
        raise Refused(
            403,
            "foreign_origin",
            f'A page of "{origin}" may not do this',
            "Use Ramify's own page, or no page",
        )


def check_bearer(request: web.Request, token: str | None) -> None:
    if token is None:
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not equal(given.strip(), token):
        wrong = "The token is wrong" if given else "A token is needed"
        raise Refused(401, "unauthorized", wrong, "Send the header Authorization: Bearer <token>")


def check_capture(request: web.Request, token: str | None) -> None:
    """Traffic that arrives at a loopback address comes from this machine."""
    address = request.transport.get_extra_info("sockname") if request.transport else None
    if not isinstance(address, tuple) or is_local(str(address[0])):
        return
    if token is None or not equal(request.headers.get(CAPTURE_TOKEN, ""), token):
        raise Refused(
            401,
            "unauthorized",
            "Traffic from other machines needs a token",
            f"Send the header {CAPTURE_TOKEN}: <token>",
        )


def check_page(request: web.Request) -> None:
    origin = request.headers.get("origin")
    if request.method in SAFE or origin is None or is_local(host_name(origin.partition("://")[2])):
        return
    if not same_origin(origin, request.headers.get("host", "")):
        raise Refused(403, "foreign_origin", f'A page of "{origin}" may not talk to this agent', "Use a client, or a page of this machine")


@web.middleware
async def guard(request: web.Request, handler: Serve) -> web.StreamResponse:  # the name is aiohttp's
    token = request.app[RAMIFY].token
    request[IDENTITY] = LOCAL
    if request.match_info.route in request.app[CAPTURED]:
        check_capture(request, token)
        if request.match_info.route in request.app[AGENTS]:
            check_host(request, token)
            check_page(request)
        return await handler(request)
    check_host(request, token)
    check_origin(request)
    if request.path.startswith("/api"):
        check_bearer(request, token)
    return await handler(request)
