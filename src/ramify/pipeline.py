"""Between capture and the store: a bounded queue, one writer, and a spool on disk for when the store is away.

`put` never blocks and never raises: whoever observes must not notice us. What cannot be kept is counted.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ramify.ingest import Ingest
from ramify.model.observation import Correction, Observation, Request
from ramify.spool import Spool, SpoolDown
from ramify.storage.base import StoreDown

log = logging.getLogger("ramify")
BATCH = 256
LARGEST = 4 * BATCH  # where more waits than can be stored: where each commit is dear, larger ones are cheaper
BATCH_BYTES = 16 * 2**20
GATHER_SECONDS = 0.04
RETRY_SECONDS = 1.0
LONGEST_CLOSE = 60.0
CLOSE_SECONDS = 5.0  # after that the rest goes to the spool, and the next start stores it
DRAIN = 1000
HANG_SECONDS = 2.0  # a step that takes longer holds nobody up: what waits goes to the spool beside it
LOOK_SECONDS = 0.25

Redact = Callable[[Observation], Observation]
LeftOpen = Callable[[], Sequence[Observation]]


def weight(seen: Observation) -> int:
    return 500 + (0 if isinstance(seen, Correction) else len(seen.body))


def lag_ms(oldest: int) -> int:
    return max(0, time.time_ns() // 1000 - oldest) // 1000 if oldest else 0


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
        self.exchanges = 0
        self.commits, self.commit_seconds = 0, 0.0
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
        self._moving = threading.Lock()  # held by who moves from the queue to the spool; never while the store is asked
        self._hand: Sequence[Observation] = ()  # what is being stored, and stands nowhere else yet
        self._owed = 0  # of these somebody waits to hear that they are safe
        self._since = 0.0  # when the step under way began; 0: there is none
        self._thread = threading.Thread(target=self._run, name="ramify-writer", daemon=True)
        self._watching = threading.Thread(target=self._watch, name="ramify-rescue", daemon=True)

    def start(self) -> None:
        self._thread.start()
        if self.spool is not None:
            self._watching.start()

    # -- the capturing side -------------------------------------------------------------------------------------------

    def put(self, seen: Observation) -> int:
        """A number to wait for; 0: it could not be taken."""
        size = weight(seen)
        with self._arrived:
            self.exchanges += isinstance(seen, Request)
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
        return self._given_up + (self.spool.lost if self.spool is not None else 0)

    @property
    def _given_up(self) -> int:
        """The spool's own count outlives us."""
        return self.dropped + self.ingest.lost

    def state(self) -> dict[str, object]:
        figures = self.figures()
        del figures["given_up"]
        return {**figures, "captured": self._given + self.dropped, "exchanges": self.exchanges, "lag_ms": lag_ms(int(str(figures.pop("oldest"))))}

    def _oldest(self) -> int:
        """When the first was seen of those that are not stored; 0: all are."""
        with self._arrived:
            waiting = [seen[0].at for seen in (self._hand, self._queue) if seen]
        return min(filter(None, [*waiting, self.spool.oldest() if self.spool is not None else 0]), default=0)

    def figures(self) -> dict[str, object]:
        """Those that stay as they are while nothing happens."""
        return {
            "oldest": self._oldest(),
            "commits": self.commits,
            "commit_seconds": round(self.commit_seconds, 6),
            "waiting": len(self._queue),
            "waiting_bytes": self._waiting_bytes,
            "spooled": len(self.spool) if self.spool is not None else 0,
            "spooled_bytes": self.spool.bytes if self.spool is not None else 0,
            "lost": self.lost,
            "given_up": self._given_up,
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

    def close(self) -> bool:
        """False: the store hangs, and may not be waited for. What was put is in the spool."""
        with self._arrived:
            self._close_by = time.monotonic() + CLOSE_SECONDS
            self._closing = True
            self._arrived.notify_all()
        end = time.monotonic() + LONGEST_CLOSE
        while self._thread.is_alive() and time.monotonic() < end:
            if self._hangs() and self._is_rescued():
                log.warning("the store hangs at the end; what waits is in the spool, and the next start stores it")
                return False
            self._thread.join(timeout=0.05)
        return not self._thread.is_alive()

    # -- the writer ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._is_over():
            try:
                self._tell_left_open()
                self._gather()
            except Exception:  # the writer outlives every bug
                log.exception("the writer failed")
                continue
            try:
                self._write()
            except Exception:
                log.exception("the writer failed on a batch of %d observations", len(self._hand))
            finally:
                self._settle()
                with self._arrived:
                    self._busy = False
                    self._worked += time.monotonic() - self._began
                    self._arrived.notify_all()

    def _settle(self) -> None:
        """What was in hand is stored, spooled or given up, if nobody else has seen to it."""
        with self._moving:
            owed, self._hand, self._owed = self._owed, (), 0
        self._pass(owed)

    def _pass(self, count: int) -> None:
        if count:
            self.on_safe(count)
            with self._arrived:
                self._passed += count
                self._arrived.notify_all()

    def _is_over(self) -> bool:
        with self._arrived:
            over = self._closing and not self._queue
        if over:
            self._drain_last()
        with self._arrived:
            self._ended = over and not self._queue
            return self._ended

    def _gather(self) -> None:
        with self._arrived:
            while not self._queue and not self._closing:
                if not self._arrived.wait(timeout=self._pause()):
                    break
            if self._queue:  # one durable commit for all that comes in this time
                self._arrived.wait_for(lambda: self._hurried or self._closing or len(self._queue) >= BATCH, GATHER_SECONDS)
            self._hurried = False
            self._busy, self._began = True, time.monotonic()

    def _take(self) -> list[Observation]:
        with self._arrived:
            batch: list[Observation] = []
            size = 0
            while self._queue and len(batch) < self._most and (size < BATCH_BYTES or not batch):
                seen = self._queue.popleft()
                size += weight(seen)
                batch.append(seen)
            self._waiting_bytes -= size
            self._most = min(2 * self._most, LARGEST) if len(self._queue) >= self._most else BATCH
            return batch

    def _put_back(self, batch: Sequence[Observation]) -> None:
        with self._arrived:
            self._queue.extendleft(reversed(batch))
            self._waiting_bytes += sum(map(weight, batch))

    def _is_crowded(self) -> bool:
        return len(self._queue) > self.queue_limit or self._waiting_bytes > self.queue_bytes

    def _is_late(self) -> bool:
        return self._closing and time.monotonic() > self._close_by

    def _pause(self) -> float:
        return 0.2 if self._must_drain() or self.left_open is not None else 60.0

    def _must_drain(self) -> bool:
        return self.spool is not None and len(self.spool) > 0

    def _write(self) -> None:
        with self._moving:
            crowded = self._is_crowded()
            batch = self._take()
            self._hand, self._owed = batch, len(batch)
            waits = crowded or self._must_drain() or self._is_late()
            done = not batch or (waits and self._spool(batch))
        if not done:
            self._store(batch)
        self._settle()
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
                with self._moving:
                    if self._hand is not batch:
                        return  # it is in the spool by now
                    if self._spool(batch):
                        self._away(str(problem))
                        return
                if self._is_late():
                    log.error("lost observations=%d: neither store nor spool takes them, and this is the end", len(batch))
                    self.dropped += len(batch)
                    return
                time.sleep(RETRY_SECONDS)  # nowhere else to put it: `put` counts what no longer fits

    def _step(self, batch: Sequence[Observation], late: bool = False) -> None:
        began = time.monotonic()
        with self._timed():
            fresh = self.ingest.take_late(batch) if late else self.ingest.take(batch)
        self.commits, self.commit_seconds = self.commits + 1, self.commit_seconds + time.monotonic() - began
        self.stored += fresh
        self.problem = ""
        self.on_stored()

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Whatever asks the store does so in here: it may hang."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._since = 0.0

    # -- beside the writer ----------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while self._thread.is_alive():
            time.sleep(LOOK_SECONDS)
            if self._hangs() and not self._is_rescued():
                try:
                    self._rescue()
                except Exception:
                    log.exception("what waits for a store that hangs could not be put into the spool")

    def _hangs(self) -> bool:
        since = self._since
        return since > 0 and time.monotonic() - since > HANG_SECONDS

    def _is_rescued(self) -> bool:
        """Also told: whoever gave it would send it again. What is on its way from the queue to the disk is in neither."""
        with self._arrived:
            return self.spool is not None and not self._hand and not self._queue and self._passed >= self._given

    def _rescue(self) -> None:
        """In the order in which it came. What is in hand may be stored all the same: then it is known when it is read again."""
        with self._moving:
            while self._hangs():
                batch, owed = (self._hand, self._owed) if self._hand else ((found := self._take()), len(found))
                if not batch:
                    return
                if not self._spool(batch):
                    if not self._hand:
                        self._put_back(batch)
                    return
                self._hand, self._owed = (), 0
                self._away(f"the store has not answered for {HANG_SECONDS:.0f} s or longer")
                self._pass(owed)

    # -- a store that is away ---------------------------------------------------------------------------------------------

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
                self._step(waiting, late=True)
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
            with self._timed():
                if self.ingest.is_behind:
                    return  # what was captured meanwhile has no rows yet, and may have been left open too
                found = self.left_open()
        except Exception as problem:  # the store cannot even be read
            self._away(str(problem))
            return
        self.left_open = None
        for start in range(0, len(found), BATCH):
            self._hand = found[start : start + BATCH]  # nobody waits for these
            self._store(self._hand)
            self._settle()
