"""Where an agent is asked: at an address that somebody named for it, and nowhere else.

Whoever may send events can write any address into them, and what is asked carries the agent's token. So an event's
address says at most where below a named one the agent answers. Where only programs of this machine can have sent it, it is also believed
about this machine: they could ask there themselves.
"""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from ramify.capture.a2a.cards import origin
from ramify.settings import is_loopback

NOT_NAMED = "nobody named the address of this agent"


class Place(NamedTuple):
    url: str
    protocol: str


class Addresses(Struct, frozen=True):
    """`a2a`: agents that are watched; `others`: agents that are only asked, most of them over MCP. `near`: all that is told comes from
    this machine."""

    a2a: Mapping[str, str] = {}
    others: Mapping[str, str] = {}
    near: bool = False

    def of(self, agent: str, told: str, protocol: str) -> Place | None:
        """None: nobody named it. What is watched speaks A2A, whatever is told; of the others events may say what they speak."""
        watched, other = self.a2a.get(agent), self.others.get(agent)
        if watched is not None and (other is None or protocol == "a2a"):
            return Place(below(watched, told), "a2a")
        url = below(other, told) if other is not None else told if self.near and is_here(told) else ""
        return Place(url, "a2a" if protocol == "a2a" else "mcp") if url else None


def hint(agent: str) -> str:
    """For whoever started the server, or the command."""
    name = agent if agent.isprintable() and not set(agent) & set("=,") and len(agent) < 80 else "NAME"
    return f"name it with --agent {repr(name) if ' ' in name else name}=URL, or with --a2a where it is watched"


def is_here(told: str) -> bool:
    try:
        found = urlsplit(told)
        return found.scheme in ("http", "https") and "@" not in found.netloc and not found.query and is_loopback(found.hostname or "")
    except ValueError:
        return False


def below(named: str, told: str) -> str:
    """The named address, or the one that was told where that is the same place or under it, on the host as it was named."""
    try:
        base, found = urlsplit(named), urlsplit(told)
    except ValueError:
        return named
    return base._replace(path=found.path).geturl() if is_below(base, found) else named


def is_below(base: SplitResult, found: SplitResult) -> bool:
    if not found.path or found.query or found.fragment or "@" in found.netloc or origin(base) != origin(found):
        return False
    plain, above = unquote(found.path), base.path.rstrip("/")
    if "\\" in plain or any(segment in (".", "..") for segment in plain.split("/")):
        return False
    return found.path == above or found.path.startswith(above + "/")
