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


class Emitting(Protocol):
    def flush(self, timeout: float, patience: float) -> bool: ...
    def renew(self) -> None: ...
    @property
    def waiting(self) -> int: ...


_emitters: WeakSet[Emitting] = WeakSet()


def watch(emitter: Emitting) -> None:
    _emitters.add(emitter)


def end() -> None:
    deadline = time.monotonic() + EXIT_SECONDS
    for emitter in list(_emitters):
        safe = emitter.flush(max(0.0, deadline - time.monotonic()), AWAY_SECONDS)
        if emitter.waiting:
            log.warning("%d events could not be delivered before the program ended", emitter.waiting)
        elif not safe:
            log.warning("the last events are not stored yet; their writer goes on without this program")


def renew() -> None:
    for emitter in list(_emitters):
        emitter.renew()
    # A child of `multiprocessing` ends without the functions of `atexit`, and forgets what was registered before it began.
    pool = sys.modules.get("multiprocessing.util")
    if pool is not None:
        pool.register_after_fork(end, lambda _: pool.Finalize(None, end, exitpriority=0))


atexit.register(end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew)
