"""The embedded engine: one file, one writer, readers that never wait. `memory:` is the same without a file."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ramify.model.entity import TABLES, Entity
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation
from ramify.model.sketch import Sketch
from ramify.storage import totals
from ramify.storage.base import (
    About,
    Ask,
    Bounds,
    Changes,
    Entry,
    Further,
    Kept,
    News,
    Others,
    Projected,
    Ref,
    Rows,
    Sifted,
    StoreDown,
    Test,
    Wish,
)
from ramify.storage.columns import NARROW, SPARSE, UPSERT, columns_of
from ramify.storage.direct import ask_directly
from ramify.storage.fold import Folder, Folding, unfold, unfold_each
from ramify.storage.heads import seen_with
from ramify.storage.page_query import count_query, openings_query, page_query
from ramify.storage.private import private_folder
from ramify.storage.schema import PROJECTIONS, STEPS
from ramify.storage.search import Search
from ramify.storage.sifting import Sifting
from ramify.storage.sqlite_file import SqliteFile

NEWEST = 64
CHUNK = 400
STEADY_ROWS = 20_000  # of a table, of which it is remembered how they were written
MESH = ".mesh"  # of the name of a file that earlier versions wrote beside the store, with all messages of a mesh in it
_encoder = msgspec.msgpack.Encoder()
_decoders = {table: msgspec.msgpack.Decoder(type) for table, type in TABLES.items()}
_sketches = msgspec.msgpack.Decoder(Sketch)
_totals = msgspec.msgpack.Decoder(dict[str, int])


def open_sqlite(url: str, busy_seconds: float = 5.0) -> "Sqlite":
    path = url.removeprefix("sqlite:") if url.startswith("sqlite:") else ""
    if path:
        place = Path(path).expanduser()
        try:
            private_folder(place.parent)
        except OSError as problem:
            raise _mistake(url, f"{place.parent} is no folder and cannot become one ({problem.strerror})") from problem
        if place.is_dir():
            raise UserMistake(f"the store {url} is a folder", "name a file in it, such as ramify.db")
        path = str(place)
    return Sqlite(url, path, busy_seconds)


class Sqlite(Folding):
    """Also the `Blobs` of its folder: pieces live in the same file and the same transaction."""

    tells = False

    def __init__(
        self, url: str, path: str, busy_seconds: float = 5.0, steps: Sequence[str] = STEPS, durable: bool = True
    ) -> None:
        self.url = url
        self.path = path
        self._folder = Folder(self)
        self._new_blobs: dict[bytes, tuple[int, bytes, int, int, bytes]] = {}
        self._last_blob = self._last = 0
        self._steady: dict[str, dict[str, int]] = {}  # a hint: what it says of a row is looked at again when that is written
        try:
            self._file = SqliteFile(path, steps, self._folder.forget, _columns, busy_seconds, durable)
            self.search = Search(f"{path}.search" if path else "", int(self.fact("identity") or 0))
        except (sqlite3.DatabaseError, StoreDown) as problem:
            raise _mistake(url, str(problem)) from problem

    def _read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._file.read(sql, parameters)

    def exclusive(self) -> AbstractContextManager[bool]:
        return self._file.exclusive()

    def others(self) -> Others | None:
        return None

    # -- writing -----------------------------------------------------------------------------------------------------

    def append(self, kept: Sequence[Kept], changes: Changes) -> int:
        with self._file.writing() as connection:
            raw = self._put_observations(connection, kept)
            self._put_changes(connection, changes)
            connection.execute(
                "INSERT INTO facts VALUES ('raw_bytes', ?) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
                (raw,),
            )
            return self.seq()

    def _put_observations(self, connection: sqlite3.Connection, kept: Sequence[Kept]) -> int:
        self._last = self.seq()
        with self._gathering(connection):
            return sum(self._put_observation(connection, item) for item in kept)

    @contextmanager
    def _gathering(self, connection: sqlite3.Connection) -> Iterator[None]:
        """New pieces are gathered and written together: nobody else takes a number meanwhile."""
        self._new_blobs.clear()
        self._last_blob = connection.execute("SELECT coalesce(max(id), 0) FROM blobs").fetchone()[0]
        yield
        connection.executemany(
            "INSERT INTO blobs (id, digest, kind, size, payload) VALUES (?, ?, ?, ?, ?)", self._new_blobs.values()
        )
        self._new_blobs.clear()

    def _put_observation(self, connection: sqlite3.Connection, item: Kept) -> int:
        seen = item.observation
        put = connection.execute(
            "INSERT OR IGNORE INTO observations (seq, id, kind, project, at, head, body_kind, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (self._last + 1, seen.id, type(seen).__name__.lower(), seen.project, seen.at, *self._contents(item)),
        )
        self._last += max(0, put.rowcount)
        return len(getattr(seen, "body", b"")) if put.rowcount else 0

    def _contents(self, item: Kept) -> tuple[bytes, int, bytes]:
        body = getattr(item.observation, "body", b"")
        kind, folded = self._folder.fold(body, item.layout)
        head = msgspec.structs.replace(item.observation, body=b"") if body else item.observation
        return _encoder.encode(head), kind, folded

    def _put_changes(self, connection: sqlite3.Connection, changes: Changes) -> None:
        ids = totals.touched(changes.rows)
        before = totals.sums(self._sums, ids)
        self._put_rows(connection, changes)
        if ids:
            known = self.fact(totals.FACT)
            after = totals.sums(self._sums, ids)
            held = totals.moved(_totals.decode(known), before, after) if isinstance(known, bytes) else totals.all_sums(self._sums)
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (totals.FACT, _encoder.encode(held)))

    def _sums(self, table: str, ids: Sequence[str] | None) -> list[int]:
        if ids is None:
            return list(self._read(totals.QUERIES[table])[0])
        found = [0] * len(totals.NAMES[table])
        for start in range(0, len(ids), CHUNK):
            chunk = ids[start : start + CHUNK]
            row = self._read(f"{totals.QUERIES[table]} WHERE id IN ({', '.join('?' * len(chunk))})", chunk)[0]
            found = [one + other for one, other in zip(found, row, strict=True)]
        return found

    def openings(self, conversations: Sequence[str]) -> dict[str, tuple[str, int, int]]:
        found: dict[str, tuple[str, int, int]] = {}
        for start in range(0, len(conversations), CHUNK):
            chunk = conversations[start : start + CHUNK]
            rows = self._read(openings_query(f"IN ({', '.join('?' * len(chunk))})"), chunk)
            found |= {id: (title, tasks, roots) for id, title, tasks, roots in rows}
        return found

    def totals(self) -> dict[str, int]:
        known = self.fact(totals.FACT)
        return _totals.decode(known) if isinstance(known, bytes) else totals.all_sums(self._sums)

    def _put_rows(self, connection: sqlite3.Connection, changes: Changes) -> None:
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for (table, id), row in changes.rows.items():
            if row is None:
                connection.execute(f"DELETE FROM {table} WHERE id = ?", (id,))
            else:
                rows.setdefault(table, []).append((id, *columns_of(row), _encoder.encode(row)))
        for table, changed in rows.items():
            connection.executemany(UPSERT[table], self._narrowly(connection, table, changed) if table in NARROW else changed)
        added = [place for place, there in changes.keys.items() if there]
        connection.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?, ?)", added)
        gone = [place for place, there in changes.keys.items() if not there]
        connection.executemany("DELETE FROM keys WHERE key = ? AND at = ? AND ref = ?", gone)
        connection.executemany(
            "INSERT OR IGNORE INTO refs VALUES (?, ?, ?, ?)",
            [(ref.value, ref.kind, ref.entity, ref.id) for ref in changes.refs],
        )
        connection.executemany("INSERT OR IGNORE INTO unreadable VALUES (?, ?, ?)", changes.unreadable)
        connection.executemany("DELETE FROM observations WHERE id = ?", [(id,) for id in changes.forgotten])

    def _narrowly(self, connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Writes rows whose steady columns are as they were written last, with fewer indexes. Gives those that it did not write."""
        statement, steady, moving = NARROW[table]
        known, same, other = self._steady.setdefault(table, {}), list[tuple[Any, ...]](), list[tuple[Any, ...]]()
        for row in rows:
            mark = hash(steady(row[1:-1]))
            (same if known.get(row[0]) == mark else other).append(row)
            known[row[0]] = mark
        if len(known) > STEADY_ROWS:
            known.clear()
        written = connection.executemany(statement, map(moving, same)).rowcount if same else 0
        return other if written == len(same) else [*same, *other]

    def take_projections(self, other: Projected, tables: Sequence[str] | None = None) -> None:
        with self._file.writing() as connection:
            for table in tables or PROJECTIONS:
                connection.execute(f"DELETE FROM {table}")
                names = self._names(table)
                marks = ", ".join("?" * len(names))
                sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
                connection.executemany(sql, other.projected(table, names))
            connection.execute("DELETE FROM facts WHERE name = 'outdated'")
            held = _encoder.encode(totals.all_sums(self._sums))
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (totals.FACT, held))
        self._file.distrust()

    def _names(self, table: str) -> list[str]:
        """Where in the file a row stands is this file's own affair."""
        return [row[1] for row in self._read(f"PRAGMA table_info({table})") if row[1] != "row"]

    def projected(self, table: str, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        return self._file.stream(f"SELECT {', '.join(names)} FROM {table}")

    def docs(self, table: str) -> Iterator[Entity]:
        """Ordered by id, a page at a time: there may be millions."""
        after = ""
        while rows := self._read(f"SELECT id, doc FROM {table} WHERE id > ? ORDER BY id LIMIT 1000", (after,)):
            for _, doc in rows:
                yield _decoders[table].decode(doc)
            after = rows[-1][0]

    # -- blobs, inside the writer's transaction -----------------------------------------------------------------------

    def put(self, digest: bytes, size: int, packed: Callable[[], tuple[int, bytes]]) -> int:
        if digest in self._new_blobs:
            return self._new_blobs[digest][0]
        row = self._file.writer.execute("SELECT id FROM blobs WHERE digest = ?", (digest,)).fetchone()
        if row is not None:
            return int(row[0])
        self._last_blob += 1
        kind, payload = packed()
        self._new_blobs[digest] = (self._last_blob, digest, kind, size, payload)
        return self._last_blob

    def get(self, ids: Sequence[int]) -> dict[int, tuple[int, bytes]]:
        found: dict[int, tuple[int, bytes]] = {}
        for start in range(0, len(ids), CHUNK):
            chunk = ids[start : start + CHUNK]
            marks = ", ".join("?" * len(chunk))
            for id, kind, payload in self._read(f"SELECT id, kind, payload FROM blobs WHERE id IN ({marks})", chunk):
                found[id] = (kind, payload)
        return found

    # -- the log -----------------------------------------------------------------------------------------------------

    def missing(self, ids: Sequence[str]) -> set[str]:
        known: set[str] = set()
        for start in range(0, len(ids), CHUNK):
            chunk = ids[start : start + CHUNK]
            marks = ", ".join("?" * len(chunk))
            known |= {row[0] for row in self._read(f"SELECT id FROM observations WHERE id IN ({marks})", chunk)}
        return set(ids) - known

    def projects_of(self, observations: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(observations), CHUNK):
            chunk = observations[start : start + CHUNK]
            marks = ", ".join("?" * len(chunk))
            found |= dict(self._read(f"SELECT id, project FROM observations WHERE id IN ({marks})", chunk))
        return found

    def seq(self) -> int:
        sql = "SELECT max(coalesce((SELECT max(seq) FROM observations), 0), coalesce((SELECT value FROM facts WHERE name = 'last_seq'), 0))"
        return int(self._read(sql)[0][0])

    def observation(self, id: str) -> Observation | None:
        rows = self._read("SELECT head, body_kind, body FROM observations WHERE id = ?", (id,))
        return self._whole(*rows[0]) if rows else None

    def seen(self, ids: Sequence[str]) -> dict[str, Observation]:
        return {id: seen for id in ids if (seen := self.observation(id)) is not None}  # no journey here

    def numbered(self, id: str) -> tuple[int, Observation] | None:
        rows = self._read("SELECT seq, head, body_kind, body FROM observations WHERE id = ?", (id,))
        return (rows[0][0], self._whole(*rows[0][1:])) if rows else None

    def unlist(self, refs: Sequence[tuple[str, str, str, str]], unreadable: Sequence[str]) -> None:
        with self._file.writing() as connection, self._file.wiping():
            connection.executemany("DELETE FROM refs WHERE value = ? AND kind = ? AND entity = ? AND id = ?", refs)
            connection.executemany("DELETE FROM unreadable WHERE observation = ?", [(id,) for id in unreadable])

    def observations(self, after: int = 0) -> Iterator[tuple[int, Observation]]:
        while True:
            rows = self._read(
                "SELECT seq, head, body_kind, body FROM observations WHERE seq > ? ORDER BY seq LIMIT 100", (after,)
            )
            if not rows:
                return
            bodies = unfold_each(self, [row[2:] for row in rows])
            yield from ((seq, seen_with(head, body)) for (seq, head, *_), body in zip(rows, bodies, strict=True))
            after = rows[-1][0]

    def _whole(self, head: bytes, kind: int, folded: bytes) -> Observation:
        return seen_with(head, unfold(self, kind, folded))

    # -- rows and keys -----------------------------------------------------------------------------------------------

    def between(self, first: int, last: int, most: int) -> list[tuple[int, int, str]]:
        sql = "SELECT key, at, ref FROM keys WHERE key BETWEEN ? AND ? ORDER BY key, at, ref LIMIT ?"
        return self._read(sql, (first, last, most))

    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]:
        """Together where few have many entries, which is almost always so; else one by one, newest first."""
        if len(keys) == 1:
            return self._find_each(keys)
        found: dict[int, list[Entry]] = {}
        for start in range(0, len(keys), CHUNK):
            chunk = keys[start : start + CHUNK]
            most = 4 * len(chunk) + NEWEST
            marks = ", ".join("?" * len(chunk))
            rows = self._read(f"SELECT key, at, ref FROM keys WHERE key IN ({marks}) ORDER BY key, at, ref LIMIT ?", (*chunk, most))
            if len(rows) == most:
                found.update(self._find_each(chunk))
                continue
            for key, at, ref in rows:
                found.setdefault(key, []).append((at, ref))
        return found

    def _find_each(self, keys: Sequence[int]) -> dict[int, list[Entry]]:
        sql = "SELECT at, ref FROM keys WHERE key = ? ORDER BY at DESC, ref DESC LIMIT ?"
        return {key: self._read(sql, (key, NEWEST))[::-1] for key in keys}

    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[Entry]:
        direction = "DESC" if newest else "ASC"
        sql = f"SELECT at, ref FROM keys WHERE key = ? AND at BETWEEN ? AND ? ORDER BY at {direction}, ref {direction} LIMIT ?"
        found = self._read(sql, (key, low, high, limit))
        return found[::-1] if newest else found

    def load(self, table: str, id: str) -> Entity | None:
        rows = self._read(f"SELECT doc FROM {table} WHERE id = ?", (id,))
        return _decoders[table].decode(rows[0][0]) if rows else None

    def page(self, table: str, ask: Ask) -> list[Entity]:
        return [_decoders[table].decode(row[0]) for row in self._read(*page_query(table, ask))]

    def sift(self, table: str, ask: Ask, tests: Sequence[Test], most: int) -> Sifted:
        page = Sifting(self._read, table, ask, tests)
        page.run(most)
        return Sifted([_decoders[table].decode(row[0]) for row in page.rows], page.looked, page.place)

    def sql(self, query: str, bounds: Bounds, further: Further | None = None, projects: frozenset[str] | None = None) -> Rows:
        return ask_directly(self._file.apart(), query, bounds, further, projects)

    def copied(self) -> bytes:
        return self._file.copied()

    def become(self, copy: bytes) -> None:
        """In memory: all that the other one held."""
        self._file.writer.deserialize(copy)

    def sketches(self, conversation: str) -> Iterator[Sketch]:
        sql = "SELECT doc FROM tasks WHERE conversation = ? AND kind <> 'none' ORDER BY opened, id"
        return (_sketches.decode(doc) for (doc,) in self._file.stream(sql, (conversation,)))

    def inside(self) -> list[tuple[str, str]]:
        sql = """
            SELECT DISTINCT above.conversation, root.conversation FROM tasks AS root INDEXED BY tasks_inside CROSS JOIN tasks AS above ON above.id = root.parent
            WHERE root.kind = 'root' AND root.parent <> '' AND above.kind <> 'none' AND above.conversation <> root.conversation
        """
        return self._read(sql)

    def among(self, table: str, column: str, values: Sequence[str]) -> list[Entity]:
        found: list[Entity] = []
        only = f" AND {column} <> ''" if (table, column) in SPARSE else ""
        for start in range(0, len(values), CHUNK):
            chunk = values[start : start + CHUNK]
            marks = ", ".join("?" * len(chunk))
            rows = self._read(f"SELECT doc FROM {table} WHERE {column} IN ({marks}){only}", chunk)
            found += [_decoders[table].decode(row[0]) for row in rows]
        return found

    def gather(self, wishes: Sequence[Wish]) -> list[list[Entity]]:
        return [self.among(wish.table, wish.column, wish.values) for wish in wishes]

    def count(self, table: str, where: dict[str, str] | None = None, without: dict[str, str] | None = None) -> int:
        return int(self._read(*count_query(table, where or {}, without or {}))[0][0])

    def refs(self, value: str) -> list[Ref]:
        return [Ref(*row) for row in self._read("SELECT value, kind, entity, id FROM refs WHERE value = ?", (value,))]

    def ids_like(self, table: str, prefix: str, limit: int) -> list[str]:
        rows = self._read(f"SELECT id FROM {table} WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", (prefix, prefix + "\x7f", limit))
        return [row[0] for row in rows]

    def unreadable(self, limit: int) -> list[tuple[str, int, str]]:
        return self._read("SELECT observation, at, reason FROM unreadable ORDER BY at DESC, observation LIMIT ?", (limit,))

    def count_unreadable(self) -> int:
        return int(self._read("SELECT count(*) FROM unreadable")[0][0])

    def fact(self, name: str) -> str | bytes | int | None:
        rows = self._read("SELECT value FROM facts WHERE name = ?", (name,))
        return rows[0][0] if rows else None

    def facts(self, prefix: str) -> dict[str, str | bytes | int]:
        last = chr(0x10FFFF)
        return dict(self._read("SELECT name, value FROM facts WHERE name >= ? AND name < ?", (prefix, prefix + last)))

    def set_fact(self, name: str, value: str | bytes | int) -> None:
        self.set_facts({name: value})

    def set_facts(self, facts: Mapping[str, str | bytes | int]) -> None:
        with self._file.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", list(facts.items()))

    def drop_facts(self, names: Sequence[str]) -> None:
        with self._file.writing() as connection:
            connection.executemany("DELETE FROM facts WHERE name = ?", [(name,) for name in names])

    # -- forgetting ----------------------------------------------------------------------------------------------------

    def forget(self, ids: Sequence[str]) -> int:
        with self._file.writing() as connection, self._file.wiping():
            last = self.seq()
            gone = connection.executemany("DELETE FROM observations WHERE id = ?", [(id,) for id in ids]).rowcount
            connection.execute("INSERT OR REPLACE INTO facts VALUES ('last_seq', ?)", (last,))
            return max(0, gone)

    def rewrite(self, kept: Sequence[Kept]) -> None:
        with self._file.writing() as connection, self._file.wiping(), self._gathering(connection):
            rows = [(*self._contents(item), item.observation.id) for item in kept]
            connection.executemany("UPDATE observations SET head = ?, body_kind = ?, body = ? WHERE id = ?", rows)

    def bodies(self, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        return self._read("SELECT seq, body_kind, body FROM observations WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))

    def blobs(self, after: int, limit: int) -> list[tuple[int, int]]:
        return self._read("SELECT id, kind FROM blobs WHERE id > ? ORDER BY id LIMIT ?", (after, limit))

    def drop_blobs(self, ids: Sequence[int]) -> None:
        with self._file.writing() as connection, self._file.wiping():
            connection.executemany("DELETE FROM blobs WHERE id = ?", [(id,) for id in ids])
        self._folder.forget()

    def keys_after(self, place: tuple[int, int, str], limit: int) -> list[tuple[int, int, str]]:
        return self._read("SELECT key, at, ref FROM keys WHERE (key, at, ref) > (?, ?, ?) ORDER BY key, at, ref LIMIT ?", (*place, limit))

    def distrust(self) -> None:
        self._file.distrust()

    def shrink(self) -> None:
        """What lies beside the file and can be made again goes as a whole."""
        for ending in ("", "-wal", "-shm") if self.path else ():
            Path(f"{self.path}{MESH}{ending}").unlink(missing_ok=True)
        self._file.shrink()
        self.search.shrink()

    def write_anew(self) -> None:
        self._file.write_anew()

    def sign(self, name: str) -> None:
        """A file tells nobody."""

    def follow(self, tell: News) -> Callable[[], None]:
        return lambda: None

    def check(self) -> str:
        return str(self._read("PRAGMA quick_check")[0][0])

    # -- the file ----------------------------------------------------------------------------------------------------

    def about(self) -> About:
        return About(engine="SQLite", version=sqlite3.sqlite_version, schema=len(STEPS))

    def size(self) -> dict[str, int]:
        pages = self._read("PRAGMA page_count")[0][0]
        size = self._read("PRAGMA page_size")[0][0]
        raw = self._read("SELECT value FROM facts WHERE name = 'raw_bytes'")
        return {"bytes": pages * size, "raw_bytes": int(raw[0][0]) if raw else 0}

    def in_use(self) -> int:
        return self.size()["bytes"] - int(self._read("PRAGMA freelist_count")[0][0] * self._read("PRAGMA page_size")[0][0])

    def close(self) -> None:
        self._file.close()
        self.search.close()


def _columns(table: str, doc: bytes) -> tuple[Any, ...]:
    return columns_of(_decoders[table].decode(doc))


def _mistake(url: str, text: str) -> UserMistake:
    if "locked" in text:
        return UserMistake(f"the store {url} is locked by another program", "stop the other writer, or use another --store")
    if "not a database" in text:
        return UserMistake(f"the file of {url} is no Ramify store", "choose another file with --store sqlite:PATH")
    return UserMistake(f"the store {url} cannot be opened: {text}", "check the path, its permissions and the free space")
