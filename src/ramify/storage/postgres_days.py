"""What was seen, and the pieces of it, in one table a day: what is old goes by the table, and its room goes back to the disk.

`contents` is parted by when something was seen. A piece has its day in the upper half of its number: the day of what
brought it first. Both begin with a part for everything earlier.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Any

from psycopg import Connection

from ramify.storage.postgres_steps import DAY

Row = tuple[Any, ...]
FIRST_DATE, LAST_DAY = 719_163, 2_932_896  # of 1970 in the calendar's count; the last one that has a date
BITS = 32
Seen = tuple[int, int]  # when, and its number in the log


def day_of(at: int) -> int:
    return at // DAY


def piece_day(at: int) -> int:
    return min(max(day_of(at), 0), LAST_DAY)


def part(table: str, day: int) -> str:
    return f"{table}_{date.fromordinal(FIRST_DATE + day).isoformat().replace('-', '_')}" if 0 <= day < LAST_DAY else f"{table}_{day}"


class Days:
    """Parts that are there, as this process knows; another one may have made more. `forget` when one may have dropped some."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._before = 0  # everything seen earlier than this has one part

    def forget(self) -> None:
        self._known.clear()

    def make(self, connection: Connection[Row], ats: Iterable[int]) -> None:
        """The parts that what was seen then, and its pieces, go to."""
        if not self._known:
            self._look(connection)
        wanted = [one for day in {day_of(at) for at in ats} for one in self._parts_of(day)]
        if any(part(table, day) not in self._known for table, day, _, _ in wanted):
            self._look(connection)
        for table, day, first, end in wanted:
            self._make(connection, table, day, first, end)

    def _parts_of(self, day: int) -> Iterator[tuple[str, int, int, int]]:
        """Of which table, the day in its name, and from where to where it goes."""
        if day * DAY >= self._before:
            yield "contents", day, day * DAY, (day + 1) * DAY
        if (brought := piece_day(day * DAY)) > 0:
            yield "blobs", brought, brought << BITS, (brought + 1) << BITS

    def _make(self, connection: Connection[Row], table: str, day: int, first: int, end: int) -> None:
        """Attached, not made in place: that would keep readers out of all other parts."""
        name = part(table, day)
        if name not in self._known:
            connection.execute(f"CREATE TABLE {name} (LIKE {table} INCLUDING DEFAULTS INCLUDING STORAGE)")
            connection.execute(f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({first}) TO ({end})")
            self._known.add(name)

    def _look(self, connection: Connection[Row]) -> None:
        found = {name: bound for _, name, bound in parts(connection)}
        self._known = set(found)
        limit = re.search(r"TO \('?(-?\d+)'?\)", found["contents_before"])
        assert limit, found["contents_before"]
        self._before = int(limit[1])

    def take_out(self, connection: Connection[Row], gone: Sequence[Seen]) -> None:
        """A part of which all goes is emptied at once; else row by row."""
        self._look(connection)
        by_part: dict[str, list[Seen]] = {}
        for at, seq in gone:
            name = part("contents", day_of(at)) if at >= self._before else "contents_before"
            by_part.setdefault(name, []).append((at, seq))
        for name, rows in by_part.items():
            held = connection.execute(f"SELECT count(*) FROM (SELECT FROM {name} LIMIT %s) AS held", (len(rows) + 1,)).fetchone()
            if held and held[0] == len(rows):
                connection.execute(f"TRUNCATE {name}")
            else:
                there = "unnest(%s::bigint[], %s::bigint[]) AS gone (a, s)"
                arrays = [[at for at, _ in rows], [seq for _, seq in rows]]
                connection.execute(f"DELETE FROM {name} USING {there} WHERE at = a AND seq = s", arrays)

    def drop_empty(self, connection: Connection[Row]) -> int:
        """Parts in which nothing is left; how many."""
        empty = [
            (table, name)
            for table, name, _ in parts(connection)
            if not name.endswith("_before") and connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() is None
        ]
        for table, name in empty:
            connection.execute(f"ALTER TABLE {table} DETACH PARTITION {name}")
            connection.execute(f"DROP TABLE {name}")
        self.forget()
        return len(empty)


def parts(connection: Connection[Row]) -> list[tuple[str, str, str]]:
    """Of which table, its name, and from where to where it goes."""
    query = (
        "SELECT above.relname, one.relname, pg_get_expr(one.relpartbound, one.oid) FROM pg_inherits "
        "JOIN pg_class AS above ON above.oid = inhparent JOIN pg_class AS one ON one.oid = inhrelid "
        "WHERE inhparent IN (to_regclass('contents'), to_regclass('blobs')) ORDER BY 1, 2"
    )
    return [(table, name, bound) for table, name, bound in connection.execute(query).fetchall()]
