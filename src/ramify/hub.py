"""Fan-out to live readers: what was stored, as it was stored, by whichever server. A reader that lags is let go, never waited for.

The number that goes with changes is a promise: whoever has read so far has missed nothing before, and may go on from there
at any server on the same store. So a batch that goes on from where we have not been yet waits for what is between.
"""

import asyncio
import copy
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from ramify.model.entity import SHOWN, Entity
from ramify.model.owner import owner_of

Rows = dict[tuple[str, str], Entity | None]
Batch = tuple[int, Rows]
REMEMBERED = 20_000  # changes kept for readers that come back
WAITING = 20_000  # changes that one reader may lag behind
OWNERS = 50_000  # rows of which it is known whose they were, when they are gone
PATIENCE = 3.0  # seconds that a batch waits for what came before it; then everybody loads everything again


class Reader:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._batches: deque[Batch] = deque()
        self._waiting = 0
        self._ended = False
        self._arrived = asyncio.Event()

    def put(self, batch: Batch | None) -> None:
        """On the reader's own loop. None, or too much, ends it: what it has not read it will load anew."""
        if self._ended:
            return
        if batch is None or self._waiting + len(batch[1]) > WAITING:
            self._ended = True
            self._batches.clear()
        else:
            self._batches.append(batch)
            self._waiting += len(batch[1])
        self._arrived.set()

    async def get(self) -> Batch | None:
        while not self._batches and not self._ended:
            self._arrived.clear()
            await self._arrived.wait()
        if not self._batches:
            return None
        batch = self._batches.popleft()
        self._waiting -= len(batch[1])
        return batch


class News:
    """Wakes those who read the log themselves: that something was stored, and not what."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Event]] = {}

    @contextmanager
    def heard(self) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        with self._lock:
            self._waiting[id(event)] = asyncio.get_running_loop(), event
        try:
            yield event
        finally:
            with self._lock:
                del self._waiting[id(event)]

    def tell(self) -> None:
        with self._lock:
            for loop, event in self._waiting.values():
                try:
                    loop.call_soon_threadsafe(event.set)
                except RuntimeError:
                    pass  # its loop has ended


class Hub:
    """Published to from the writer's thread, read from event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: deque[tuple[int, Rows, bool]] = deque()  # the last: it came after its time
        self._remembered = 0
        self._forgotten: int | None = None  # everything up to here can no longer be given
        self._reached: int | None = None  # everything up to here was published
        self._early: list[tuple[int, int, Rows]] = []  # what goes on from further on
        self._readers: set[Reader] = set()
        self._projects: dict[tuple[str, str], str] = {}
        self._closed = False

    def start_at(self, seq: int) -> None:
        self._forgotten = self._reached = seq

    @property
    def reached(self) -> int:
        """How far the log goes, as far as was told."""
        return self._reached or 0

    def has_reached(self, seq: int) -> bool:
        return self._reached is not None and self._reached >= seq

    def publish(self, seq: int, rows: Rows | None, after: int | None = None) -> None:
        """`after`: where the log ended before; not said, nothing is missing. `rows` None: what changed is not known, and every
        reader must load everything again."""
        if rows is None:
            self._start_anew(seq)
            return
        shown = {place: copy.copy(row) for place, row in rows.items() if place[0] in SHOWN}
        with self._lock:
            if after is not None and self._reached is not None and after > self._reached:
                self._early.append((after, seq, shown))
                self._wait()
            else:
                self._take(seq, shown)
                self._take_early()

    def project_of(self, place: tuple[str, str]) -> str | None:
        """Whose a row is that was told of lately; None: that is not known any more."""
        return self._projects.get(place)

    def _own(self, shown: Rows) -> None:
        for place, row in shown.items():
            owner = owner_of(row) if row is not None else None
            project = self._projects.get(owner) if isinstance(owner, tuple) else owner
            if project is not None:
                self._projects[place] = project
        while len(self._projects) > OWNERS:
            del self._projects[next(iter(self._projects))]

    def _take(self, seq: int, shown: Rows) -> None:
        self._own(shown)
        late = self._reached is not None and seq <= self._reached
        number = self._reached = max(seq, self._reached or 0)
        if not shown:
            return
        self._recent.append((number, shown, late))
        self._remembered += len(shown)
        while self._remembered > REMEMBERED and len(self._recent) > 1:
            old, gone, _ = self._recent.popleft()
            self._remembered -= len(gone)
            self._forgotten = old
        for reader in self._readers:
            self._hand(reader, (number, shown))

    def _take_early(self) -> None:
        while ready := [one for one in self._early if self._reached is None or one[0] <= self._reached]:
            first = min(ready, key=lambda one: one[1])
            self._early.remove(first)
            self._take(first[1], first[2])

    def _wait(self) -> None:
        if len(self._early) == 1:
            timer = threading.Timer(PATIENCE, self._give_up, (self._early[0],))
            timer.daemon = True
            timer.start()

    def _give_up(self, first: tuple[int, int, Rows]) -> None:
        """What was between will not be told: a server that died after its commit, a notice that got lost."""
        if any(one is first for one in self._early):
            self._start_anew(max(seq for _, seq, _ in self._early))

    def _start_anew(self, seq: int) -> None:
        with self._lock:
            self._recent.clear()
            self._remembered = 0
            self._reached = self._forgotten = max(seq, self._reached or 0)
            self._early = [one for one in self._early if one[1] > self._reached]
            for reader in self._readers:
                self._hand(reader, None)
            self._take_early()

    def _hand(self, reader: Reader, batch: Batch | None) -> None:
        try:
            reader.loop.call_soon_threadsafe(reader.put, batch)
        except RuntimeError:
            pass  # its loop has ended; so has the reader

    @asynccontextmanager
    async def subscribe(self, since: int | None) -> AsyncIterator[AsyncIterator[Batch]]:
        """Changes after `since`, or from now on. The iterator ends when not all of them can be given any more."""
        reader = Reader(asyncio.get_running_loop())
        with self._lock:
            if since is not None:
                if self._forgotten is not None and since < self._forgotten:
                    reader.put(None)
                for number, shown, late in self._recent:
                    if number > since or (late and number == since):
                        reader.put((number, shown))
            if self._closed:
                reader.put(None)
            self._readers.add(reader)
        try:
            yield self._follow(reader)
        finally:
            with self._lock:
                self._readers.discard(reader)

    async def _follow(self, reader: Reader) -> AsyncIterator[Batch]:
        while (batch := await reader.get()) is not None:
            yield batch

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for reader in self._readers:
                self._hand(reader, None)
