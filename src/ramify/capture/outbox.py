"""Between a program that is recorded and wherever its records go: a bounded queue and a thread of its own.

`put` never waits and never raises. What does not fit is dropped, counted, and said once.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from ramify.model.observation import Observation, Record

log = logging.getLogger("ramify")
BATCH, BATCH_BYTES = 200, 2 * 2**20
LIMIT, LIMIT_BYTES = 20_000, 64 * 2**20
GATHER_SECONDS = 0.05
RETRY_SECONDS = 1.0
IDLE_SECONDS = 30.0  # after that a destination may rest
RECORD_BYTES = 500  # what a record weighs besides its body


class Away(Exception):
    """Nobody takes it now. The same batch may be sent again: nothing is stored twice."""


class Destination(Protocol):
    """Called from one thread only, and allowed to take its time."""

    def send(self, batch: Sequence[Record]) -> None:
        """Raises Away."""

    def settle(self, seconds: float) -> bool:
        """Waits until what was sent is safe. False: it took too long, and goes on by itself. More may be sent later."""


class Outbox:
    def __init__(self, open_: Callable[[], Destination], limit: int = LIMIT, limit_bytes: int = LIMIT_BYTES) -> None:
        self.dropped = 0
        self._open = open_
        self._limit, self._limit_bytes = limit, limit_bytes
        self._queue: deque[Record] = deque()
        self._bytes = 0
        self._under_way = 0
        self._changed = threading.Condition()
        self._settle_by: float | None = None
        self._settled = False
        self._problem = ""
        self._destination: Destination | None = None
        self._thread: threading.Thread | None = None

    def put(self, seen: Observation) -> None:
        if not isinstance(seen, Record):
            return
        size = RECORD_BYTES + len(seen.body)
        with self._changed:
            if len(self._queue) >= self._limit or self._bytes + size > self._limit_bytes:
                self._drop(1, "records come faster than they can be stored")
                return
            self._queue.append(seen)
            self._bytes += size
            self._start()
            self._changed.notify_all()

    def flush(self, seconds: float) -> bool:
        """Waits until everything that was put is safe; at most so long."""
        with self._changed:
            if self._thread is None:
                return True
            self._settle_by, self._settled = time.monotonic() + seconds, False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._settled, seconds)
            self._settle_by = None
            return self._settled

    @property
    def waiting(self) -> int:
        return len(self._queue) + self._under_way

    # -- the thread ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="ramify-recorder", daemon=True)
            self._thread.start()

    def _drop(self, count: int, why: str) -> None:
        if not self.dropped:
            log.warning("records are lost: %s", why)
        self.dropped += count

    def _run(self) -> None:
        while True:
            batch = self._take()
            end = self._settle_by
            if batch:
                self._deliver(batch)
            else:
                self._settle(end or 0.0)

    def _take(self) -> list[Record]:
        """Nothing, when somebody waits for all that was put before, or when nothing comes for long."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._settle_by is not None, IDLE_SECONDS)
        if 0 < len(self._queue) < BATCH and self._settle_by is None:
            time.sleep(GATHER_SECONDS)  # one delivery for all that comes in this time
        with self._changed:
            batch: list[Record] = []
            size = 0
            while self._queue and len(batch) < BATCH and (size < BATCH_BYTES or not batch):
                seen = self._queue.popleft()
                self._bytes -= RECORD_BYTES + len(seen.body)
                size += len(seen.body)
                batch.append(seen)
            self._under_way = len(batch)
            return batch

    def _deliver(self, batch: list[Record]) -> None:
        while not self._delivered(batch):
            with self._changed:
                pause = RETRY_SECONDS if self._settle_by is None else RETRY_SECONDS / 10
                self._changed.wait_for(lambda: False, pause)
        with self._changed:
            self._under_way = 0

    def _delivered(self, batch: list[Record]) -> bool:
        """Whoever is away now may be back later; a bug of ours costs this batch."""
        try:
            self._destination = self._destination or self._open()
            self._destination.send(batch)
            self._problem = ""
        except Away as problem:
            if str(problem) != self._problem:
                log.warning("records wait: %s", problem)
            self._problem = str(problem)
            return False
        except Exception as bug:
            with self._changed:
                self._drop(len(batch), repr(bug))
        return True

    def _settle(self, end: float) -> None:
        try:
            safe = self._destination is None or self._destination.settle(max(0.0, end - time.monotonic()))
        except Exception as bug:
            log.warning("cannot tell whether the records are safe: %r", bug)
            safe = False
        with self._changed:
            if not self._queue:
                self._settle_by, self._settled = None, safe
                self._changed.notify_all()
