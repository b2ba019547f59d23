"""Files into the store: what is new in each, batch by batch, and how far each was read once that is stored."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from ramify.capture.a2a.frame import FORMAT as FRAMES
from ramify.capture.a2a.frame_file import read_frames
from ramify.capture.events_file import read_events
from ramify.capture.formats import Source
from ramify.capture.importer import Imported, read_exchanges
from ramify.capture.log_file import read_log
from ramify.capture.mark import Mark
from ramify.capture.mesh_file import read_mesh
from ramify.capture.otlp_file import read_otlp
from ramify.capture.redact import redact_string
from ramify.capture.stream_file import read_stream
from ramify.capture.transcript import FORMAT as TRANSCRIPT
from ramify.capture.transcript import written
from ramify.capture.transcript_reading import TranscriptReading
from ramify.model.ids import digest
from ramify.model.observation import Correction, Observation, Record
from ramify.protocols.adcp.decode import FORMAT as EVENTS
from ramify.protocols.adcp.keep import digest_of
from ramify.storage.base import Store

BATCH = 400
BATCH_BYTES = 4 * 2**20
MOST_TOLD = 10_000  # lines that could not be read are all counted; so many are named
Progress = Callable[[int, int], None]
Take = Callable[[list[Observation]], int]
"""Stores a batch and gives how many were new; raises when it could not."""


class Problem(Struct, frozen=True):
    place: str
    problem: str


class Batch(Struct):
    """What was read, where it could not be, and how far that is; the last is true until more is read."""

    observations: list[Observation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    lines: dict[Path, int] = field(default_factory=dict)
    readings: dict[Path, TranscriptReading] = field(default_factory=dict)
    bytes: int = 0

    def add(self, read: Imported, path: Path) -> None:
        self.lines[path] = self.lines.get(path, 0) + 1
        self.observations += read.observations
        self.bytes += sum(len(seen.body) + 1 for seen in read.observations if not isinstance(seen, Correction))
        if read.problem is not None:
            self.problems.append(Problem(f"{path}:{read.line}", read.problem.removeprefix(f"{path.name}:{read.line}: ")))

    @property
    def is_full(self) -> bool:
        return len(self.observations) >= BATCH or self.bytes >= BATCH_BYTES or len(self.readings) >= BATCH


class Marks:
    """How far each file was read for a project, kept beside the log: a store that is new has read nothing.

    They are no projection. A rebuild leaves them alone, and one that is lost or late costs only reading again.
    """

    def __init__(self, store: Store, project: str) -> None:
        self._store = store
        self._lead = f"mark:{project}:"
        self._decode = msgspec.msgpack.Decoder(Mark).decode
        self._encode = msgspec.msgpack.Encoder().encode
        self._facts: dict[str, str | bytes | int] | None = None

    @property
    def _known(self) -> dict[str, str | bytes | int]:
        """Read when it is first wanted: the store may be away until then."""
        if self._facts is None:
            self._facts = self._store.facts(self._lead)
        return self._facts

    def get(self, path: Path) -> Mark | None:
        raw = self._known.get(self._name(path))
        try:
            return self._decode(raw) if isinstance(raw, bytes) else None
        except msgspec.MsgspecError:
            return None  # of another version: the file is read again

    def put(self, marks: dict[Path, Mark]) -> None:
        facts = {self._name(path): self._encode(mark) for path, mark in marks.items()}
        self._store.set_facts(facts)
        self._known.update(facts)

    def _name(self, path: Path) -> str:
        """A name that holds a secret is known by its digest."""
        name = written(path.absolute().parts)
        clean = redact_string(name)
        return self._lead + (name if clean == name else f"{clean} {digest(name).hex()}")


class Intake:
    """`settled`: nobody writes to the files any more, so a cut line is all that there will be of it."""

    def __init__(self, store: Store, project: str, take: Take, settled: bool, zone: str = "UTC") -> None:
        self.marks = Marks(store, project)
        self._store = store
        self._project = project
        self._take = take
        self._settled = settled
        self._zone = zone

    def is_known(self, source: Source) -> bool:
        """Whether nothing can be new in it."""
        if source.format != TRANSCRIPT:
            return False
        mark = self.marks.get(source.path)
        return mark is not None and mark.fits(source.path.stat())

    def size(self, source: Source) -> int:
        """How much of it is to be read, as far as that can be known before."""
        mark = self.marks.get(source.path) if source.format == TRANSCRIPT else None
        return source.size - mark.offset if mark is not None and mark.offset <= source.size else source.size

    def store(self, sources: Iterable[Source]) -> Iterator[tuple[Batch, int]]:
        """Each batch when it is stored, and how many of its observations were new."""
        for batch in self._batches(sources):
            fresh = self._take(batch.observations) if batch.observations else 0
            if fresh < len(batch.observations):
                batch.problems += self._contradictions(batch)
            # Only now: after a crash between the two, the same is read again, and known.
            self.marks.put({path: reading.mark for path, reading in batch.readings.items()})
            yield batch, fresh

    def _contradictions(self, batch: Batch) -> Iterator[Problem]:
        """Frames are known by a number, and events by an id of their own: what was stored before may have said something else."""
        for seen in batch.observations:
            if isinstance(seen, Record) and seen.format in (FRAMES, EVENTS):
                known = self._store.observation(seen.id)
                if isinstance(known, Record) and says_other(known, seen):
                    yield Problem(seen.place, "was stored before with other content; that is kept")

    def _batches(self, sources: Iterable[Source]) -> Iterator[Batch]:
        batch = Batch()
        for source in sources:
            lines = self._lines(source)
            try:
                for read in lines:
                    batch.add(read, source.path)
                    if batch.is_full:
                        self._note(batch, source.path, lines)
                        yield batch
                        batch = Batch()
            except OSError as problem:
                batch.problems.append(Problem(str(source.path), f"cannot be read: {problem.strerror or problem}"))
            self._note(batch, source.path, lines)
        if batch.lines or batch.problems or batch.readings:
            yield batch

    def _lines(self, source: Source) -> Iterable[Imported]:
        match source.format:
            case "claude":
                return TranscriptReading(source.path, self._project, self.marks.get(source.path), self._settled)
            case "ramify":
                return read_log(source.path, self._project)
            case "exchanges":
                return read_exchanges(source.path, self._project)
            case "a2a":
                return read_frames(source.path, self._project)
            case "adcp":
                return read_events(source.path, self._project)
            case "sam":
                return read_mesh(source.path, self._project, self._zone)
            case "otlp":
                return read_otlp(source.path, self._project)
            case format:
                return read_stream(source.path, self._project, format)

    def _note(self, batch: Batch, path: Path, lines: Iterable[Imported]) -> None:
        if isinstance(lines, TranscriptReading):
            batch.readings[path] = lines


def says_other(known: Record, seen: Record) -> bool:
    """What the store adds to an event is another each time."""
    if known.body == seen.body:
        return False
    return seen.format != EVENTS or digest_of(known) != digest_of(seen)


def import_all(intake: Intake, sources: list[Source], progress: Progress) -> dict[str, Any]:
    """Everything that is new in the files, and what became of it."""
    fresh = [source for source in sources if not intake.is_known(source)]
    total = sum(intake.size(source) for source in fresh)
    told: list[dict[str, str]] = []
    lines = new = seen = problems = done = 0
    for batch, count in intake.store(fresh):
        lines += sum(batch.lines.values())
        new, seen, done = new + count, seen + len(batch.observations), done + batch.bytes
        problems += len(batch.problems)
        told += [msgspec.structs.asdict(problem) for problem in batch.problems[: MOST_TOLD - len(told)]]
        progress(min(done, total), total)
    return {
        "files": len(sources), "unchanged": len(sources) - len(fresh), "read": lines, "bytes": done,
        "new": new, "known": seen - new, "unreadable": told, "unreadable_count": problems,
    }


def batch_shape(batch: Batch, fresh: int) -> dict[str, Any]:
    return {
        "lines": {str(path): count for path, count in batch.lines.items()},
        "new": fresh,
        "known": len(batch.observations) - fresh,
        "unreadable": [msgspec.structs.asdict(problem) for problem in batch.problems],
    }
