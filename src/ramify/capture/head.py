"""Heads of HTTP/1.1 messages as bytes: what arrived, in order, case and number, minus what ends at a hop."""

from ramify.capture.tee import RawHeaders

HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"transfer-encoding", b"upgrade")
)
"""RFC 9110 7.6.1; the names that a Connection field lists are added for each message."""

OURS = b"x-ramify-"


def dropped(headers: RawHeaders, chunked: bool) -> frozenset[bytes]:
    """A Content-Length beside chunks is a lie about the framing, and RFC 9112 6.3 takes it away."""
    named = {
        option.strip().lower()
        for key, value in headers
        if len(key) == 10 and key.lower() == b"connection"
        for option in value.split(b",")
    }
    # A client that lists Host or Content-Length there would break the framing of its own message.
    away = HOP_BY_HOP | (named - {b"host", b"content-length"}) if named else HOP_BY_HOP
    return away | {b"content-length"} if chunked else away


def request_head(method: str, target: str, headers: RawHeaders, host: bytes, *, chunked: bool) -> bytes:
    """`chunked` puts our own Transfer-Encoding where the client had its: it describes this hop."""
    away = dropped(headers, chunked)
    lines = [f"{method} {target} HTTP/1.1\r\n".encode("utf-8", "surrogateescape")]
    hosted = False
    for name, value in headers:
        key = name.lower()
        if key == b"host":
            if hosted:
                continue
            hosted = True
            value = host
        elif key == b"transfer-encoding" and chunked:
            value = b"chunked"
            chunked = False
        elif key in away or key.startswith(OURS):
            continue
        lines += (name, b": ", value, b"\r\n")
    if not hosted:
        lines += (b"Host: ", host, b"\r\n")  # an HTTP/1.0 client need not send one
    lines.append(b"\r\n")
    return b"".join(lines)


def response_head(
    version: tuple[int, int],
    status: int,
    reason: str,
    headers: RawHeaders,
    *,
    chunked: bool,
    keep_alive: bool,
) -> bytes:
    away = dropped(headers, chunked)
    lines = [f"HTTP/{version[0]}.{version[1]} {status} {reason}\r\n".encode("utf-8", "surrogateescape")]
    for name, value in headers:
        if name.lower() not in away:
            lines += (name, b": ", value, b"\r\n")
    if chunked:
        lines.append(b"Transfer-Encoding: chunked\r\n")
    if not keep_alive:
        lines.append(b"Connection: close\r\n")
    elif version < (1, 1):
        lines.append(b"Connection: keep-alive\r\n")
    lines.append(b"\r\n")
    return b"".join(lines)
