"""Slices of a stream that goes on, told when no half of a secret is in them, or when nothing has followed for a while."""

import asyncio
from collections.abc import Callable

from ramify.capture.a2a.growth import Growth

PATIENCE = 3.0
"""Seconds: somebody may be watching. What follows later is still known to be the rest of what was told."""


class Waiting:
    def __init__(self, tell: Callable[[int, bytes], None]) -> None:
        self._tell = tell
        self._growth = Growth()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, at: int, piece: bytes) -> None:
        self._tell_all(self._growth.add(at, piece))
        if self._growth.waits and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self.let_go)

    def let_go(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._tell_all(self._growth.release())

    def _tell_all(self, slices: list[tuple[int, bytes]]) -> None:
        for at, piece in slices:
            self._tell(at, piece)
