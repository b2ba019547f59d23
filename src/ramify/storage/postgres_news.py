"""What one writer tells the others: a notice in its transaction, and the number of the log for those who hear none.

A pooler in transaction mode carries no notices to whoever listens. So the end of the log is looked at as well, and where it has
moved without a word, everything is to be loaded again.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from psycopg import Connection, sql

from ramify.model.entity import SHOWN
from ramify.storage.background import in_background
from ramify.storage.base import News, StoreDown
from ramify.storage.postgres_names import in_schema

Row = tuple[Any, ...]
Place = tuple[str, str]
NOTICE_ROWS = 100  # a notice may have 8,000 bytes
LISTEN_SECONDS = 0.5
TRIAL_SECONDS = 1.0
PATIENCE = 2.0  # seconds after which a move of the log without a notice counts as one that nobody will tell


def tell(connection: Connection[Row], channel: str, name: str, after: int, seq: int, rows: Sequence[Place]) -> None:
    """Heard when the transaction is committed, not before. A notice has room for so much, so there may be several."""
    shown = [place for place in rows if place[0] in SHOWN]
    for start in range(0, max(1, len(shown)), NOTICE_ROWS):
        more = start + NOTICE_ROWS < len(shown)
        notice = json.dumps([name, after, seq, more, shown[start : start + NOTICE_ROWS]], separators=(",", ":"))
        connection.execute("SELECT pg_notify(%s, %s)", (channel, notice))


def arrive(connect: Callable[[], Connection[Row]], channel: str) -> bool:
    """Tried with a notice to oneself."""
    named = sql.SQL("LISTEN {0}"), sql.SQL("NOTIFY {0}"), sql.SQL("UNLISTEN {0}")
    listen, notify, unlisten = (one.format(sql.Identifier(channel)) for one in named)
    with connect() as here, connect() as there:
        here.execute(listen)
        there.execute(notify)
        heard = [*here.notifies(timeout=TRIAL_SECONDS, stop_after=1)]
        here.execute(unlisten)
        return bool(heard)


class Listening:
    """On a connection of its own, made again when it breaks: what was said meanwhile is not known."""

    def __init__(self, connect: Callable[[], Connection[Row]], schema: str, channel: str, own: Callable[[], str], tell: News) -> None:
        self._connect = connect
        self._end = in_schema(schema, "SELECT seq FROM writes")
        self._channel = channel
        self._own = own
        self._tell = tell
        self._heard = -1  # how far the log went by all notices
        self._gathered: list[Place] = []
        self._silent_since = 0.0
        self.hears: bool | None = None  # nothing was written yet

    def start(self) -> Callable[[], None]:
        return in_background(self._run)

    def _run(self, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                with self._connect() as connection:
                    connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
                    self._begin(self._log_end(connection))
                    while not ended.is_set():
                        for notice in connection.notifies(timeout=LISTEN_SECONDS):
                            self._hear(notice.payload)
                        self._look(self._log_end(connection))
            except (psycopg.Error, StoreDown):
                ended.wait(1.0)

    def _log_end(self, connection: Connection[Row]) -> int:
        row = connection.execute(self._end).fetchone()
        return int(row[0]) if row else 0

    def _begin(self, seq: int) -> None:
        self._gathered, self._silent_since = [], 0.0
        if self._heard >= 0:
            self._tell(seq, None)
        self._heard = seq

    def _hear(self, payload: str) -> None:
        name, after, seq, more, rows = json.loads(payload)
        self._heard, self._silent_since, self.hears = max(self._heard, seq), 0.0, True
        if name == self._own():
            return
        self._gathered += [(table, id) for table, id in rows]
        if not more:
            gathered, self._gathered = self._gathered, []
            self._tell(seq, gathered, after)

    def _look(self, seq: int) -> None:
        """Our own writers' notices are heard as well, where any are."""
        if seq <= self._heard:
            self._silent_since = 0.0
        elif not self._silent_since:
            self._silent_since = time.monotonic()
        elif time.monotonic() - self._silent_since > PATIENCE:
            self._heard, self._silent_since, self.hears = seq, 0.0, False
            self._tell(seq, None)
