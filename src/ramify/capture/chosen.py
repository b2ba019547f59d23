"""What a person wants out of a store: by one rule, by a pattern, by its words. It is looked for wherever rules look.

Whatever is chosen goes everywhere, on both sides of every link, or links that rest on equal words would break.
"""

import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn
from urllib.parse import quote

from msgspec.structs import replace

from ramify.capture.redact import ROUNDS, redact_body
from ramify.capture.redact_stream import Redact
from ramify.capture.secret_escapes import through_escapes
from ramify.capture.secret_keys import redact_named
from ramify.capture.secret_patterns import FAMILIES
from ramify.capture.secret_shapes import mark
from ramify.capture.secret_words import BESIDE, redact_beside
from ramify.model.mistake import UserMistake
from ramify.model.observation import Correction, Headers, Observation, Record, Request, Response
from ramify.redaction import Sent

BY_NAME = "secret"
RULES = sorted({BY_NAME, *(word.kind for word in BESIDE), *(each.kind for family in FAMILIES for each in family.patterns)})
SHORTEST = 4  # letters: less would be found everywhere
DEPTHS = 3  # how often a text may have been put into a JSON string
SECONDS = 5.0  # of processor time that a pattern may take for one text
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z|\\\Z)', re.DOTALL)  # one that is cut goes to the end
STRUCTURED = (b"{", b"[", b'"', b"data:", b"event:", b"id:", b"retry:", b":")


class Chosen:
    """One search after the other, in all that was seen: bodies, headers, addresses, the names of places."""

    def __init__(self, searches: Sequence[Redact]) -> None:
        self._searches = searches

    def piece(self, raw: bytes) -> bytes:
        for search in self._searches:
            raw = search(raw)
        return raw

    def head(self, seen: Sent) -> Sent:
        return replace(seen, headers=self._headers(seen.headers), path=self._text(seen.path))

    def streams(self) -> None:
        return None

    def observation(self, seen: Observation) -> Observation:
        match seen:
            case Request() | Response():
                return self._exchange(seen)
            case Record():
                return replace(seen, place=self._text(seen.place), body=self.piece(seen.body))
            case Correction():
                return seen

    def _exchange(self, seen: Request | Response) -> Observation:
        named = {name.lower(): value for name, value in reversed(seen.headers)}
        body, decoded = redact_body(seen.body, named.get("content-type", ""), named.get("content-encoding", ""), self.piece)
        headers = tuple(pair for pair in seen.headers if pair[0].lower() != "content-encoding") if decoded else seen.headers
        plain = replace(seen, headers=headers, body=body)
        return self.head(plain) if isinstance(plain, Request) else self.head(replace(plain, error=self._text(plain.error)))

    def _headers(self, headers: Headers) -> Headers:
        return tuple((name, self._text(value)) for name, value in headers)

    def _text(self, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        clean = self.piece(raw)
        return text if clean == raw else clean.decode("utf-8", "surrogatepass")


def by_rule(kind: str) -> Redact:
    if kind not in RULES:
        raise UserMistake(f"there is no rule {kind!r}", f"the rules are named after the marks they leave: {', '.join(RULES)}")
    families = [(family.probe, patterns) for family in FAMILIES if (patterns := [each for each in family.patterns if each.kind == kind])]

    def once(text: bytes) -> bytes:
        for probe, patterns in families:
            if probe.search(text):
                for pattern in patterns:
                    text = pattern.shape.sub(pattern.replace, text)
        text = redact_beside(text, kind)
        return redact_named(text) if kind == BY_NAME else text

    def redact(text: bytes) -> bytes:
        for _ in range(ROUNDS):
            before, text = text, once(text)
            if text == before:
                break
        return text

    return lambda text: through_escapes(text, redact)


def by_text(text: str) -> Redact:
    replacement = mark("text")
    if len(text) < SHORTEST:
        raise UserMistake("a text that is to go needs four letters at least", "give more of it, or a --pattern")
    if text.encode("utf-8", "surrogatepass") in replacement:
        raise UserMistake("the text is a part of the mark that would take its place", "what is marked is gone already")
    written = sorted(set(spellings(text)), key=len, reverse=True)

    def redact(raw: bytes) -> bytes:
        for one in written:
            raw = raw.replace(one, replacement)
        return raw

    return redact


def spellings(text: str) -> Iterator[bytes]:
    """As it is, in JSON and in JSON inside strings, in an address."""
    for ascii_only in (False, True):
        inner = text
        for _ in range(DEPTHS + 1):
            yield inner.encode("utf-8", "surrogatepass")
            inner = json.dumps(inner, ensure_ascii=ascii_only)[1:-1]
    yield quote(text, errors="surrogatepass").encode()
    yield quote(text, safe="", errors="surrogatepass").encode()


def by_pattern(pattern: str) -> Redact:
    """Of JSON and event streams each string is searched as it reads, so that what is around it stays whole."""
    shape = compiled(pattern)
    replacement = mark("pattern").decode()

    def in_string(found: "re.Match[bytes]") -> bytes:
        try:
            text: str = json.loads(found[0], strict=False)
        except ValueError:  # cut inside an escape, or no JSON at all
            return whole(found[0])
        clean = shape.sub(replacement, text)
        return found[0] if clean == text else json.dumps(clean, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def whole(raw: bytes) -> bytes:
        return shape.sub(replacement, raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def redact(raw: bytes) -> bytes:
        with limited(SECONDS, pattern):
            return STRING.sub(in_string, raw) if raw.lstrip().startswith(STRUCTURED) else whole(raw)

    return redact


def compiled(pattern: str) -> "re.Pattern[str]":
    try:
        shape = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as problem:
        raise UserMistake(f"{pattern!r} is no pattern: {problem}", "it is written as for Python's re") from None
    if shape.search(""):
        raise UserMistake(f"the pattern {pattern!r} fits nothing at all", "it would fit everywhere: ask for one letter at least")
    if shape.search(mark("pattern").decode()):
        raise UserMistake(f"the pattern {pattern!r} fits the mark that would take its place", "it would be found again and again: narrow it")
    return shape


@contextmanager
def limited(seconds: float, pattern: str) -> Iterator[None]:
    """A pattern may take forever for a text that its writer did not think of. `re` looks for signals while it searches; they
    reach the main thread alone, which is where commands run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> NoReturn:
        raise UserMistake(f"the pattern {pattern!r} took longer than {seconds:g} s for one text", "no + or * inside another; nothing was changed")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def chosen(rules: Sequence[str], patterns: Sequence[str], texts: Sequence[str]) -> Chosen:
    makers: list[tuple[Callable[[str], Redact], Sequence[str]]] = [(by_rule, rules), (by_pattern, patterns), (by_text, texts)]
    return Chosen([make(one) for make, wanted in makers for one in wanted])
