"""Between the emitter and a subscriber: a bounded queue and a thread, so that no subscriber can hold up a program.

What does not fit pushes out the oldest, which is counted. What a subscriber raises is counted and logged.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from ramify.emit.item import Emitted

log = logging.getLogger("ramify")
LIMIT, LIMIT_BYTES = 10_000, 32 * 2**20
ITEM_BYTES = 300  # what an event weighs besides its body
FIRST_PAUSE, LONGEST_PAUSE, HURRIED_PAUSE = 0.25, 30.0, 0.1


class Away(Exception):
    """Nobody takes it now. The same batch may be sent again: nothing is stored twice."""


class Sink(Protocol):
    """Where events go to. Called from one thread, and allowed to take its time."""

    batch: int
    batch_bytes: int

    def deliver(self, batch: Sequence[Emitted]) -> None:
        """Raises Away to be asked again; anything else costs the batch."""

    def settle(self, seconds: float) -> bool:
        """Waits until what was delivered is safe."""

    def stats(self) -> dict[str, Any]: ...
    def renew(self) -> None:
        """After a fork, in the child: what threads of the parent held is free."""

    def close(self) -> None: ...


class Subscription:
    def __init__(self, sink: Sink, name: str, limit: int = LIMIT, limit_bytes: int = LIMIT_BYTES) -> None:
        self.name = name
        self.sink = sink
        self._limit, self._limit_bytes = limit, limit_bytes
        self._stopped = False
        self._reset()

    def renew(self) -> None:
        """After a fork, in the child. What waited is the parent's to deliver."""
        self._reset()
        self.sink.renew()

    def _reset(self) -> None:
        self.taken = self.delivered = self.dropped = self.failed = 0
        self._queue: deque[Emitted] = deque()
        self._bytes = self._under_way = 0
        # Reentrant: a generator that the collector closes may emit while this very thread holds it.
        self._changed = threading.Condition(threading.RLock())
        self._thread: threading.Thread | None = None
        self._idle = self._hurry = False
        self._problem = ""

    def put(self, item: Emitted) -> None:
        with self._changed:
            if self._stopped:
                return
            before = self.dropped
            self._queue.append(item)
            self._bytes += ITEM_BYTES + len(item.body)
            self.taken += 1
            while len(self._queue) > self._limit or self._bytes > self._limit_bytes:
                self._bytes -= ITEM_BYTES + len(self._queue.popleft().body)
                self.dropped += 1
            if self._thread is None:
                self._start()
            elif self._idle:
                self._idle = False
                self._changed.notify_all()
            first = not before and self.dropped
        if first:
            log.warning("events are lost: subscriber %s is too slow", self.name)

    def flush(self, seconds: float, patience: float | None = None) -> bool:
        """Waits until everything put so far was delivered or lost; at most so long, and at most `patience` where nobody
        answers."""
        end = time.monotonic() + seconds
        if self._thread is threading.current_thread():
            return False  # a subscriber that waits for itself
        with self._changed:
            target = self.taken
            self._hurry = True
            self._changed.notify_all()

            def is_done() -> bool:
                return self.taken - self.waiting >= target

            done = self._changed.wait_for(is_done, seconds if patience is None else min(seconds, patience))
            if not done and patience is not None and not self._problem:
                done = self._changed.wait_for(is_done, max(0.0, end - time.monotonic()))
            self._hurry = False
        return done and self.sink.settle(max(0.0, end - time.monotonic()))

    def stop(self, discards: bool) -> None:
        """Takes nothing more. What waits is thrown away, or still delivered."""
        with self._changed:
            self._stopped = True
            if discards:
                self.dropped += len(self._queue)
                self._queue.clear()
                self._bytes = 0
            self._changed.notify_all()
            if self._thread is None:
                self.sink.close()

    @property
    def waiting(self) -> int:
        return len(self._queue) + self._under_way

    def stats(self) -> dict[str, Any]:
        with self._changed:
            counts = {
                "name": self.name, "taken": self.taken, "delivered": self.delivered,
                "dropped": self.dropped, "failed": self.failed, "waiting": self.waiting, "problem": self._problem or None,
            }
        return counts | self.sink.stats()

    # -- the thread ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=f"ramify-{self.name}"[:40], daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the interpreter is about to end, and there is nobody left to be held up
            self._thread = threading.current_thread()
            self._drain()
            self._thread = None

    def _drain(self) -> None:
        while self._queue:
            self._pass_on(self._taken())

    def _run(self) -> None:
        while batch := self._next():
            self._pass_on(batch)
        self.sink.close()

    def _next(self) -> list[Emitted]:
        """Nothing: it is over."""
        with self._changed:
            while not self._queue and not self._stopped:
                self._idle = True
                self._changed.wait()
            self._idle = False
            return self._taken()

    def _taken(self) -> list[Emitted]:
        batch: list[Emitted] = []
        size = 0
        with self._changed:
            while self._queue and len(batch) < self.sink.batch and (not batch or size < self.sink.batch_bytes):
                item = self._queue.popleft()
                size += len(item.body)
                self._bytes -= ITEM_BYTES + len(item.body)
                batch.append(item)
            self._under_way = len(batch)
        return batch

    def _pass_on(self, batch: list[Emitted]) -> None:
        outcome = self._delivered(batch)
        with self._changed:
            self._under_way = 0
            match outcome:
                case True:
                    self.delivered += len(batch)
                case False:
                    self.failed += len(batch)
                case None:
                    self.dropped += len(batch)
            self._changed.notify_all()

    def _delivered(self, batch: list[Emitted]) -> bool | None:
        """None: it was told to stop before anybody took it."""
        pause = FIRST_PAUSE
        while True:
            try:
                self.sink.deliver(batch)
                self._problem = ""
                return True
            except Away as problem:
                self._say(problem)
            except BaseException as problem:  # also SystemExit: it would end this thread and nothing else
                self._fault(problem)
                return False
            if self._stopped_after(pause):
                log.warning("%d events are lost: %s", len(batch), self._problem)
                return None
            pause = min(2 * pause, LONGEST_PAUSE)

    def _stopped_after(self, pause: float) -> bool:
        """Sooner asked again where somebody waits."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._hurry, HURRIED_PAUSE if self._hurry else pause)
            if self._hurry and not self._stopped:
                self._changed.wait_for(lambda: self._stopped, HURRIED_PAUSE)
            return self._stopped

    def _say(self, problem: Away) -> None:
        if str(problem) != self._problem:
            log.warning("events wait: %s", problem)
        self._problem = str(problem)

    def _fault(self, problem: BaseException) -> None:
        """The first with all that is known, then ever more rarely: a log is no place for thousands of equal lines."""
        count = self.failed + 1
        if str(count).strip("0") == "1":
            log.warning("subscriber %s failed, count=%d", self.name, count, exc_info=problem)
