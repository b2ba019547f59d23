"""SQL over HTTP. Only as JSON that is posted: a page of strangers cannot send that, and so cannot keep us busy either."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from ramify.model.identity import LOCAL
from ramify.model.mistake import UserMistake
from ramify.query.service import Answer
from ramify.storage.base import Bounds
from ramify.web.errors import Refused
from ramify.web.route import MOST, Asked
from ramify.web.shapes import SqlQuery

SECONDS = 5.0
LARGEST = 16 * 2**20
AT_ONCE = 2  # of the four threads that answer questions


def asked(asked: Asked) -> Answer:
    try:
        query = msgspec.json.decode(asked.body, type=SqlQuery)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UserMistake(f"The body holds no query: {error}", 'Send JSON: {"sql": "SELECT …", "limit": 1000}') from None
    if not 0 < query.limit <= MOST:
        raise UserMistake(f"The limit is {query.limit}", f"Give a number from 1 to {MOST}")
    with TURNS.one_of(asked.who):
        return asked.ramify.ask_sql(query.sql, Bounds(query.limit, SECONDS, LARGEST))


class Turns:
    """Who has a token has one at a time, and so leaves one to others; on a machine's own server nobody is told apart."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: list[str] = []

    @contextmanager
    def one_of(self, who: str) -> Iterator[None]:
        with self._lock:
            if len(self._busy) >= AT_ONCE:
                raise Refused(429, "busy", "Two queries are being answered already", "Try again when they are done")
            if who != LOCAL.name and who in self._busy:
                raise Refused(429, "busy", "A query of yours is being answered already", "Try again when it is done")
            self._busy.append(who)
        try:
            yield
        finally:
            with self._lock:
                self._busy.remove(who)


TURNS = Turns()
