"""Names of machines, as a request gives them: which are our own, and which a stranger cannot have pointed at us."""

import ipaddress
from urllib.parse import urlsplit


def host_name(host: str) -> str:
    """Without the port; "" for what is no host."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_local(name: str) -> bool:
    name = plain(name)
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = address_in(name)
    # A socket for both kinds of address shows those of version 4 inside version 6.
    inner = getattr(address, "ipv4_mapped", None) or address
    return inner is not None and bool(inner.is_loopback)


def is_nobodys(name: str) -> bool:
    """Nobody can register it and point it here: an address, a name without a dot (a container's, a service's) or one below `internal`,
    which is kept free for private use (ICANN, 2024) and by which containers reach the machine that they run on."""
    name = plain(name)
    return bool(name) and ("." not in name or name.endswith((".internal", ".localhost")) or address_in(name) is not None)


def plain(name: str) -> str:
    return name.strip("[]").rstrip(".").lower()


def address_in(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return None
