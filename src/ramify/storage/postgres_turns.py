"""What each turn has changed, for writers that remember: they doubt that, and go on with the rest.

A turn leaves an entry in its own transaction: its number, that of the turn before it, and the rows and keys that it wrote. Whoever
follows these from its own last turn to the newest one has missed nothing. Where one is missing, because somebody of an older
version wrote, because it is too long ago, or because it could not say what it did, everything is doubted.
"""

import secrets
import time
from typing import Any

import msgspec
from psycopg import Connection

from ramify.storage.base import Others

Row = tuple[Any, ...]
Wrote = tuple[dict[str, list[str]], list[int]]  # ids by their table, and keys
NOTHING = Others(frozenset(), frozenset())
STEP = 1 << 23  # and up to as much again, by chance: a number that was lost with a server's last moments is not given twice
KEPT = 128  # turns, at least
MOST = 10_000  # rows and keys of one turn
MOST_HEARD = 100_000  # of all that nobody has asked for yet
ALONE = 60.0  # seconds without another writer after which turns are told to nobody
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Wrote)
PUT = """
    WITH gone AS (DELETE FROM turns WHERE number < %s), told AS (INSERT INTO turns VALUES (%s, %s, %s))
    UPDATE writes SET number = %s, seq = %s
"""


class Turns:
    """Of one writer. `news` is what others wrote since it was last asked for; None: it cannot be told."""

    def __init__(self) -> None:
        self._written: Others | None = NOTHING
        self._met = -ALONE
        self.news: Others | None = None

    def begin(self) -> None:
        self._written = NOTHING

    def write(self, what: Others | None) -> None:
        """In the turn that is on."""
        self._written = joined(self._written, what, MOST)

    @property
    def is_told(self) -> bool:
        return self._written is not None

    def hear(self, connection: Connection[Row], known: int, number: int) -> bool:
        """In one's turn, when its number is not one's own last: whether it can be told what happened since."""
        self._met = time.monotonic()
        found = self._told(connection, known, number) if known >= 0 else None
        self.news = joined(self.news, found, MOST_HEARD)
        return found is not None

    def _told(self, connection: Connection[Row], known: int, number: int) -> Others | None:
        found = connection.execute("SELECT number, before, wrote FROM turns WHERE number > %s ORDER BY number", (known,), binary=True).fetchall()
        passed = [known, *(one for one, _, _ in found)]
        if passed[-1] != number or passed[:-1] != [before for _, before, _ in found]:
            return None
        turns = [_decoder.decode(wrote) for _, _, wrote in found]
        rows = frozenset((table, id) for ids, _ in turns for table, some in ids.items() for id in some)
        return Others(rows, frozenset(key for _, keys in turns for key in keys))

    def end(self, connection: Connection[Row], before: int, seq: int) -> int:
        """The number of the turn. Whoever has met nobody for a while says nothing, and who comes then has missed it."""
        number = before + STEP + secrets.randbelow(STEP)
        if self._written is None or time.monotonic() - self._met > ALONE:
            connection.execute(f"UPDATE writes SET number = {number}, seq = {seq}")
        else:
            connection.execute(PUT, (number - 2 * STEP * KEPT, number, before, packed(self._written), number, seq))
        return number


def joined(one: Others | None, other: Others | None, most: int) -> Others | None:
    if one is None or other is None or len(one.rows) + len(other.rows) + len(one.keys) + len(other.keys) > most:
        return None
    return Others(one.rows | other.rows, one.keys | other.keys)


def packed(wrote: Others) -> bytes:
    ids: dict[str, list[str]] = {}
    for table, id in wrote.rows:
        ids.setdefault(table, []).append(id)
    return _encoder.encode((ids, [*wrote.keys]))
