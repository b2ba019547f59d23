"""PostgreSQL: the same log, rows and keys for a team, with any number of writers that take turns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec
import psycopg

from ramify.model.entity import TABLES, Entity
from ramify.model.mistake import UserMistake
from ramify.model.observation import Correction, Observation, Record, Request, Response
from ramify.model.sketch import Sketch
from ramify.storage.base import (
    Ask,
    Bounds,
    Changes,
    Entry,
    Further,
    Kept,
    News,
    Projected,
    Ref,
    Rows,
    Sifted,
    StoreDown,
    Test,
)
from ramify.storage.columns import COLUMNS, SPARSE, columns_of
from ramify.storage.fold import Folder, unfold
from ramify.storage.page_query import count_query, page_query
from ramify.storage.postgres_direct import PostgresMesh, ask_directly
from ramify.storage.postgres_schema import PROJECTIONS, kind_of
from ramify.storage.postgres_search import PostgresSearch
from ramify.storage.postgres_server import PostgresServer, Row, fetched
from ramify.storage.sifting import FOLDED, Sifting

NEWEST = 64
CHUNK = 2000
_encoder = msgspec.msgpack.Encoder()
_decoders = {table: msgspec.msgpack.Decoder(type) for table, type in TABLES.items()}
_sketches = msgspec.msgpack.Decoder(Sketch)
_heads = msgspec.msgpack.Decoder(Request | Response | Record | Correction)


def open_postgres(url: str, busy_seconds: float = 5.0) -> "Postgres":
    """`?schema=NAME` keeps several stores in one database; the rest of the address is the driver's."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    schema = options.pop("schema", "ramify")
    plain = urlunsplit(parts._replace(query=urlencode(options)))
    shown = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    try:
        return Postgres(shown, plain, schema, busy_seconds)
    except StoreDown as problem:
        raise UserMistake(f"the store {shown} cannot be opened: {problem}", "is the server up, and may you use this database?") from problem
    except psycopg.errors.InsufficientPrivilege as problem:
        raise UserMistake(
            f"the store {shown} cannot be used: {problem.diag.message_primary}",
            f"let the user make a schema (GRANT CREATE ON DATABASE …), or make the schema {schema!r} for it",
        ) from problem


class Postgres:
    """Also the `Blobs` of its folder: pieces live in the same database and the same transaction."""

    path = ""
    tells = True

    def __init__(self, shown: str, url: str, schema: str, busy_seconds: float) -> None:
        self.url = shown
        self._folder = Folder(self)
        self._new_blobs: dict[bytes, tuple[int, bytes, int, int, bytes]] = {}
        self._last_blob = 0
        self._server = PostgresServer(url, schema, self._folder.forget, busy_seconds)
        self.search = PostgresSearch(self._server)

    def _read(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self._server.read(query, parameters)

    def exclusive(self) -> AbstractContextManager[bool]:
        return self._server.exclusive()

    # -- writing -----------------------------------------------------------------------------------------------------

    def append(self, kept: Sequence[Kept], changes: Changes) -> int:
        with self._server.writing() as connection:
            raw, last = self._put_observations(connection, kept)
            self._put_changes(connection, changes)
            if raw:
                self._put_facts(connection, {"raw_bytes": raw + int(self.fact("raw_bytes") or 0)})
            self._server.tell(connection, last, list(changes.rows))
            return last

    def _put_observations(self, connection: psycopg.Connection[Row], kept: Sequence[Kept]) -> tuple[int, int]:
        """Numbers are given while nobody else writes, so readers never see a later one before an earlier one."""
        last = self.seq()
        fresh = self.missing([item.observation.id for item in kept])
        if not fresh:
            return 0, last
        self._new_blobs.clear()
        self._last_blob = int(fetched(connection, "SELECT coalesce(max(id), 0) FROM blobs"))
        rows: list[tuple[Any, ...]] = []
        raw = 0
        for item in kept:
            seen = item.observation
            if seen.id in fresh:
                fresh.discard(seen.id)
                last += 1
                rows.append((last, *self._observation(item)))
                raw += len(getattr(seen, "body", b""))
        with connection.cursor() as cursor, cursor.copy("COPY blobs (id, digest, kind, size, payload) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["int8", "bytea", "int2", "int8", "bytea"])
            for blob in self._new_blobs.values():
                copy.write_row(blob)
        columns = "seq, id, kind, project, at, head, body_kind, body"
        with connection.cursor() as cursor, cursor.copy(f"COPY observations ({columns}) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["int8", "text", "text", "text", "int8", "bytea", "int2", "bytea"])
            for row in rows:
                copy.write_row(row)
        self._new_blobs.clear()
        return raw, last

    def _observation(self, item: Kept) -> tuple[Any, ...]:
        seen = item.observation
        body = getattr(seen, "body", b"")
        kind, folded = self._folder.fold(body, item.layout)
        head = msgspec.structs.replace(seen, body=b"") if body else seen
        return seen.id, type(seen).__name__.lower(), text(seen.project), seen.at, _encoder.encode(head), kind, folded

    def _put_changes(self, connection: psycopg.Connection[Row], changes: Changes) -> None:
        rows: dict[str, list[tuple[Any, ...]]] = {}
        gone: dict[str, list[str]] = {}
        for (table, id), row in changes.rows.items():
            if row is None:
                gone.setdefault(table, []).append(id)
            else:
                rows.setdefault(table, []).append((id, *columns_of(row), _encoder.encode(row)))
        for table, ids in gone.items():
            connection.execute(f"DELETE FROM {table} WHERE id = ANY(%s)", (ids,))
        for table, changed in rows.items():
            many(connection, UPSERT[table], ("id", *COLUMNS[table], "doc"), changed)
        added = [place for place, there in changes.keys.items() if there]
        many(connection, "INSERT INTO keys {rows} ON CONFLICT DO NOTHING", ("at", "at", "ref"), added)
        taken = [place for place, there in changes.keys.items() if not there]
        if taken:
            many(connection, "DELETE FROM keys USING ({rows}) AS gone (k, a, r) WHERE key = k AND at = a AND ref = r", ("at", "at", "ref"), taken)
        refs = sorted({(ref.value, ref.kind, ref.entity, ref.id) for ref in changes.refs})
        many(connection, "INSERT INTO refs {rows} ON CONFLICT DO NOTHING", ("value", "kind", "entity", "id"), refs)
        connection.execute("DELETE FROM observations WHERE id = ANY(%s)", (list(changes.forgotten),))
        many(connection, "INSERT INTO unreadable {rows} ON CONFLICT DO NOTHING", ("observation", "at", "reason"), changes.unreadable)
        if changes.forgotten:
            connection.execute("DELETE FROM observations WHERE id = ANY(%s)", (list(changes.forgotten),))

    def take_projections(self, other: Projected, tables: Sequence[str] | None = None) -> None:
        with self._server.writing() as connection:
            for table in tables or PROJECTIONS:
                connection.execute(f"DELETE FROM {table}")
                names = [*("id", *COLUMNS[table], "doc")] if table in COLUMNS else PLAIN[table]
                kinds = [kind_of(name) for name in names] if table in COLUMNS else KINDS[table]
                quoted = ", ".join(f'"{name}"' for name in names)
                with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({quoted}) FROM STDIN (FORMAT BINARY)") as copy:
                    copy.set_types(kinds)
                    for row in other.projected(table, names):
                        copy.write_row(tuple(map(plain, row)))
            connection.execute("DELETE FROM facts WHERE name = 'outdated'")
        self._server.distrust()

    def projected(self, table: str, names: Sequence[str]) -> Iterator[Row]:
        quoted = ", ".join(f'"{name}"' for name in names)
        return self._server.stream(f"SELECT {quoted} FROM {table}")

    def docs(self, table: str) -> Iterator[Entity]:
        """Ordered by id, a page at a time: there may be millions."""
        after = ""
        while rows := self._read(f"SELECT id, doc FROM {table} WHERE id > %s ORDER BY id LIMIT 1000", (after,)):
            for _, doc in rows:
                yield _decoders[table].decode(doc)
            after = rows[-1][0]

    # -- blobs, inside the writer's transaction -----------------------------------------------------------------------

    def put(self, digest: bytes, size: int, packed: Callable[[], tuple[int, bytes]]) -> int:
        if digest in self._new_blobs:
            return self._new_blobs[digest][0]
        rows = self._read("SELECT id FROM blobs WHERE digest = %s", (digest,))
        if rows:
            return int(rows[0][0])
        self._last_blob += 1
        kind, payload = packed()
        self._new_blobs[digest] = (self._last_blob, digest, kind, size, payload)
        return self._last_blob

    def get(self, ids: Sequence[int]) -> dict[int, tuple[int, bytes]]:
        rows = self._read("SELECT id, kind, payload FROM blobs WHERE id = ANY(%s)", (list(ids),))
        return {id: (kind, payload) for id, kind, payload in rows}

    # -- the log -----------------------------------------------------------------------------------------------------

    def missing(self, ids: Sequence[str]) -> set[str]:
        known = {row[0] for row in self._read("SELECT id FROM observations WHERE id = ANY(%s)", (list(ids),))}
        return set(ids) - known

    def seq(self) -> int:
        last = int(self._read("SELECT coalesce(max(seq), 0) FROM observations")[0][0])
        return max(last, int(self.fact("last_seq") or 0))

    def observation(self, id: str) -> Observation | None:
        rows = self._read("SELECT head, body_kind, body FROM observations WHERE id = %s", (text(id),))
        return self._whole(*rows[0]) if rows else None

    def observations(self, after: int = 0) -> Iterator[tuple[int, Observation]]:
        query = "SELECT seq, head, body_kind, body FROM observations WHERE seq > %s ORDER BY seq LIMIT 200"
        while rows := self._read(query, (after,)):
            for seq, head, kind, body in rows:
                yield seq, self._whole(head, kind, body)
            after = rows[-1][0]

    def _whole(self, head: bytes, kind: int, folded: bytes) -> Observation:
        seen: Observation = _heads.decode(head)
        if isinstance(seen, Correction):
            return seen
        return msgspec.structs.replace(seen, body=unfold(self, kind, folded))

    # -- rows and keys -----------------------------------------------------------------------------------------------

    def between(self, first: int, last: int, most: int) -> list[tuple[int, int, str]]:
        query = "SELECT key, at, ref FROM keys WHERE key BETWEEN %s AND %s ORDER BY key, at, ref LIMIT %s"
        return [(key, at, ref) for key, at, ref in self._read(query, (first, last, most))]

    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]:
        found: dict[int, list[Entry]] = {}
        query = (
            "SELECT k, at, ref FROM unnest(%s::bigint[]) AS asked (k), LATERAL "
            "(SELECT at, ref FROM keys WHERE key = k ORDER BY at DESC, ref DESC LIMIT %s) AS entry ORDER BY k, at, ref"
        )
        for key, at, ref in self._read(query, (list(keys), NEWEST)):
            found.setdefault(key, []).append((at, ref))
        return found

    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[Entry]:
        direction = "DESC" if newest else "ASC"
        query = f"SELECT at, ref FROM keys WHERE key = %s AND at BETWEEN %s AND %s ORDER BY at {direction}, ref {direction} LIMIT %s"
        found = [(at, ref) for at, ref in self._read(query, (key, low, high, limit))]
        return found[::-1] if newest else found

    def load(self, table: str, id: str) -> Entity | None:
        rows = self._read(f"SELECT doc FROM {table} WHERE id = %s", (text(id),))
        return _decoders[table].decode(rows[0][0]) if rows else None

    def page(self, table: str, ask: Ask) -> list[Entity]:
        return [_decoders[table].decode(row[0]) for row in self._sifted(*page_query(table, ask))]

    def sift(self, table: str, ask: Ask, tests: Sequence[Test], most: int) -> Sifted:
        page = Sifting(self._sifted, table, ask, tests, FOLDED)
        page.run(most)
        return Sifted([_decoders[table].decode(row[0]) for row in page.rows], page.looked, page.place)

    def _sifted(self, query: str, parameters: Sequence[Any]) -> list[Row]:
        return self._read(query.replace("?", "%s"), list(map(plain, parameters)))

    def sql(self, query: str, bounds: Bounds, further: Further | None = None) -> Rows:
        return ask_directly(self._server.apart(), self._server.schema, query, bounds)

    def mesh(self) -> PostgresMesh:
        """The rows behind the mesh's views, to be brought up; whoever asks closes it."""
        return PostgresMesh(self._server.apart(), self._server.schema)

    def sketches(self, conversation: str) -> Iterator[Sketch]:
        query = "SELECT doc FROM tasks WHERE conversation = %s AND kind <> 'none' ORDER BY opened, id"
        return (_sketches.decode(doc) for (doc,) in self._server.stream(query, (conversation,)))

    def inside(self) -> list[tuple[str, str]]:
        query = """
            SELECT DISTINCT above.conversation, root.conversation FROM tasks AS root JOIN tasks AS above ON above.id = root.parent
            WHERE root.kind = 'root' AND root.parent <> '' AND above.kind <> 'none' AND above.conversation <> root.conversation
        """
        return [(above, below) for above, below in self._read(query)]

    def among(self, table: str, column: str, values: Sequence[str]) -> list[Entity]:
        found: list[Entity] = []
        only = f""" AND "{column}" <> ''""" if (table, column) in SPARSE else ""
        for start in range(0, len(values), CHUNK):
            chunk = [text(value) for value in values[start : start + CHUNK]]
            rows = self._read(f'SELECT doc FROM {table} WHERE "{column}" = ANY(%s){only} ORDER BY id', (chunk,))
            found += [_decoders[table].decode(row[0]) for row in rows]
        return found

    def count(self, table: str, where: dict[str, str] | None = None, without: dict[str, str] | None = None) -> int:
        return int(self._sifted(*count_query(table, where or {}, without or {}))[0][0])

    def refs(self, value: str) -> list[Ref]:
        return [Ref(*row) for row in self._read("SELECT value, kind, entity, id FROM refs WHERE value = %s", (text(value),))]

    def ids_like(self, table: str, prefix: str, limit: int) -> list[str]:
        query = f"SELECT id FROM {table} WHERE id >= %s AND id < %s LIMIT %s"
        return [row[0] for row in self._read(query, (text(prefix), text(prefix) + "\x7f", limit))]

    def unreadable(self, limit: int) -> list[tuple[str, int, str]]:
        query = "SELECT observation, at, reason FROM unreadable ORDER BY at DESC LIMIT %s"
        return [(observation, at, reason) for observation, at, reason in self._read(query, (limit,))]

    def count_unreadable(self) -> int:
        return int(self._read("SELECT count(*) FROM unreadable")[0][0])

    # -- facts --------------------------------------------------------------------------------------------------------

    def fact(self, name: str) -> str | bytes | int | None:
        rows = self._read("SELECT value FROM facts WHERE name = %s", (name,))
        return msgspec.msgpack.decode(rows[0][0]) if rows else None

    def facts(self, prefix: str) -> dict[str, str | bytes | int]:
        rows = self._read("SELECT name, value FROM facts WHERE name >= %s AND name < %s", (prefix, prefix + chr(0x10FFFF)))
        return {name: msgspec.msgpack.decode(value) for name, value in rows}

    def set_fact(self, name: str, value: str | bytes | int) -> None:
        self.set_facts({name: value})

    def set_facts(self, facts: Mapping[str, str | bytes | int]) -> None:
        with self._server.writing() as connection:
            self._put_facts(connection, facts)

    def _put_facts(self, connection: psycopg.Connection[Row], facts: Mapping[str, str | bytes | int]) -> None:
        rows = [(name, msgspec.msgpack.encode(value)) for name, value in facts.items()]
        many(connection, "INSERT INTO facts {rows} ON CONFLICT (name) DO UPDATE SET value = excluded.value", ("name", "doc"), rows)

    def drop_facts(self, names: Sequence[str]) -> None:
        with self._server.writing() as connection:
            connection.execute("DELETE FROM facts WHERE name = ANY(%s)", (list(names),))

    # -- forgetting ----------------------------------------------------------------------------------------------------

    def forget(self, ids: Sequence[str]) -> int:
        with self._server.writing() as connection:
            self._put_facts(connection, {"last_seq": self.seq()})
            return connection.execute("DELETE FROM observations WHERE id = ANY(%s)", (list(ids),)).rowcount

    def bodies(self, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        query = "SELECT seq, body_kind, body FROM observations WHERE seq > %s ORDER BY seq LIMIT %s"
        return [(seq, kind, body) for seq, kind, body in self._read(query, (after, limit))]

    def blobs(self, after: int, limit: int) -> list[tuple[int, int]]:
        return [(id, kind) for id, kind in self._read("SELECT id, kind FROM blobs WHERE id > %s ORDER BY id LIMIT %s", (after, limit))]

    def drop_blobs(self, ids: Sequence[int]) -> None:
        with self._server.writing() as connection:
            connection.execute("DELETE FROM blobs WHERE id = ANY(%s)", (list(ids),))
        self._folder.forget()

    def keys_after(self, place: tuple[int, int, str], limit: int) -> list[tuple[int, int, str]]:
        query = "SELECT key, at, ref FROM keys WHERE (key, at, ref) > (%s, %s, %s) ORDER BY key, at, ref LIMIT %s"
        return [(key, at, ref) for key, at, ref in self._read(query, (*place, limit))]

    def distrust(self) -> None:
        self._server.distrust()

    def shrink(self) -> None:
        self._server.vacuum()

    # -- other writers -------------------------------------------------------------------------------------------------

    def sign(self, name: str) -> None:
        self._server.name = name

    def follow(self, tell: News) -> Callable[[], None]:
        return self._server.follow(tell)

    # -- the database --------------------------------------------------------------------------------------------------

    def check(self) -> str:
        self._read("SELECT 1")
        return "ok"

    def size(self) -> dict[str, int]:
        query = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'"
        return {"bytes": int(self._read(query, (self._server.schema,))[0][0]), "raw_bytes": int(self.fact("raw_bytes") or 0)}

    def close(self) -> None:
        self._server.close()


PLAIN = {
    "keys": ["key", "at", "ref"], "refs": ["value", "kind", "entity", "id"], "unreadable": ["observation", "at", "reason"],
}  # fmt: skip
KINDS = {
    "keys": ["int8", "int8", "text"], "refs": ["text"] * 4, "unreadable": ["text", "int8", "text"],
}  # fmt: skip


def upsert(table: str) -> str:
    names = ("id", *COLUMNS[table], "doc")
    quoted = ", ".join(f'"{name}"' for name in names)
    updates = ", ".join(f'"{name}" = excluded."{name}"' for name in names[1:])
    return f"INSERT INTO {table} ({quoted}) {{rows}} ON CONFLICT (id) DO UPDATE SET {updates}"


UPSERT = {table: upsert(table) for table in TABLES}


def many(connection: psycopg.Connection[Row], statement: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """One statement for any number of rows: each column is sent as an array. In the order of their keys, against deadlocks."""
    if not rows:
        return
    arrays = [list(map(plain, column)) for column in zip(*sorted(rows, key=lambda row: row[0]), strict=True)]
    marks = ", ".join(f"%s::{kind_of(column)}[]" for column in columns)
    connection.execute(statement.replace("{rows}", f"SELECT * FROM unnest({marks})"), arrays)


def plain(value: Any) -> Any:
    return text(value) if isinstance(value, str) else value


def text(value: str) -> str:
    """PostgreSQL's texts hold every character but one."""
    return value.replace("\x00", "\ufffd") if "\x00" in value else value
