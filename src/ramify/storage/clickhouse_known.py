"""What a writer need not ask for. Most of what linking looks up is not there, and a question costs milliseconds.

A filter of bits over all ids, and all places of keys, of the store: what it does not hold is not stored. It is filled
when a writer first needs it, with what others wrote since at the beginning of each turn, and by what is committed here.
The server works out which bits those are: that many millions are there need not be told one by one.
"""

from collections.abc import Iterable

from xxhash import xxh3_64_intdigest

from ramify.storage.clickhouse_schema import literal
from ramify.storage.clickhouse_server import ClickHouseServer, Place
from ramify.storage.columns import COLUMNS

BITS, MOST_BITS = 27, 31  # 16 MiB at first, 256 MiB at most
ROOM = 12  # bits for each entry; where there are fewer, the filter is made anew and larger
NEAR = 40  # bits of a key below its place; see `linking/keys.py`
SPACES = (*COLUMNS, "keys", "seen")
HASH = f"xxh3(concat(space, char(0), if(space = 'keys', toString(bitShiftRight(key, {NEAR})), id)))"


class Known:
    def __init__(self) -> None:
        self._upto = -1  # everything up to this number is in it
        self._make(BITS)

    def _make(self, bits: int) -> None:
        self._width, self._mask = bits, (1 << bits) - 1
        self._bits = bytearray(1 << bits - 3)
        self._held = 0

    def may_hold(self, server: ClickHouseServer, space: str, name: object) -> bool:
        """Whether it is worth asking. Only whoever is in its turn can know."""
        if not server.mine or not self._is_complete(server):
            return True
        bits = self._bits
        return all(bits[bit >> 3] & (1 << (bit & 7)) for bit in self._places(space, name))

    def committed(self, places: Iterable[Place], before: int, number: int) -> None:
        if self._upto != before or not self._fits():
            return
        for space, key, _, id in places:
            if space in SPACES:
                self._held += 1
                for bit in self._places(space, key >> NEAR if space == "keys" else id):
                    self._bits[bit >> 3] |= 1 << (bit & 7)
        self._upto = number

    def _fits(self) -> bool:
        return self._held * ROOM <= 1 << self._width

    def _is_complete(self, server: ClickHouseServer) -> bool:
        """Where there are too many, the store is asked."""
        if self._upto >= server.taken:
            return self._fits()
        if self._upto < 0 or (not self._fits() and self._width < MOST_BITS):
            count = int(server.read(f"SELECT count() FROM {server.table} WHERE space IN {literal(SPACES)}", wide=True)[0][0])
            self._make(min(max(BITS, (2 * ROOM * count).bit_length()), MOST_BITS))
            self._held, self._upto = count, 0
            if self._fits():
                self._fill(server, 0)
        elif self._fits():
            self._fill(server, self._upto)
        self._upto = server.taken
        return self._fits()

    def _fill(self, server: ClickHouseServer, after: int) -> None:
        """With what was written behind that number, a word of 64 bits at a time."""
        query = (
            f"SELECT bitShiftRight(bit, 6) AS word, groupBitOr(bitShiftLeft(toUInt64(1), bitAnd(bit, 63))) FROM ("
            f"SELECT {HASH} AS hash, arrayJoin([bitAnd(hash, {self._mask}), bitAnd(bitShiftRight(hash, {self._width}), {self._mask})]) AS bit "
            f"FROM {server.table} WHERE space IN {literal(SPACES)} AND version > {after} AND version <= {server.taken}) GROUP BY word"
        )
        words = memoryview(self._bits).cast("Q")
        for columns in server.blocks(query):
            for word, bits in zip(*columns, strict=True):
                words[word] |= bits

    def _places(self, space: str, name: object) -> tuple[int, int]:
        hashed = xxh3_64_intdigest(f"{space}\x00{name}".encode())
        return hashed & self._mask, hashed >> self._width & self._mask
