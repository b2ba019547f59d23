"""A ClickHouse server that several writers share: a row of numbered inserts, each number used once.

ClickHouse has no transactions, but it drops an insert whose deduplication token it has seen. The token is the number of
the insert, one more than the last: of two that want the same number one is stored, whole, and the other one not at all.
Taking a turn is such an insert, and so is what is written in it; who was overtaken finds its number taken. What is large
goes into tables beside, first: it counts once the numbered insert names it.
"""

import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import clickhouse_connect
import msgspec
from clickhouse_connect.driver.exceptions import ClickHouseError, DatabaseError, OperationalError
from urllib3.exceptions import HTTPError, ReadTimeoutError

from ramify.model.entity import SHOWN
from ramify.storage.background import in_background
from ramify.storage.base import News, NotAdmitted, Overtaken, StoreDown
from ramify.storage.clickhouse_packing import packed
from ramify.storage.clickhouse_schema import EMPTY, ENTRIES, TYPES, Shape, literal, name, statements

# Ours say once that the server is away; these say so at each attempt, with all that was asked.
for _driver in ("urllib3.connectionpool", "clickhouse_connect"):
    logging.getLogger(_driver).setLevel(logging.CRITICAL)
Row = tuple[Any, ...]
Place = tuple[str, int, int, str]
LEASE = 10.0  # seconds without a new number after which a turn is anybody's
BEAT = 2.0
ALONE = 10.0  # seconds without another writer after which a turn is not announced
RING = 4096  # so many of the last news are kept
NOTICE_ROWS = 1000
PASSING = frozenset({
    32, 159, 164, 198, 202, 203, 209, 210, 236, 241, 242, 243, 252, 279, 285, 286, 319, 394, 425, 499, 999,
})  # fmt: skip
"""Codes of the server's own trouble: no time, memory, space, connection or leader. Others would come again."""
SETTINGS = {
    "max_query_size": 1 << 28, "max_ast_elements": 10_000_000, "max_expanded_ast_elements": 10_000_000, "compile_expressions": 0,
    "optimize_move_to_prewhere_if_final": 1,
}  # fmt: skip
"""The last: where only the newest version of a row counts, columns are read of rows that fit by what tables are sorted by, not of all
that lie beside them. ClickHouse never judges by another column before it knows which version counts."""
SILENCE = 20  # seconds without a byte after which the answer to a small question is not waited for; large ones may take minutes
SMALL = {"max_threads": 1, "local_filesystem_read_method": "pread"}  # for a few rows threads, of readers as well, would cost more than they save
BYTES: dict[str, str | dict[str, str]] = {"doc": "bytes", "payload": "bytes", "digest": "bytes", "head": "bytes"}
INSERT = {
    "async_insert": 0, "insert_deduplicate": 1, "min_insert_block_size_rows": 1 << 30, "min_insert_block_size_bytes": 1 << 34,
    "max_insert_block_size": 1 << 30, "max_partitions_per_insert_block": 0,
}  # fmt: skip
CLUSTER = {"load_balancing": "in_order", "distributed_foreground_insert": 1, "insert_quorum": "auto", "insert_quorum_parallel": 0,
           "select_sequential_consistency": 1, "distributed_product_mode": "local", "optimize_skip_unused_shards": 1}  # fmt: skip
"""Sequential reads are there only where inserts that wait for a quorum come one after the other."""


class State(msgspec.Struct, frozen=True, array_like=True):
    """What the last insert left: how far the log and its pieces go, and whether its writer is still at work."""

    seq: int = 0
    blob: int = 0
    raw: int = 0
    busy: bool = False
    act: str = ""  # this very insert, among all of this writer
    swept: int = 0  # how often pieces were taken away
    totals: dict[str, int] | None = None  # of all rows, where they are known


def is_away(problem: BaseException) -> bool:
    if isinstance(problem, OperationalError | HTTPError | OSError):
        return True
    code = re.search(r"[Cc]ode:? (\d+)", str(problem)) if isinstance(problem, DatabaseError) else None
    return bool(code) and int(code[1]) in PASSING if code else False


def is_silent(problem: BaseException | None) -> bool:
    """Whether nothing came for as long as was to be waited."""
    while problem is not None and not isinstance(problem, TimeoutError | ReadTimeoutError):
        problem = problem.__cause__ or problem.__context__
    return problem is not None


def is_refused(problem: BaseException) -> bool:
    """Whether somebody has to do something: another password, no right to this, nobody of that name."""
    return not is_away(problem) or ("NameResolutionError" in str(problem) and "Temporary failure" not in str(problem))


class ClickHouseServer:
    """`forget` is called when what was remembered of the store may not be true any more."""

    def __init__(self, options: dict[str, Any], database: str, cluster: str, forget: Callable[[], None], busy_seconds: float) -> None:
        self.database, self.cluster, self._options = database, cluster, options
        self._crowded = time.monotonic()  # when another writer was last noticed
        self.table = f"{name(database)}.{ENTRIES.name}"
        self.own = f"{self.table}_local" if cluster else self.table
        self.on = f" ON CLUSTER {name(cluster)}" if cluster else ""
        self._forget, self._busy = forget, busy_seconds
        self._lock, self._numbers = threading.RLock(), threading.RLock()
        self._me = self.name = secrets.token_hex(8)
        self._owner = 0
        self._number, self._known = 0, -1
        self._still: tuple[int, float] = (-1, 0.0)  # the number that was seen last, and since when
        self._stale = self._closed = self._lost = self._announced = False
        self._over = threading.Event()  # set with the last insert of a turn
        self.state = State()
        self.turn = 0
        self.taken = 0  # the number before this turn
        self._heard = -1  # whoever decides knows of all that was written up to this number; -1: it must look at everything again
        self._swept = 0
        self.committed: Callable[[Iterable[Place], int, int], None] = lambda places, before, number: None
        self.pending: dict[Place, dict[str, Any]] = {}
        self.beside: dict[str, tuple[Shape, list[Row]]] = {}  # rows of other tables, with what their shape is filled
        self._news: tuple[int, list[tuple[str, str]]] | None = None
        self._unsure: tuple[int, dict[str, list[Any]]] | None = None
        try:
            settings = {**SETTINGS, **(CLUSTER if cluster else {})}
            how: dict[str, Any] = {**options, "autogenerate_session_id": False, "settings": settings, "connect_timeout": 5}
            self._small = clickhouse_connect.get_client(**how, send_receive_timeout=SILENCE, compress=False)
            self._client = clickhouse_connect.get_client(**how)
            present = self._client.query(f"SELECT name FROM system.tables WHERE database = {literal(database)}").result_columns
            for statement in statements(database, cluster, present[0] if present else ()):  # whoever made them by hand may not let us
                self._client.command(statement)
        except (ClickHouseError, HTTPError, OSError) as problem:
            raise (NotAdmitted if is_refused(problem) else StoreDown)(words(problem)) from problem

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def mine(self) -> bool:
        """Whether this thread is in its turn."""
        return self._owner == threading.get_ident()

    @property
    def number(self) -> int:
        """Of the last insert, in one's own turn."""
        return self._number

    def named(self, shape: Shape) -> str:
        return f"{name(self.database)}.{shape.name}"

    def own_of(self, shape: Shape) -> str:
        """What stands on each node itself."""
        return f"{self.named(shape)}_local" if self.cluster else self.named(shape)

    def read(self, query: str, wide: bool = False) -> list[Row]:
        """`wide`: many rows must be looked at, however few come back."""
        with self._asking():
            client, settings = (self._client, None) if wide else (self._small, SMALL)
            found = client.query(query, settings=settings, column_formats=BYTES)
            return [tuple(row) for row in found.result_rows]

    def stream(self, query: str) -> Iterator[Row]:
        with self._asking(), self._client.query_rows_stream(query, column_formats=BYTES) as rows:
            yield from rows

    def blocks(self, query: str) -> Iterator[Sequence[Sequence[Any]]]:
        """Column by column: for many small numbers."""
        with self._asking(), self._client.query_column_block_stream(query) as blocks:
            yield from blocks

    def command(self, statement: str, settings: dict[str, Any] | None = None) -> None:
        with self._asking():
            self._client.command(statement, settings=settings)

    def put(self, table: str, rows: Sequence[Row], columns: Sequence[str], kinds: Sequence[str], settings: dict[str, Any] | None = None) -> None:
        """Into a table beside the entries, which no turn is needed for."""
        with self._asking():
            self._client.insert(table, rows, columns, column_type_names=kinds, settings=settings)

    def explained(self, query: str) -> str:
        """Of what a query is made, as the server reads it; nothing is run."""
        with self._asking():
            return bytes(self._client.raw_query(f"EXPLAIN AST {query}")).decode()

    @contextmanager
    def directly(self, query: str, settings: dict[str, Any], seconds: float) -> Iterator[tuple[Sequence[str], Iterator[Row]]]:
        """A query that a person wrote, in the store's own database: its columns and its rows, as they come. Raises TimeoutError
        when the server is silent for so long: there are things in which it does not look at the clock."""
        try:
            client = clickhouse_connect.get_client(
                **self._options, database=self.database, autogenerate_session_id=False, connect_timeout=5, send_receive_timeout=seconds
            )
            if self.cluster:
                settings = {**settings, "optimize_skip_unused_shards": 1, "distributed_product_mode": "local"}
            with closing(client), client.query_rows_stream(query, settings=settings) as rows:
                yield rows.source.column_names, rows
        except (OperationalError, HTTPError, OSError) as problem:
            if is_silent(problem):
                raise TimeoutError(words(problem)) from None
            raise StoreDown(words(problem)) from None

    @contextmanager
    def _asking(self) -> Iterator[None]:
        if self._closed:
            raise StoreDown("the store is closed")
        try:
            yield
        except (ClickHouseError, HTTPError, OSError) as problem:
            raise StoreDown(words(problem)) if is_away(problem) else problem from None

    def last(self) -> tuple[int, str, State]:
        """The last number, whose it was, and what it left."""
        rows = self.read(f"SELECT version, id, doc FROM {self.table} WHERE space = 'turns' ORDER BY version DESC LIMIT 1")
        return (rows[0][0], rows[0][1], msgspec.msgpack.decode(rows[0][2], type=State)) if rows else (0, "", State())

    # -- turns --------------------------------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self, announced: bool = False) -> Iterator[bool]:
        """`announced`: for those who cannot do the same again, should another writer come first."""
        with self._lock:
            if self.mine:
                yield False
                return
            self._take(announced)
            over = self._over = threading.Event()
            beat = threading.Timer(BEAT, self._beat, (over,))
            beat.daemon = True
            beat.start()
            try:
                self._owner = threading.get_ident()
                changed, self._stale = self._stale, False
                yield changed
                self.commit(busy=False)
            except BaseException:
                self._undo()
                raise
            finally:
                over.set()
                beat.cancel()
                self.pending, self.beside, self._news = {}, {}, None
                self._owner = 0

    def _take(self, announced: bool) -> None:
        """Whoever finds the store idle tries the next number; only one of several can have it. Who has been alone for a while
        does not: should another writer come all the same, what is written in this turn will find its number taken."""
        end, pause = time.monotonic() + self._busy, 0.02
        self._lost = False
        if self.cluster:
            self._send()
        while True:
            number, owner, state = self.last()
            if number != self._still[0]:
                self._still = (number, time.monotonic())
            if not state.busy or owner == self._me or time.monotonic() - self._still[1] > LEASE:  # of its own turns one is left behind
                self._number, self.state = number, state
                self._announced = not self._is_alone(number) or announced or state.busy
                if not self._announced or self._insert({}, state, busy=True):
                    self._begin(number)
                    return
            if time.monotonic() > end and time.monotonic() - self._still[1] < 2 * BEAT:  # one that is silent will soon have lost its turn
                raise StoreDown("the store is locked by another writer")
            time.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
            pause = min(pause * 1.3, 0.1)

    def _is_alone(self, number: int) -> bool:
        if number != self._known:
            self._crowded = time.monotonic()
        return time.monotonic() - self._crowded > ALONE

    def _begin(self, before: int) -> None:
        self.turn += 1
        self.taken = before
        if before != self._known:
            self._stale = True
            if self._known < 0 or self.state.swept != self._swept:  # others take no pieces away unless they say so
                self._forget()
        self._swept = self.state.swept

    def unheard(self) -> tuple[int, int] | None:
        """In one's own turn, once: behind which number others have written, and up to which; None: that cannot be told."""
        after, self._heard = self._heard, self.taken
        return (after, self.taken) if after >= 0 else None

    def commit(self, busy: bool) -> None:
        """All that was gathered, in one insert; what is large before it."""
        for shape, rows in self.beside.values():
            self._put_beside(shape, rows)
        with self._numbers:
            if not busy:
                self._over.set()  # here: a beat behind the last insert would keep the store for nobody
            if self._lost or not self._insert({**self.pending, **self._told()}, self.state, busy):
                self._lost = True
                raise Overtaken("another writer took the turn of this one")
            self._known = self._number
            if self._heard == self.taken:
                self._heard = self._number
            self.committed(self.pending, self.taken, self._number)
            self.pending, self.beside, self._news = {}, {}, None

    def first(self, shape: Shape, rows: Sequence[Row]) -> None:
        """To be stored before what this turn gathers."""
        self.beside.setdefault(shape.name, (shape, []))[1].extend(rows)

    def _put_beside(self, shape: Shape, rows: Sequence[Row]) -> None:
        """Under the number that is to name it, or an earlier one of this turn: later than all that a lost turn has left there."""
        if self._lost or not rows:
            return
        columns, version = [*map(list, zip(*rows, strict=True))], self._number + 1
        names, settings = [*shape.filled, "version"], {**INSERT, "insert_deduplication_token": f"{self.database}/{version}/{self._me}"}
        for last in (False, True):
            try:
                with self._asking():
                    self._client.insert(
                        self.named(shape), [*columns, [version] * len(rows)], names, column_type_names=[shape.columns[one] for one in names],
                        column_oriented=True, settings=settings,
                    )  # fmt: skip
                return
            except StoreDown:  # sent again where no answer came
                if last:
                    raise

    def still_mine(self) -> None:
        """Before what cannot be taken back."""
        with self._numbers:
            if self._lost or not self._insert({}, self.last()[2], busy=True):
                self._lost = True
                raise Overtaken("another writer took the turn of this one")

    def _undo(self) -> None:
        """Nothing was written; the turn is given back, or runs out by itself. On a cluster one copy may have what failed: the
        same number must not be used for anything else. Whoever was in its turn may have heard of others, and not have come to its conclusions."""
        self._forget()
        self.distrust()
        with self._numbers:
            self._over.set()
            self._known = -1
            if self._lost or (self.cluster and self._unsure) or not self._announced:
                return
            try:
                if self._insert({}, self.last()[2], busy=False):
                    self._known = self._number
            except StoreDown:
                self._lost = True

    def _beat(self, over: threading.Event) -> None:
        """A long turn says that it is alive."""
        while not over.is_set():
            with self._numbers:
                if over.is_set() or self._lost:
                    return
                try:
                    self._lost = not self._insert({}, self.last()[2], busy=True)  # what is gathered is not stored yet
                    self._announced = True
                except StoreDown:
                    self._lost = True
            over.wait(BEAT)

    def _insert(self, entries: dict[Place, dict[str, Any]], state: State, busy: bool) -> bool:
        """Under the next number; whether it was free. Sent again where no answer came: it cannot be stored twice."""
        number, act = self._number + 1, secrets.token_hex(6)
        state = msgspec.structs.replace(state, busy=busy, act=act)
        rows = {**entries, ("turns", 0, 0, self._me): {"doc": msgspec.msgpack.encode(state)}}
        self._unsure = (number, columns_of(rows, number))
        try:
            self._send()
        except StoreDown:
            self._send()
        found = self.read(f"SELECT doc FROM {self.table} WHERE space = 'turns' AND id = {literal(self._me)} AND version = {number}")
        if not found or msgspec.msgpack.decode(found[0][0], type=State).act != act:
            return False
        self._number = number
        return True

    def _send(self) -> None:
        """What is under way. If it fails, on a cluster one copy may have it and the other not: it is sent again, before
        anything else is, until both have it."""
        number, data = self._unsure or (0, {})
        if not data:
            return
        with self._asking():
            self._client.insert(
                self.table, list(data.values()), list(data), column_type_names=[TYPES[one] for one in data], column_oriented=True,
                settings={**INSERT, "insert_deduplication_token": f"{self.database}/{number}"},
            )
        self._unsure = None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """For those who decide nothing by what is stored: the news of other writers waits for one who does."""
        changed = False
        with self._lock:  # until the news wait: one who decides must not come in between
            try:
                with self.exclusive(announced=True) as changed:
                    yield
            finally:
                self._stale = self._stale or changed

    def distrust(self) -> None:
        self._stale, self._heard = True, -1

    # -- news ---------------------------------------------------------------------------------------------------------

    def tell(self, seq: int, rows: Sequence[tuple[str, str]]) -> None:
        """In the same insert as all that its turn has written, in a ring that later news write over."""
        self._news = (seq, [*(self._news[1] if self._news else ()), *(place for place in rows if place[0] in SHOWN)])

    def _told(self) -> dict[Place, dict[str, Any]]:
        if self._news is None:
            return {}
        seq, rows = self._news
        doc = msgspec.msgpack.encode((self.name, seq, None if len(rows) > NOTICE_ROWS else rows))
        return {("news", (self._number + 1) % RING, 0, ""): {"doc": doc}}

    def follow(self, tell: News) -> Callable[[], None]:
        return in_background(lambda ended: self._hear(tell, ended))

    def _hear(self, tell: News, ended: threading.Event) -> None:
        """By asking twice a second how far the numbers go."""
        heard = -1
        while not ended.is_set():
            try:
                number, _, state = self.last()
                if heard >= 0 and number - heard >= RING:
                    tell(state.seq, None)
                elif number > heard >= 0:
                    query = f"SELECT version, doc FROM {self.table} FINAL WHERE space = 'news' AND version BETWEEN {heard + 1} AND {number} ORDER BY version"
                    for _, doc in self.read(query):
                        name, seq, rows = msgspec.msgpack.decode(doc)
                        if name != self.name:
                            tell(seq, None if rows is None else [(table, id) for table, id in rows])
                heard = number
            except StoreDown:
                pass  # the same question is asked again
            ended.wait(0.5)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._client.close()
            self._small.close()


def columns_of(entries: dict[Place, dict[str, Any]], version: int) -> dict[str, list[Any]]:
    """Only those columns in which anything stands: ClickHouse fills in the rest."""
    data: dict[str, list[Any]] = dict(zip(("space", "key", "moment", "id"), map(list, zip(*entries, strict=True)), strict=True))
    data["version"] = [version] * len(entries)
    data["texts"], data["numbers"] = map(list, zip(*(packed(place[0], values) for place, values in entries.items()), strict=True))
    used = {column for values in entries.values() for column in values}
    for column, empty in EMPTY.items():
        if column in used:
            data[column] = [values.get(column, empty) for values in entries.values()]
    return data


def words(problem: BaseException) -> str:
    """One line, without the driver's preface, and without the address: it may hold a password."""
    if isinstance(problem.__cause__, HTTPError):  # the driver repeats the whole address of the question
        return f"the server does not answer: {str(getattr(problem.__cause__, 'reason', problem.__cause__)).rpartition(': ')[2]}"
    text = re.sub(r"https?://\S+", "the server", str(problem)).strip().split("\n", 1)[0]
    text = re.sub(r"^.*?DB::Exception: ", "", text)
    return re.sub(r" \((?:version|for url) .*$", "", text)[:300] or type(problem).__name__
