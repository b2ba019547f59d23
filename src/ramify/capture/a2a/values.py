"""Secrets out of values of JSON: by the names of members and query values, and by what they look like.

A value that a name gave away is looked for in the whole event. JSON inside strings is opened.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from ramify.capture.a2a.pieces import spread
from ramify.capture.redact import HEADER_MARK, redact_json, redact_text
from ramify.capture.secret_keys import ANY_MARK, backslashes_before, name_before, value_end
from ramify.model.echoes import Echoes

MARK = HEADER_MARK
SHORTEST_ECHO = 8
"""A shorter value stands in too many places by chance."""
PAIR = re.compile(rb'"\s*+:(?:\s|\\+[nrt])*+(\\*+)"')
"""The end of a name and the beginning of its text, in JSON that was put into strings any number of times."""
LETTERS = re.compile(r"[^a-z0-9]+")
SECRET_NAME = re.compile(
    r"credential|secret|passw(?:or)?d|passphrase|apikey|privatekey|accesskey|token|authorization|^pwd$|^(?:set)?cookies?$"
)
# Cursors, counts and addresses, and the parts of a card that describe a way to log in.
PLAIN_NAME = re.compile(
    r"(?:page|progress|continuation)token|tokens$|tokens?(?:count|limit|usage|url|uri|endpoint|type)$|schemes?$|^tokens?used"
)
QUERY_VALUE = re.compile(r"([?&;]([^=&;?#\s\"'\\]{1,80})=)([^&;#\s\"'<>\\]+)")
NO_NAMES: frozenset[str] = frozenset()


@lru_cache(10_000)
def is_secret_name(name: str) -> bool:
    letters = LETTERS.sub("", name.lower())
    return bool(SECRET_NAME.search(letters)) and not PLAIN_NAME.search(letters)


def redact_path(path: str, names: frozenset[str] = NO_NAMES) -> str:
    def replace(found: re.Match[str]) -> str:
        name = unquote(found[2])
        return found[1] + MARK if is_secret_name(name) or name.lower() in names else found[0]

    return QUERY_VALUE.sub(replace, path)


def in_writing(line: bytes) -> bytes:
    """What only a word beside it gives away is seen where both stand in one text."""
    clean = redact_text(line)
    return line if clean == line else clean


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
                return [self.value(each) for each in whole_texts(value)]
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


def whole_texts(parts: list[Any]) -> list[Any]:
    """Parts of one message or artifact stand side by side, and so do those of a secret: they are judged as one text."""
    texts = [part["text"] for part in parts if has_text(part)]
    if len(texts) < 2:
        return parts
    before = "".join(texts)
    after = plain_text(before)
    if after == before:
        return parts
    clean = iter(spread(texts, before, after))
    return [part | {"text": next(clean)} if has_text(part) else part for part in parts]


def has_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)


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
