"""PostgreSQL: the same log, rows and keys for a team, with any number of writers that take turns."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlunsplit

import msgspec
import psycopg
import psycopg.conninfo

from ramify.model.entity import TABLES, Entity
from ramify.model.mistake import Unreachable, UserMistake
from ramify.model.observation import Observation
from ramify.model.sketch import Sketch
from ramify.storage import address, totals
from ramify.storage.base import (
    About,
    Ask,
    Bounds,
    Changes,
    Entry,
    Further,
    Kept,
    News,
    NotAdmitted,
    Others,
    Projected,
    Ref,
    Rows,
    Sifted,
    StoreDown,
    Test,
    Wish,
)
from ramify.storage.columns import COLUMNS, SPARSE, columns_of
from ramify.storage.fold import Folder, Folding, unfold, unfold_each
from ramify.storage.heads import seen_with
from ramify.storage.page_query import count_query, openings_query, page_query
from ramify.storage.postgres_days import BITS, Days, piece_day
from ramify.storage.postgres_direct import PostgresMesh, ask_directly
from ramify.storage.postgres_live import in_use
from ramify.storage.postgres_schema import PROJECTIONS, kind_of
from ramify.storage.postgres_search import PostgresSearch
from ramify.storage.postgres_server import PostgresServer, Row
from ramify.storage.postgres_steps import STEPS
from ramify.storage.postgres_turns import NOTHING
from ramify.storage.sifting import FOLDED, Sifting
from ramify.storage.views import refuse_projects

NEWEST = 64
CHUNK = 2000
_encoder = msgspec.msgpack.Encoder()
_decoders = {table: msgspec.msgpack.Decoder(type) for table, type in TABLES.items()}
_sketches = msgspec.msgpack.Decoder(Sketch)


def open_postgres(url: str, busy_seconds: float = 5.0) -> "Postgres":
    """`?schema=NAME` keeps several stores in one database; the rest of the address is the driver's."""
    parts = address.split(url)
    options = dict(parse_qsl(parts.query.replace("+", "%2B")))  # to libpq a plus is one, and no space
    schema = options.pop("schema", "ramify")
    plain, place = urlunsplit(parts._replace(query=urlencode(options, quote_via=quote))), address.shown(url)
    check_options(plain, url)
    try:
        return Postgres(place, plain, schema, busy_seconds)
    except StoreDown as problem:
        kind = UserMistake if isinstance(problem, NotAdmitted) else Unreachable
        raise kind(f"the store {place} cannot be opened: {problem}", "is the server up, and may you use this database?") from problem
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidSchemaName) as problem:  # the latter where it may not even be looked into
        unnamed = isinstance(problem, psycopg.errors.InvalidSchemaName)
        raise UserMistake(
            f"the store {place} cannot be used: {f'permission denied for schema {schema}' if unnamed else problem.diag.message_primary}",
            f"let the user make a schema (GRANT CREATE ON DATABASE …), or make it for the user: CREATE SCHEMA {schema} AUTHORIZATION …",
        ) from problem


def check_options(plain: str, url: str) -> None:
    try:
        psycopg.conninfo.conninfo_to_dict(plain)
    except psycopg.ProgrammingError as problem:
        named = re.match(r'invalid URI query parameter: "(\w+)"', str(problem))
        if named is None or "@" in url.partition("?")[2]:
            raise address.unreadable(url) from None
        hint = "beside schema=NAME those of libpq are known: sslmode, sslrootcert, connect_timeout and so on"
        raise UserMistake(f"the address {address.shown(url)} says {named[1]!r}, which means nothing here", hint) from None


class Postgres(Folding):
    """Also the `Blobs` of its folder: pieces live in the same database and the same transaction."""

    path = ""
    tells = True

    def __init__(self, shown: str, url: str, schema: str, busy_seconds: float) -> None:
        self.url = shown
        self._folder = Folder(self)
        self._days = Days()
        self._new_blobs: dict[bytes, tuple[int, bytes, int, int, bytes]] = {}
        self._foreseen: dict[bytes, int] = {}  # 0: it is not there
        self._last_blobs: dict[int, int] = {}  # by the day
        self._day = 0
        self._server = PostgresServer(url, schema, self._distrusted, _columns, busy_seconds)
        self.search = PostgresSearch(self._server)

    def _distrusted(self) -> None:
        self._folder.forget()
        self._days.forget()

    def _read(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self._server.read(query, parameters)

    def exclusive(self) -> AbstractContextManager[bool]:
        return self._server.exclusive()

    def others(self) -> Others | None:
        return self._server.others()

    # -- writing -----------------------------------------------------------------------------------------------------

    def append(self, kept: Sequence[Kept], changes: Changes) -> int:
        wrote = Others(frozenset(changes.rows), frozenset(key for key, _, _ in changes.keys))
        with self._server.writing(wrote) as connection:
            after = self.seq()
            raw = self._put_observations(connection, kept)
            ids = totals.touched(changes.rows)
            before = totals.sums(self._sums, ids)
            self._put_changes(connection, changes)
            known = self.facts_named("raw_bytes", totals.FACT)
            if ids:
                after_sums, held = totals.sums(self._sums, ids), known.get(totals.FACT)
                known[totals.FACT] = totals.moved(held, before, after_sums) if held else totals.all_sums(self._sums)
            known["raw_bytes"] = raw + int(known.get("raw_bytes", 0))
            self._put_facts(connection, known)
            self._server.tell(connection, after, self.seq(), list(changes.rows))
            return self.seq()

    def _sums(self, table: str, ids: Sequence[str] | None) -> Row:
        if ids is None:
            return self._read(totals.QUERIES[table])[0]
        return self._read(f"{totals.QUERIES[table]} WHERE id = ANY(%s)", (list(ids),))[0]

    def openings(self, conversations: Sequence[str]) -> dict[str, tuple[str, int, int]]:
        rows = self._read(openings_query("= ANY(%s)"), (list(conversations),))
        return {id: (title, tasks, roots) for id, title, tasks, roots in rows}

    def totals(self) -> dict[str, int]:
        known = self.facts_named(totals.FACT).get(totals.FACT)
        return known or totals.all_sums(self._sums)

    def _put_observations(self, connection: psycopg.Connection[Row], kept: Sequence[Kept]) -> int:
        """Numbers are given while nobody else writes, so readers never see a later one before an earlier one."""
        missing = self.missing([item.observation.id for item in kept]) if kept else set()
        fresh = list({item.observation.id: item for item in reversed(kept) if item.observation.id in missing}.values())[::-1]
        if not fresh:
            return 0
        first = self.seq() + 1
        rows = [(seq, *row) for seq, row in enumerate(self._folded(connection, fresh), first)]
        self._server.advance(first + len(rows) - 1)
        copied(connection, "observations", NAME, [row[:5] for row in rows])
        copied(connection, "contents", CONTENT, [(row[4], row[0], *row[5:]) for row in rows])
        return sum(len(getattr(item.observation, "body", b"")) for item in fresh)

    def _folded(self, connection: psycopg.Connection[Row], kept: Sequence[Kept]) -> list[tuple[Any, ...]]:
        """Their pieces are stored."""
        self._new_blobs.clear()
        self._foreseen.clear()
        self._last_blobs.clear()
        self._day = piece_day(kept[0].observation.at)
        self._days.make(connection, [item.observation.at for item in kept])
        self._folder.foresee(self, [(getattr(item.observation, "body", b""), item.layout) for item in kept])
        rows = [self._observation(item) for item in kept]
        pieces = self._new_blobs.values()
        copied(connection, "digests", DIGEST, [(digest, id) for id, digest, *_ in pieces])
        copied(connection, "blobs", BLOB, [(id, kind, size, payload) for id, _, kind, size, payload in pieces])
        self._new_blobs.clear()
        return rows

    def _observation(self, item: Kept) -> tuple[Any, ...]:
        seen = item.observation
        body = getattr(seen, "body", b"")
        self._day = piece_day(seen.at)
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
        many(connection, "INSERT INTO unreadable {rows} ON CONFLICT DO NOTHING", ("observation", "at", "reason"), changes.unreadable)
        if changes.forgotten:
            self._take_out(connection, changes.forgotten)

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
            self._put_facts(connection, {totals.FACT: totals.all_sums(self._sums)})

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
        if digest not in self._foreseen:
            self.foresee([digest])
        if found := self._foreseen[digest]:
            return found
        id = self._next_blob()
        kind, payload = packed()
        self._new_blobs[digest] = (id, digest, kind, size, payload)
        return id

    def foresee(self, digests: Sequence[bytes]) -> None:
        self._foreseen.update(dict.fromkeys(digests, 0))
        if digests:
            self._foreseen.update(self._read("SELECT digest, id FROM digests WHERE digest = ANY(%s)", (list(digests),)))

    def _next_blob(self) -> int:
        first = self._day << BITS
        if self._day not in self._last_blobs:
            query = "SELECT coalesce(max(id), %s) FROM blobs WHERE id >= %s AND id < %s"
            self._last_blobs[self._day] = int(self._read(query, (first, first, first + (1 << BITS)))[0][0])
        self._last_blobs[self._day] += 1
        return self._last_blobs[self._day]

    def get(self, ids: Sequence[int]) -> dict[int, tuple[int, bytes]]:
        rows = self._read("SELECT id, kind, payload FROM blobs WHERE id = ANY(%s)", (list(ids),))
        return {id: (kind, payload) for id, kind, payload in rows}

    # -- the log -----------------------------------------------------------------------------------------------------

    def missing(self, ids: Sequence[str]) -> set[str]:
        known = {row[0] for row in self._read("SELECT id FROM observations WHERE id = ANY(%s)", (list(ids),))}
        return set(ids) - known

    def projects_of(self, observations: Sequence[str]) -> dict[str, str]:
        return dict(self._read("SELECT id, project FROM observations WHERE id = ANY(%s)", ([text(id) for id in observations],)))

    def seq(self) -> int:
        return self._server.seq

    def observation(self, id: str) -> Observation | None:
        found = self._read("SELECT at, seq FROM observations WHERE id = %s", (text(id),))
        rows = self._read("SELECT head, body_kind, body FROM contents WHERE at = %s AND seq = %s", found[0]) if found else []
        return self._whole(*rows[0]) if rows else None

    def seen(self, ids: Sequence[str]) -> dict[str, Observation]:
        query = (
            "SELECT o.id, head, body_kind, body FROM observations o JOIN contents c ON c.at = o.at AND c.seq = o.seq "
            "WHERE o.id = ANY(%s) AND c.at BETWEEN (SELECT min(at) FROM observations WHERE id = ANY(%s)) AND (SELECT max(at) FROM observations WHERE id = ANY(%s))"
        )
        wanted = list(map(text, ids))
        rows = self._read(query, (wanted, wanted, wanted)) if wanted else []
        bodies = unfold_each(self, [(kind, body) for _, _, kind, body in rows])
        return {id: seen_with(head, body) for (id, head, *_), body in zip(rows, bodies, strict=True)}

    def numbered(self, id: str) -> tuple[int, Observation] | None:
        rows = self._read("SELECT seq FROM observations WHERE id = %s", (text(id),))
        seen = self.observation(id) if rows else None
        return (int(rows[0][0]), seen) if seen is not None else None

    def unlist(self, refs: Sequence[tuple[str, str, str, str]], unreadable: Sequence[str]) -> None:
        gone = "DELETE FROM refs USING ({rows}) AS gone (v, k, e, i) WHERE value = v AND kind = k AND entity = e AND id = i"
        with self._server.writing() as connection:
            many(connection, gone, ("value", "kind", "entity", "id"), refs)
            connection.execute("DELETE FROM unreadable WHERE observation = ANY(%s)", (list(unreadable),))

    def observations(self, after: int = 0) -> Iterator[tuple[int, Observation]]:
        while rows := self._contents(after, 100, "head, body_kind, body"):
            bodies = unfold_each(self, [(kind, body) for _, _, kind, body in rows])
            yield from ((seq, seen_with(head, body)) for (seq, head, *_), body in zip(rows, bodies, strict=True))
            after = rows[-1][0]

    def _contents(self, after: int, limit: int, columns: str) -> list[Row]:
        """Of the next numbers. The bounds are for the planner: it looks into no other day."""
        named = self._read("SELECT at, seq FROM observations WHERE seq > %s ORDER BY seq LIMIT %s", (after, limit))
        if not named:
            return []
        ats, numbers = zip(*named, strict=True)
        query = (
            f"SELECT seq, {columns} FROM unnest(%s::bigint[], %s::bigint[]) AS wanted (a, s) JOIN contents ON at = a AND seq = s "
            "WHERE at BETWEEN %s AND %s ORDER BY seq"
        )
        return self._read(query, (list(ats), list(numbers), min(ats), max(ats))) or self._contents(numbers[-1], limit, columns)

    def _whole(self, head: bytes, kind: int, folded: bytes) -> Observation:
        return seen_with(head, unfold(self, kind, folded))

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

    def sql(self, query: str, bounds: Bounds, further: Further | None = None, projects: frozenset[str] | None = None) -> Rows:
        refuse_projects(projects)
        self._check_views()
        return ask_directly(self._server.apart(), self._server.schema, query, bounds)

    def mesh(self) -> PostgresMesh:
        """The rows behind the mesh's views, to be brought up; whoever asks closes it."""
        self._check_views()
        return PostgresMesh(self._server.apart(), self._server.schema)

    def _check_views(self) -> None:
        if lacking := self._server.lacks():
            raise UserMistake(
                f"this store has no views to ask: its user may not make the schemas {', '.join(lacking)}",
                "let an administrator make them (CREATE SCHEMA … AUTHORIZATION …) or GRANT CREATE ON DATABASE; then any command that opens the store fills them",
            )

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

    def gather(self, wishes: Sequence[Wish]) -> list[list[Entity]]:
        return [self.among(wish.table, wish.column, wish.values) for wish in wishes]

    def count(self, table: str, where: dict[str, str] | None = None, without: dict[str, str] | None = None) -> int:
        return int(self._sifted(*count_query(table, where or {}, without or {}))[0][0])

    def refs(self, value: str) -> list[Ref]:
        return [Ref(*row) for row in self._read("SELECT value, kind, entity, id FROM refs WHERE value = %s", (text(value),))]

    def ids_like(self, table: str, prefix: str, limit: int) -> list[str]:
        query = f"SELECT id FROM {table} WHERE id >= %s AND id < %s ORDER BY id LIMIT %s"
        return [row[0] for row in self._read(query, (text(prefix), text(prefix) + "\x7f", limit))]

    def unreadable(self, limit: int) -> list[tuple[str, int, str]]:
        query = "SELECT observation, at, reason FROM unreadable ORDER BY at DESC, observation COLLATE \"C\" LIMIT %s"
        return [(observation, at, reason) for observation, at, reason in self._read(query, (limit,))]

    def count_unreadable(self) -> int:
        return int(self._read("SELECT count(*) FROM unreadable")[0][0])

    # -- facts --------------------------------------------------------------------------------------------------------

    def fact(self, name: str) -> str | bytes | int | None:
        rows = self._read("SELECT value FROM facts WHERE name = %s", (name,))
        return msgspec.msgpack.decode(rows[0][0]) if rows else None

    def facts_named(self, *names: str) -> dict[str, Any]:
        rows = self._read("SELECT name, value FROM facts WHERE name = ANY(%s)", (list(names),))
        return {name: msgspec.msgpack.decode(value) for name, value in rows}

    def facts(self, prefix: str) -> dict[str, str | bytes | int]:
        rows = self._read("SELECT name, value FROM facts WHERE name >= %s AND name < %s", (prefix, prefix + chr(0x10FFFF)))
        return {name: msgspec.msgpack.decode(value) for name, value in rows}

    def set_fact(self, name: str, value: str | bytes | int) -> None:
        self.set_facts({name: value})

    def set_facts(self, facts: Mapping[str, str | bytes | int]) -> None:
        with self._server.writing(NOTHING) as connection:
            self._put_facts(connection, facts)

    def _put_facts(self, connection: psycopg.Connection[Row], facts: Mapping[str, Any]) -> None:
        rows = [(name, msgspec.msgpack.encode(value)) for name, value in facts.items()]
        many(connection, "INSERT INTO facts {rows} ON CONFLICT (name) DO UPDATE SET value = excluded.value", ("name", "doc"), rows)

    def drop_facts(self, names: Sequence[str]) -> None:
        with self._server.writing(NOTHING) as connection:
            connection.execute("DELETE FROM facts WHERE name = ANY(%s)", (list(names),))

    # -- forgetting ----------------------------------------------------------------------------------------------------

    def forget(self, ids: Sequence[str]) -> int:
        with self._server.writing() as connection:
            return self._take_out(connection, ids)

    def _take_out(self, connection: psycopg.Connection[Row], ids: Sequence[str]) -> int:
        gone = connection.execute("DELETE FROM observations WHERE id = ANY(%s) RETURNING at, seq", (list(ids),)).fetchall()
        self._days.take_out(connection, [(at, seq) for at, seq in gone])
        return len(gone)

    def rewrite(self, kept: Sequence[Kept]) -> None:
        with self._server.writing() as connection:
            numbers: dict[str, int] = dict(self._read("SELECT id, seq FROM observations WHERE id = ANY(%s)", ([item.observation.id for item in kept],)))
            held = [item for item in kept if item.observation.id in numbers]
            if not held:
                return
            rows = [(at, numbers[id], head, kind, body) for id, _, _, at, head, kind, body in self._folded(connection, held)]
            arrays = [list(column) for column in zip(*rows, strict=True)]
            given = ", ".join(f"%s::{kind}[]" for kind in CONTENT.values())
            connection.execute(
                "UPDATE contents SET head = h, body_kind = k, body = b "
                f"FROM unnest({given}) AS now (a, s, h, k, b) WHERE at = a AND seq = s", arrays,
            )

    def bodies(self, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        return [(seq, kind, body) for seq, kind, body in self._contents(after, limit, "body_kind, body")]

    def blobs(self, after: int, limit: int) -> list[tuple[int, int]]:
        return [(id, kind) for id, kind in self._read("SELECT id, kind FROM blobs WHERE id > %s ORDER BY id LIMIT %s", (after, limit))]

    def drop_blobs(self, ids: Sequence[int]) -> None:
        with self._server.writing() as connection:
            connection.execute("DELETE FROM blobs WHERE id = ANY(%s)", (list(ids),))
            connection.execute("DELETE FROM digests WHERE id = ANY(%s)", (list(ids),))
        self._folder.forget()

    def keys_after(self, place: tuple[int, int, str], limit: int) -> list[tuple[int, int, str]]:
        query = "SELECT key, at, ref FROM keys WHERE (key, at, ref) > (%s, %s, %s) ORDER BY key, at, ref LIMIT %s"
        return [(key, at, ref) for key, at, ref in self._read(query, (*place, limit))]

    def distrust(self) -> None:
        self._server.distrust()

    def shrink(self) -> None:
        """Days of which nothing is left go as a whole; of what else was deleted, the room is used again. What was written out
        for the mesh's views is written out again when somebody asks."""
        with closing(PostgresMesh(self._server.apart(), self._server.schema)) as mesh:
            mesh.clear()
        with self._server.writing() as connection:
            self._days.drop_empty(connection)
        self._server.vacuum()

    def write_anew(self) -> None:
        self._server.vacuum("FULL")

    # -- other writers -------------------------------------------------------------------------------------------------

    def sign(self, name: str) -> None:
        self._server.name = name

    def follow(self, tell: News) -> Callable[[], None]:
        return self._server.follow(tell)

    # -- the database --------------------------------------------------------------------------------------------------

    def check(self) -> str:
        self._read("SELECT 1")
        return "ok"

    def about(self) -> About:
        [(version,)] = self._read("SELECT current_setting('server_version')")
        query = (
            "SELECT count(*) FROM pg_inherits JOIN pg_class AS above ON above.oid = inhparent "
            "JOIN pg_namespace AS place ON place.oid = above.relnamespace WHERE nspname = %s AND above.relname IN ('contents', 'blobs')"
        )
        [(partitions,)] = self._read(query, (self._server.schema,))
        return About(
            engine="PostgreSQL", version=version, schema=len(STEPS), partitions=int(partitions),
            notices=self._server.hears(), lacks=tuple(self._server.lacks()),
        )  # fmt: skip

    def size(self) -> dict[str, int]:
        query = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'"
        return {"bytes": int(self._read(query, (self._server.schema,))[0][0]), "raw_bytes": int(self.fact("raw_bytes") or 0)}

    def in_use(self) -> int:
        return in_use(self._read, self._server.schema)

    def close(self) -> None:
        self._server.close()


PLAIN = {
    "keys": ["key", "at", "ref"], "refs": ["value", "kind", "entity", "id"], "unreadable": ["observation", "at", "reason"],
}  # fmt: skip
KINDS = {
    "keys": ["int8", "int8", "text"], "refs": ["text"] * 4, "unreadable": ["text", "int8", "text"],
}  # fmt: skip


DIGEST = {"digest": "bytea", "id": "int8"}
BLOB = {"id": "int8", "kind": "int2", "size": "int8", "payload": "bytea"}
NAME = {"seq": "int8", "id": "text", "kind": "text", "project": "text", "at": "int8"}
CONTENT = {"at": "int8", "seq": "int8", "head": "bytea", "body_kind": "int2", "body": "bytea"}


def copied(connection: psycopg.Connection[Row], table: str, columns: dict[str, str], rows: Sequence[tuple[Any, ...]]) -> None:
    if not rows:
        return
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)


def _columns(table: str, doc: bytes) -> tuple[Any, ...]:
    return tuple(map(plain, columns_of(_decoders[table].decode(doc))))


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
