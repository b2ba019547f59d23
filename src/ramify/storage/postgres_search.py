"""Full-text search on PostgreSQL: words as the embedded index cuts them, so that both find the same."""

from collections.abc import Sequence

import msgspec
from psycopg import Connection

from ramify.storage.base import Words
from ramify.storage.postgres_server import PostgresServer, Row, fetched
from ramify.storage.postgres_turns import NOTHING
from ramify.storage.wording import QUOTED, plain

NEAR = 2_000  # of the newest texts are looked at by themselves first
INSERT = (
    "INSERT INTO texts (call, side, message, block, kind, words) SELECT c, s, m, b, k, to_tsvector('simple', w) "
    "FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[]) WITH ORDINALITY AS new (c, s, m, b, k, w, n) ORDER BY n"
)
COLUMNS = "t.row, t.call, t.side, t.message, t.block, t.kind"


class PostgresSearch:
    stretch = 100
    fed = True

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    def add(self, texts: Sequence[Words], after: int, seq: int) -> bool:
        """All of the log from `after` to `seq`, or none of it: another process may have been there first."""
        with self._server.writing(NOTHING) as connection:
            known = fetched(connection, "SELECT value FROM facts WHERE name = 'indexed'")
            if _number(known) != after:
                return False
            self._put(connection, texts)
            connection.execute(
                "INSERT INTO facts VALUES ('indexed', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (msgspec.msgpack.encode(seq),),
            )
            return True

    def _put(self, connection: Connection[Row], texts: Sequence[Words]) -> None:
        """One statement for all: a statement for each would be read and planned each time."""
        rows = [(one.call, one.side, one.message, one.block, one.kind, plain(one.text)) for one in texts]
        if rows:
            connection.execute(INSERT, [list(column) for column in zip(*rows, strict=True)])

    def find(self, text: str, limit: int, before: int | None) -> list[tuple[int, Words]]:
        """Newest first. A common word is found among the newest texts; hits of a rare one are gathered by the index, and only
        then ordered: else the planner walks all texts, newest first."""
        terms = [plain(term) for term in QUOTED.findall(text)]
        if not terms:
            return []
        asked = " && ".join(["phraseto_tsquery('simple', %s)"] * len(terms))
        end = 1 << 62 if before is None else before
        last = self._server.read("SELECT coalesce(max(row), 0) FROM texts WHERE row < %s", (end,))[0][0]
        near = f"SELECT {COLUMNS} FROM texts AS t WHERE row > %s AND row <= %s AND words @@ ({asked}) ORDER BY row DESC LIMIT %s"
        rows = self._server.read(near, (last - NEAR, last, *terms, limit))
        if len(rows) < limit:
            far = (
                f"WITH hits AS MATERIALIZED (SELECT row FROM texts WHERE words @@ ({asked}) AND row <= %s), "
                "newest AS MATERIALIZED (SELECT row FROM hits ORDER BY row DESC LIMIT %s) "
                f"SELECT {COLUMNS} FROM newest JOIN texts AS t USING (row) ORDER BY t.row DESC"
            )
            rows = self._server.read(far, (*terms, last, limit))
        return [(row[0], Words(*row[1:])) for row in rows]

    def indexed(self) -> int:
        rows = self._server.read("SELECT value FROM facts WHERE name = 'indexed'")
        return _number(rows[0][0] if rows else None)

    def clear(self) -> None:
        with self._server.writing(NOTHING) as connection:
            connection.execute("TRUNCATE texts")
            connection.execute("DELETE FROM facts WHERE name = 'indexed'")

    def drop(self, texts: Sequence[Words]) -> bool:
        with self._server.writing(NOTHING) as connection:
            connection.execute("DELETE FROM texts WHERE call = ANY(%s)", (sorted({one.call for one in texts}),))
        return True

    def close(self) -> None:
        pass


def _number(value: bytes | None) -> int:
    return msgspec.msgpack.decode(value, type=int) if value else 0
