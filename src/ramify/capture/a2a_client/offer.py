"""Where and how an agent wants to be talked to, as its card says; only on the origin at which the card was found.

A card of 0.3 names `url` and `additionalInterfaces`, one of 1.0 `supportedInterfaces`; one card may hold both.
"""

from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from ramify.capture.a2a.cards import origin
from ramify.protocols.a2a.wire import items, shape, text

Version = Literal["1.0", "0.3"]
Binding = Literal["JSONRPC", "HTTP+JSON"]
BINDINGS: tuple[Binding, ...] = ("JSONRPC", "HTTP+JSON")
CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


class Offer(Struct, frozen=True):
    version: Version
    binding: Binding
    url: str
    tenant: str = ""
    streams: bool = False

    @property
    def subscribes(self) -> bool:
        """Whether watching a task leaves it as it is: agents of 0.3 write into it again for every watcher."""
        return self.version == "1.0" and self.streams


def card_places(address: str) -> list[str]:
    """Where the card of an agent may stand: at its own address, else at the root of its host."""
    parts = urlsplit(address)
    if parts.path.endswith(".json"):
        return [address]
    below = parts.path.rstrip("/")
    paths = [lead + card for lead in dict.fromkeys((below, "")) for card in CARDS]
    return [urlunsplit((parts.scheme, parts.netloc, path, "", "")) for path in paths]


def best_offer(card: Any, found_at: str) -> Offer | None:
    """JSON-RPC before the HTTP binding, 1.0 before 0.3. None: the card names no address of its own host that we speak."""
    offers = every_offer(shape(card), found_at)
    return min(offers, key=lambda offer: (BINDINGS.index(offer.binding), offer.version != "1.0"), default=None)


def every_offer(card: dict[str, Any], found_at: str) -> Iterator[Offer]:
    streams = shape(card.get("capabilities")).get("streaming") is True
    for version, binding, url, tenant in interfaces(card):
        own = on_same_host(url, found_at)
        family: Version | None = "1.0" if version.startswith("1.") else "0.3" if version.startswith("0.3") else None
        if own and family and binding in BINDINGS:
            yield Offer(family, binding, own, tenant, streams)


def interfaces(card: dict[str, Any]) -> Iterator[tuple[str, Any, str, str]]:
    """Version, binding, address and tenant of each."""
    for each in map(shape, items(card.get("supportedInterfaces"))):
        yield text(each.get("protocolVersion")) or "1.0", each.get("protocolBinding"), text(each.get("url")), text(each.get("tenant"))
    version = text(card.get("protocolVersion")) or "0.3"
    if text(card.get("url")):
        yield version, card.get("preferredTransport") or "JSONRPC", text(card.get("url")), ""
    for each in map(shape, items(card.get("additionalInterfaces"))):
        yield version, each.get("transport"), text(each.get("url")), ""


def on_same_host(url: str, found_at: str) -> str:
    """The address with the host by which the agent was reached; nothing where the card points to somebody else."""
    try:
        given, known = urlsplit(url), urlsplit(found_at)
        same = origin(given) == origin(known)
    except ValueError:
        return ""
    return urlunsplit((known.scheme, known.netloc, given.path, given.query, "")) if same else ""
