"""A SQLite file that is open: one connection that writes, one for each thread that reads, and the steps of its schema."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ramify.model.mistake import UserMistake
from ramify.storage.base import StoreDown
from ramify.storage.direct import reader_of
from ramify.storage.layout import Columns, is_laid_out, lay_out
from ramify.storage.layout import version as layout_version
from ramify.storage.private import private_file
from ramify.storage.readers import Readers
from ramify.storage.schema import APPLICATION_ID

INCREMENTAL = 2
QUICKLY_WRITTEN = 512 * 2**20  # bytes: some seconds
FREED_AT_ONCE = 2000  # pages
AT_ONCE = 16  # rows of a stream
PAGES = 4000  # of 4 KiB in the write-ahead log before it is folded back
WRITER_CACHE, READER_CACHE = 65536, 8192  # KiB; there may be many readers
EMPTY: dict[tuple[str, ...], sqlite3.Connection] = {}
OUR_FAULT = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InternalError)
"""Trying the same again would fail again; everything else that SQLite raises is the file's or the disk's trouble."""


def is_away(problem: BaseException) -> bool:
    return isinstance(problem, sqlite3.DatabaseError) and not isinstance(problem, OUR_FAULT)


class SqliteFile:
    """`forget` is called when what was remembered of the file may not be true any more; `columns` reads those of a row."""

    def __init__(
        self, path: str, steps: Sequence[str], forget: Callable[[], None], columns: Columns, busy_seconds: float, durable: bool
    ) -> None:
        self.path = path
        self._forget = forget
        self._columns = columns
        self._busy_seconds = busy_seconds
        self._synchronous = "FULL" if durable else "OFF"
        self._lock = threading.RLock()
        self._readers = Readers(self._new_reader, sqlite3.Connection.interrupt)
        self._owner = 0
        self._stale = False
        self._closed = False
        if path:
            private_file(path)  # what SQLite puts beside it has the same mode
        self.writer = self._connect(WRITER_CACHE)
        try:
            self._prepare(steps)
            self._version = self._pragma("data_version")
        except BaseException:
            self.writer.close()
            raise

    def _connect(self, cache: int) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path or ":memory:", timeout=self._busy_seconds, isolation_level=None, check_same_thread=False,
            cached_statements=256,
        )
        if not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # in a file that holds anything this would be a write
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA secure_delete = FAST")  # where it costs no further page, what goes is overwritten
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA cache_size = -{cache}")
        return connection

    def _pragma(self, name: str) -> int:
        return int(self.writer.execute(f"PRAGMA {name}").fetchone()[0])

    # -- the schema ---------------------------------------------------------------------------------------------------

    def _prepare(self, steps: Sequence[str]) -> None:
        tables = self.writer.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and self._pragma("application_id") != APPLICATION_ID:
            raise UserMistake(f"{self.path} is a database of another program", "choose another file with --store sqlite:PATH")
        self._write_ahead()
        version = self._pragma("user_version")
        if version > len(steps):
            raise UserMistake(
                f"{self.path} was written by a newer Ramify (schema {version}, this one knows {len(steps)})",
                "upgrade Ramify, or choose another file with --store sqlite:PATH",
            )
        if not self.path:
            self._copy_empty(steps)
        elif version < len(steps) or not is_laid_out(self.writer):
            self._bring_up(steps)

    def _copy_empty(self, steps: Sequence[str]) -> None:
        """In memory there is nothing yet. All the steps take ten times as long as a copy of what they lead to."""
        kind = (*steps, layout_version())
        if kind not in EMPTY:
            self._bring_up(steps)
            made = sqlite3.connect(":memory:", check_same_thread=False)
            self.writer.backup(made)
            EMPTY[kind] = made
        else:
            EMPTY[kind].backup(self.writer)

    def _write_ahead(self) -> None:
        """On a new file two processes may want this at once, and SQLite lets the second one fail without waiting."""
        end = time.monotonic() + self._busy_seconds
        while True:
            try:
                self.writer.execute("PRAGMA journal_mode = WAL")
                self.writer.execute(f"PRAGMA wal_autocheckpoint = {PAGES}")
                return
            except sqlite3.OperationalError as problem:
                if "locked" not in str(problem) or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def _bring_up(self, steps: Sequence[str]) -> None:
        """All missing steps or none; the version is read again once nobody else can change it."""
        self.writer.execute("BEGIN IMMEDIATE")
        try:
            for step in steps[steps_taken(self.writer) :]:
                for statement in statements(step):
                    self.writer.execute(statement)
            if not is_laid_out(self.writer):
                lay_out(self.writer, self._columns)
            self.writer.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self.writer.execute(f"PRAGMA user_version = {len(steps)}")
            self.writer.execute("COMMIT")
        except BaseException:
            self._undo()
            raise

    # -- reading ------------------------------------------------------------------------------------------------------

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """By a connection of this thread's own; in memory there is only one, and it is shared in turn."""
        try:
            if self.path and self._owner != threading.get_ident():
                with self._readers.mine() as reader:
                    return reader.execute(sql, parameters).fetchall()
            with self._lock:
                return self.writer.execute(sql, parameters).fetchall()
        except sqlite3.DatabaseError as problem:
            raise self._meant(problem) from None

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """A few rows at a time, none of them kept: what is read next finds the memory of the ones before still at hand."""
        if not self.path or self._owner == threading.get_ident():
            yield from self.read(sql, parameters)
            return
        mine = self._readers.mine()
        try:
            with mine as reader:
                found = reader.execute(sql, parameters)
                rows = found.fetchmany(AT_ONCE)
            while rows:
                yield from rows
                with mine:
                    rows = found.fetchmany(AT_ONCE)
        except sqlite3.DatabaseError as problem:
            raise self._meant(problem) from None

    def _meant(self, problem: sqlite3.DatabaseError) -> Exception:
        if self._closed:
            return StoreDown("the store is closed")
        return StoreDown(str(problem)) if is_away(problem) else problem

    def apart(self) -> sqlite3.Connection:
        """A connection that nobody else uses, for one question; whoever takes it closes it."""
        with self._lock:
            return reader_of(self.path, self.writer)

    def copied(self) -> bytes:
        """All of what lives in memory, as it is between two transactions."""
        with self._lock:
            return self.writer.serialize()

    def _new_reader(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreDown("the store is closed")
        connection = self._connect(READER_CACHE)
        connection.execute("PRAGMA query_only = ON")
        return connection

    # -- writing ------------------------------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self) -> Iterator[bool]:
        """One transaction for all that this thread reads and writes inside; nobody else writes meanwhile.

        Gives whether somebody else has written since the last time: then nothing remembered can be trusted.
        """
        with self._lock:
            if self._owner == threading.get_ident():
                yield False
                return
            self._begin()
            try:
                yield self._changed_elsewhere()
                self.writer.execute("COMMIT")
            except BaseException as problem:
                self._undo()
                if is_away(problem):
                    raise StoreDown(str(problem)) from problem
                raise
            finally:
                self._owner = 0

    def _begin(self) -> None:
        if self._closed:
            raise StoreDown("the store is closed")
        try:
            self.writer.execute("BEGIN IMMEDIATE")
        except sqlite3.DatabaseError as problem:
            raise StoreDown(str(problem)) from problem
        self._owner = threading.get_ident()

    def _undo(self) -> None:
        """SQLite rolls back by itself after some failures; a disk that is gone may fail this as well."""
        self._forget()
        try:
            if self.writer.in_transaction:
                self.writer.execute("ROLLBACK")
        except sqlite3.DatabaseError:
            pass

    def _changed_elsewhere(self) -> bool:
        version = self._pragma("data_version")
        if version != self._version:
            self._version = version
            self._stale = True
            self._forget()
        changed, self._stale = self._stale, False
        return changed

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """For those who decide nothing by what is stored: the news of other writers waits for one who does."""
        changed = False
        with self._lock:  # until the news wait: one who decides must not come in between
            try:
                with self.exclusive() as changed:
                    yield self.writer
            finally:
                self._stale = self._stale or changed

    @contextmanager
    def wiping(self) -> Iterator[None]:
        """What is deleted inside is overwritten, whatever that costs."""
        self.writer.execute("PRAGMA secure_delete = ON")
        try:
            yield
        finally:
            self.writer.execute("PRAGMA secure_delete = FAST")

    def shrink(self) -> None:
        """Nothing of what was deleted stays: the file is written anew where that is quick. A large one gives its free pages back,
        some at a time so that nobody waits long, and the write-ahead log is emptied.

        A large file of an older version cannot shrink by steps; it is written anew, once.
        """
        if not self.path:
            return
        if Path(self.path).stat().st_size <= QUICKLY_WRITTEN and self._pragma("auto_vacuum") == INCREMENTAL:
            self.write_anew()
            return
        if self._pragma("auto_vacuum") != INCREMENTAL:
            with self._lock:
                self.writer.execute("PRAGMA auto_vacuum = INCREMENTAL")
                self._alone("VACUUM")
        while free := self._pragma("freelist_count"):
            with self.writing() as connection:
                connection.execute(f"PRAGMA incremental_vacuum({FREED_AT_ONCE})").fetchall()
            if self._pragma("freelist_count") >= free:
                break
        self._empty_log()

    def write_anew(self) -> None:
        """A page that was split or balanced keeps copies of what stood on it, in its gaps. The copy is made on disk: it may be large."""
        if not self.path:
            return
        with self._lock:
            self._alone("PRAGMA temp_store = FILE")
            try:
                self._alone("VACUUM")
            finally:
                self._alone("PRAGMA temp_store = MEMORY")
        self._empty_log()

    def _empty_log(self) -> None:
        """A reader of another process may be in the way for a moment."""
        end = time.monotonic() + self._busy_seconds
        while True:
            with self._lock:
                [(busy, *_)] = self._alone("PRAGMA wal_checkpoint(TRUNCATE)")
            if not busy:
                return
            if time.monotonic() > end:
                raise StoreDown("somebody reads from the write-ahead log, which still holds what was deleted")
            time.sleep(0.05)

    def _alone(self, statement: str) -> list[Any]:
        try:
            return self.writer.execute(statement).fetchall()
        except sqlite3.DatabaseError as problem:
            raise StoreDown(str(problem)) if is_away(problem) else problem from None

    def distrust(self) -> None:
        """Says to the next one who decides that rows have changed behind its back."""
        self._stale = True

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._readers.close()
            self.writer.close()


def steps_taken(connection: sqlite3.Connection) -> int:
    """For a few commits the sixth step was the fifth: such a file has its tables, and lacks what came to stand before it."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version == 5 and connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'notes'").fetchone():
        return 6  # the step before it says that rows are outdated, as a later one does
    return version


def statements(script: str) -> Iterator[str]:
    """One by one: `executescript` would end the transaction that holds them together."""
    statement = ""
    for part in script.split(";"):
        statement += part + ";"
        if sqlite3.complete_statement(statement):
            if statement.strip(" \n;"):
                yield statement
            statement = ""
