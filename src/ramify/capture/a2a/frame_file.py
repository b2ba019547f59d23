"""Frames from a file, one JSON object a line, in any order. A bad line is kept and reported.

A stream may be cut anywhere between its frames, and so may a secret: the slices of a stream are searched together.
They wait until the stream's end was read, or the file's.
"""

import json
import zlib
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ramify.capture.a2a.cards import cards_in
from ramify.capture.a2a.frame import FORMAT, Kind, make_record
from ramify.capture.a2a.runs import redact_run, rewritten, runs
from ramify.capture.a2a.secrets import redact_frame, scheme_names
from ramify.capture.importer import Imported, moment, numbered, opened, unreadable
from ramify.model.ids import digest
from ramify.model.observation import Record

Stream = tuple[str, str]
"""An agent and a connection."""
SOURCE = "import"
SCHEMES = b"ecuritySchemes"


class FrameLine(Struct, frozen=True):
    agent: str
    connection: str
    seq: int
    time: str
    kind: Kind
    raw: str | None = None
    raw_b64: str | None = None


class Slice(Struct, frozen=True):
    """A frame of a stream that waits for the others."""

    number: int
    at: int
    frame: FrameLine
    line: bytes
    raw: bytes


_decode = msgspec.json.Decoder(FrameLine).decode


def read_frames(path: Path, project: str) -> Iterator[Imported]:
    """Never raises, never stops at a bad line. Each line is told once; a slice when its stream is complete."""
    number = 0
    reading = Reading(path, project)
    try:
        reading.names = names_of_keys(path)
        with opened(path) as file:
            for number, line in numbered(file):
                if not line.isspace():
                    yield from reading.read(number, line.rstrip(b"\r\n"))
    except (OSError, EOFError, zlib.error) as error:
        yield Imported((), number + 1, f"{path} cannot be read beyond line {number}: {error}")
    yield from reading.rest()


def names_of_keys(path: Path) -> frozenset[str]:
    """Headers that hold keys, as the cards in the file say, wherever in it they stand."""
    names: set[str] = set()
    with suppress(EOFError, zlib.error), opened(path) as file:  # that it is cut is told when it is read
        for _, line in numbered(file):
            if SCHEMES in line:
                names.update(name for card in cards_of(line) for name in scheme_names(card))
    return frozenset(names)


def cards_of(line: bytes) -> Iterator[object]:
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(frame, dict):
        yield from cards_in(frame.get("body"))


class Reading:
    def __init__(self, path: Path, project: str) -> None:
        self.names: frozenset[str] = frozenset()
        self._path = path
        self._project = project
        self._known: dict[bytes, bytes] = {}  # what each frame said, by what it is
        self._held: dict[Stream, dict[int, Slice]] = {}
        self._others: dict[Stream, set[int]] = {}  # frames of a connection that are no slices

    def read(self, number: int, line: bytes) -> Iterator[Imported]:
        try:
            frame = _decode(line)
            at, raw = moment(frame.time, "time"), checked(frame)
        except (ValueError, RecursionError) as error:
            yield unreadable(line, number, self._path, self._project, str(error), FORMAT)
            return
        stream = frame.agent, frame.connection
        told = self._repeated(frame, line)
        if told is not None:
            yield Imported((), number, told or None)
        elif raw is not None:
            self._held.setdefault(stream, {})[frame.seq] = Slice(number, at, frame, line, raw)
        else:
            self._others.setdefault(stream, set()).add(frame.seq)
            yield Imported((self._record(frame, at, redact_frame(line, self.names)),), number)
            if frame.kind in ("end", "abort"):
                yield from self._complete(stream, frame.seq)

    def rest(self) -> Iterator[Imported]:
        """Streams whose end was not in the file, or stood before them."""
        for held in self._held.values():
            for run in runs(held):
                yield from self._tell([held[seq] for seq in run])
        self._held.clear()

    def _repeated(self, frame: FrameLine, line: bytes) -> str | None:
        """None for a frame that is new, "" for one that says the same again, else what is wrong."""
        identity, content = digest(frame.agent, frame.connection, frame.seq), digest(line)
        before = self._known.setdefault(identity, content)
        if before is content:
            return None
        place = f"{frame.agent}/{frame.connection}#{frame.seq}"
        return "" if before == content else f"frame {place} was there before with other content; the first is kept"

    def _complete(self, stream: Stream, end: int) -> Iterator[Imported]:
        """The slices before an end, if all of them were read: back to the answer that they belong to."""
        held = self._held.get(stream, {})
        first = end
        while first - 1 in held:
            first -= 1
        if first < end and first - 1 in self._others.get(stream, ()):
            yield from self._tell([held.pop(seq) for seq in range(first, end)])

    def _tell(self, run: list[Slice]) -> Iterator[Imported]:
        for each, clean in zip(run, redact_run([each.raw for each in run]), strict=True):
            line = each.line if clean == each.raw else rewritten(each.line, clean)
            yield Imported((self._record(each.frame, each.at, line),), each.number)

    def _record(self, frame: FrameLine, at: int, line: bytes) -> Record:
        return make_record(self._project, frame.agent, frame.connection, frame.seq, at, SOURCE, line)


def checked(frame: FrameLine) -> bytes | None:
    """The bytes of a slice; None for another frame. Raises ValueError for what cannot be one."""
    if not frame.agent or not frame.connection or frame.seq < 0:
        raise ValueError("`agent` and `connection` must be names and `seq` a number from 0 on")
    if frame.kind != "sse":
        return None
    if frame.raw is not None:
        return frame.raw.encode()
    if frame.raw_b64 is None:
        raise ValueError("a frame of kind `sse` needs `raw` or `raw_b64`")
    try:
        return b64decode(frame.raw_b64, validate=True)
    except ValueError as error:
        raise ValueError(f"`raw_b64` is no base64: {error}") from None
