"""Artifacts: each stream is folded by itself, and one of the folds, or a snapshot, is shown.

The same chunks pass on several streams. Of each fold only its length and a digest are kept: as long as the streams
agree, the row that people see grows with whichever is ahead. Where they differ, the chosen one is read again.

Shown is the whole fold that was updated last. A later snapshot replaces it, unless it was out of date when it came (it
holds only the beginning of the fold: somebody asked while the rest was on its way), or only repeats the fold's parts:
agents of version 0.3 store what they send once more for each subscriber.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Struct

from ramify.linking.a2a import segments, subject
from ramify.linking.a2a.facts import Facts, Mark
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.a2a_event import TERMINAL, ChunkCame, Event, Piece, Produced, Sign, TaskShown
from ramify.model.entity import Sheet

Read = Callable[[str], Sequence[Event]]
PUSHED = "push"  # what an agent calls out about one task is one stream


class Strand(Struct, array_like=True):
    """One stream's fold."""

    at: int
    ref: str
    connection: str
    count: int = 0
    digest: bytes = b""
    whole: bool = False  # its opening was seen
    closed: int = 0
    time: int = 0  # of the last status before its last chunk

    @property
    def mark(self) -> Mark:
        return self.at, self.ref


class Snapshot(Struct, frozen=True, array_like=True):
    at: int
    ref: str
    connection: str
    count: int
    digest: bytes
    parts: bytes  # a digest of its distinct parts
    state: str
    time: int

    def rank(self) -> tuple[bool, int, int, str]:
        return self.state in TERMINAL, self.time or self.at * 1000, self.at, self.ref


class Fold(Struct):
    """All that is known of one artifact, but its content."""

    id: str
    task: str
    native: str
    strands: dict[str, Strand] = {}
    snapshot: Snapshot | None = None
    first: tuple[int, int, str] = (0, 0, "")  # at, place, ref
    name: tuple[int, str, str] = (0, "", "")
    more: tuple[int, str, bytes] = (0, "", b"")
    count: int = 0  # what the row holds
    digest: bytes = b""
    distinct: tuple[bytes, bytes] = (b"", b"")  # of the fold with that digest: a digest of its distinct parts
    beginning: tuple[bytes, int, bytes] = (b"", 0, b"")  # likewise: a digest of so many of its first parts


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Fold).decode


def chain(digest: bytes, parts: Iterable[Piece]) -> bytes:
    for part in parts:
        digest = ids.digest(digest, part.digest)
    return digest


def distinct(parts: Iterable[Piece]) -> bytes:
    return ids.digest(*sorted({part.digest for part in parts}))


# -- taking in ---------------------------------------------------------------------------------------------------------


class Artifacts:
    """Of one task, while a batch is read."""

    def __init__(self, world: World, facts: Facts, read: Read) -> None:
        self.world, self.facts, self.read = world, facts, read
        self.folds: dict[str, Fold] = {}

    def take(self, event: ChunkCame | TaskShown, connection: str) -> None:
        made = (event.artifact,) if isinstance(event, ChunkCame) else event.artifacts
        for number, one in enumerate(made):
            if not (one.parts or isinstance(event, ChunkCame)):
                continue  # a list that leaves the content out
            fold = self.fold(one.id)
            _describe(fold, event.sign, number, one)
            if isinstance(event, TaskShown):
                self._see(fold, event, one, connection)
            elif event.sign.pushed:
                self._be_pushed(fold, event, connection)
            else:
                grow(fold, event, connection)
                self.show(fold, event.sign, one.parts)

    def _be_pushed(self, fold: Fold, event: ChunkCame, connection: str) -> None:
        """Each comes on a connection of its own, and a repeated attempt comes when it can."""
        self.world.mark(key("a2a-pushed", self.facts.id), 0, connection)
        strand = fold.strands.get(PUSHED)
        if strand is not None and (event.sign.at, event.sign.ref) <= strand.mark:
            self._refold_pushes(fold)
            return
        grow(fold, event, connection)
        self.show(fold, event.sign, event.artifact.parts)

    def _see(self, fold: Fold, event: TaskShown, one: Produced, connection: str) -> None:
        sign = event.sign
        state, time = (event.status.state, event.status.time) if event.status is not None else ("", 0)
        if event.begins and not sign.pushed:
            count, digest = len(one.parts), chain(b"", one.parts)
            fold.strands[sign.stream] = Strand(sign.at, sign.ref, connection, count, digest, True, time=time)
        else:
            digest = chain(b"", one.parts)
            seen = Snapshot(sign.at, sign.ref, connection, len(one.parts), digest, distinct(one.parts), state, time)
            if fold.snapshot is None or seen.rank() > fold.snapshot.rank():
                fold.snapshot = seen
        self.show(fold, sign, one.parts)

    def fold(self, native: str) -> Fold:
        id = ids.short("art", self.facts.id, native)
        if id not in self.folds:
            row = self.world.get("sheets", f"a2a:{id}")
            self.folds[id] = _decode(row.state) if isinstance(row, Sheet) else Fold(id, self.facts.id, native)
            if row is None:
                subject.own(self.world, self.facts.id, "sheets", f"a2a:{id}")
                self.world.mark(key("a2a-artifacts", self.facts.id), 0, native)
        return self.folds[id]

    def judge_again(self) -> None:
        """The task was over before some snapshot came."""
        for _, native in self.world.span(key("a2a-artifacts", self.facts.id)):
            self.show(self.fold(native), None, ())

    def keep(self) -> None:
        for fold in self.folds.values():
            self.world.save("sheets", Sheet(f"a2a:{fold.id}", "a2a-artifact", state=_encode(fold)))

    # -- showing -------------------------------------------------------------------------------------------------------

    def show(self, fold: Fold, sign: Sign | None, parts: tuple[Piece, ...]) -> None:
        chosen = self._chosen(fold)
        if chosen is None:
            return
        if (chosen.count, chosen.digest) != (fold.count, fold.digest):
            before = chosen.count - len(parts)
            fresh = sign is not None and (chosen.at, chosen.ref) == (sign.at, sign.ref)
            if fresh and before == fold.count and chain(fold.digest, parts) == chosen.digest:
                segments.extend(self.world, fold.task, fold.id, parts)
            elif fresh and not before:
                segments.write(self.world, fold.task, fold.id, parts)
            else:
                segments.write(self.world, fold.task, fold.id, self._content(fold, chosen))
            fold.count, fold.digest = chosen.count, chosen.digest
        partial = isinstance(chosen, Strand) and not chosen.whole
        closed = chosen.closed if isinstance(chosen, Strand) else 0
        segments.describe(self.world, fold.task, fold.id, (fold.native, fold.name[2], fold.more[2]), fold.first, (partial, closed))

    def _chosen(self, fold: Fold) -> Strand | Snapshot | None:
        whole = _newest(strand for stream, strand in fold.strands.items() if strand.whole and stream != PUSHED)
        if whole is None:
            pushed = fold.strands.get(PUSHED)
            whole = pushed if pushed is not None and pushed.whole else None
        snapshot = fold.snapshot
        if whole is None:
            return snapshot or _newest(fold.strands.values())
        if snapshot is None or (snapshot.at, snapshot.ref) < whole.mark:
            return whole
        if self._is_behind(snapshot, whole) or self._only_begins(fold, snapshot, whole) or self._only_repeats(fold, snapshot, whole):
            return whole
        return snapshot

    def _is_behind(self, snapshot: Snapshot, whole: Strand) -> bool:
        """Whether it was out of date when it came: a repeated notification, for example."""
        if snapshot.state in TERMINAL:
            return False
        return 0 < snapshot.time < whole.time or self.facts.was_over((snapshot.at, snapshot.ref))

    def _only_begins(self, fold: Fold, snapshot: Snapshot, whole: Strand) -> bool:
        if snapshot.count >= whole.count:
            return False
        if fold.beginning[:2] != (whole.digest, snapshot.count):
            content = self._content(fold, whole)[: snapshot.count]
            fold.beginning = whole.digest, snapshot.count, chain(b"", content)
        return fold.beginning[2] == snapshot.digest

    def _only_repeats(self, fold: Fold, snapshot: Snapshot, whole: Strand) -> bool:
        if snapshot.count <= whole.count:
            return False
        if fold.distinct[0] != whole.digest:
            fold.distinct = whole.digest, distinct(self._content(fold, whole))
        return fold.distinct[1] == snapshot.parts

    def _content(self, fold: Fold, chosen: Strand | Snapshot) -> tuple[Piece, ...]:
        """Read again from the frames that it came in."""
        events = [event for event in self.read(chosen.connection) if isinstance(event, ChunkCame | TaskShown)]
        mine = [event for event in events if event.task == self.facts.native]
        if isinstance(chosen, Snapshot):
            listed = (_listed(event, fold.native) for event in mine if isinstance(event, TaskShown) and event.sign.ref == chosen.ref)
            return next(listed, ())
        stream = next(stream for stream, strand in fold.strands.items() if strand is chosen)
        if stream == PUSHED:
            return self._pushed(fold, chosen.mark)
        content: tuple[Piece, ...] = ()
        for event in mine:
            if event.sign.stream != stream or event.sign.ref > chosen.ref:
                continue
            if isinstance(event, ChunkCame):
                if event.artifact.id == fold.native:
                    content = (*content, *event.artifact.parts) if event.append else event.artifact.parts
            elif event.begins and any(one.id == fold.native for one in event.artifacts):
                content = _listed(event, fold.native)
        return content

    def _pushed(self, fold: Fold, until: Mark) -> tuple[Piece, ...]:
        content: tuple[Piece, ...] = ()
        for event, _ in pushes(self.world, self.facts, self.read):
            if event.artifact.id == fold.native and (event.sign.at, event.sign.ref) <= until:
                content = (*content, *event.artifact.parts) if event.append else event.artifact.parts
        return content

    def _refold_pushes(self, fold: Fold) -> None:
        """One came that belongs between others: that stream is folded again from its beginning."""
        fold.strands.pop(PUSHED, None)
        for event, connection in pushes(self.world, self.facts, self.read):
            if event.artifact.id == fold.native:
                grow(fold, event, connection)
        self.show(fold, None, ())


def pushes(world: World, facts: Facts, read: Read) -> list[tuple[ChunkCame, str]]:
    """Every chunk that the agent called out about a task, in order."""
    found = [
        (event, connection)
        for _, connection in world.span(key("a2a-pushed", facts.id))
        for event in read(connection)
        if isinstance(event, ChunkCame) and event.sign.pushed and event.task == facts.native
    ]
    return sorted(found, key=lambda pair: (pair[0].sign.at, pair[0].sign.ref))


def grow(fold: Fold, event: ChunkCame, connection: str) -> None:
    sign = event.sign
    stream = PUSHED if sign.pushed else sign.stream or sign.ref
    strand = fold.strands.get(stream)
    parts = event.artifact.parts
    if strand is None:
        strand = fold.strands[stream] = Strand(sign.at, sign.ref, connection)
    if event.append:
        strand.count, strand.digest = strand.count + len(parts), chain(strand.digest, parts)
    else:
        strand.count, strand.digest, strand.whole = len(parts), chain(b"", parts), True
    strand.at, strand.ref, strand.connection = sign.at, sign.ref, connection
    strand.closed, strand.time = sign.at if event.last else 0, event.time


def _describe(fold: Fold, sign: Sign, number: int, one: Produced) -> None:
    first = (sign.at, sign.place + min(number, 4095), sign.ref)
    fold.first = min(fold.first, first) if fold.first[2] else first
    if one.name:
        name = (sign.at, sign.ref, one.name)
        fold.name = min(fold.name, name) if fold.name[1] else name
    if one.more:
        fold.more = max(fold.more, (sign.at, sign.ref, one.more))


def _newest(strands: Iterable[Strand]) -> Strand | None:
    return max(strands, key=lambda strand: strand.mark, default=None)


def _listed(event: TaskShown, native: str) -> tuple[Piece, ...]:
    return next((one.parts for one in event.artifacts if one.id == native), ())
