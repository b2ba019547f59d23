"""Secrets out of A2A frames: by the names of headers, members and query values, and by what they look like.

Agents send a client's request back in their history, so a value that a name gave away is looked for in the whole
event. JSON inside strings is opened. What holds no secret keeps its bytes.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from ramify.capture.redact import HEADER_MARK, is_secret_header, patterns_once, redact_json, redact_string, redact_text
from ramify.capture.secret_keys import ANY_MARK, backslashes_before, name_before, value_end
from ramify.model.echoes import Echoes

MARK = HEADER_MARK
SHORTEST_ECHO = 8
"""A shorter value stands in too many places by chance."""
PAIR = re.compile(rb'"\s*+:(?:\s|\\+[nrt])*+(\\*+)"')
"""The end of a name and the beginning of its text, in JSON that was put into strings any number of times."""
NAME_END = re.compile(rb'"\s*:')
LONGEST_NAME = 80
LETTERS = re.compile(r"[^a-z0-9]+")
SECRET_NAME = re.compile(
    r"credential|secret|passw(?:or)?d|passphrase|apikey|privatekey|accesskey|token|authorization|^pwd$|^(?:set)?cookies?$"
)
# Cursors, counts and addresses, and the parts of a card that describe a way to log in.
PLAIN_NAME = re.compile(
    r"(?:page|progress|continuation)token|tokens$|tokens?(?:count|limit|usage|url|uri|endpoint|type)$|schemes?$|^tokens?used"
)
QUERY_VALUE = re.compile(r"([?&;]([^=&;?#\s\"'\\]{1,80})=)([^&;#\s\"'<>\\]+)")
QUERY_NAME = re.compile(rb"[?&;]([\w.%-]{1,80})=")
EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2,}")
LINE_END = re.compile(rb"\r\n|\n|\r")
PACKED = b'_b64"'
NO_NAMES: frozenset[str] = frozenset()


@lru_cache(10_000)
def is_secret_name(name: str) -> bool:
    letters = LETTERS.sub("", name.lower())
    return bool(SECRET_NAME.search(letters)) and not PLAIN_NAME.search(letters)


def redact_header_fields(headers: Mapping[str, str], names: frozenset[str] = NO_NAMES) -> dict[str, str]:
    """`names`: headers that the agent's card says are secret."""
    return {
        name: MARK if value and (is_secret_header(name) or name.lower() in names) else redact_string(value)
        for name, value in headers.items()
    }


def redact_path(path: str, names: frozenset[str] = NO_NAMES) -> str:
    def replace(found: re.Match[str]) -> str:
        name = unquote(found[2])
        return found[1] + MARK if is_secret_name(name) or name.lower() in names else found[0]

    return QUERY_VALUE.sub(replace, path)


def scheme_names(card: object) -> Iterator[str]:
    """The headers and parameters in which an agent's card wants keys: `apiKey` in 0.3, `apiKeySecurityScheme` in 1.0."""
    schemes = card.get("securitySchemes") if isinstance(card, dict) else None
    for scheme in schemes.values() if isinstance(schemes, dict) else ():
        if isinstance(scheme, dict):
            inner = scheme.get("apiKeySecurityScheme")
            for where in (scheme, inner if isinstance(inner, dict) else {}):
                if isinstance(where.get("name"), str):
                    yield where["name"].lower()


def redact_frame(line: bytes, names: frozenset[str] = NO_NAMES) -> bytes:
    """One line of JSON; the same bytes where nothing in it is secret."""
    if not names and PACKED not in line and not has_secret_name(line) and patterns_once(line) == line:
        return line
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return redact_broken(line)
    if not isinstance(frame, dict):
        return redact_broken(line)
    clean = redact_members(frame, names)
    return in_writing(line if clean == frame else written(clean))


def in_writing(line: bytes) -> bytes:
    """What only a word beside it gives away is seen where both stand in one text."""
    clean = redact_text(line)
    return line if clean == line else clean


def has_secret_name(line: bytes) -> bool:
    return any(map(is_secret_name, names_in(line))) or any(map(is_secret_name, parameters_in(line)))


def parameters_in(line: bytes) -> Iterator[str]:
    return (unquote(found[1].decode("utf-8", "replace")) for found in QUERY_NAME.finditer(line))


def names_in(line: bytes) -> Iterator[str]:
    """Of members, in JSON and in JSON inside strings."""
    for found in NAME_END.finditer(line):
        end = found.start() - backslashes_before(line, found.start())
        start = line.rfind(b'"', max(0, end - LONGEST_NAME), end)
        if start >= 0:
            yield line[start + 1 : end].decode("utf-8", "replace")


def redact_members(frame: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    clean = dict(frame)
    if isinstance(headers := frame.get("headers"), dict):
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in headers.items()}
        hidden = redact_header_fields(texts, names)
        clean["headers"] = {name: headers[name] if hidden[name] == texts[name] else hidden[name] for name in headers}
    if isinstance(path := frame.get("path"), str):
        clean["path"] = plain_text(redact_path(path, names))
    if "body" in frame:
        clean["body"] = redact_value(frame["body"])
    if isinstance(raw := frame.get("raw"), str):
        clean["raw"] = redact_stream(raw.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    for member, redact in (("body_b64", redact_broken), ("raw_b64", redact_stream)):
        if isinstance(packed := frame.get(member), str):
            clean[member] = redact_packed(packed, redact)
    return clean


def redact_packed(packed: str, redact: Any) -> str:
    try:
        raw = b64decode(packed, validate=True)
    except ValueError:
        return packed
    clean = redact(raw)
    return packed if clean == raw else b64encode(clean).decode()


# -- a value of JSON ---------------------------------------------------------------------------------------------------


def redact_value(value: Any) -> Any:
    found: set[str] = set()
    clean = Walk(found).value(value)
    echoes = {secret: MARK for secret in found if len(secret) >= SHORTEST_ECHO}
    return without(clean, Echoes(echoes)) if echoes else clean


class Walk:
    """Collects the secrets that names give away, and leaves marks in their places."""

    def __init__(self, found: set[str]) -> None:
        self._found = found

    def value(self, value: Any) -> Any:
        match value:
            case dict():
                return {name: self._hidden(each) if is_secret_name(name) else self.value(each) for name, each in value.items()}
            case list():
                return [self.value(each) for each in value]
            case str():
                return self._text(value)
        return value

    def _hidden(self, value: Any) -> Any:
        """Every text under a secret name; numbers and marks of earlier searches stay."""
        match value:
            case dict():
                return {name: self._hidden(each) for name, each in value.items()}
            case list():
                return [self._hidden(each) for each in value]
            case str() if value and not ANY_MARK.fullmatch(value.encode("utf-8", "replace")):
                self._found.add(value)
                return MARK
        return value

    def _text(self, text: str) -> str:
        if text.lstrip()[:1] in ("{", "["):
            try:
                inner = json.loads(text)
            except (ValueError, RecursionError):
                return plain_text(text)
            clean = self.value(inner)
            return text if clean == inner else json.dumps(clean, ensure_ascii=False)
        return plain_text(text)


def plain_text(text: str) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    clean = redact_broken(raw) if b'"' in raw else redact_text(raw)
    text = text if clean == raw else clean.decode("utf-8", "surrogatepass")
    return redact_path(text) if "://" in text else text


def redact_broken(raw: bytes) -> bytes:
    """What is no JSON, but may hold parts of it: by the names alone."""
    found = {raw[start:end] for start, end in named_values(raw)}
    clean = redact_json(raw)
    secrets = [secret.decode("latin-1") for secret in found if not ANY_MARK.fullmatch(secret)]
    if not secrets:
        return clean
    echoes = {f'"{secret}': f'"{MARK}' for secret in secrets} | {secret: MARK for secret in secrets if len(secret) >= SHORTEST_ECHO}
    return Echoes(echoes).out_of(clean.decode("latin-1")).encode("latin-1")


def named_values(raw: bytes) -> Iterator[tuple[int, int]]:
    """Where texts stand whose names say that they are secret; one that was cut ends where all ends."""
    for found in PAIR.finditer(raw):
        depth = backslashes_before(raw, found.start())
        if depth != len(found[1]):
            continue
        if is_secret_name(name_before(raw, found.start(), depth).decode("utf-8", "replace")):
            end = value_end(raw, found.end(), depth)
            if end > found.end():
                yield found.end(), end


def without(value: Any, echoes: Echoes) -> Any:
    match value:
        case dict():
            return {name: without(each, echoes) for name, each in value.items()}
        case list():
            return [without(each, echoes) for each in value]
        case str():
            return echoes.out_of(value)
    return value


def written(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half a character, which only an escape can write
        return json.dumps(value, separators=(",", ":")).encode()


# -- a stream ----------------------------------------------------------------------------------------------------------


def redact_stream(raw: bytes) -> bytes:
    return b"".join(clean for _, clean in redacted_events(raw))


def redacted_events(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each event with the blank lines after it, as it was and without secrets."""
    start = 0
    for found in EVENT_END.finditer(raw):
        yield raw[start : found.end()], redact_event(raw[start : found.start()]) + found[0]
        start = found.end()
    if start < len(raw):
        yield raw[start:], redact_event(raw[start:])


def redact_event(event: bytes) -> bytes:
    if not has_secret_name(event) and patterns_once(event) == event:
        return event
    lines = LINE_END.split(event)
    payload = b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return redact_broken(event)
    clean = redact_value(value)
    if clean == value:
        return in_writing(event)
    others = [line for line in lines if not line.startswith(b"data:")]
    ending = LINE_END.search(event)
    return (ending[0] if ending else b"\n").join([*others, b"data: " + in_writing(written(clean))])
