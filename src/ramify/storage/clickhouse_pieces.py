"""The pieces of bodies on ClickHouse: numbered as they come, so that those of one request stand together.

A piece is known by its digest only while that is remembered here. To ask the server for each would cost more than to
store a piece again which was not seen for so long.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ramify.storage.clickhouse_schema import literal
from ramify.storage.clickhouse_server import ClickHouseServer

REMEMBERED = 200_000
CHUNK = 5000
MEMO_BYTES = 32 * 2**20


class Pieces:
    def __init__(self, server: Callable[[], ClickHouseServer]) -> None:
        self._server = server
        self._known: dict[bytes, int] = {}
        self._upto = 0  # pieces of the store up to here have been looked at
        self._new: dict[bytes, tuple[int, int, bytes]] = {}
        self._gathered: dict[bytes, int] = {}  # in the turn at hand, not stored yet
        self._read: dict[int, tuple[int, bytes]] = {}  # a piece never changes, and requests repeat what came before
        self._size = 0
        self._turn = -1
        self._swept = 0
        self.last = 0

    def forget(self) -> None:
        """What failed was not stored; what was stored before still is."""
        self._gathered.clear()
        self._new.clear()

    def begin(self, turn: int, last: int, swept: int) -> None:
        """`last`: the newest piece, of whichever writer. What an earlier turn gathered has been stored, else it was forgotten.
        `swept`: how often pieces were taken away; those that are remembered may be among them."""
        if turn != self._turn:
            self._turn = turn
            if swept != self._swept:
                self._swept, self._known, self._upto, self._read, self._size = swept, {}, 0, {}, 0
                self._gathered.clear()
            self._settle(last)
        self.last = last

    def _settle(self, last: int) -> None:
        if self._gathered:
            self._known.update(self._gathered)
            self._upto = last
            self._gathered.clear()
        if last > self._upto:
            server = self._server()
            after = max(self._upto, last - REMEMBERED)
            final = "FINAL" if self._swept else ""
            rows = server.read(f"SELECT digest, key FROM {server.table} {final} WHERE space = 'blobs' AND key > {after} AND key <= {last}")
            self._known.update({bytes(digest): key for digest, key in rows})
            self._upto = last
        if len(self._known) > 2 * REMEMBERED:
            self._known = dict(sorted(self._known.items(), key=lambda item: item[1])[-REMEMBERED:])

    def put(self, digest: bytes, size: int, packed: Callable[[], tuple[int, bytes]]) -> int:
        found = self._known.get(digest) or self._gathered.get(digest)
        if found:
            return found
        self.last += 1
        self._gathered[digest] = self.last
        self._new[digest] = (self.last, *packed())
        return self.last

    def taken(self) -> dict[tuple[str, int, int, str], dict[str, Any]]:
        taken = {("blobs", id, 0, ""): {"digest": digest, "form": form, "payload": payload} for digest, (id, form, payload) in self._new.items()}
        self._new.clear()
        return taken

    def get(self, ids: Sequence[int]) -> dict[int, tuple[int, bytes]]:
        found = {id: piece for id in ids if (piece := self._read.get(id)) is not None}
        wanted = [id for id in ids if id not in found]
        server = self._server()
        for start in range(0, len(wanted), CHUNK):
            chunk = literal(wanted[start : start + CHUNK])
            for id, form, payload in server.read(f"SELECT key, form, payload FROM {server.table} WHERE space = 'blobs' AND key IN {chunk}"):
                found[id] = (form, payload)
                self._remember(id, form, payload)
        return found

    def _remember(self, id: int, form: int, payload: bytes) -> None:
        if self._size > MEMO_BYTES:
            self._read = {}
            self._size = 0
        self._read[id] = (form, payload)
        self._size += len(payload) + 200
