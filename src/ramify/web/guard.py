"""Who may ask. On this machine everybody; web pages opened on it, and other machines, only with good reason.

- A page can point its own name at 127.0.0.1 and then read what is answered (DNS rebinding). So, where nobody has to say
  who they are, only names of this machine are accepted as Host.
- A page can send requests without reading the answer. So acts need an Origin that is our own, or none at all.
- Where somebody has to, every question and act needs a token as `Authorization: Bearer`; never in an address, where
  it would be logged and remembered. Captured traffic uses that header for its own upstream, so there it is
  `x-ramify-token`, and only when the traffic comes from outside.
- People log in once; the cookie that they get counts for our own page alone, which is checked a second time: a page of
  another port, or of a neighbouring name, is the same site to a browser.
- A page can send through us what a program would: it would cost money, and stand in the store as if somebody had worked. So traffic that
  is watched without a token comes from programs, which name no Origin, or from pages of this machine.
- An agent on this machine often asks for no credential at all. So, unlike a model's API, agents are kept from foreign names as
  well; containers reach a model's API under names that nobody here can know. Only a browser that gets something from its page's own
  name says no Origin: so without a token nothing is got under a name that a stranger can have pointed at us.
"""

from urllib.parse import urlsplit

from aiohttp import web

from ramify.model.identity import LOCAL, Identity
from ramify.model.token import PREFIX
from ramify.web.attempts import REFUSALS
from ramify.web.client import address_of, cookie_of
from ramify.web.errors import Refused
from ramify.web.names import host_name, is_local, is_nobodys, plain
from ramify.web.noting import note
from ramify.web.served import AGENTS, CAPTURED, IDENTITY, NEEDED, RAMIFY, Access, Needed, Serve
from ramify.whose import PROJECT, WHOSE

CAPTURE_TOKEN = "x-ramify-token"
SAFE = {"GET", "HEAD", "OPTIONS"}


def same_origin(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


# -- from where ------------------------------------------------------------------------------------------------------------


def check_host(request: web.Request, access: Access) -> None:
    host = request.headers.get("host", "")
    if not access.guarded and not is_local(host_name(host)):
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


def check_page(request: web.Request) -> None:
    origin = request.headers.get("origin")
    if request.method in SAFE or origin is None or is_local(host_name(origin.partition("://")[2])):
        return
    if not same_origin(origin, request.headers.get("host", "")):
        raise Refused(403, "foreign_origin", f'A page of "{origin}" may not talk to this agent', "Use a client, or a page of this machine")


def check_watched_page(request: web.Request) -> None:
    """That its name is the one in Host proves nothing: a page may have pointed its own name at us. Two names of this machine are
    two sites to a browser, so what it says of the site counts only where it does not name a page."""
    origin = request.headers.get("origin")
    foreign = request.headers.get("sec-fetch-site") == "cross-site" if origin is None else not is_local(host_name(origin.partition("://")[2]))
    if foreign:
        page = "Another site" if origin is None else f'A page of "{origin}"'
        hint = f"Use a program, a page of this machine, or a token: {CAPTURE_TOKEN}"
        raise Refused(403, "foreign_origin", f"{page} may not send anything through here", hint)


def check_watched_name(request: web.Request, access: Access) -> None:
    """What is sent to a page's own name carries that page as Origin, and is refused for it; what is only got does not."""
    host = request.headers.get("host", "")
    name = host_name(host)
    if request.method not in SAFE or not host or is_nobodys(name) or plain(name) in access.names:
        return
    hint = f"Use 127.0.0.1 or localhost, make it the name of --public-url, or send a token: {CAPTURE_TOKEN}"
    raise Refused(403, "foreign_host", f'"{host}" is no name of this machine', hint)


def is_outside(request: web.Request) -> bool:
    """Traffic that arrives at a loopback address comes from this machine."""
    address = request.transport.get_extra_info("sockname") if request.transport else None
    return isinstance(address, tuple) and not is_local(str(address[0]))


# -- who -------------------------------------------------------------------------------------------------------------------


async def asked_by(request: web.Request) -> Identity:
    """A token of ours that opens nothing is refused also where none is needed: whoever sends it means to be somebody."""
    access = request.app[RAMIFY].access
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    secret = given.strip() if scheme.lower() == "bearer" else ""
    if not access.guarded and not secret.startswith(PREFIX):
        return LOCAL
    if not given and (id := cookie_of(request)):
        check_own_page(request)
        found = await access.logged_in(id)
    else:
        found = await access.identify(secret) if secret else None
    if found is None:
        wrong = "The token is wrong, revoked or has expired" if given else "A token is needed"
        raise Refused(401, "unauthorized", wrong, "Send the header Authorization: Bearer <token>, or log in")
    return found


def check_own_page(request: web.Request) -> None:
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Refused(403, "foreign_origin", "A login counts for Ramify's own page only", "Use that page, or a token")


async def captured_by(request: web.Request) -> Identity:
    """A client that is only watched must not suffer: on this machine a token that opens nothing counts as none."""
    access = request.app[RAMIFY].access
    given = request.headers.get(CAPTURE_TOKEN, "")
    found = await access.identify(given) if given else None
    if found is not None:
        return found
    if access.strict or is_outside(request):
        wrong = "The token is wrong, revoked or has expired" if given else "Traffic that is captured here needs a token"
        raise Refused(401, "unauthorized", wrong, f"Send the header {CAPTURE_TOKEN}: <token>")
    return LOCAL


def check_scope(identity: Identity, needed: Needed) -> None:
    if needed == "open" or needed == "any" or identity.may(needed):
        return
    has = ", ".join(sorted(identity.scopes)) or "none"
    raise Refused(403, "missing_scope", f'This needs the scope "{needed}"; "{identity.name}" has {has}', "Ask for a token that has it, too")


def project_brought(request: web.Request, identity: Identity, default: str) -> str:
    """Whose the data is that a request brings along."""
    named = request.headers.get(PROJECT, "")
    if identity.projects is None:
        return named or default
    if named and not identity.sees(named):
        raise Refused(403, "foreign_project", f'"{identity.name}" may not add to the project "{named}"', f"Send another {PROJECT}, or none")
    if named or len(identity.projects) == 1:
        return named or next(iter(identity.projects))
    if identity.sees(default):
        return default
    own = ", ".join(sorted(identity.projects))
    raise Refused(403, "foreign_project", f'"{identity.name}" has several projects', f"Say which with the header {PROJECT}: {own}")


@web.middleware
async def guard(request: web.Request, handler: Serve) -> web.StreamResponse:  # the name is aiohttp's
    ramify, route = request.app[RAMIFY], request.match_info.route
    captured = route in request.app[CAPTURED]
    if not captured or route in request.app[AGENTS]:
        check_host(request, ramify.access)
    if route in request.app[AGENTS]:
        check_page(request)
    elif not captured:
        check_origin(request)
    needed = needed_for(request, captured)
    request[IDENTITY] = identity = await whoever(request, needed, captured)
    if captured and identity is LOCAL:
        check_watched_page(request)
        check_watched_name(request, ramify.access)
    check_scope(identity, needed)
    if needed == "capture":
        request[WHOSE] = project_brought(request, identity, ramify.project)
    return await handler(request)


def needed_for(request: web.Request, captured: bool) -> Needed:
    """What is no address of ours is answered like one that is: strangers learn nothing by trying. The page itself holds no data."""
    if captured:
        return "capture"
    return request.app[NEEDED].get(request.match_info.route) or ("read" if request.path.startswith("/api") else "open")


async def whoever(request: web.Request, needed: Needed, captured: bool) -> Identity:
    if needed == "open":
        return NOBODY if request.app[RAMIFY].access.guarded else LOCAL
    try:
        return await (captured_by if captured else asked_by)(request)
    except Refused as refusal:
        if refusal.status == 401 and has_credential(request) and request.app[REFUSALS].failed(address_of(request)) == 1:
            await note(request, "refused", request.path, {}, NOBODY)
        raise


def has_credential(request: web.Request) -> bool:
    """Whoever has none and is told so has not tried anything."""
    return bool(request.headers.get("authorization") or request.headers.get(CAPTURE_TOKEN) or cookie_of(request))


NOBODY = Identity("nobody", frozenset(), frozenset())
