"""The end of a process, and its forks: what waits is delivered, and a child begins with nothing of its parent's."""

import atexit
import logging
import os
import sys
import time
from typing import Protocol
from weakref import WeakSet

log = logging.getLogger("ramify")
EXIT_SECONDS = 5.0
AWAY_SECONDS = 1.0  # for those who did not answer when they were last asked


class Renewed(Protocol):
    def renew(self) -> None: ...


class Queued(Renewed, Protocol):
    dropped: int

    @property
    def waiting(self) -> int: ...
    def flush(self, seconds: float, patience: float | None) -> bool: ...


_emitters: WeakSet[Renewed] = WeakSet()
_queues: WeakSet[Queued] = WeakSet()  # by themselves: with something to deliver, they outlive their emitter


def watch_emitter(emitter: Renewed) -> None:
    _emitters.add(emitter)


def watch_queue(queue: Queued) -> None:
    _queues.add(queue)


def end() -> None:
    deadline = time.monotonic() + EXIT_SECONDS
    queues = list(_queues)
    safe = [queue.flush(max(0.0, deadline - time.monotonic()), AWAY_SECONDS) for queue in queues]
    waiting, dropped = sum(queue.waiting for queue in queues), sum(queue.dropped for queue in queues)
    if dropped:
        log.warning("%d events were lost: whoever should have got them was away or too slow", dropped)
    if waiting:
        log.warning("%d events could not be delivered before the program ended", waiting)
    elif not all(safe):
        log.warning("the last events are not stored yet; their writer goes on without this program")


def renew() -> None:
    for one in (*_emitters, *_queues):
        one.renew()
    # A child of `multiprocessing` ends without the functions of `atexit`, and forgets what was registered before it began.
    pool = sys.modules.get("multiprocessing.util")
    if pool is not None:
        pool.register_after_fork(end, lambda _: pool.Finalize(None, end, exitpriority=0))


atexit.register(end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew)
