"""Events of an emitter into the log: each one a record, by the way that everything goes that a program records."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ramify.capture import outbox
from ramify.capture.outbox import Destination
from ramify.emit import Away, Emitted
from ramify.model.ids import digest, observation_id, session_name
from ramify.model.observation import Record
from ramify.model.operation_event import LOCAL

log = logging.getLogger("ramify")
FORMAT = "adcp"
SOURCE = "emitter"


class EventSink:
    """Called by the thread of its subscription, and by whoever waits until everything is safe."""

    batch, batch_bytes = outbox.BATCH, outbox.BATCH_BYTES

    def __init__(self, open_: Callable[[], Destination], project: str, clock: Callable[[], int]) -> None:
        self._open = open_
        self._project = project
        self._clock = clock
        self.renew()

    def renew(self) -> None:
        """After a fork: the parent's writer is the parent's."""
        self._destination: Destination | None = None
        self._turn = threading.Lock()

    def deliver(self, batch: Sequence[Emitted]) -> None:
        with self._turn:
            try:
                self._destination = self._destination or self._open()
                self._destination.send([self._record(item) for item in batch])
            except outbox.Away as problem:
                raise Away(str(problem)) from problem

    def settle(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        if not self._turn.acquire(timeout=seconds):
            return False
        try:
            return self._destination is None or self._destination.settle(max(0.0, end - time.monotonic()))
        finally:
            self._turn.release()

    def stats(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        """A writer of our own ends when nothing more comes; it is not waited for."""
        self.settle(0.0)

    def _record(self, item: Emitted) -> Record:
        body = with_session(item.body, item.scope.session)
        identity = observation_id("record", self._project, FORMAT, item.id, digest(body))
        return Record(identity, self._project, self._clock(), SOURCE, FORMAT, item.id, body)


def with_session(body: bytes, key: str | None) -> bytes:
    """As the last member, which is the one that counts: what an event says of itself there is not taken over."""
    name = session_name(key) if key else LOCAL
    return body[:-1] + b',"ramify":{"session":"' + name.encode() + b'"}}'
