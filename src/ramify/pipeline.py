"""Between capture and the store: a bounded queue, one writer, and a spool on disk for when the store is away.

`put` never blocks and never raises: whoever observes must not notice us. What cannot be kept is counted.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from ramify.ingest import Ingest
from ramify.model.observation import Observation, Request, Response
from ramify.spool import Spool
from ramify.storage.base import StoreDown

log = logging.getLogger("ramify")
BATCH = 256
BATCH_BYTES = 16 * 2**20
GATHER_SECONDS = 0.04
RETRY_SECONDS = 1.0
DRAIN = 200

Redact = Callable[[Observation], Observation]


def weight(seen: Observation) -> int:
    return 500 + (len(seen.body) if isinstance(seen, Request | Response) else 0)


class Pipeline:
    def __init__(
        self, ingest: Ingest, redact: Redact, spool: Spool | None, queue_limit: int = 20_000, queue_bytes: int = 128 * 2**20
    ) -> None:
        self.ingest = ingest
        self.redact = redact
        self.spool = spool
        self.queue_limit = queue_limit
        self.queue_bytes = queue_bytes
        self.dropped = 0
        self.failed = 0
        self.stored = 0
        self.problem = ""
        self.on_stored: Callable[[], None] = lambda: None
        self.on_safe: Callable[[int], None] = lambda count: None  # so many are stored, spooled or given up
        self._queue: deque[Observation] = deque()
        self._waiting_bytes = 0
        self._arrived = threading.Condition()
        self._closing = False
        self._busy = False
        self._retry_at = 0.0
        self._thread = threading.Thread(target=self._run, name="ramify-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    # -- the capturing side -------------------------------------------------------------------------------------------

    def put(self, seen: Observation) -> None:
        size = weight(seen)
        with self._arrived:
            # Twice the bound: between one and two the writer moves everything to the spool instead of linking it.
            if len(self._queue) >= 2 * self.queue_limit or self._waiting_bytes + size > 2 * self.queue_bytes:
                self.dropped += 1
                return
            self._queue.append(seen)
            self._waiting_bytes += size
            if len(self._queue) == 1:
                self._arrived.notify()

    @property
    def lost(self) -> int:
        return self.dropped + (self.spool.lost if self.spool else 0)

    def state(self) -> dict[str, object]:
        return {
            "waiting": len(self._queue),
            "waiting_bytes": self._waiting_bytes,
            "spooled": len(self.spool) if self.spool else 0,
            "spooled_bytes": self.spool.bytes if self.spool else 0,
            "lost": self.lost,
            "unlinked": self.failed,
            "stored": self.stored,
            "problem": self.problem,
        }

    @property
    def idle(self) -> bool:
        return not self._queue and not self._busy

    def flush(self, seconds: float = 30.0) -> bool:
        """Waits until what was put is stored."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.idle and not (self.spool and len(self.spool)):
                return True
            time.sleep(0.005)
        return False

    def close(self) -> None:
        with self._arrived:
            self._closing = True
            self._arrived.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=60)

    # -- the writer ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            batch, crowded = self._take()
            if not batch and self._closing:
                self._drain()
                return
            try:
                self._write(batch, crowded)
            except Exception:  # the writer outlives every bug; what it could not link is kept and counted
                log.exception("writer failed on a batch of %d observations", len(batch))
            finally:
                self._busy = False
                self.on_safe(len(batch))

    def _take(self) -> tuple[list[Observation], bool]:
        with self._arrived:
            while not self._queue and not self._closing:
                if not self._arrived.wait(timeout=self._pause()) and self._must_drain():
                    break
        if self._queue and not self._closing and len(self._queue) < BATCH:
            time.sleep(GATHER_SECONDS)  # one durable commit for all that comes in this time
        with self._arrived:
            self._busy = True
            crowded = len(self._queue) > self.queue_limit or self._waiting_bytes > self.queue_bytes
            batch: list[Observation] = []
            size = 0
            while self._queue and len(batch) < BATCH and (size < BATCH_BYTES or not batch):
                seen = self._queue.popleft()
                size += weight(seen)
                batch.append(seen)
            self._waiting_bytes -= size
            return batch, crowded

    def _pause(self) -> float:
        return 0.2 if self._must_drain() else 60.0

    def _must_drain(self) -> bool:
        return self.spool is not None and len(self.spool) > 0

    def _write(self, batch: Sequence[Observation], crowded: bool) -> None:
        if batch and self.spool is not None and (crowded or self._must_drain()):
            self._spool(batch)
        elif batch:
            self._store(batch)
        if not crowded and self._must_drain() and time.monotonic() >= self._retry_at:
            self._drain()

    def _spool(self, batch: Sequence[Observation]) -> None:
        """Secrets are cut out before anything reaches a disk, here as in the store."""
        if self.spool is not None:
            self.spool.append([self.redact(seen) for seen in batch])

    def _store(self, batch: Sequence[Observation]) -> None:
        while True:
            try:
                self._step(batch)
                return
            except StoreDown as problem:
                self._away(str(problem))
                if self.spool is not None:
                    self._spool(batch)
                    return
                if self._closing:
                    self.dropped += len(batch)
                    return
                time.sleep(RETRY_SECONDS)  # nowhere else to put it: `put` counts what no longer fits

    def _step(self, batch: Sequence[Observation]) -> None:
        try:
            self.stored += self.ingest.step(batch)
        except StoreDown:
            raise
        except Exception as bug:
            if len(batch) == 1:
                self._keep_unlinked(batch[0], bug)
                return
            for seen in batch:  # one bad observation must not take its neighbours with it
                self._step([seen])
        self.problem = ""
        self.on_stored()

    def _keep_unlinked(self, seen: Observation, bug: Exception) -> None:
        log.error("could not link observation id=%s: %r", seen.id, bug, exc_info=bug)
        self.failed += 1
        self.ingest.keep_unlinked(seen, f"not linked: {bug!r}")

    def _away(self, problem: str) -> None:
        if self.problem != problem:
            log.warning("store is away problem=%r; observations wait in the spool", problem)
        self.problem = problem
        self._retry_at = time.monotonic() + RETRY_SECONDS

    def _drain(self) -> None:
        """From the spool to the store, in order; a batch is dropped from the spool only once it is stored."""
        while self.spool is not None and len(self.spool):
            waiting = self.spool.read(DRAIN)
            if not waiting:
                return
            try:
                self._step(waiting)
            except StoreDown as problem:
                self._away(str(problem))
                return
            self.spool.drop(len(waiting))
            if len(self._queue) > self.queue_limit and not self._closing:
                return
