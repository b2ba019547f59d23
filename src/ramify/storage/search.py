"""Full-text index in a file of its own: filling it never waits for the writer of the log, nor the other way round.

It can be thrown away: what it lacks is read again from the log.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ramify.storage.base import StoreDown, Words
from ramify.storage.private import private_file
from ramify.storage.wording import plain, sought

TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS texts (
    row INTEGER PRIMARY KEY, call TEXT NOT NULL, side TEXT NOT NULL, message INTEGER NOT NULL,
    block INTEGER NOT NULL, kind TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS texts_call ON texts (call);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, content='', tokenize='ascii');
"""
OLDER = "SELECT 1 FROM sqlite_master WHERE name = 'words' AND sql LIKE '%unicode61%'"  # which cut the words itself


class Search:
    """`identity` is that of the store: an index that was left behind by another one is emptied."""

    stretch = 100
    fed = True

    def __init__(self, path: str, identity: int) -> None:
        self._lock = threading.Lock()
        self._path = path
        self._identity = identity
        try:
            self._open()
        except sqlite3.DatabaseError as problem:
            if type(problem) is not sqlite3.DatabaseError:
                raise
            self._renew()  # damaged, or no database at all

    def _open(self) -> None:
        if self._path:
            private_file(self._path)
        self._connection = sqlite3.connect(self._path or ":memory:", timeout=5, isolation_level=None, check_same_thread=False)
        try:
            self._connection.execute("PRAGMA secure_delete = ON")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            if self._connection.execute(OLDER).fetchone():
                self._connection.executescript("DROP TABLE IF EXISTS words; DELETE FROM facts")
            self._connection.executescript(TABLES)
            if self._fact("identity") != self._identity:
                self.clear()
        except BaseException:
            self._connection.close()
            raise

    def _renew(self) -> None:
        for ending in ("", "-wal", "-shm"):
            Path(self._path + ending).unlink(missing_ok=True)
        self._open()

    def _fact(self, name: str) -> int:
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException as problem:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if isinstance(problem, sqlite3.DatabaseError):
                    raise StoreDown(f"the search index: {problem}") from problem
                raise

    def add(self, texts: Sequence[Words], after: int, seq: int) -> bool:
        """All of the log from `after` to `seq`, or none of it: another process may have been there first."""
        with self._writing() as connection:
            if self._fact("indexed") != after:
                return False
            last = connection.execute("SELECT coalesce(max(row), 0) FROM texts").fetchone()[0]
            numbered = list(enumerate(texts, last + 1))
            connection.executemany(
                "INSERT INTO texts (row, call, side, message, block, kind) VALUES (?, ?, ?, ?, ?, ?)",
                [(row, one.call, one.side, one.message, one.block, one.kind) for row, one in numbered],
            )
            connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", [(row, cut(one.text)) for row, one in numbered])
            connection.execute("INSERT OR REPLACE INTO facts VALUES ('indexed', ?)", (seq,))
            return True

    def find(self, text: str, limit: int, before: int | None) -> list[tuple[int, Words]]:
        """Newest first: ranking over a common word would read every hit."""
        sql = (
            "SELECT t.row, t.call, t.side, t.message, t.block, t.kind FROM words w JOIN texts t ON t.row = w.rowid "
            "WHERE words MATCH ? AND w.rowid < ? ORDER BY w.rowid DESC LIMIT ?"
        )
        asked = matched(text)
        if not asked:
            return []
        with self._lock:
            rows = self._connection.execute(sql, (asked, 1 << 62 if before is None else before, limit)).fetchall()
        return [(row[0], Words(*row[1:])) for row in rows]

    def indexed(self) -> int:
        with self._lock:
            return self._fact("indexed")

    def clear(self) -> None:
        with self._writing() as connection:
            connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
            connection.execute("DELETE FROM texts")
            connection.execute("DELETE FROM facts")
            connection.execute("INSERT INTO facts VALUES ('identity', ?)", (self._identity,))

    def drop(self, texts: Sequence[Words]) -> bool:
        """The index keeps no texts, so it must be told what it was given."""
        known = {(one.call, one.side, one.message, one.block, one.kind): one.text for one in texts}
        with self._writing() as connection:
            gone: list[tuple[int, str]] = []
            for call in {one.call for one in texts}:
                rows = connection.execute("SELECT row, side, message, block, kind FROM texts WHERE call = ?", (call,)).fetchall()
                for row, *place in rows:
                    if (call, *place) not in known:
                        return False
                    gone.append((row, cut(known[call, *place])))
            connection.executemany("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", gone)
            connection.executemany("DELETE FROM texts WHERE row = ?", [(row,) for row, _ in gone])
            return True

    def shrink(self) -> None:
        """Nothing of what was deleted stays in the file: words of deleted texts stand in old parts until all are put together."""
        with self._lock:
            try:
                self._connection.execute("INSERT INTO words (words) VALUES ('optimize')")
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.DatabaseError as problem:
                raise StoreDown(f"the search index: {problem}") from problem

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def cut(text: str) -> str:
    """Of plain letters the index makes the same words by itself, and faster."""
    return text if text.isascii() else plain(text)


def matched(text: str) -> str:
    """As FTS5 is asked. Empty: for no word at all."""
    found = sought(text)
    wanted, unwanted = (" ".join(f'"{term}"' for term in found.wanted), " OR ".join(f'"{term}"' for term in found.unwanted))
    return f"({wanted}) NOT ({unwanted})" if wanted and unwanted else wanted
