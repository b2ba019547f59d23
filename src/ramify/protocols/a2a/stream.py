"""Server-sent events, strictly by the HTML standard, from slices that are cut anywhere, inside a character too.

Comments, `id`, `retry` and unknown fields are skipped; an event that the end of the stream cuts off is none.
"""

import re

from msgspec import Struct

LINE_END = re.compile(rb"\r\n|\n|\r")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Sent(Struct, frozen=True, array_like=True):
    """One event, and where in its slice it was complete."""

    kind: str
    data: bytes
    place: int


class Stream(Struct):
    """What is known between two slices."""

    tail: list[bytes] = []  # of a line that has not ended
    data: list[bytes] = []
    kind: str = ""
    after_return: bool = False  # a line feed now belongs to the carriage return before it
    begun: bool = False
    torn: bool = False  # something before this is missing: the event at hand may be half of one

    def feed(self, piece: bytes) -> list[Sent]:
        if not piece:
            return []
        found: list[Sent] = []
        start = 1 if self.after_return and piece.startswith(b"\n") else 0
        for end in LINE_END.finditer(piece, start):
            line = b"".join((*self.tail, piece[start : end.start()]))
            self.tail = []
            start = end.end()
            self._take(line, start, found)
        self.after_return = piece.endswith(b"\r")
        if start < len(piece):
            self.tail.append(piece[start:])
        return found

    def tear(self) -> None:
        """Slices are missing here. What was begun is lost; the rest of a cut event is no JSON and says nothing."""
        self.tail, self.data, self.kind = [], [], ""
        self.after_return, self.begun, self.torn = False, True, True

    def _take(self, line: bytes, place: int, found: list[Sent]) -> None:
        if not self.begun:
            line = line.removeprefix(BYTE_ORDER_MARK)
            self.begun = True
        if not line:
            if self.data:
                found.append(Sent(self.kind, b"\n".join(self.data), place))
            self.data, self.kind = [], ""
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self.data.append(value)
        elif name == b"event":
            self.kind = value.decode("utf-8", "replace")
