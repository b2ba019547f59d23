"""A stream's copy, cut after whole events: so that a secret is never in two slices, and readers can use each at once."""

import re

BLANK = re.compile(rb"\n\r?\n|\r\r")
"""The end of an event, whichever line ends a server uses."""
DATA = re.compile(rb"(?:^|[\r\n])data")
MOST_QUIET = 2**16


class Slices:
    """Comments that only keep a connection open wait for the next event: they are worth no frame of their own.
    An event that is too long is cut where the limit falls."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting = bytearray()
        self._searched = 0
        self._end = 0

    def add(self, piece: bytes) -> bytes:
        """What is complete by now; mostly one event, often nothing."""
        self._waiting += piece
        for found in BLANK.finditer(self._waiting, max(self._end, self._searched - 2)):
            self._end = found.end()
        self._searched = len(self._waiting)
        if self._searched - self._end > self._limit:
            self._end = self._searched
        quiet = self._end < MOST_QUIET and not DATA.search(self._waiting, 0, self._end)
        return b"" if quiet else self._take(self._end)

    def rest(self) -> bytes:
        return self._take(len(self._waiting))

    def _take(self, end: int) -> bytes:
        taken = bytes(self._waiting[:end])
        del self._waiting[:end]
        self._end = 0
        self._searched = len(self._waiting)
        return taken
