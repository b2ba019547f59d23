"""Full-text search on ClickHouse: words as the embedded index cuts them, found by its text index, phrases by their place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ramify.storage.base import Words
from ramify.storage.clickhouse_schema import literal
from ramify.storage.wording import QUOTED, plain

if TYPE_CHECKING:
    from ramify.storage.clickhouse import ClickHouse

MOST = 1 << 20  # texts that one stretch of the log may bring


class ClickHouseSearch:
    """Texts of one filling stand in a space of their own: to clear is to begin another one."""

    def __init__(self, store: "ClickHouse") -> None:
        self._store = store

    def _filling(self) -> int:
        return int(self._store.fact("texts") or 0)

    def add(self, texts: Sequence[Words], after: int, seq: int) -> bool:
        """All of the log from `after` to `seq`, or none of it: another process may have been there first."""
        server = self._store.server
        with server.writing():
            if self.indexed() != after:
                return False
            space = f"texts/{self._filling()}"
            for number, one in enumerate(texts):
                doc = msgspec.msgpack.encode((one.call, one.side, one.message, one.block, one.kind))
                place = (space, after * MOST + number, 0, "")
                server.pending[place] = {"doc": doc, "words": f" {plain(one.text).strip()} "}
            self._store.set_fact("indexed", seq)
        if after == 0:
            self.sweep()
        return True

    def find(self, text: str, limit: int, before: int | None) -> list[tuple[int, Words]]:
        """Newest first."""
        terms = [term for one in QUOTED.findall(text) if (term := plain(one).strip())]
        if not terms:
            return []
        single = sorted({word for term in terms for word in term.split()})
        phrases = " AND ".join(f"position(words, {literal(f' {term} ')}) > 0" for term in terms)
        behind = f"AND key < {before}" if before is not None else ""
        query = (
            f"SELECT key, doc FROM {self._store.server.table} WHERE space = 'texts/{self._filling()}' {behind} "
            f"AND hasAllTokens(words, [{', '.join(map(literal, single))}]) AND {phrases} ORDER BY key DESC LIMIT {limit}"
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
        """What earlier fillings left takes room and is found by nobody; the server does it when it has time."""
        server = self._store.server
        where = f"startsWith(space, 'texts/') AND space <> 'texts/{self._filling()}'"
        if server.read(f"SELECT 1 FROM {server.table} WHERE {where} LIMIT 1"):
            server.command(f"ALTER TABLE {server.own}{server.on} DELETE WHERE {where}", {"mutations_sync": 2} if wait else None)

    def close(self) -> None:
        pass
