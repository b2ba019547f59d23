"""Full-text index in a file of its own: filling it never waits for the writer of the log, nor the other way round.

It can be thrown away: what it lacks is read again from the log.
"""

import sqlite3
import threading
from collections.abc import Sequence

from ramify.storage.base import Words

TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS texts (
    row INTEGER PRIMARY KEY, call TEXT NOT NULL, side TEXT NOT NULL, message INTEGER NOT NULL,
    block INTEGER NOT NULL, kind TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, content='', tokenize='unicode61');
"""


class Search:
    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path or ":memory:", timeout=5, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(TABLES)

    def add(self, texts: Sequence[Words], seq: int) -> None:
        """All of a stretch of the log, or none of it."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                for words in texts:
                    row = self._connection.execute(
                        "INSERT INTO texts (call, side, message, block, kind) VALUES (?, ?, ?, ?, ?)",
                        (words.call, words.side, words.message, words.block, words.kind),
                    ).lastrowid
                    self._connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (row, words.text))
                self._connection.execute("INSERT OR REPLACE INTO facts VALUES ('indexed', ?)", (seq,))
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise

    def find(self, text: str, limit: int, before: int | None) -> list[tuple[int, Words]]:
        """Newest first: ranking over a common word would read every hit."""
        sql = (
            "SELECT t.row, t.call, t.side, t.message, t.block, t.kind FROM words w JOIN texts t ON t.row = w.rowid "
            "WHERE words MATCH ? AND w.rowid < ? ORDER BY w.rowid DESC LIMIT ?"
        )
        with self._lock:
            rows = self._connection.execute(sql, (text, 1 << 62 if before is None else before, limit)).fetchall()
        return [(row[0], Words(*row[1:])) for row in rows]

    def indexed(self) -> int:
        with self._lock:
            row = self._connection.execute("SELECT value FROM facts WHERE name = 'indexed'").fetchone()
        return int(row[0]) if row else 0

    def clear(self) -> None:
        with self._lock:
            self._connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
            self._connection.execute("DELETE FROM texts")
            self._connection.execute("DELETE FROM facts")

    def close(self) -> None:
        with self._lock:
            self._connection.close()
