"""Full-text search on ClickHouse: words are found by its text index, phrases by their place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ramify.storage.base import Words
from ramify.storage.clickhouse_schema import TEXTS, literal
from ramify.storage.wording import plain, singles, sought

if TYPE_CHECKING:
    from ramify.storage.clickhouse import ClickHouse

MOST = 1 << 20  # texts that one stretch of the log may bring
WAIT = {"mutations_sync": 2}


class ClickHouseSearch:
    """Texts of one filling stand in a part of their own: to clear is to begin another one. They are stored before the fact
    that says how far the index goes; what a writer that died has left behind that point is taken out by the next one."""

    stretch = 1000  # each addition is a part on the disk, and a dozen questions
    fed = True

    def __init__(self, store: "ClickHouse") -> None:
        self._store = store
        self._reached = (-1, -1)  # the filling, and how far this process itself has brought it

    def _filling(self) -> int:
        return int(self._store.fact("texts") or 0)

    def add(self, texts: Sequence[Words], after: int, seq: int) -> bool:
        """All of the log from `after` to `seq`, or none of it: another process may have been there first."""
        server = self._store.server
        with server.writing():
            if self.indexed() != after:
                return False
            filling = self._filling()
            if self._reached != (filling, after):
                self._clear_behind(filling, after)
            rows = [
                (filling, after * MOST + number, msgspec.msgpack.encode((one.call, one.side, one.message, one.block, one.kind)), f" {plain(one.text).strip()} ")
                for number, one in enumerate(texts)
            ]
            server.first(TEXTS, rows)
            self._store.set_fact("indexed", seq)
        self._reached = (filling, seq)
        if after == 0:
            self.sweep()
        return True

    def _clear_behind(self, filling: int, after: int) -> None:
        server = self._store.server
        where = f"filling = {filling} AND key >= {after * MOST}"
        if server.read(f"SELECT 1 FROM {server.named(TEXTS)} WHERE {where} LIMIT 1"):
            server.command(f"ALTER TABLE {server.own_of(TEXTS)}{server.on} DELETE WHERE {where}", WAIT)

    def find(self, text: str, limit: int, before: int | None) -> list[tuple[int, Words]]:
        """Newest first."""
        asked = sought(text)
        if not asked.wanted:
            return []
        clauses = [f"hasAllTokens(words, [{', '.join(map(literal, singles(asked.wanted)))}])"]
        clauses += [f"position(words, {literal(f' {term} ')}) > 0" for term in asked.wanted]
        clauses += [f"position(words, {literal(f' {term} ')}) = 0" for term in asked.unwanted]
        clauses += [f"key < {before}"] if before is not None else []
        query = (
            f"SELECT key, doc FROM {self._store.server.named(TEXTS)} WHERE filling = {self._filling()} AND {' AND '.join(clauses)} "
            f"ORDER BY key DESC LIMIT {limit}"
        )
        return [(key, Words(*msgspec.msgpack.decode(doc))) for key, doc in self._store.server.read(query, wide=True)]

    def indexed(self) -> int:
        return int(self._store.fact("indexed") or 0)

    def clear(self) -> None:
        with self._store.server.writing():
            self._store.set_facts({"texts": self._filling() + 1, "indexed": 0})

    def drop(self, texts: Sequence[Words]) -> bool:
        return False

    def sweep(self, wait: bool = False) -> None:
        """What earlier fillings left takes room and is found by nobody. Those of an earlier layout stood among the entries; the
        server takes them out when it has time."""
        server, filling = self._store.server, self._filling()
        for (older,) in server.read(f"SELECT DISTINCT filling FROM {server.named(TEXTS)} WHERE filling < {filling}"):
            server.command(f"ALTER TABLE {server.own_of(TEXTS)}{server.on} DROP PARTITION {older}")
        if server.read(f"SELECT 1 FROM {server.table} WHERE startsWith(space, 'texts/') LIMIT 1"):
            server.command(f"ALTER TABLE {server.own}{server.on} DELETE WHERE startsWith(space, 'texts/')", WAIT if wait else None)

    def close(self) -> None:
        pass
