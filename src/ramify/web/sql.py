"""SQL over HTTP. Only as JSON that is posted: a page of strangers cannot send that, and so cannot keep us busy either."""

import threading

import msgspec

from ramify.model.mistake import UserMistake
from ramify.query.direct import sql
from ramify.query.service import Answer
from ramify.storage.base import Bounds
from ramify.web.errors import Refused
from ramify.web.route import MOST, Asked
from ramify.web.shapes import SqlQuery

SECONDS = 5.0
LARGEST = 16 * 2**20
AT_ONCE = threading.BoundedSemaphore(2)  # of the four threads that answer questions


def asked(asked: Asked) -> Answer:
    try:
        query = msgspec.json.decode(asked.body, type=SqlQuery)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UserMistake(f"The body holds no query: {error}", 'Send JSON: {"sql": "SELECT …", "limit": 1000}') from None
    if not 0 < query.limit <= MOST:
        raise UserMistake(f"The limit is {query.limit}", f"Give a number from 1 to {MOST}")
    if not AT_ONCE.acquire(blocking=False):
        raise Refused(429, "busy", "Two queries are being answered already", "Try again when they are done")
    try:
        return sql(asked.ramify.questions.store, query.sql, Bounds(query.limit, SECONDS, LARGEST))
    finally:
        AT_ONCE.release()
