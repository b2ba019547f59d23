"""Secrets out of a stream of events, which an agent may cut anywhere: texts that grow are judged as one.

While a stream goes on, slices wait as long as a text in them ends in what may be half a secret. What was told is remembered
to its last words, so that even the rest of a secret whose beginning had to go is known.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ramify.capture.a2a.glance import shows_nothing
from ramify.capture.a2a.pieces import same_end, spread
from ramify.capture.a2a.values import has_text, in_writing, plain_text, redact_broken, redact_value, written
from ramify.protocols.a2a.wire import items, recognise, shape, text
from ramify.protocols.wire.characters import NOT_JSON

EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2,}")
LINE_END = re.compile(rb"\r\n|\n|\r")
WORD = re.compile(r"[^\s\"'`,;&|<>(){}\[\]]*+")
PLAIN = re.compile(r"[A-Za-z]?[a-z]{0,20}[.!?:…]{0,3}|\d{1,4}[.%]?")
"""Words and small numbers as people write them: no half of a secret."""
REMEMBERED = 400  # letters of each text that was told
MOST_TEXTS = 100  # that are remembered
MOST_HELD = 2**18  # bytes of slices that wait
PEM, PEM_END = "-----BEGIN", "-----END"


class Event(NamedTuple):
    """One event of a stream with the blank lines after it; `value` is what it says, `parts` the texts that grow by it, each by its name."""

    raw: bytes
    blank: bytes
    value: Any
    parts: list[tuple[str, dict[str, Any]]]


class Slice(NamedTuple):
    at: int
    events: list[Event]


class Growth:
    """Of one stream. Slices go in as they come, and come out when nothing in them can be half a secret."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}  # the last words of each text
        self._begun: dict[str, int] = {}  # how often an artifact was begun anew
        self._held: list[Slice] = []
        self._open: dict[str, str] = {}  # texts in what is held, with what was told of them
        self._unsure: set[str] = set()  # those that may go on
        self._size = 0

    @property
    def waits(self) -> bool:
        return bool(self._held)

    def add(self, at: int, raw: bytes) -> list[tuple[int, bytes]]:
        """What can be told by now, with the moments at which it came."""
        found = Slice(at, [self._read(*event) for event in split_events(raw)])
        self._held.append(found)
        self._size += len(raw)
        grown = {block for event in found.events for block, _ in event.parts}
        for block, part in (each for event in found.events for each in event.parts):
            self._open[block] = self._open.get(block, self._told.get(block, "")) + part["text"]
        self._unsure = {block for block in self._unsure | grown if block not in grown or may_go_on(self._open[block])}
        return [] if self._size < MOST_HELD and self._unsure else self.release()

    def release(self) -> list[tuple[int, bytes]]:
        """All of it, as clean as it can be known to be."""
        held, self._held, self._size, self._unsure = self._held, [], 0, set()
        pieces: dict[str, list[dict[str, Any]]] = {}
        for each in held:
            for event in each.events:
                for block, part in event.parts:
                    pieces.setdefault(block, []).append(part)
        touched = {id(part) for block, parts in pieces.items() for part in self._cleaned(block, parts)}
        self._forget()
        return [(each.at, b"".join(redacted(event, touched) + event.blank for event in each.events)) for each in held]

    def _cleaned(self, block: str, parts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        before = self._open.pop(block)
        texts = [part["text"] for part in parts]
        after = plain_text(before)
        self._told[block] = rest_of(before, after)
        if after != before and before != texts[0]:
            for part, clean in zip(parts, spread(texts, before, after), strict=True):
                if part["text"] != clean:
                    part["text"] = clean
                    yield part

    def _forget(self) -> None:
        for told in (self._told, self._begun):
            for name in list(told)[: max(0, len(told) - MOST_TEXTS)]:
                del told[name]

    def _read(self, raw: bytes, blank: bytes) -> Event:
        if b"text" not in raw:
            return Event(raw, blank, None, [])
        value = value_of(raw)
        kind, body = recognise(value)
        match kind:
            case "artifactUpdate":
                artifact = shape(body.get("artifact"))
                return Event(raw, blank, value, named(self._artifact(body, artifact), artifact))
            case "statusUpdate":
                return Event(raw, blank, value, named(f"status {text(body.get('taskId'))}", shape(shape(body.get("status")).get("message"))))
            case "message":
                return Event(raw, blank, value, named(f"message {text(body.get('taskId'))}", body))
        return Event(raw, blank, None, [])

    def _artifact(self, body: dict[str, Any], artifact: dict[str, Any]) -> str:
        name = f"{text(body.get('taskId'))} {text(artifact.get('artifactId')) or text(artifact.get('name'))}"
        if body.get("append") is not True:
            self._begun[name] = self._begun.get(name, 0) + 1
        return f"artifact {self._begun.get(name, 0)} {name}"


def named(block: str, body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The texts of a message or an artifact, which 0.3 over HTTP calls its content."""
    return [(block, part) for part in items(body.get("parts")) or items(body.get("content")) if has_text(part)]


def may_go_on(said: str) -> bool:
    """Whether it ends in what may be half a secret: no plain word, a secret without an end, the middle of a private key."""
    word = WORD.match(said[: -REMEMBERED - 1 : -1])
    if word and not PLAIN.fullmatch(word[0][::-1]):
        return True
    if said.rfind(PEM) > said.rfind(PEM_END):
        return True
    last = said[-REMEMBERED:]
    clean = plain_text(last)
    return clean != last and not same_end(last, clean)


def rest_of(before: str, after: str) -> str:
    """The last words, from behind what was found in them, unless it may go on."""
    same = same_end(before, after) if after != before else 0
    return before[-min(same, REMEMBERED) if same else -REMEMBERED :]


# -- events ------------------------------------------------------------------------------------------------------------


def redacted_events(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each event with the blank lines after it, as it was and without secrets."""
    growth = Growth()
    events = [event + blank for event, blank in split_events(raw)]
    for at, event in enumerate(events):
        yield from ((events[told], clean) for told, clean in growth.add(at, event))
    yield from ((events[told], clean) for told, clean in growth.release())


def split_events(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    start = 0
    for found in EVENT_END.finditer(raw):
        yield raw[start : found.start()], found[0]
        start = found.end()
    if start < len(raw):
        yield raw[start:], b""


def redacted(event: Event, touched: set[int]) -> bytes:
    if any(id(part) in touched for _, part in event.parts):
        return rewritten(event.raw, redact_value(event.value))
    return redact_event(event.raw)


def redact_event(event: bytes) -> bytes:
    if shows_nothing(event):
        return event
    value = value_of(event)
    if value is NOT_JSON:
        return redact_broken(event)
    clean = redact_value(value)
    return in_writing(event) if clean == value else rewritten(event, clean)


def value_of(event: bytes) -> Any:
    payload = b"\n".join(line[5:].removeprefix(b" ") for line in LINE_END.split(event) if line.startswith(b"data:"))
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return NOT_JSON


def rewritten(event: bytes, value: Any) -> bytes:
    others = [line for line in LINE_END.split(event) if not line.startswith(b"data:")]
    ending = LINE_END.search(event)
    return (ending[0] if ending else b"\n").join([*others, b"data: " + in_writing(written(value))])
