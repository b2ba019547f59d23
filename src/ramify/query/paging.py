"""Pages of lists: a cursor names the row that a page ended with, or a place in a list that is made anew."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from ramify.query.errors import BadQuestion

ALL = 1_000_000_000


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
        at, id = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().split(" ", 1)
        return int(at), id
    except ValueError:
        raise BadQuestion(f"{cursor!r} is no cursor: use the value of 'next' of the page before") from None


def write_place(index: int, offset: int) -> str:
    return write_cursor(index, str(offset))


def read_place(cursor: str | None) -> tuple[int, int]:
    place = read_cursor(cursor)
    if place is None:
        return 0, 0
    if not place[1].isdigit() or place[0] < 0:
        raise BadQuestion(f"{cursor!r} is no cursor of this list: use the value of 'next' of the page before")
    return place[0], int(place[1])
