"""Messages that were written down, handed over as if a broker did: for trying out, and for a tap inside a mesh."""

import sys
from pathlib import Path
from typing import IO

from ramify.capture.broker.receiver import Delivery
from ramify.capture.importer import numbered, opened
from ramify.model.mistake import UserMistake

STANDARD_INPUT = "-"


class Replay:
    """One line is one message. From standard input it goes on as long as somebody writes."""

    gaps = 0
    reconnects = 0

    def __init__(self, place: str, file: IO[bytes] | None = None) -> None:
        self.name = "standard input" if place == STANDARD_INPUT else Path(place).name
        self.ended = False
        self.acknowledged = 0
        self._file = file or open_lines(place)
        self._lines = numbered(self._file)

    def receive(self, seconds: float) -> Delivery | None:
        """Waits for the next line, however long that takes."""
        for number, line in self._lines:
            if line.strip():
                return Delivery(line=line, number=number, handle=number)
        self.ended = True
        return None

    def ack(self, delivery: Delivery) -> None:
        self.acknowledged += 1

    def close(self) -> None:
        if self._file is not sys.stdin.buffer:
            self._file.close()


def open_lines(place: str) -> IO[bytes]:
    if place == STANDARD_INPUT:
        return sys.stdin.buffer
    try:
        return opened(Path(place))
    except OSError as problem:
        raise UserMistake(f"{place} cannot be read: {problem.strerror}", "check the path") from None
