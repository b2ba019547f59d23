"""The address of a request as both sides of a signature write it: RFC 3986's normal form, with the query as it was sent."""

import re
from urllib.parse import urlsplit

PORTS = {"http": "80", "https": "443"}
UNRESERVED = re.compile(r"[A-Za-z0-9\-._~]")
AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@/?#]+)(?::(\d*))?", re.ASCII)


def authority(url: str) -> str:
    """Raises ValueError for what is no address."""
    parts = urlsplit(url)
    match = AUTHORITY.fullmatch(parts.netloc.rpartition("@")[2])
    host = match[1].removesuffix(".").lower() if match else ""
    if match is None or "" in host.split("."):
        raise ValueError(f"{parts.netloc!r} is no host")
    if not host.isascii():
        host = host.encode("idna").decode()
    port = (match[2] or "").lstrip("0")
    return f"{host}:{port}" if port and port != PORTS.get(parts.scheme.lower()) else host


def target_uri(url: str) -> str:
    """Raises ValueError."""
    sent = url.partition("#")[0]
    parts = urlsplit(sent)
    path = re.sub(r"%[0-9A-Fa-f]{2}", escaped, without_dots(parts.path)) or "/"
    query = sent.partition("?")
    return f"{parts.scheme.lower()}://{authority(url)}{path}{query[1]}{query[2]}"


def escaped(match: re.Match[str]) -> str:
    letter = chr(int(match[0][1:], 16))
    return letter if UNRESERVED.fullmatch(letter) else match[0].upper()


def without_dots(path: str) -> str:
    """RFC 3986, 5.2.4, of a path that begins with a slash."""
    kept: list[str] = []
    parts = path.split("/")
    for part in parts:
        if part == ".." and len(kept) > 1:
            kept.pop()
        elif part not in (".", ".."):
            kept.append(part)
    if parts[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)
