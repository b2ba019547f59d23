"""From a broker into the store: a message is acknowledged when it is safe there, and never before.

Whoever dies between the two is handed it again, and what is known already changes nothing.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from ramify.capture.broker.message import records_of
from ramify.capture.broker.receiver import Delivery, Receiver
from ramify.capture.broker.topics import is_excluded
from ramify.capture.importer import Imported
from ramify.intake import Take
from ramify.storage.base import StoreDown

log = logging.getLogger("ramify")
BATCH = 400
BATCH_BYTES = 4 * 2**20
WAIT_SECONDS = 0.5
GATHER_SECONDS = 0.05
RETRY_SECONDS = 2.0


class Heard(Struct):
    """What people see of a listener."""

    received: int = 0
    stored: int = 0
    duplicates: int = 0
    unreadable: int = 0
    excluded: int = 0
    gaps: int = 0
    reconnects: int = 0
    lag_ms: float | None = None  # how old the newest message was when it was stored

    def shape(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


class Listening:
    def __init__(self, receiver: Receiver, project: str, take: Take, zone: str = "UTC", exclude: tuple[str, ...] = ()) -> None:
        self.heard = Heard()
        self.tell: Callable[[Heard], None] = lambda heard: None
        self._receiver = receiver
        self._project = project
        self._take = take
        self._zone = zone
        self._exclude = exclude

    def run(self, stopping: threading.Event) -> None:
        while not stopping.is_set() and not self._receiver.ended:
            batch = self._gather()
            if batch and self._store(batch, stopping):
                for delivery in batch:
                    self._receiver.ack(delivery)
            self.heard.gaps, self.heard.reconnects = self._receiver.gaps, max(self._receiver.reconnects, 0)
            self.tell(self.heard)

    def _gather(self) -> list[Delivery]:
        """What comes within a moment is stored together."""
        batch: list[Delivery] = []
        size, until = 0, 0.0
        while len(batch) < BATCH and size < BATCH_BYTES:
            wait = WAIT_SECONDS if not batch else until - time.monotonic()
            delivery = self._receiver.receive(wait) if wait > 0 else None
            if delivery is None:
                break
            until = until or time.monotonic() + GATHER_SECONDS
            batch.append(delivery)
            size += len(delivery.payload) + len(delivery.line)
        return batch

    def _store(self, batch: list[Delivery], stopping: threading.Event) -> bool:
        """False: we end before the store is back. Nothing is acknowledged then, so nothing is lost."""
        wanted = [one for one in batch if one.line or not is_excluded(one.topic, self._exclude)]
        now = time.time_ns() // 1000
        read = [one for delivery in wanted for one in records_of(delivery, self._project, now, self._receiver.name, self._zone)]
        seen = [observation for one in read for observation in one.observations]
        while True:
            try:
                fresh = self._take(seen) if seen else 0
                break
            except StoreDown as problem:
                log.warning("store is away problem=%r; messages wait at the broker", str(problem))
                if stopping.wait(RETRY_SECONDS):
                    return False
        self._count(batch, wanted, read, fresh)
        return True

    def _count(self, batch: list[Delivery], wanted: list[Delivery], read: list[Imported], fresh: int) -> None:
        heard, seen = self.heard, sum(len(one.observations) for one in read)
        heard.received += len(batch)
        heard.excluded += len(batch) - len(wanted)
        heard.stored += fresh
        heard.duplicates += seen - fresh
        problems = [one.problem for one in read if one.problem]
        heard.unreadable += len(problems)
        for problem in problems:
            log.warning("could not read place=%r", problem)
        if wanted and not wanted[-1].line:
            heard.lag_ms = lag_of(wanted[-1])


def lag_of(delivery: Delivery) -> float | None:
    sent = (delivery.properties or {}).get("timestamp")
    return round(time.time() * 1000 - sent, 1) if isinstance(sent, int | float) and not isinstance(sent, bool) else None


