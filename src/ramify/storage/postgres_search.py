"""Full-text search on PostgreSQL: words are found by an index of them, words in a row by the text itself.

A `tsvector` knows only the first 16,383 places, and 256 of each word; so it holds words without places.
"""

from collections.abc import Sequence

import msgspec
from psycopg import Connection

from ramify.storage.base import Words
from ramify.storage.postgres_server import PostgresServer, Row, fetched
from ramify.storage.postgres_turns import NOTHING
from ramify.storage.wording import plain, singles, sought

NEAR = 2_000  # of the newest texts are looked at by themselves first
LONGEST = 500  # letters of a word that are looked for in the index; the engine takes 2,046 bytes
INSERT = (
    "INSERT INTO texts (call, side, message, block, kind, said, words) SELECT c, s, m, b, k, w, array_to_tsvector(string_to_array(i, ' ')) "
    "FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[]) "
    "WITH ORDINALITY AS new (c, s, m, b, k, w, i, n) ORDER BY n"
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
        rows = [(one.call, one.side, one.message, one.block, one.kind, *cut(one.text)) for one in texts]
        if rows:
            connection.execute(INSERT, [list(column) for column in zip(*rows, strict=True)])

    def find(self, text: str, limit: int, before: int | None) -> list[tuple[int, Words]]:
        """Newest first. A common word is found among the newest texts; hits of a rare one are gathered by the index, and only
        then ordered: else the planner walks all texts, newest first."""
        asked, terms = clauses(text)
        if not terms:
            return []
        end = 1 << 62 if before is None else before
        last = self._server.read("SELECT coalesce(max(row), 0) FROM texts WHERE row < %s", (end,))[0][0]
        near = f"SELECT {COLUMNS} FROM texts AS t WHERE row > %s AND row <= %s AND {asked} ORDER BY row DESC LIMIT %s"
        rows = self._server.read(near, (last - NEAR, last, *terms, limit))
        if len(rows) < limit:
            far = (
                f"WITH hits AS MATERIALIZED (SELECT row FROM texts WHERE {asked} AND row <= %s), "
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


def cut(text: str) -> tuple[str, str]:
    """The text with a space on both sides of each word, and its words."""
    said = f" {plain(text).strip()} "
    return said, " ".join(sorted({word[:LONGEST] for word in said.split()}))


def clauses(text: str) -> tuple[str, list[str]]:
    """Of a question, and its parameters; none of these where there is no word in it."""
    asked = sought(text)
    if not asked.wanted:
        return "", []
    wanted = [indexed_by(asked.wanted), *(f" {term} " for term in asked.wanted if not is_one(term))]
    found = ["words @@ %s::tsquery", *["strpos(said, %s) > 0"] * (len(wanted) - 1), *["strpos(said, %s) = 0"] * len(asked.unwanted)]
    return " AND ".join(found), [*wanted, *(f" {term} " for term in asked.unwanted)]


def indexed_by(terms: Sequence[str]) -> str:
    return " & ".join(f"'{word[:LONGEST]}'" for word in singles(terms))


def is_one(term: str) -> bool:
    """Of which the index says all."""
    return " " not in term and len(term) <= LONGEST
