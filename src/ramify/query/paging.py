"""Pages of lists: a cursor names the row that a page ended with, or a place in a list that is made anew."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from ramify.query.errors import BadQuestion

ALL = 1_000_000_000
PLACE = re.compile(r"(-?[0-9]{1,18}) ([^\0]*)")  # a number that every engine can hold, and an id
OFFSET = re.compile(r"[0-9]{1,18}")


def cut(items: list[Any], limit: int, cursor: str | None) -> tuple[list[Any], str | None]:
    start, _ = read_place(cursor)
    end = start + (limit or ALL)
    return items[start:end], write_place(end, 0) if end < len(items) else None


def write_cursor(at: int, id: str) -> str:
    return urlsafe_b64encode(f"{at} {id}".encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    try:
        found = PLACE.fullmatch(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode())
    except ValueError:
        found = None
    if found is None:
        raise no_cursor(cursor)
    return int(found[1]), found[2]


def write_place(index: int, offset: int) -> str:
    return write_cursor(index, str(offset))


def read_place(cursor: str | None) -> tuple[int, int]:
    place = read_cursor(cursor)
    if cursor is None or place is None:
        return 0, 0
    if not OFFSET.fullmatch(place[1]) or place[0] < 0:
        raise no_cursor(cursor)
    return place[0], int(place[1])


def no_cursor(cursor: str) -> BadQuestion:
    return BadQuestion(f"{cursor[:40]!r} is no cursor of this list: use the value of 'next' of the page before")
