"""Events kept in memory: for tests, and for programs that show their own."""

import threading
from collections import deque
from typing import Any

from ramify.emit.item import Emitted


class Memory:
    """The last events, bounded by number and bytes. It never waits: no thread stands between it and the emitter."""

    def __init__(self, limit: int = 10_000, limit_bytes: int = 32 * 2**20) -> None:
        self.dropped = 0
        self.taken = 0
        self._limit, self._limit_bytes = limit, limit_bytes
        self._kept: deque[Emitted] = deque()
        self._bytes = 0
        self._turn = threading.RLock()

    def put(self, item: Emitted) -> None:
        with self._turn:
            self._kept.append(item)
            self._bytes += len(item.body)
            self.taken += 1
            while len(self._kept) > self._limit or self._bytes > self._limit_bytes:
                self._bytes -= len(self._kept.popleft().body)
                self.dropped += 1

    @property
    def items(self) -> list[Emitted]:
        with self._turn:
            return list(self._kept)

    @property
    def events(self) -> list[dict[str, Any]]:
        """Oldest first, as copies."""
        return [item.event for item in self.items]

    def clear(self) -> None:
        with self._turn:
            self._kept.clear()
            self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def renew(self) -> None:
        """After a fork: another thread may have held the lock."""
        self._turn = threading.RLock()
