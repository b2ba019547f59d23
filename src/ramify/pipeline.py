"""Between capture and the store: a bounded queue, one writer, and a spool on disk for when the store is away.

`put` never blocks and never raises: whoever observes must not notice us. What cannot be kept is counted.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from ramify.ingest import Ingest
from ramify.model.observation import Correction, Observation
from ramify.spool import Spool, SpoolDown
from ramify.storage.base import StoreDown

log = logging.getLogger("ramify")
BATCH = 256
LARGEST = 4 * BATCH  # where more waits than can be stored: where each commit is dear, larger ones are cheaper
BATCH_BYTES = 16 * 2**20
GATHER_SECONDS = 0.04
RETRY_SECONDS = 1.0
CLOSE_SECONDS = 5.0  # after that the rest goes to the spool, and the next start stores it
DRAIN = 1000

Redact = Callable[[Observation], Observation]
LeftOpen = Callable[[], Sequence[Observation]]


def weight(seen: Observation) -> int:
    return 500 + (0 if isinstance(seen, Correction) else len(seen.body))


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
        self.stored = 0
        self.problem = ""
        self.on_stored: Callable[[], None] = lambda: None
        self.on_safe: Callable[[int], None] = lambda count: None  # so many are stored, spooled or given up
        self.left_open: LeftOpen | None = None  # asked once, when nothing of an earlier run waits in the spool any more
        self._queue: deque[Observation] = deque()
        self._waiting_bytes = 0
        self._arrived = threading.Condition()
        self._closing = False
        self._close_by = 0.0
        self._ended = False
        self._busy = False
        self._began = self._worked = 0.0
        self._hurried = False
        self._given = 0
        self._passed = 0
        self._retry_at = 0.0
        self._most = BATCH
        self._thread = threading.Thread(target=self._run, name="ramify-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    # -- the capturing side -------------------------------------------------------------------------------------------

    def put(self, seen: Observation) -> int:
        """A number to wait for; 0: it could not be taken."""
        size = weight(seen)
        with self._arrived:
            # Twice the bound: between one and two the writer moves everything to the spool instead of linking it.
            full = len(self._queue) >= 2 * self.queue_limit or self._waiting_bytes + size > 2 * self.queue_bytes
            if full or self._ended:
                self.dropped += 1
                return 0
            self._given += 1
            self._queue.append(seen)
            self._waiting_bytes += size
            if len(self._queue) in (1, BATCH):
                self._arrived.notify_all()
            return self._given

    def hurry(self) -> None:
        """Somebody waits for what was put: nothing more is gathered."""
        with self._arrived:
            self._hurried = True
            self._arrived.notify_all()

    def wait(self, number: int, seconds: float) -> bool:
        """Until everything up to that number is stored, spooled or given up."""
        self.hurry()
        with self._arrived:
            return self._arrived.wait_for(lambda: self._passed >= number, seconds)

    @property
    def lost(self) -> int:
        return self.dropped + self.ingest.lost + (self.spool.lost if self.spool is not None else 0)

    def state(self) -> dict[str, object]:
        return {
            "waiting": len(self._queue),
            "waiting_bytes": self._waiting_bytes,
            "spooled": len(self.spool) if self.spool is not None else 0,
            "spooled_bytes": self.spool.bytes if self.spool is not None else 0,
            "lost": self.lost,
            "unlinked": self.ingest.unlinked,
            "stored": self.stored,
            "problem": self.problem,
        }

    @property
    def idle(self) -> bool:
        return not self._queue and not self._busy

    def worked(self) -> float:
        """How many seconds it has spent on what was put, by now."""
        with self._arrived:
            return self._worked + (time.monotonic() - self._began if self._busy else 0.0)

    def flush(self, seconds: float = 30.0) -> bool:
        """Waits until what was put is stored."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.idle and not self._must_drain():
                return True
            time.sleep(0.005)
        return False

    def close(self) -> None:
        with self._arrived:
            self._close_by = time.monotonic() + CLOSE_SECONDS
            self._closing = True
            self._arrived.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=60)

    # -- the writer ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._is_over():
            try:
                self._tell_left_open()
                batch, crowded = self._take()
            except Exception:  # the writer outlives every bug
                log.exception("the writer failed")
                continue
            try:
                self._write(batch, crowded)
            except Exception:
                log.exception("the writer failed on a batch of %d observations", len(batch))
            finally:
                with self._arrived:
                    self._busy = False
                    self._worked += time.monotonic() - self._began
                    self._passed += len(batch)
                    self._arrived.notify_all()
                self.on_safe(len(batch))

    def _is_over(self) -> bool:
        with self._arrived:
            over = self._closing and not self._queue
        if over:
            self._drain_last()
        with self._arrived:
            self._ended = over and not self._queue
            return self._ended

    def _take(self) -> tuple[list[Observation], bool]:
        with self._arrived:
            while not self._queue and not self._closing:
                if not self._arrived.wait(timeout=self._pause()):
                    break
            if self._queue:  # one durable commit for all that comes in this time
                self._arrived.wait_for(lambda: self._hurried or self._closing or len(self._queue) >= BATCH, GATHER_SECONDS)
            self._hurried = False
            self._busy, self._began = True, time.monotonic()
            crowded = self._is_crowded()
            batch: list[Observation] = []
            size = 0
            while self._queue and len(batch) < self._most and (size < BATCH_BYTES or not batch):
                seen = self._queue.popleft()
                size += weight(seen)
                batch.append(seen)
            self._waiting_bytes -= size
            self._most = min(2 * self._most, LARGEST) if len(self._queue) >= self._most else BATCH
            return batch, crowded

    def _is_crowded(self) -> bool:
        return len(self._queue) > self.queue_limit or self._waiting_bytes > self.queue_bytes

    def _is_late(self) -> bool:
        return self._closing and time.monotonic() > self._close_by

    def _pause(self) -> float:
        return 0.2 if self._must_drain() or self.left_open is not None else 60.0

    def _must_drain(self) -> bool:
        return self.spool is not None and len(self.spool) > 0

    def _write(self, batch: Sequence[Observation], crowded: bool) -> None:
        if batch:
            waits = crowded or self._must_drain() or self._is_late()
            if not (waits and self._spool(batch)):
                self._store(batch)
        if not crowded and self._must_drain() and time.monotonic() >= self._retry_at:
            self._drain()

    def _spool(self, batch: Sequence[Observation]) -> bool:
        """Whether it is there now. Secrets are cut out before anything reaches a disk, here as in the store."""
        if self.spool is None:
            return False
        try:
            self.spool.append([clean for seen in batch if (clean := self._without_secrets(seen)) is not None])
            return True
        except SpoolDown as problem:
            self._away(f"neither store nor spool takes anything: {problem}")
            return False

    def _without_secrets(self, seen: Observation) -> Observation | None:
        try:
            return self.redact(seen)
        except Exception:
            log.exception("lost observation id=%s: it could not be searched for secrets", seen.id)
            self.dropped += 1
            return None

    def _store(self, batch: Sequence[Observation]) -> None:
        while True:
            try:
                self._step(batch)
                return
            except StoreDown as problem:
                self._away(self.problem or str(problem))
                if self._spool(batch):
                    self._away(str(problem))
                    return
                if self._is_late():
                    self.dropped += len(batch)
                    return
                time.sleep(RETRY_SECONDS)  # nowhere else to put it: `put` counts what no longer fits

    def _step(self, batch: Sequence[Observation]) -> None:
        self.stored += self.ingest.take(batch)
        self.problem = ""
        self.on_stored()

    def _away(self, problem: str) -> None:
        if self.problem != problem:
            log.warning("store is away problem=%r; observations wait", problem)
        self.problem = problem
        self._retry_at = time.monotonic() + RETRY_SECONDS

    def _drain(self) -> None:
        """From the spool to the store, in order; a batch is dropped from the spool only once it is stored."""
        while self.spool is not None and len(self.spool) and not self._is_late():
            waiting = self.spool.read(DRAIN, BATCH_BYTES)
            if not waiting:
                return
            try:
                self._step(waiting)
            except StoreDown as problem:
                self._away(str(problem))
                return
            self.spool.drop(len(waiting))
            if self._is_crowded() and not self._closing:
                return

    def _drain_last(self) -> None:
        try:
            self._drain()
        except Exception:
            log.exception("what waits in the spool stays there until the next start")

    def _tell_left_open(self) -> None:
        """Only now: a call that an earlier run left open may have been in the spool until here."""
        if self.left_open is None or self._must_drain() or self._closing or time.monotonic() < self._retry_at:
            return
        try:
            if self.ingest.is_behind:
                return  # what was captured meanwhile has no rows yet, and may have been left open too
            found = self.left_open()
        except Exception as problem:  # the store cannot even be read
            self._away(str(problem))
            return
        self.left_open = None
        for start in range(0, len(found), BATCH):
            self._store(found[start : start + BATCH])
