"""Observations on disk while the store is away: appended, read in order from the front, dropped when stored.

A folder of segments, each a run of frames (length, checksum, message). What was appended survives `kill -9`
at any byte; what was read may be read again after one, because stores know an observation by its id.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct
from zlib import crc32

import msgspec

from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation
from ramify.storage.base import StoreDown
from ramify.storage.private import FILE, private_file, private_folder
from ramify.storage.sealing import MESSAGE, Sealer, has_key_of, own_sealer, unseal

FRAME = Struct("<II")
POSITION = Struct("<QQI")
COUNT = Struct("<QI")
LARGEST_SEGMENT = 16 * 2**20
SMALLEST_SEGMENT = 64 * 2**10
OWN_KEY = "own-key"  # a file: the spool's own data key, wrapped, as long as something waits that it has sealed
SEALED = b"\xc1"  # begins a message that is encrypted; nothing in MessagePack begins so
Raw = bytes
"""Inside `Spool` the plain name is a property."""


class SpoolDown(Exception):
    """The disk takes nothing now; the same may be tried again later."""


class Spool:
    """Safe for one thread that appends and one that reads and drops."""

    def __init__(self, folder: Path, limit_bytes: int, sealer: Sealer | None = None) -> None:
        """Raises OSError when the folder cannot be used at all: better at the start than in an emergency."""
        self._sealer = sealer
        private_folder(folder)
        self._folder = folder
        self._limit = limit_bytes
        self._segment_size = max(SMALLEST_SEGMENT, min(LARGEST_SEGMENT, limit_bytes // 4))
        self._lock = threading.Lock()
        self._decoder = msgspec.msgpack.Decoder(Observation)
        self._encode = msgspec.msgpack.Encoder().encode
        self._sizes: dict[int, int] = {}
        self._count = 0
        self._read_ends: list[tuple[int, int]] = []
        self._first = (-1, -1), 0  # where the first that waits stands, and when it was seen
        self._lost_file = Small(folder / "lost", COUNT)
        self._position_file = Small(folder / "position", POSITION)
        (self.lost,) = self._lost_file.read() or (0,)
        self._front = self._recover()

    def __len__(self) -> int:
        """Observations that wait."""
        return self._count

    @property
    def bytes(self) -> int:
        """What the segments take on disk; the bound is on this."""
        return sum(self._sizes.values())

    def oldest(self) -> int:
        """When the first that waits was seen; 0: none does. Read anew only when another one is the first."""
        with self._lock:
            if self._count and self._first[0] != self._front:
                self._first = self._front, next(map(self._seen_at, (message for _, _, message in self._waiting())), 0)
            return self._first[1] if self._count else 0

    def _seen_at(self, message: Raw) -> int:
        try:
            return int(self._decoder.decode(unsealed(message)).at)
        except (msgspec.MsgspecError, StoreDown):
            return 0

    def append(self, observations: Sequence[Observation]) -> int:
        """How many were refused, for want of room. They are counted as lost. SpoolDown: the disk failed, and none was taken."""
        with self._lock:
            refused = 0
            frames: list[Raw] = []
            size = self.bytes
            for observation in observations:
                frame = self._frame(observation)
                if frame is None or size + len(frame) > self._limit:
                    refused += 1
                    continue
                size += len(frame)
                frames.append(frame)
            if frames:
                self._write(frames)
            if refused:
                self.lost += refused
                self._lost_file.write(self.lost)
            return refused

    def read(self, limit: int, limit_bytes: int = 1 << 62) -> list[Observation]:
        """The oldest that wait; more than one only within `limit_bytes`. They go on waiting until they are dropped."""
        with self._lock:
            found: list[Observation] = []
            self._read_ends = []
            size = 0
            for segment, end, message in self._waiting():
                size += len(message)
                if len(found) == limit or (found and size > limit_bytes):
                    break
                try:
                    found.append(self._decoder.decode(unsealed(message)))
                except (msgspec.MsgspecError, StoreDown):
                    continue  # whole, but changed, or of a version that we do not know: dropped with what follows it
                self._read_ends.append((segment, end))
            if not found and self._count and self._can_open():
                self._give_up()
            return found

    def _can_open(self) -> bool:
        """Too many open files, say, is no reason to give anything up."""
        try:
            for segment in self._sizes:
                self._path(segment).open("rb").close()
        except OSError:
            return False
        return True

    def _give_up(self) -> None:
        """Nothing of what waits can be read. Kept, it would stand in the way of all that comes."""
        self.lost += self._count
        self._lost_file.write(self.lost)
        self._count = 0
        self._front = (max(self._sizes, default=self._front[0]) + 1, 0)
        self._position_file.write(*self._front)
        self._forget_read()

    def drop(self, count: int) -> None:
        """Forgets the first `count` of what the last `read` gave. Raises ValueError for more than that."""
        with self._lock:
            if not 0 <= count <= len(self._read_ends):
                raise ValueError(f"cannot drop {count} observations: {len(self._read_ends)} were read")
            if count == 0:
                return
            self._count -= count
            self._front = self._read_ends[count - 1]
            self._read_ends = self._read_ends[count:]
            if self._count == 0:
                self._front = (max(self._sizes) + 1, 0)
            self._position_file.write(*self._front)
            self._forget_read()

    def _forget_read(self) -> None:
        for segment in [number for number in self._sizes if number < self._front[0]]:
            self._path(segment).unlink(missing_ok=True)
            del self._sizes[segment]

    def _frame(self, observation: Observation) -> Raw | None:
        try:
            message = self._encode(observation)
        except (UnicodeError, msgspec.MsgspecError, OverflowError):
            return None
        if self._sealer is not None:
            message = SEALED + self._sealer.seal(MESSAGE, message)[1]
        return FRAME.pack(len(message), crc32(message)) + message

    def _write(self, frames: list[Raw]) -> None:
        """All or none: after a failure the segment is cut back to what it was."""
        segment = max([*self._sizes, self._front[0]])
        if self._sizes.get(segment, 0) >= self._segment_size:
            segment += 1
        path, before = self._path(segment), self._sizes.get(segment, 0)
        try:
            if before == 0:
                create(path)
            with path.open("r+b", buffering=0) as file:
                file.seek(before)
                write_all(file.fileno(), b"".join(frames))
                os.fsync(file.fileno())
        except OSError as problem:
            cut(path, before)
            raise SpoolDown(problem.strerror or str(problem)) from problem
        self._sizes[segment] = before + sum(map(len, frames))
        self._count += len(frames)

    def _waiting(self) -> Iterator[tuple[int, int, Raw]]:
        first, offset = self._front
        for segment in sorted(number for number in self._sizes if number >= first):
            start = offset if segment == first else 0
            for end, message in frames_of(self._path(segment), start, self._sizes[segment]):
                yield segment, end, message

    def _recover(self) -> tuple[int, int]:
        """Finds what is there; cuts a torn end off, so that what is appended next can be read."""
        for path in self._folder.glob("*.segment"):
            self._sizes[int(path.stem)] = path.stat().st_size
        if self._sizes:
            last = max(self._sizes)
            whole = max((end for end, _ in frames_of(self._path(last), 0, self._sizes[last])), default=0)
            if whole < self._sizes[last]:
                cut(self._path(last), whole)
                self._sizes[last] = whole
        self._front = (0, 0)
        segment, offset = self._position_file.read() or (0, 0)
        if segment in self._sizes or not self._sizes or segment > max(self._sizes):
            self._front = (segment, min(offset, self._sizes.get(segment, 0)))
        self._forget_read()
        own = self._folder / OWN_KEY
        known = own_sealer(own, os.environ) if own.exists() else None
        for _, _, message in self._waiting():
            if message[:1] == SEALED and not has_key_of(message[1:]):
                raise self._closed(own.exists() and known is None)
            self._count += 1
        if not self._count and known is not None and known is not self._sealer:
            own.unlink()
        return self._front

    def _closed(self, by_another: bool) -> UserMistake:
        if by_another:
            return UserMistake(f"what waits in {self._folder} is encrypted, and opens with another key alone", "start once with the key that was set when it came")
        return UserMistake(f"what waits in {self._folder} is encrypted with a key of another store", "move that folder away, or bring that store back")

    def _path(self, segment: int) -> Path:
        return self._folder / f"{segment:012d}.segment"


def glance(folder: Path) -> tuple[int, int]:
    """How many wait and how many were lost, without touching anything: the folder may be in use by a server."""
    position = numbers(folder / "position", POSITION) or (0, 0)
    (lost,) = numbers(folder / "lost", COUNT) or (0,)
    waiting = 0
    for path in folder.glob("*.segment"):
        if int(path.stem) >= position[0]:
            start = position[1] if int(path.stem) == position[0] else 0
            waiting += sum(1 for _ in frames_of(path, start, path.stat().st_size))
    return waiting, lost


def first_of(folder: Path) -> Observation | None:
    """The oldest that waits, as far as it can be read, without touching anything."""
    decoder: msgspec.msgpack.Decoder[Observation] = msgspec.msgpack.Decoder(Observation)
    segment, offset = numbers(folder / "position", POSITION) or (0, 0)
    for path in sorted(folder.glob("*.segment")):
        start = offset if int(path.stem) == segment else 0
        for _, message in frames_of(path, start, path.stat().st_size) if int(path.stem) >= segment else ():
            try:
                return decoder.decode(unsealed(message))
            except (msgspec.MsgspecError, StoreDown, UserMistake):
                return None
    return None


def numbers(path: Path, layout: Struct) -> tuple[int, ...] | None:
    """None where there are none, or where they were torn."""
    raw = path.read_bytes() if path.exists() else b""
    if len(raw) != layout.size or raw[-4:] != crc32(raw[:-4]).to_bytes(4, "little"):
        return None
    return tuple(layout.unpack(raw)[:-1])


def unsealed(message: bytes) -> bytes:
    return unseal(MESSAGE, message[1:]) if message[:1] == SEALED else message


class Small:
    """A few numbers in a file that is overwritten in place: that works on a full disk too."""

    def __init__(self, path: Path, layout: Struct) -> None:
        self._path = path
        self._layout = layout
        if not path.exists():
            private_file(path)
            path.write_bytes(b"\0" * layout.size)

    def read(self) -> tuple[int, ...] | None:
        return numbers(self._path, self._layout)

    def write(self, *values: int) -> None:
        raw = self._layout.pack(*values, 0)[:-4]
        try:
            with self._path.open("r+b", buffering=0) as file:
                file.write(raw + crc32(raw).to_bytes(4, "little"))
        except OSError:
            pass  # a count or a position that is a little old does no harm


def frames_of(path: Path, start: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Whole frames with their ends. A changed one is stepped over; a torn one ends the segment."""
    try:
        file = path.open("rb")
    except OSError:
        return
    with file:
        file.seek(start)
        while start + FRAME.size <= size:
            length, checksum = FRAME.unpack(file.read(FRAME.size))
            start += FRAME.size + length
            if length == 0 or start > size:
                return
            message = file.read(length)
            if crc32(message) == checksum:
                yield start, message


def create(path: Path) -> None:
    """With its name on disk, or a power cut could take the whole segment."""
    path.touch(FILE)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_all(descriptor: int, raw: bytes) -> None:
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def cut(path: Path, size: int) -> None:
    try:
        os.truncate(path, size)
    except OSError:
        pass  # the end stays torn; the next frame is written over it
