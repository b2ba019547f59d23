"""The pieces of bodies on ClickHouse: numbered as they come, those of one conversation together.

A piece is known by its digest only while that is remembered here. To ask the server for each would cost more than to
store a piece again which was not seen for so long. Digests of the newest stand in a ring among the entries, for
writers that come later.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ramify.storage.clickhouse_contents import NUMBERS, OLD, Contents
from ramify.storage.clickhouse_rows import GONE
from ramify.storage.clickhouse_schema import literal
from ramify.storage.clickhouse_server import ClickHouseServer
from ramify.storage.clickhouse_ways import Place

RING = 1 << 18
CHUNK = 5000
MEMO_BYTES = 32 * 2**20
Row = tuple[int, int, int, bytes, bytes]  # of the contents: id, seq, form, head, payload


class Pieces:
    def __init__(self, server: Callable[[], ClickHouseServer], contents: Contents) -> None:
        self._server = server
        self._contents = contents
        self.older = False  # whether there are any among the entries
        self._known: dict[bytes, int] = {}
        self._counted = 0  # pieces of the store up to here have been looked at
        self._upto = -1  # with this insert
        self._new: list[Row] = []
        self._gathered: dict[bytes, int] = {}  # in the turn at hand, not stored yet
        self._read: dict[int, tuple[int, bytes]] = {}  # a piece never changes, and requests repeat what came before
        self._size = 0
        self._turn = -1
        self._swept = 0
        self.last = 0
        self.begins = 0  # the numbers of what is put now

    def forget(self) -> None:
        """What failed was not stored; what was stored before still is."""
        self._gathered.clear()
        self._new.clear()

    def begin(self, turn: int, taken: int, last: int, swept: int) -> None:
        """`last`: the newest piece, of whichever writer. What an earlier turn gathered has been stored, else it was forgotten.
        `swept`: how often pieces were taken away; those that are remembered may be among them."""
        if turn != self._turn:
            self._turn = turn
            if swept != self._swept:
                self._swept, self._known, self._counted, self._upto, self._read, self._size = swept, {}, 0, -1, {}, 0
                self._gathered.clear()
            self._settle(taken, last)
        self.last = last

    def _settle(self, taken: int, last: int) -> None:
        if self._gathered:
            self._known.update(self._gathered)
            self._counted = last
            self._gathered.clear()
        if last > self._counted:
            server = self._server()
            if self.older and self._upto < 0:
                rows = server.read(f"SELECT digest, key FROM {server.table} FINAL WHERE space = 'blobs' AND key > {last - RING}")
                self._known.update(rows)
            rows = server.read(f"SELECT digest, place FROM {server.table} FINAL WHERE space = 'digests' AND version > {self._upto} ORDER BY version")
            self._known.update(rows)
        self._counted, self._upto = last, taken
        if len(self._known) > 2 * RING:
            self._known = dict(list(self._known.items())[-RING:])

    def number(self) -> int:
        """The next one."""
        self.last += 1
        return self.begins | self.last & NUMBERS

    def put(self, digest: bytes, size: int, packed: Callable[[], tuple[int, bytes]]) -> int:
        found = self._known.get(digest) or self._gathered.get(digest)
        if found:
            return found
        id = self._gathered[digest] = self.number()
        form, payload = packed()
        self._new.append((id, 0, form, b"", payload))
        return id

    def taken(self) -> tuple[list[Row], dict[Place, dict[str, Any]]]:
        """The new ones, and the entries by which other writers will know them."""
        rows, self._new = self._new, []
        fresh = {row[0] for row in rows}
        return rows, {ring(id): {"digest": digest, "place": id} for digest, id in self._gathered.items() if id in fresh}

    def drop(self, ids: Sequence[int]) -> dict[Place, dict[str, Any]]:
        self._contents.drop([id for id in ids if id >= OLD])
        return {("blobs", id, 0, "") if id < OLD else ring(id): GONE for id in ids}

    def get(self, ids: Sequence[int]) -> dict[int, tuple[int, bytes]]:
        found = {id: piece for id in ids if (piece := self._read.get(id)) is not None}
        wanted = [id for id in ids if id not in found]
        for id, (_, form, payload) in self._contents.read([id for id in wanted if id >= OLD], "'', form, payload"):
            found[id] = (form, payload)
        if self.older:
            self._get_older(found, [id for id in wanted if id < OLD])
        for id in wanted:
            if id in found:
                self._remember(id, *found[id])
        return found

    def _get_older(self, found: dict[int, tuple[int, bytes]], ids: Sequence[int]) -> None:
        server = self._server()
        for start in range(0, len(ids), CHUNK):
            chunk = literal(ids[start : start + CHUNK])
            for id, form, payload in server.read(f"SELECT key, form, payload FROM {server.table} WHERE space = 'blobs' AND key IN {chunk} AND gone = 0"):
                found[id] = (form, payload)

    def _remember(self, id: int, form: int, payload: bytes) -> None:
        if self._size > MEMO_BYTES:
            self._read = {}
            self._size = 0
        self._read[id] = (form, payload)
        self._size += len(payload) + 200


def highest(ids: Sequence[int]) -> int:
    """Of the numbers that these were given as they came; 0 for those of an earlier layout."""
    return max((id & NUMBERS for id in ids if id >= OLD), default=0)


def ring(id: int) -> Place:
    return ("digests", id % RING, 0, "")
