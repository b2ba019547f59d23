"""What a writer need not ask for. Most of what linking looks up is not there, and a question costs milliseconds.

A filter of bits over all ids, and all places of keys, of the store: what it does not hold is not stored. It is filled
when a writer first needs it, with what others wrote since at the beginning of each turn, and by what is committed here.
"""

from collections.abc import Iterable

from xxhash import xxh3_64_intdigest

from ramify.storage.clickhouse_schema import literal
from ramify.storage.clickhouse_server import ClickHouseServer, Place
from ramify.storage.columns import COLUMNS

BITS = 27  # 16 MiB
MASK = (1 << BITS) - 1
NEAR = 40  # bits of a key below its place; see `linking/keys.py`
MOST = 5_000_000  # entries; beyond that filling it takes too long, and the store is asked
SPACES = (*COLUMNS, "keys")


class Known:
    def __init__(self) -> None:
        self._bits = bytearray(1 << BITS - 3)
        self._upto = -1  # everything up to this number is in it
        self._is_small: bool | None = None

    def may_hold(self, server: ClickHouseServer, space: str, name: object) -> bool:
        """Whether it is worth asking. Only whoever is in its turn can know."""
        if not server.mine or not self._is_complete(server):
            return True
        return all(self._bits[bit >> 3] & (1 << (bit & 7)) for bit in _places(space, name))

    def committed(self, places: Iterable[Place], before: int, number: int) -> None:
        if self._upto == before and self._is_small:
            self._take((space, key, id) for space, key, _, id in places)
            self._upto = number

    def _is_complete(self, server: ClickHouseServer) -> bool:
        if self._upto >= server.taken:
            return bool(self._is_small)
        where = f"FROM {server.table} WHERE space IN {literal(SPACES)} AND version > {max(self._upto, 0)} AND version <= {server.taken}"
        if self._is_small is None:
            self._is_small = int(server.read(f"SELECT count() {where}", wide=True)[0][0]) <= MOST
        if self._is_small:
            self._take(server.stream(f"SELECT space, key, id {where}"))
        self._upto = server.taken
        return self._is_small

    def _take(self, entries: Iterable[tuple[str, int, str]]) -> None:
        for space, key, id in entries:
            for bit in _places(space, key >> NEAR if space == "keys" else id):
                self._bits[bit >> 3] |= 1 << (bit & 7)


def _places(space: str, name: object) -> tuple[int, int]:
    hashed = xxh3_64_intdigest(f"{space}\x00{name}".encode())
    return hashed & MASK, hashed >> BITS & MASK
