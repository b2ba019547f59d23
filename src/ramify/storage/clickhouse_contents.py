"""What is large and never changes, on ClickHouse: heads and bodies of observations, and the pieces that bodies are made of.

Each has a number: the day on which it was seen, what it stands together with (a conversation), and one of its own. The number
alone says on which shard of a cluster it is, and in which day's part. It is stored before the numbered insert that names
it. What nothing names is nobody's: a writer that died left it, or it was forgotten; it is swept.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from ramify.storage.base import StoreDown
from ramify.storage.clickhouse_schema import CONTENTS, DAY_BITS, NEAR_BITS, NUMBER_BITS, literal
from ramify.storage.clickhouse_server import ClickHouseServer

DAY = 24 * 3600 * 1_000_000
LAST_DAY = (1 << DAY_BITS) - 1
NUMBERS = (1 << NUMBER_BITS) - 1
OLD = 1 << NEAR_BITS + NUMBER_BITS
"""Numbers below this one are pieces of an earlier layout, among the entries."""
PAGE = 5000
MARKS = 100_000
MARK = ("id", "version", "gone", "marked")
MERGE_SECONDS = 600.0
Content = tuple[bytes, int, bytes]  # head, form, payload


def together(at: int, near: int) -> int:
    """Where the numbers of what was seen then, and belongs there, begin."""
    day = min(max(at // DAY, 1), LAST_DAY)
    return (day << NEAR_BITS | near & (1 << NEAR_BITS) - 1) << NUMBER_BITS


class Contents:
    def __init__(self, server: Callable[[], ClickHouseServer]) -> None:
        self._server = server
        self._dropped: list[int] = []  # in a turn that is not stored yet
        self._going: list[int] = []

    def read(self, places: Sequence[int], columns: str = "head, form, payload") -> Iterator[tuple[int, Content]]:
        for start in range(0, len(places), PAGE):
            yield from self.at(literal(places[start : start + PAGE]), columns)

    def at(self, places: str, columns: str = "head, form, payload") -> Iterator[tuple[int, Content]]:
        """A list, or a question for one. Of what a lost turn left under the same number, the later one counts."""
        server = self._server()
        among = "GLOBAL IN" if server.cluster else "IN"  # each shard would ask itself for what stands on one alone
        query = f"SELECT id, version, {columns} FROM {server.named(CONTENTS)} WHERE id {among} {places} AND gone = 0 ORDER BY version"
        for id, _, head, form, payload in server.read(query):
            yield id, (head, form, payload)

    def pieces(self, after: int, limit: int) -> list[tuple[int, int]]:
        server = self._server()
        query = f"SELECT id, form FROM {server.named(CONTENTS)} FINAL WHERE seq = 0 AND id > {after} ORDER BY id LIMIT {limit}"
        return [(id, form) for id, form in server.read(query)]

    # -- what goes ----------------------------------------------------------------------------------------------------

    def drop(self, ids: Sequence[int]) -> None:
        self._dropped += ids

    def confirm(self) -> None:
        """The turn is stored: nobody will name them again."""
        self._going += self._dropped
        self._dropped = []

    def forget(self) -> None:
        self._dropped = []

    def wipe(self) -> None:
        """What goes is marked, in a turn, so that nobody is about to name it. A day of which all goes is dropped; others are merged."""
        server = self._server()
        suspects = list(self._unnamed())
        with server.writing():
            known = self._named([seq for _, seq in suspects])
            going = [*self._going, *(id for id, seq in suspects if known.get(seq) != id)]
            last = server.number + 1
            now = int(time.time())
            for start in range(0, len(going), MARKS):
                rows = [(id, last, 1, now) for id in going[start : start + MARKS]]
                server.put(server.named(CONTENTS), rows, MARK, [CONTENTS.columns[column] for column in MARK], {"max_partitions_per_insert_block": 0})
            self._drop_days()
            self._going = []
        self._merge(last)

    def _unnamed(self) -> Iterator[tuple[int, int]]:
        """Observations that seem to stand nowhere in the log: their contents' numbers, and theirs."""
        server, after = self._server(), 0
        query = f"SELECT id, seq FROM {server.named(CONTENTS)} FINAL WHERE seq > 0"
        while rows := server.read(f"{query} AND id > {after} ORDER BY id LIMIT {PAGE}"):
            known = self._named([seq for _, seq in rows])
            yield from ((id, seq) for id, seq in rows if known.get(seq) != id)
            after = rows[-1][0]

    def _named(self, seqs: Sequence[int]) -> dict[int, int]:
        server, found = self._server(), dict[int, int]()
        for start in range(0, len(seqs), PAGE):
            chunk = literal(seqs[start : start + PAGE])
            found.update(server.read(f"SELECT key, place FROM {server.table} FINAL WHERE space = 'observations' AND key IN {chunk}"))
        return found

    def _drop_days(self) -> None:
        server = self._server()
        marked = self._marked_days()
        alive = server.read(f"SELECT DISTINCT {CONTENTS.parted} FROM {server.named(CONTENTS)} FINAL WHERE {CONTENTS.parted} IN {literal(marked)}") if marked else []
        if empty := sorted({*marked} - {day for (day,) in alive}):
            server.still_mine()
            server.command(f"ALTER TABLE {server.own_of(CONTENTS)}{server.on} {', '.join(f'DROP PARTITION {day}' for day in empty)}")

    def _merge(self, last: int) -> None:
        """A mark takes the place of what it marks when their day is merged, and expires: it holds nothing that was said. What a
        writer stored since, under a number that a lost turn had used, is newer. A mutation would touch every day there is."""
        server = self._server()
        table = server.named(CONTENTS)
        waiting = f"SELECT DISTINCT {CONTENTS.parted} FROM {table} WHERE gone = 0 AND version <= {last} AND id IN (SELECT id FROM {table} WHERE gone = 1)"
        end = time.monotonic() + MERGE_SECONDS
        while days := server.read(waiting, wide=True):
            if time.monotonic() > end:
                raise StoreDown(f"{len(days)} days could not be merged")
            for (day,) in days:
                server.command(f"OPTIMIZE TABLE {server.own_of(CONTENTS)}{server.on} PARTITION {day} FINAL", {"alter_sync": 2})
            time.sleep(0.05)  # parts that a merge is under way for are left out

    def _marked_days(self) -> list[int]:
        server = self._server()
        return [int(day) for (day,) in server.read(f"SELECT DISTINCT {CONTENTS.parted} FROM {server.named(CONTENTS)} WHERE gone = 1")]


def lacking(named: int) -> StoreDown:
    return StoreDown(f"{named} observations are named in the log, and their contents are not there")
