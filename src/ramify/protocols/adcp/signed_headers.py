"""`Signature-Input`, `Signature` and `Content-Digest` as AdCP writes them: as much of structured fields as that needs.

Strict: what a lenient reader would settle in its own way (a label twice, two alphabets in one value) is malformed.
"""

import base64
import binascii
import re

from msgspec import Struct

NAME = r"[a-z*][a-z0-9_\-.*]*"
STRING = r'"(?:[^"\\]|\\["\\])*"'
PARAMETER = re.compile(rf"; *({NAME})=({STRING}|\d{{1,15}})")
COVERED = re.compile(rf"({NAME})=(\( *((?:{STRING} *)*)\)(?:{PARAMETER.pattern})*)")
BINARY = re.compile(rf"({NAME})=:([A-Za-z0-9+/=_\-]*):")
NEXT = re.compile(r"[ \t]*,[ \t]*")


class Malformed(ValueError):
    pass


class Covered(Struct, frozen=True):
    """One signature's account of itself: which parts of the message it covers, and its parameters. `raw`: as sent."""

    components: tuple[str, ...]
    parameters: dict[str, str | int]
    raw: str


def read_covered(header: str, label: str) -> Covered:
    """Raises Malformed. Other labels are other people's, and must be readable all the same."""
    found = members(COVERED, header, "Signature-Input")
    if label not in found:
        raise Malformed(f"Signature-Input has no {label}")
    match = found[label]
    components = tuple(unquoted(one) for one in re.findall(STRING, match[3]))
    given = [(one[1], one[2]) for one in PARAMETER.finditer(match[2], match.end(3) - match.start(2))]
    parameters = {name: unquoted(value) if value.startswith('"') else int(value) for name, value in given}
    if len(set(components)) != len(components) or len(parameters) != len(given):
        raise Malformed("Signature-Input says something twice")
    return Covered(components, parameters, match[2])


def read_binary(header: str, name: str, what: str) -> bytes:
    """Raises Malformed. Either alphabet, padded or not; never both in one value."""
    found = members(BINARY, header, what)
    if name not in found:
        raise Malformed(f"{what} has no {name}")
    value = found[name][2].rstrip("=")
    if re.search(r"[+/]", value) and re.search(r"[-_]", value):
        raise Malformed(f"{what} mixes two alphabets of base64")
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), b"-_" if re.search(r"[-_]", value) else None, validate=True)
    except binascii.Error:
        raise Malformed(f"{what} is no base64") from None


def members(form: re.Pattern[str], header: str, what: str) -> dict[str, re.Match[str]]:
    found: dict[str, re.Match[str]] = {}
    header = header.strip()
    position = 0
    while True:
        match = form.match(header, position)
        if match is None or match[1] in found:
            raise Malformed(f"{what} is not written as RFC 9421 says")
        found[match[1]] = match
        if match.end() == len(header):
            return found
        comma = NEXT.match(header, match.end())
        if comma is None:
            raise Malformed(f"{what} is not written as RFC 9421 says")
        position = comma.end()


def unquoted(text: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", text[1:-1])
