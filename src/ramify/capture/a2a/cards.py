"""An agent's card as clients should see it: every address that leads to the agent leads here instead.

Cards of 0.3 name `url` and `additionalInterfaces`, cards of 1.0 `supportedInterfaces`; one card may hold both.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from ramify.capture.tee import RawHeaders

Card = dict[str, Any]
PATHS = (
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/extendedAgentCard",
    "/v1/extendedAgentCard",
    "/v1/card",
    "/agent/authenticatedExtendedCard",
)
WELL_KNOWN = "/.well-known/"
METHODS = (b"agent/getAuthenticatedExtendedCard", b"GetExtendedAgentCard")
DEFAULT_PORTS = {"http": 80, "https": 443}
THIS_MACHINE = frozenset(("localhost", "127.0.0.1", "::1", "0.0.0.0", "::"))
REWRITTEN = frozenset((b"content-length", b"etag", b"last-modified", b"content-md5", b"digest", b"content-digest"))


class Rewritten(NamedTuple):
    body: bytes
    warnings: tuple[str, ...]
    cards: tuple[Card, ...]


def is_card_path(path: str) -> bool:
    return path.partition("?")[0].endswith(PATHS)


def rewrite(body: bytes, base: str, ours: str) -> Rewritten:
    """The body itself where there is nothing to change in it. `base` and `ours` have no slash at their ends."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return Rewritten(body, (), ())
    found = tuple(cards_in(document))
    warnings: list[str] = []
    changed = False
    for card in found:
        if card.get("signatures"):
            warnings.append(
                "its card is signed and was left as it is: clients will pass Ramify by unless the agent's public address is Ramify's"
            )
            continue
        for interface, member in interfaces(card):
            changed |= redirect(interface, member, base, ours, warnings)
    return Rewritten(written(document) if changed else body, tuple(warnings), found)


def written(document: object) -> bytes:
    """As agents write it; half a character, which only an escape can tell, stays one."""
    try:
        return json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(document).encode()


def cards_in(document: object) -> Iterator[Card]:
    """A card itself, or the result of a JSON-RPC call that asked for one."""
    if isinstance(document, dict):
        inner = document.get("result") if "jsonrpc" in document else document
        if isinstance(inner, dict) and any(name in inner for name in ("url", "supportedInterfaces", "additionalInterfaces")):
            yield inner


def interfaces(card: Card) -> Iterator[tuple[Card, str]]:
    """Where the addresses of the agent stand. Those of its provider, documentation and icon are not the agent's."""
    yield card, "preferredTransport"
    for name, binding in (("additionalInterfaces", "transport"), ("supportedInterfaces", "protocolBinding")):
        for interface in card[name] if isinstance(card.get(name), list) else ():
            if isinstance(interface, dict):
                yield interface, binding


def redirect(interface: Card, binding: str, base: str, ours: str, warnings: list[str]) -> bool:
    address = interface.get("url")
    if not isinstance(address, str) or not address:
        return False
    if str(interface.get(binding, "")).upper() == "GRPC" or "://" not in address:
        warnings.append(f"its card offers gRPC at {address}, which no HTTP proxy can carry: calls there are not seen")
        return False
    rest = below(address, base)
    if rest is None:
        warnings.append(f"its card names {address}, which is not below {base}: calls there are not seen")
        return False
    interface["url"] = ours + rest
    return True


def below(address: str, base: str) -> str | None:
    """What follows the base, with its slash if it has one; None for an address elsewhere."""
    try:
        given, own = urlsplit(address), urlsplit(base)
    except ValueError:  # no address at all
        return None
    if origin(given) != origin(own):
        return None
    if given.path != own.path and not given.path.startswith(own.path.rstrip("/") + "/"):
        return None
    rest = given.path[len(own.path.rstrip("/")) :]
    return rest + (f"?{given.query}" if given.query else "")


def origin(parts: SplitResult) -> tuple[str, str, int | None]:
    """Agents that listen on all addresses of a machine write any of its own names."""
    try:
        port = parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        port = None
    host = (parts.hostname or "").lower()
    return parts.scheme.lower(), "localhost" if host in THIS_MACHINE else host, port


def entity_tag(body: bytes) -> bytes:
    return b'"%b"' % hashlib.sha256(body).hexdigest()[:32].encode()


def is_known(asked: str, tag: bytes) -> bool:
    """RFC 9110 13.1.2: a list, or anything at all; whether a tag is weak does not matter here."""
    given = [part.strip().removeprefix("W/") for part in asked.split(",")]
    return "*" in given or tag.decode() in given


def new_headers(headers: RawHeaders, body: bytes, tag: bytes) -> RawHeaders:
    kept = tuple(pair for pair in headers if pair[0].lower() not in REWRITTEN)
    return (*kept, (b"ETag", tag), (b"Content-Length", str(len(body)).encode()))


def unchanged_headers(headers: RawHeaders, tag: bytes) -> RawHeaders:
    """What RFC 9110 15.4.5 wants beside a 304."""
    wanted = (b"cache-control", b"content-location", b"date", b"expires", b"vary")
    return (*(pair for pair in headers if pair[0].lower() in wanted), (b"ETag", tag))
