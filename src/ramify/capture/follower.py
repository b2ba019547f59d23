"""Which transcripts have changed since they were last read, by looking at them again and again.

Files that grew lately are looked at each time; all others, and folders that may hold new ones, as often as that costs
a small part of one core. So a file that appears, grows, is cut or replaced is found, on any file system.
"""

from collections.abc import Callable, Iterable, Sequence
from os import stat, stat_result
from pathlib import Path

from ramify.capture.transcript import find

WARM_SECONDS = 600.0
REST = 20  # times as long as a look at everything took, until the next one
Form = tuple[int, int, int]


def form(status: stat_result) -> Form:
    return status.st_ino, status.st_size, status.st_mtime_ns


class Follower:
    def __init__(self, roots: Sequence[Path], clock: Callable[[], float]) -> None:
        self._roots = roots
        self._clock = clock
        self._known: dict[str, Form] = {}
        self._warm: dict[str, float] = {}
        self._next_look = 0.0
        self._looks = 0

    @property
    def count(self) -> int:
        return len(self._known)

    def changed(self) -> dict[str, stat_result]:
        """In a fixed order. They stay changed until they are `taken`."""
        began = self._clock()
        if began < self._next_look:
            return self._among(self._warm_files(began))
        found = self._among(pair for root in self._roots for pair in find(root))
        ended = self._clock()
        self._looks += 1
        self._next_look = ended + REST * (ended - began)
        return found

    def taken(self, path: str, status: stat_result) -> None:
        """It was read as it was then."""
        if path in self._known or self._looks > 1:  # what was there when we began, nobody writes to, mostly
            self._warm[path] = self._clock()
        self._known[path] = form(status)

    def _among(self, files: Iterable[tuple[str, stat_result]]) -> dict[str, stat_result]:
        return {path: status for path, status in files if self._known.get(path) != form(status)}

    def _warm_files(self, now: float) -> list[tuple[str, stat_result]]:
        self._warm = {path: since for path, since in self._warm.items() if now - since < WARM_SECONDS}
        found: list[tuple[str, stat_result]] = []
        for path in sorted(self._warm):
            try:
                found.append((path, stat(path)))
            except OSError:
                continue  # gone for now; what was read of it is stored
        return found
