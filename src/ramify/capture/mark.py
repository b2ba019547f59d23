"""How far a file was read, and whether it is still the file that was read."""

from os import stat_result
from typing import IO

from msgspec import Struct

from ramify.capture.redact import redact_json
from ramify.model.ids import digest

TAIL = 1024
UNFINISHED = -1


class Mark(Struct, frozen=True, array_like=True):
    """`size` is UNFINISHED until everything was given out: such a file is looked at again, changed or not."""

    inode: int
    size: int
    changed: int  # nanoseconds
    offset: int = 0
    line: int = 0
    at: int = 0  # the newest time that a line told
    tail: bytes = b""  # digest of what stands before the offset

    def fits(self, status: stat_result) -> bool:
        """Whether nothing can be new."""
        return (self.inode, self.size, self.changed) == (status.st_ino, status.st_size, status.st_mtime_ns)


def tail_digest(tail: bytes) -> bytes:
    """Without secrets, which could be guessed from it."""
    return digest(redact_json(tail))


def tail_before(file: IO[bytes], mark: Mark, status: stat_result) -> bytes | None:
    """The bytes before the offset; None where the file was cut or replaced, and must be read from its start."""
    if mark.inode != status.st_ino or status.st_size < mark.offset:
        return None
    file.seek(max(0, mark.offset - TAIL))
    tail = file.read(min(TAIL, mark.offset))
    return tail if tail_digest(tail) == mark.tail else None
