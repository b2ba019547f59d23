"""Streams of agents that were stored slice by slice, by whatever rules: what of them has to go when their slices are read as one.

Only where the slices stand is remembered while a log is read, in whatever order they came; then each stream is read by itself.
"""

from array import array
from base64 import b64decode
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ramify.capture.a2a.frame import FORMAT, frame_id
from ramify.capture.a2a.runs import redact_run, rewritten, runs
from ramify.model.observation import Observation, Record

Stream = tuple[str, str, str]
"""A project, an agent and a connection."""
LARGEST = 2**31  # numbers of frames that are remembered


class SliceLine(Struct, frozen=True):
    agent: str
    connection: str
    seq: int
    kind: str
    raw: str | None = None
    raw_b64: str | None = None


_decode = msgspec.json.Decoder(SliceLine).decode


class StoredStreams:
    def __init__(self) -> None:
        self._places: dict[Stream, array[int]] = {}
        self._grown: set[Stream] = set()

    def note(self, seen: Observation) -> None:
        if not isinstance(seen, Record) or seen.format != FORMAT or b'"raw' not in seen.body:
            return
        frame = slice_in(seen.body)
        if frame is not None and 0 <= frame.seq < LARGEST:
            stream = seen.project, frame.agent, frame.connection
            self._places.setdefault(stream, array("i")).append(frame.seq)
            self._grown.add(stream)

    def cleaned(self, stored: Callable[[str], Observation | None]) -> Iterator[tuple[Record, Record]]:
        """Slices that change only because others stand beside them, before and after; each stream once, until more of it is noted."""
        grown, self._grown = self._grown, set()
        for stream in grown:
            for run in runs(self._places[stream]):
                yield from cleaned_run([found for seq in run if isinstance(found := stored(frame_id(*stream, seq)), Record)] if len(run) > 1 else [])


def cleaned_run(run: list[Record]) -> Iterator[tuple[Record, Record]]:
    slices = [(seen, raw) for seen in run if (raw := raw_in(seen.body)) is not None]
    for (seen, raw), clean in zip(slices, redact_run([raw for _, raw in slices]), strict=True):
        if clean != raw:
            yield seen, replace(seen, body=rewritten(seen.body, clean))


def slice_in(line: bytes) -> SliceLine | None:
    try:
        frame = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None  # what cannot be read is searched by itself
    return frame if frame.kind == "sse" else None


def raw_in(line: bytes) -> bytes | None:
    frame = slice_in(line)
    if frame is None or (frame.raw is None and frame.raw_b64 is None):
        return None
    try:
        return b64decode(frame.raw_b64 or "", validate=True) if frame.raw is None else frame.raw.encode()
    except ValueError:
        return None
