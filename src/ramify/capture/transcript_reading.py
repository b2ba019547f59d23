"""One transcript, from where it was last read: a record for each line. A line that is still being written waits."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ramify.capture.importer import Imported
from ramify.capture.mark import TAIL, UNFINISHED, Mark, tail_before, tail_digest
from ramify.capture.redact import redact_json
from ramify.capture.stamp import stamped
from ramify.capture.transcript import FORMAT, is_whole, named
from ramify.model.ids import digest, observation_id
from ramify.model.observation import Record

LONGEST_LINE = 64 * 2**20  # what one line may cost in memory
KEPT_OF_LONGER = 2**20
SOURCE = "transcript"


class TranscriptReading:
    """`mark` says how far what was given out goes. `settled`: nobody writes any more, so a cut line stays cut."""

    def __init__(self, path: Path, project: str, mark: Mark | None = None, settled: bool = True) -> None:
        self.path = path
        self.project = project
        self.settled = settled
        self.place, self.name = named(path)
        self._before = mark
        self._offset = self._line = self._at = 0
        self._tail = b""
        self._ended = False
        self._status: os.stat_result | None = None

    @property
    def mark(self) -> Mark:
        status = self._status
        inode, size, changed = (status.st_ino, status.st_size, status.st_mtime_ns) if status else (0, 0, 0)
        size = size if self._ended else UNFINISHED
        return Mark(inode, size, changed, self._offset, self._line, self._at, tail_digest(self._tail))

    def __iter__(self) -> Iterator[Imported]:
        """Raises OSError where the file cannot be read."""
        with self.path.open("rb", buffering=1 << 18) as file:
            self._status = os.fstat(file.fileno())
            self._go_on(file, self._status)
            yield from self._whole(file) if is_whole(self.path) else self._lines(file)

    def _go_on(self, file: IO[bytes], status: os.stat_result) -> None:
        mark = self._before
        tail = None if mark is None or is_whole(self.path) else tail_before(file, mark, status)
        if mark is None or tail is None:
            file.seek(0)
        else:
            self._offset, self._line, self._at, self._tail = mark.offset, mark.line, mark.at, tail

    def _whole(self, file: IO[bytes]) -> Iterator[Imported]:
        body = file.read(LONGEST_LINE)
        read = self._read(body, 1)
        if read.problem is None or self.settled:
            self._offset, self._ended = len(body), True
            yield read

    def _lines(self, file: IO[bytes]) -> Iterator[Imported]:
        while raw := file.readline(LONGEST_LINE):
            length, tail = len(raw), raw[-TAIL:] if len(raw) >= TAIL else (self._tail + raw)[-TAIL:]
            if length == LONGEST_LINE and not raw.endswith(b"\n"):
                rest, tail = rest_of_line(file, tail)
                raw, length = raw[:KEPT_OF_LONGER], length + rest
            if not tail.endswith(b"\n"):
                yield from self._last(raw)
                return
            self._offset, self._line, self._tail = self._offset + length, self._line + 1, tail
            if not raw.isspace():
                yield self._read(raw, self._line)
        self._ended = True

    def _last(self, raw: bytes) -> Iterator[Imported]:
        """Without an end it may still grow, so the mark stays before it; what is read twice is the same observation."""
        read = self._read(raw, self._line + 1)
        if read.problem is None or self.settled:
            self._ended = True
            yield read

    def _read(self, raw: bytes, line: int) -> Imported:
        body = redact_json(raw.rstrip(b"\r\n"))
        at, problem = stamped(body)
        if at is not None and not is_whole(self.path):
            self._at = at
        record = Record(
            id=observation_id("record", self.project, FORMAT, self.name, digest(body)),
            project=self.project,
            at=self._at if at is None else at,
            source=SOURCE,
            format=FORMAT,
            place=f"{self.place}:{line}",
            body=body,
        )
        return Imported((record,), line, problem)


def rest_of_line(file: IO[bytes], tail: bytes) -> tuple[int, bytes]:
    """How long the rest of a line is, and its last bytes."""
    length = 0
    while not tail.endswith(b"\n") and (raw := file.readline(KEPT_OF_LONGER)):
        length += len(raw)
        tail = (tail + raw)[-TAIL:]
    return length, tail
