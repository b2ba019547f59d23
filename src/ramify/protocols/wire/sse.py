"""Server-sent events as bytes: any cut, any line ending, comments. Shared by every protocol that streams."""

from collections.abc import Iterator


def lines_of(raw: bytes) -> list[bytes]:
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return raw.split(b"\n")


def payloads(raw: bytes) -> Iterator[bytes]:
    """The data of each event. A last event without its blank line was cut; it is given too, readers judge it."""
    gathered: list[bytes] = []
    for line in lines_of(raw):
        if not line:
            if gathered:
                yield b"\n".join(gathered)
                gathered = []
        elif line.startswith(b"data:"):
            gathered.append(line[6:] if line[5:6] == b" " else line[5:])
    if gathered:
        yield b"\n".join(gathered)
