"""Secrets out of one event, before it is stored: by name, in headers, in addresses, in JSON inside strings.

What was found under such a name is replaced wherever else it stands in the same event: agents echo what they were sent.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import msgspec

from ramify.model.echoes import Echoes

MARK = "[redacted]"
HEADERS = frozenset(
    {
        "authorization", "proxyauthorization", "cookie", "setcookie", "xapikey", "xadcpauth", "xadcpsignature", "signature",
        "mcpsessionid", "xa2anotificationtoken",
    }
)  # fmt: skip
ANYWHERE = HEADERS - {"signature"}
NAMES = ("credential", "secret", "password", "passwd", "apikey", "privatekey", "token")
PLAIN = ("progresstoken", "pagetoken", "tokens")
KEY = "idempotencykey"
HASHED = re.compile(r"sha256:[0-9a-f]{16}")
USERINFO = re.compile(r"(?<=://)[^/?#\s\"']+(?=@)")  # up to the last one: a password may hold that sign
QUERY = re.compile(r"([?&;#])([^=&;?#\s\"']+)=((?:[^&;#\s\"']|;(?![^=&;#\s\"']*=))*)")  # a value may hold the sign that parts two
SHORTEST = 6  # of a secret that is looked for inside other texts; a shorter one must be the whole text
DEEPEST = 200


def redacted(event: dict[str, Any]) -> dict[str, Any]:
    """The same event without secrets; equal again when it is given once more."""
    found: dict[str, str] = {}
    clean = Walk(found).value("", event, False, 0)
    if found:
        replace = replacing(found)
        clean = rewritten(clean, replace)
    assert isinstance(clean, dict)
    return clean


def redact_line(raw: bytes) -> bytes:
    """The same for a line that may come from a program which has not looked; what is no event is left to others."""
    line = as_json(raw.decode("utf-8", "replace"))
    if not isinstance(line, dict):
        return raw
    clean = redacted(line)
    return raw if clean == line else msgspec.json.encode(clean)


def hashed(key: str) -> str:
    return key if HASHED.fullmatch(key) else f"sha256:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def is_secret(name: str) -> bool:
    squeezed = squeeze(name)
    return any(word in squeezed for word in NAMES) and not squeezed.endswith(PLAIN)


def squeeze(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


class Walk:
    """One way through an event; `found` takes what was cut out and what stands for it."""

    def __init__(self, found: dict[str, str]) -> None:
        self.found = found

    def value(self, name: str, value: Any, header: bool, depth: int) -> Any:
        if depth > DEEPEST:
            return MARK
        squeezed = squeeze(name) if name else ""
        if squeezed == KEY and isinstance(value, str) and value:
            return self.note(value, hashed(value))
        if is_secret(name) or squeezed in (HEADERS if header else ANYWHERE):
            return self.hide(value)
        if isinstance(value, dict):
            inside = header or squeezed.endswith("headers")
            return {key: self.value(str(key), one, inside, depth + 1) for key, one in value.items()}
        if isinstance(value, list):
            return [self.item(one, header or squeezed.endswith("headers"), depth) for one in value]
        return self.text(value, depth) if isinstance(value, str) else value

    def item(self, value: Any, header: bool, depth: int) -> Any:
        """Headers may stand as pairs, or as objects with a name and a value."""
        if header and isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
            return [value[0], self.value(value[0], value[1], True, depth + 1)]
        named = value.get("name", value.get("key")) if isinstance(value, dict) else None
        if isinstance(named, str) and "value" in value and (is_secret(named) or squeeze(named) in HEADERS):
            return {**value, "value": self.hide(value["value"])}
        return self.value("", value, header, depth + 1)

    def hide(self, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        for secret in strings(value):
            if secret and secret != MARK:
                self.note(secret, MARK)
                scheme, space, rest = secret.partition(" ")
                if space and rest and scheme.isalpha():
                    self.note(rest, MARK)  # `Bearer …`: the rest stands elsewhere without its scheme
        return MARK

    def note(self, secret: str, mark: str) -> str:
        if secret != mark:
            self.found[secret] = mark
        return mark

    def text(self, value: str, depth: int) -> str:
        if value[:1] in "{[" or value[:1].isspace():
            opened = as_json(value)
            if isinstance(opened, dict | list):
                clean = self.value("", opened, False, depth + 1)
                return value if clean == opened else msgspec.json.encode(clean).decode()
        if "=" in value and ("?" in value or "#" in value):
            value = QUERY.sub(self.parameter, value)
        return USERINFO.sub(lambda match: self.note(match[0], MARK), value) if "://" in value and "@" in value else value

    def parameter(self, match: re.Match[str]) -> str:
        name = unquote(match[2])
        if squeeze(name) == KEY and match[3]:
            return f"{match[1]}{match[2]}={self.note(match[3], hashed(match[3]))}"
        if match[3] and (is_secret(name) or squeeze(name) in HEADERS):
            return f"{match[1]}{match[2]}={self.note(match[3], MARK)}"
        return match[0]


def as_json(value: str) -> Any:
    try:
        return msgspec.json.decode(value)
    except (ValueError, RecursionError):
        return None


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)


def replacing(found: dict[str, str]) -> Callable[[str], str]:
    echoes = Echoes({secret: mark for secret, mark in found.items() if len(secret) >= SHORTEST})

    def replace(value: str) -> str:
        if value in found:
            return found[value]
        return echoes.out_of(value)

    return replace


def rewritten(value: Any, replace: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, dict):
        return {replace(name) if len(name) >= SHORTEST else name: rewritten(one, replace) for name, one in value.items()}
    return [rewritten(one, replace) for one in value] if isinstance(value, list) else value
