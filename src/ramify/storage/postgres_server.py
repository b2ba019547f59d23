"""Connections to a PostgreSQL server: one that writes, one for each thread that reads, made again when they break."""

import hashlib
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import msgspec
import psycopg
from psycopg import Connection, sql

from ramify.model.mistake import UserMistake
from ramify.storage import postgres_news as news
from ramify.storage import postgres_steps as steps
from ramify.storage.base import News, NotAdmitted, Others, StoreDown
from ramify.storage.postgres_direct import rows_of, schemas, statements, views_of
from ramify.storage.postgres_layout import Columns, lay_out
from ramify.storage.postgres_names import in_schema, quoted
from ramify.storage.postgres_steps import STEPS
from ramify.storage.postgres_turns import NOTHING, Turns
from ramify.storage.readers import Readers

LOCK = 0x52414D49  # "RAMI"
TOO_MUCH = (psycopg.errors.ProgramLimitExceeded, psycopg.errors.StatementTooComplex, psycopg.errors.TooManyArguments)
OUR_FAULT = (psycopg.IntegrityError, psycopg.DataError, psycopg.ProgrammingError, psycopg.NotSupportedError, *TOO_MUCH)
"""Trying the same again would fail again; everything else is the server's or the network's trouble. A name that is too long for
an index is among them: one agent with such a name must not hold up all others."""
PASSING = (
    "starting up", "shutting down", "recovery mode", "not yet accepting", "too many clients", "too many connections", "no more connections", "connection slots",
    "try again", "query_wait_timeout", "due to timeout", "terminating connection",
)  # fmt: skip
"""Of what a server or a pooler says when it lets nobody in: what is otherwise in a while."""
CONNECTING: dict[str, Any] = {
    "connect_timeout": 5, "tcp_user_timeout": 20_000, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
}  # fmt: skip
"""A server that is gone without a word is noticed in half a minute, and not when the system gives up, a quarter of an hour later.
What the address itself says goes before."""
Row = tuple[Any, ...]


def is_away(problem: BaseException) -> bool:
    return isinstance(problem, psycopg.Error) and not isinstance(problem, OUR_FAULT)


def is_refused(problem: psycopg.Error) -> bool:
    """Whether somebody has to do something: no such user, database or host; another password."""
    text = str(problem)
    unknown = ("failed to resolve host" in text or "could not translate host name" in text) and "Temporary failure" not in text
    return isinstance(problem, psycopg.ProgrammingError) or unknown or ("FATAL" in text and not any(words in text for words in PASSING))


class PostgresServer:
    """`forget` is called when what was remembered of the store may not be true any more; `columns` reads those of a row.

    Writers take turns by a lock that belongs to the transaction, and nothing is set for longer than one: a pooler between us
    and the server does no harm, and a writer that dies lets go. `writes` has the number of the last turn: who finds another than
    its own was not alone. In a turn what others have committed is there, whatever the database's own isolation is: a picture taken
    before the lock was had would be an old one.
    """

    def __init__(self, url: str, schema: str, forget: Callable[[], None], columns: Columns, busy_seconds: float) -> None:
        self.url = url
        self.schema = schema
        self._forget = forget
        self._lock = threading.RLock()
        self._readers: Readers[Connection[Row]] = Readers(self._new_reader, partial(Connection.cancel_safe, timeout=1.0))
        self._writer: Connection[Row] | None = None
        self._owner = 0
        self._known = -1
        self._stale = False
        self._turns = Turns()
        self._closed = False
        self._seq = 0
        self._listening: news.Listening | None = None
        self.name = secrets.token_hex(6)
        settings = f"SET LOCAL search_path = {quoted(schema)}; SET LOCAL lock_timeout = {max(1, int(busy_seconds * 1000))}; "
        lock = f"SELECT pg_advisory_xact_lock({LOCK}, hashtext({sql.Literal(schema).as_string(None)}))"
        self._patience = {option: seconds for option, seconds in CONNECTING.items() if f"{option}=" not in url}
        self._begin = f"BEGIN ISOLATION LEVEL READ COMMITTED; {settings}SET LOCAL client_min_messages = warning; {lock}"
        try:
            self._prepare(columns)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Connection[Row]:
        try:
            return psycopg.connect(self.url, autocommit=True, prepare_threshold=None, **self._patience)
        except psycopg.Error as problem:
            raise (NotAdmitted if is_refused(problem) else StoreDown)(words(problem)) from problem

    # -- the schema ---------------------------------------------------------------------------------------------------

    def _prepare(self, columns: Columns) -> None:
        with self._turn() as connection:
            if not is_there(connection, self.schema):  # with IF NOT EXISTS the right would be asked for all the same
                connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self.schema)))
            connection.execute("CREATE TABLE IF NOT EXISTS schema_steps (step integer PRIMARY KEY)")
            done = int(fetched(connection, "SELECT coalesce(max(step), 0) FROM schema_steps"))
            if done > len(STEPS):
                raise UserMistake(
                    f"the store was written by a newer Ramify (schema {done}, this one knows {len(STEPS)})",
                    "upgrade Ramify, or use another database",
                )
            for number, step in enumerate(STEPS[done:], done + 1):
                for statement in steps.statements(step):
                    connection.execute(statement)
                connection.execute("INSERT INTO schema_steps VALUES (%s)", (number,))
            self._take_over_numbers(connection)
            lay_out(connection, columns)
            self._make_views(connection)

    def _take_over_numbers(self, connection: Connection[Row]) -> None:
        """Up to step 1 a fact said how far numbers were given, once something was forgotten."""
        if last := fetched(connection, "SELECT value FROM facts WHERE name = 'last_seq'"):
            connection.execute("UPDATE writes SET seq = greatest(seq, %s)", (msgspec.msgpack.decode(last),))
            connection.execute("DELETE FROM facts WHERE name = 'last_seq'")

    def _make_views(self, connection: Connection[Row]) -> None:
        """Where they are others than this version's. They stand in schemas of their own; where some are missing and this user may
        not make them, there are no views, and everything else works."""
        made = statements(self.schema)
        wanted = msgspec.msgpack.encode(hashlib.sha256("".join(made).encode()).hexdigest())
        if fetched(connection, "SELECT value FROM facts WHERE name = 'views'") == wanted:
            return
        with suppress(psycopg.errors.InsufficientPrivilege), connection.transaction():
            for name in schemas(self.schema):
                if is_there(connection, name):
                    self._empty(connection, name)
                else:
                    connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
            for statement in made:
                connection.execute(statement)
            connection.execute(sql.SQL("SET LOCAL search_path = {}").format(sql.Identifier(self.schema)))
            connection.execute("INSERT INTO facts VALUES ('views', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (wanted,))

    def _empty(self, connection: Connection[Row], name: str) -> None:
        """The schema stays, with what was granted on it; also when somebody else has made it for us."""
        mine = "('r')" if name == rows_of(self.schema) else "('v')"
        query = f"SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN {mine}"
        kind = sql.SQL("TABLE" if name == rows_of(self.schema) else "VIEW")
        for (table,) in connection.execute(query, (quoted(name),)).fetchall():
            connection.execute(sql.SQL("DROP {} IF EXISTS {}.{} CASCADE").format(kind, sql.Identifier(name), sql.Identifier(table)))

    def lacks(self) -> list[str]:
        """Where there are no views: the schemas that are missing for them, or are not ours to fill."""
        made = "SELECT count(*) FROM pg_class JOIN pg_namespace place ON place.oid = relnamespace WHERE nspname = %s AND relkind = 'v'"
        if self.read(made, (views_of(self.schema),))[0][0]:
            return []
        query = (
            "SELECT name FROM unnest(%s::text[]) AS name WHERE NOT EXISTS "
            "(SELECT FROM pg_namespace WHERE nspname = name AND has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE'))"
        )
        every = schemas(self.schema)
        return [name for (name,) in self.read(query, (every,))] or every

    def apart(self) -> Connection[Row]:
        """A connection for one purpose; whoever asks for it closes it."""
        return self._connect()

    # -- reading ------------------------------------------------------------------------------------------------------

    def read(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """In the server's own form: rows and pieces are bytes, and as text they would come in hexadecimal."""
        if self._owner == threading.get_ident():
            assert self._writer is not None
            return self._writer.execute(query, parameters, binary=True).fetchall()
        query = in_schema(self.schema, query)
        known = self._readers.has_mine()
        try:
            with self._readers.mine() as reader:
                return reader.execute(query, parameters, binary=True).fetchall()
        except psycopg.Error as problem:
            self._readers.drop()
            if not is_away(problem):
                raise
            if known and not self._closed:  # the server may have been restarted since the last question
                return self.read(query, parameters)
            raise self._down(problem) from problem

    def stream(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        if self._owner == threading.get_ident():
            yield from self.read(query, parameters)
            return
        try:
            with self._readers.mine() as reader, reader.cursor() as cursor:
                yield from cursor.stream(in_schema(self.schema, query), parameters, binary=True)
        except psycopg.Error as problem:
            self._readers.drop()
            raise self._down(problem) if is_away(problem) else problem from None

    def _down(self, problem: psycopg.Error) -> StoreDown:
        return StoreDown("the store is closed" if self._closed else words(problem))

    def _new_reader(self) -> Connection[Row]:
        if self._closed:
            raise StoreDown("the store is closed")
        return self._connect()

    # -- writing ------------------------------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self) -> Iterator[bool]:
        with self._lock:
            if self._owner == threading.get_ident():
                yield False
                return
            with self._turn() as connection:
                before, self._seq = self._written(connection)
                self._begin_turn(connection, before)
                changed, self._stale = self._stale, False
                yield changed
                number = self._turns.end(connection, before, self._seq)
            self._known = number
            if not self._turns.is_told:
                self.distrust()

    def _begin_turn(self, connection: Connection[Row], before: int) -> None:
        self._turns.begin()
        if before != self._known:
            self._stale = True
            if not self._turns.hear(connection, self._known, before):
                self._forget()

    def _written(self, connection: Connection[Row]) -> tuple[int, int]:
        row = connection.execute("SELECT number, seq FROM writes").fetchone()
        assert row is not None
        return int(row[0]), int(row[1])

    @property
    def seq(self) -> int:
        """The last number that was given in the log."""
        if self._owner == threading.get_ident():
            return self._seq
        return int(self.read("SELECT seq FROM writes")[0][0])

    def advance(self, seq: int) -> None:
        """Inside one's turn."""
        self._seq = seq

    @contextmanager
    def _turn(self) -> Iterator[Connection[Row]]:
        if self._closed:
            raise StoreDown("the store is closed")
        if self._writer is None or self._writer.closed:
            self._writer = self._connect()
        connection = self._writer
        try:
            connection.execute(self._begin)
            self._owner = threading.get_ident()
            yield connection
            connection.execute("COMMIT")
        except BaseException as problem:
            self._undo(connection)
            if isinstance(problem, psycopg.errors.ReadOnlySqlTransaction):
                connection.close()  # it leads to a server, or is of a time, that takes nothing: the next one may not
            if is_away(problem):
                raise StoreDown(words(problem)) from problem
            raise
        finally:
            self._owner = 0

    def _undo(self, connection: Connection[Row]) -> None:
        """Nobody can tell from here what is stored: perhaps all of it, where only the answer was lost. And whoever was in its turn may
        have heard of others, and not have come to its conclusions. So the next turn is like the first one."""
        self._forget()
        self._known = -1
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
            return
        connection.close()

    @contextmanager
    def writing(self, wrote: Others | None = None) -> Iterator[Connection[Row]]:
        """For those who decide nothing by what is stored: the news of other writers waits for one who does. `wrote` says which of the
        rows and keys that writers remember are written; None: others have to doubt everything, pieces and days as well."""
        changed = False
        with self._lock:  # until the news wait: one who decides must not come in between
            try:
                with self.exclusive() as changed:
                    assert self._writer is not None
                    self._turns.write(wrote)
                    yield self._writer
            finally:
                self._stale = self._stale or changed

    def others(self) -> Others | None:
        """In one's turn: what others wrote since this was last asked; None: that cannot be told."""
        found, self._turns.news = self._turns.news, NOTHING
        return found

    def distrust(self) -> None:
        self._stale, self._turns.news = True, None

    def vacuum(self, how: str = "") -> None:
        """Room of deleted rows is free for others; pages at the end go back to the disk. `FULL`: every table is written anew."""
        with self._connect() as connection:
            query = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'"
            try:
                for (table,) in connection.execute(query, (quoted(self.schema),)).fetchall():
                    connection.execute(f"VACUUM {how} {quoted(self.schema)}.{quoted(table)}")
            except psycopg.Error as problem:  # of a deadlock with a writer this one is the victim; a day's table may be gone by now
                raise StoreDown(words(problem)) from problem

    # -- news ---------------------------------------------------------------------------------------------------------

    def tell(self, connection: Connection[Row], after: int, seq: int, rows: Sequence[tuple[str, str]]) -> None:
        news.tell(connection, f"ramify.{self.schema}", self.name, after, seq, rows)

    def follow(self, tell: News) -> Callable[[], None]:
        self._listening = news.Listening(self._connect, self.schema, f"ramify.{self.schema}", lambda: self.name, tell)
        return self._listening.start()

    def hears(self) -> bool | None:
        """Whether notices arrive: whoever follows has seen it, as soon as anything was written; whoever does not tries."""
        if self._listening is not None:
            return self._listening.hears
        try:
            return news.arrive(self._connect, f"ramify.{self.schema}.trial")
        except psycopg.Error as problem:
            raise StoreDown(words(problem)) from problem

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._readers.close()
            if self._writer is not None:
                self._writer.close()


def is_there(connection: Connection[Row], schema: str) -> bool:
    return bool(fetched(connection, "SELECT count(*) FROM pg_namespace WHERE nspname = %s", (schema,)))


def fetched(connection: Connection[Row], query: str, parameters: Sequence[Any] = ()) -> Any:
    row = connection.execute(query, parameters).fetchone()
    return row[0] if row else None


def words(problem: BaseException) -> str:
    """One line, without the address: it may hold a password."""
    return str(problem).strip().split("\n", 1)[0] or type(problem).__name__
