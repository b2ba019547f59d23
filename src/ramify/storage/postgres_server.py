"""Connections to a PostgreSQL server: one that writes, one for each thread that reads, made again when they break."""

import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import psycopg
from psycopg import Connection, sql

from ramify.model.entity import SHOWN
from ramify.model.mistake import UserMistake
from ramify.storage.background import in_background
from ramify.storage.base import News, StoreDown
from ramify.storage.postgres_direct import statements
from ramify.storage.postgres_schema import STEPS

LOCK = 0x52414D49  # "RAMI"
OUR_FAULT = (psycopg.IntegrityError, psycopg.DataError, psycopg.ProgrammingError, psycopg.NotSupportedError)
"""Trying the same again would fail again; everything else is the server's or the network's trouble."""
Row = tuple[Any, ...]
NOTICE_ROWS = 100  # a notice may have 8,000 bytes


def is_away(problem: BaseException) -> bool:
    return isinstance(problem, psycopg.Error) and not isinstance(problem, OUR_FAULT)


class PostgresServer:
    """`forget` is called when what was remembered of the store may not be true any more.

    Writers take turns by a lock that belongs to the transaction, so a pooler between us and the server does no harm,
    and a writer that dies lets go of it. `writes` counts transactions: who finds another number than it left was not alone.
    """

    def __init__(self, url: str, schema: str, forget: Callable[[], None], busy_seconds: float) -> None:
        self.url = url
        self.schema = schema
        self._forget = forget
        self._busy = max(1, int(busy_seconds * 1000))
        self._lock = threading.RLock()
        self._readers: dict[int, Connection[Row]] = {}
        self._writer: Connection[Row] | None = None
        self._owner = 0
        self._known = -1
        self._stale = False
        self._closed = False
        self.name = secrets.token_hex(6)
        self._prepare()

    def _connect(self, read_only: bool) -> Connection[Row]:
        try:
            connection = psycopg.connect(self.url, autocommit=True, connect_timeout=10, prepare_threshold=None)
            connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(self.schema)))
            connection.execute(f"SET lock_timeout = {self._busy}")
            connection.execute("SET client_min_messages = warning")
            if read_only:
                connection.execute("SET default_transaction_read_only = on")
        except psycopg.Error as problem:
            raise StoreDown(words(problem)) from problem
        return connection

    # -- the schema ---------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        with self._turn() as connection:
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(self.schema)))
            connection.execute("CREATE TABLE IF NOT EXISTS schema_steps (step integer PRIMARY KEY)")
            done = connection.execute("SELECT coalesce(max(step), 0) FROM schema_steps").fetchone()
            version = int(done[0]) if done else 0
            if version > len(STEPS):
                raise UserMistake(
                    f"the store was written by a newer Ramify (schema {version}, this one knows {len(STEPS)})",
                    "upgrade Ramify, or use another database",
                )
            for number, step in enumerate(STEPS[version:], version + 1):
                for statement in step:
                    connection.execute(statement)
                connection.execute("INSERT INTO schema_steps VALUES (%s)", (number,))
            connection.execute("CREATE TABLE IF NOT EXISTS writes (number bigint NOT NULL)")
            connection.execute("INSERT INTO writes SELECT 0 WHERE NOT EXISTS (SELECT FROM writes)")
            self._make_views(connection)

    def _make_views(self, connection: Connection[Row]) -> None:
        """Where they are others than this version's. A user who may make no schema has none, and everything else works."""
        made = statements(self.schema)
        wanted = msgspec.msgpack.encode(hashlib.sha256("".join(made).encode()).hexdigest())
        if fetched(connection, "SELECT value FROM facts WHERE name = 'views'") == wanted:
            return
        with suppress(psycopg.errors.InsufficientPrivilege), connection.transaction():
            for statement in made:
                connection.execute(statement)
            connection.execute(sql.SQL("SET LOCAL search_path = {}").format(sql.Identifier(self.schema)))
            connection.execute("INSERT INTO facts VALUES ('views', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (wanted,))

    def apart(self) -> Connection[Row]:
        """A connection for one purpose; whoever asks for it closes it."""
        return self._connect(read_only=False)

    # -- reading ------------------------------------------------------------------------------------------------------

    def read(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        if self._owner == threading.get_ident():
            assert self._writer is not None
            return self._writer.execute(query, parameters).fetchall()
        kept = self._readers.get(threading.get_ident())
        try:
            return self._reader().execute(query, parameters).fetchall()
        except psycopg.Error as problem:
            self._drop_reader()
            if not is_away(problem):
                raise
            if kept is not None:  # the server may have been restarted since the last question
                return self.read(query, parameters)
            raise StoreDown(words(problem)) from problem

    def stream(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        if self._owner == threading.get_ident():
            yield from self.read(query, parameters)
            return
        try:
            with self._reader().cursor() as cursor:
                yield from cursor.stream(query, parameters)
        except psycopg.Error as problem:
            self._drop_reader()
            raise StoreDown(words(problem)) if is_away(problem) else problem from None

    def _reader(self) -> Connection[Row]:
        thread = threading.get_ident()
        found = self._readers.get(thread)
        if found is not None and not found.closed:
            return found
        with self._lock:
            if self._closed:
                raise StoreDown("the store is closed")
            alive = {one.ident for one in threading.enumerate()}
            for gone in set(self._readers) - alive:
                self._readers.pop(gone).close()
            made = self._readers[thread] = self._connect(read_only=True)
            return made

    def _drop_reader(self) -> None:
        """After an error it may be in the middle of something; the next question gets a fresh one."""
        if reader := self._readers.pop(threading.get_ident(), None):
            reader.close()

    # -- writing ------------------------------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self) -> Iterator[bool]:
        with self._lock:
            if self._owner == threading.get_ident():
                yield False
                return
            with self._turn() as connection:
                changed = self._changed_elsewhere(connection)
                yield changed
                self._known = int(fetched(connection, "UPDATE writes SET number = number + 1 RETURNING number"))

    @contextmanager
    def _turn(self) -> Iterator[Connection[Row]]:
        if self._closed:
            raise StoreDown("the store is closed")
        if self._writer is None or self._writer.closed:
            self._writer = self._connect(read_only=False)
        connection = self._writer
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (LOCK, self.schema))
            self._owner = threading.get_ident()
            yield connection
            connection.execute("COMMIT")
        except BaseException as problem:
            self._undo(connection)
            if is_away(problem):
                raise StoreDown(words(problem)) from problem
            raise
        finally:
            self._owner = 0

    def _undo(self, connection: Connection[Row]) -> None:
        self._forget()
        self._known = -1 if connection.closed or connection.broken else self._known
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
            return
        connection.close()

    def _changed_elsewhere(self, connection: Connection[Row]) -> bool:
        number = int(fetched(connection, "SELECT number FROM writes"))
        if number != self._known:
            self._stale = True
            self._forget()
        changed, self._stale = self._stale, False
        return changed

    @contextmanager
    def writing(self) -> Iterator[Connection[Row]]:
        """For those who decide nothing by what is stored: the news of other writers waits for one who does."""
        changed = False
        try:
            with self.exclusive() as changed:
                assert self._writer is not None
                yield self._writer
        finally:
            if changed:
                self.distrust()

    def distrust(self) -> None:
        self._stale = True

    def vacuum(self) -> None:
        """Room of deleted rows is free for others; pages at the end go back to the disk."""
        with self._connect(read_only=False) as connection:
            tables = connection.execute("SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'", (f'"{self.schema}"',)).fetchall()
            for (table,) in tables:
                connection.execute(sql.SQL("VACUUM {}").format(sql.Identifier(table)))

    # -- news ---------------------------------------------------------------------------------------------------------

    def tell(self, connection: Connection[Row], seq: int, rows: Sequence[tuple[str, str]]) -> None:
        """Heard when the transaction is committed, not before. A notice has room for so much, so there may be several."""
        shown = [place for place in rows if place[0] in SHOWN]
        for start in range(0, max(1, len(shown)), NOTICE_ROWS):
            notice = json.dumps([self.name, seq, shown[start : start + NOTICE_ROWS]], separators=(",", ":"))
            connection.execute("SELECT pg_notify(%s, %s)", (self._channel, notice))

    @property
    def _channel(self) -> str:
        return f"ramify.{self.schema}"

    def follow(self, tell: News) -> Callable[[], None]:
        return in_background(lambda ended: self._hear(tell, ended))

    def _hear(self, tell: News, ended: threading.Event) -> None:
        """On a connection of its own, made again when it breaks: what was said meanwhile is not known."""
        heard_before = False
        while not ended.is_set():
            try:
                with self._connect(read_only=True) as connection:
                    connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
                    if heard_before:
                        tell(int(fetched(connection, "SELECT coalesce(max(seq), 0) FROM observations")), None)
                    heard_before = True
                    while not ended.is_set():
                        for notice in connection.notifies(timeout=0.5):
                            name, seq, rows = json.loads(notice.payload)
                            if name != self.name:
                                tell(seq, [(table, id) for table, id in rows])
            except (psycopg.Error, StoreDown):
                ended.wait(1.0)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for reader in self._readers.values():
                reader.close()
            self._readers.clear()
            if self._writer is not None:
                self._writer.close()


def fetched(connection: Connection[Row], query: str, parameters: Sequence[Any] = ()) -> Any:
    row = connection.execute(query, parameters).fetchone()
    return row[0] if row else None


def words(problem: BaseException) -> str:
    """One line, without the address: it may hold a password."""
    return str(problem).strip().split("\n", 1)[0] or type(problem).__name__
