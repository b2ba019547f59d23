"""ClickHouse: the same log, rows and keys for very much traffic. Each batch is one insert: stored whole, or not at all."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from xxhash import xxh3_64_intdigest

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
from ramify.storage.clickhouse_about import about
from ramify.storage.clickhouse_checking import troubles
from ramify.storage.clickhouse_contents import OLD, Content, Contents, lacking, together
from ramify.storage.clickhouse_direct import ClickHouseMesh, ask_directly
from ramify.storage.clickhouse_known import NEAR, Known
from ramify.storage.clickhouse_packing import LAYOUT, read_from, written
from ramify.storage.clickhouse_pieces import Pieces, highest
from ramify.storage.clickhouse_rows import GONE, PLAIN, entries_of, replaced, row_of, source
from ramify.storage.clickhouse_schema import CONTENTS, ENTRIES, NAMED, PROJECTIONS, literal, name
from ramify.storage.clickhouse_search import ClickHouseSearch
from ramify.storage.clickhouse_server import ClickHouseServer, Row
from ramify.storage.clickhouse_sifting import ClickHouseSifting
from ramify.storage.clickhouse_upgrading import upgrade
from ramify.storage.clickhouse_views import statements
from ramify.storage.clickhouse_ways import INSIDE, Place, Values, Way, along, carried_by, filling, way_by, way_for
from ramify.storage.clickhouse_wiping import mark, wipe
from ramify.storage.columns import COLUMNS, value_of
from ramify.storage.fold import Folder, Folding, unfold_each
from ramify.storage.heads import seen_with
from ramify.storage.views import refuse_projects

NEWEST = 64
CHUNK = 2000
SINCE = f"SETTINGS use_skip_indexes_if_final_exact_mode = 0, ignore_data_skipping_indices = '{','.join(NAMED)}'"
"""Where only later versions are wanted, earlier ones need not be compared with them. By other columns that would be wrong: what fits may be of yesterday."""
MOST_OF_A_WAY = 500  # rows that are gathered stretch by stretch; whoever wants more gets all at once
SUMS = {table: written(columns) for table, columns in totals.COLUMNS_OF.items()}
SEEN = f"id, {read_from('seq')}"
OTHERS = 100_000  # entries of others that are told one by one
SCHEMA = 6
PAGE = 500  # observations that are read together
TOGETHER = 100  # bodies whose pieces are read together: however few they are, a question costs ten milliseconds
_encoder = msgspec.msgpack.Encoder()
_decoders = {table: msgspec.msgpack.Decoder(type) for table, type in TABLES.items()}
_sketches = msgspec.msgpack.Decoder(Sketch)


def open_clickhouse(url: str, busy_seconds: float = 5.0) -> "ClickHouse":
    """`clickhouse://USER:PASSWORD@HOST:PORT/DATABASE`, with `?secure=1` for TLS and `?cluster=NAME` for copies."""
    parts, place = address.split(url), address.shown(url)
    options = dict(parse_qsl(parts.query))
    if unknown := options.keys() - {"cluster", "secure"}:
        raise UserMistake(f"the address {place} says {sorted(unknown)[0]!r}, which means nothing here", "use ?cluster=NAME and ?secure=1")
    secure = options.get("secure", "") in ("1", "true")
    server = {
        "host": parts.hostname or "localhost", "port": parts.port or (8443 if secure else 8123), "secure": secure,
        "username": unquote(parts.username or "default"),
        "password": unquote(parts.password or os.environ.get("CLICKHOUSE_PASSWORD", "")),
    }  # fmt: skip
    try:
        return ClickHouse(place, server, unquote(parts.path.strip("/")) or "ramify", options.get("cluster", ""), busy_seconds)
    except StoreDown as problem:
        kind = UserMistake if isinstance(problem, NotAdmitted) else Unreachable
        raise kind(f"the store {place} cannot be opened: {problem}", "is the server up, and may you make this database?") from problem


class ClickHouse(Folding):
    """What is appended inside `exclusive` is gathered, and written when that ends. Until then its owner finds the
    observations, facts and the end of the log as they will be, and rows and keys as they were."""

    path = ""
    tells = True

    def __init__(self, shown: str, options: dict[str, Any], database: str, cluster: str, busy_seconds: float) -> None:
        self.url = shown
        self._contents = Contents(lambda: self.server)
        self._pieces = Pieces(lambda: self.server, self._contents)
        self._folder = Folder(self._pieces)
        self.server = ClickHouseServer(options, database, cluster, self._forget, busy_seconds)
        self._known = Known()
        self._asked: tuple[int, tuple[str, ...]] = (0, ())
        self._absent: frozenset[str] = frozenset()
        self.server.committed = self._committed
        self.search = ClickHouseSearch(self)
        self._prepare()

    def _prepare(self) -> None:
        upgrade(self.server)
        version = int(self.fact("schema") or 0)
        if version > SCHEMA:
            raise UserMistake(
                f"the store was written by a newer Ramify (schema {version}, this one knows {SCHEMA})", "upgrade Ramify, or use another database"
            )
        self._make_columns()
        if version < SCHEMA:
            with self.server.writing():
                if self.fact("identity") is None:
                    self.set_fact("identity", int.from_bytes(os.urandom(7), "big"))
                if self._pieces.older:
                    self.search.clear()  # its words stood among the entries
                if 0 < version < 6 and self.seq():
                    self.set_fact("outdated", 1)  # keys had another form, and much was judged by other rules
                if 0 < version < 4:
                    for statement in filling(self.server.table):
                        self.server.command(statement)
                if 0 < version < 6:
                    self._make_indexes()
                self.set_fact("schema", SCHEMA)
        self._make_views()

    def _make_columns(self) -> None:
        """Those that a newer version asks for are filled when all is derived again."""
        server = self.server
        rows = server.read(f"SELECT name FROM system.columns WHERE database = {literal(server.database)} AND table = {literal(ENTRIES.name)}")
        self._pieces.older = ("payload",) in rows  # all contents stood among the entries
        for column in [column for column in ENTRIES.columns if (column,) not in rows]:
            for table in dict.fromkeys((server.own, server.table)):
                server.command(f"ALTER TABLE {table}{server.on} ADD COLUMN IF NOT EXISTS {name(column)} {ENTRIES.columns[column]}")
        if self.fact("layout") != LAYOUT:
            self.set_facts({"layout": LAYOUT} | ({"outdated": 1} if self.seq() else {}))

    def _make_indexes(self) -> None:
        """Of what is there already the server makes them when it has time."""
        alter = f"ALTER TABLE {self.server.own_of(CONTENTS)}{self.server.on}"
        for one, what in CONTENTS.indexes.items():
            self.server.command(f"{alter} ADD INDEX IF NOT EXISTS {one} {what}")
            self.server.command(f"{alter} MATERIALIZE INDEX {one}")

    def _make_views(self) -> None:
        rows = self.server.read(f"SELECT name, comment FROM system.tables WHERE database = {literal(self.server.database)}")
        for statement in statements(self.server.database, self.server.cluster, dict(rows)):
            self.server.command(statement)

    def _forget(self) -> None:
        self._folder.forget()
        self._pieces.forget()
        self._contents.forget()

    def _committed(self, places: Iterable[Place], before: int, number: int) -> None:
        self._known.committed(places, before, number)
        self._contents.confirm()

    def _read(self, columns: str, space: str, clauses: str = "", rest: str = "", wide: bool = False) -> list[Row]:
        """The newest of each row, without those that are gone."""
        where = f" AND {clauses}" if clauses else ""
        return self.server.read(f"SELECT {columns} FROM {self.server.table} FINAL WHERE space = {literal(space)}{where} {rest}", wide)

    def exclusive(self) -> AbstractContextManager[bool]:
        return self.server.exclusive()

    def others(self) -> Others | None:
        """Each entry carries the number of the insert that wrote it."""
        stretch = self.server.unheard()
        if stretch is None:
            return None
        written = f"space IN {literal([*COLUMNS, 'keys'])} AND version > {stretch[0]} AND version <= {stretch[1]}"
        rows = self.server.read(f"SELECT space, key, id FROM {self.server.table} WHERE {written} LIMIT {OTHERS + 1}", wide=True)
        if len(rows) > OTHERS:
            return None
        return Others(frozenset((space, id) for space, _, id in rows if space != "keys"), frozenset(key for space, key, _ in rows if space == "keys"))

    # -- writing -----------------------------------------------------------------------------------------------------

    def append(self, kept: Sequence[Kept], changes: Changes) -> int:
        with self.server.writing():
            self._put_observations(kept)
            known = {row[0] for row in self._read("id", "unreadable", f"id IN {literal([one[0] for one in changes.unreadable])}")} if changes.unreadable else set()
            entries = dict(entries_of(changes, known))
            self._add_up(entries)
            self.server.pending.update(entries)
            if changes.forgotten:
                self._take_out(changes.forgotten)
            last = self.server.state.seq
            self.server.tell(last, list(changes.rows))
        return last

    def _add_up(self, entries: dict[Place, Values]) -> None:
        """The totals go with the batch that moves them. What rows were before is asked of this turn, and of the store."""
        pending, touched = self.server.pending, [place for place in entries if place[0] in totals.SUMS]
        if not touched:
            return
        held = self.server.state.totals
        if held is None and not any(space in totals.SUMS for space, _, _, _ in pending):
            held = self._all_sums()
        if held is not None:
            stored = totals.touched((space, id) for space, key, moment, id in touched if (space, key, moment, id) not in pending and self._may_hold(space, id))
            held = totals.moved(held, self._stored_sums(stored), totals.shares(counting(entries, touched)))
            held = totals.moved(held, totals.shares(counting(pending, touched)), {})
        self.server.state = msgspec.structs.replace(self.server.state, totals=held)

    def _stored_sums(self, ids: dict[str, list[str]]) -> dict[str, int]:
        """In one question."""
        parts = [
            f"SELECT {literal(table)}, [{SUMS[table]}] FROM {self.server.table} FINAL WHERE space = {literal(table)} AND key = 0 AND moment = 0 AND id IN {literal(some)}"
            for table, some in ids.items()
            if some
        ]
        found = self.server.read(" UNION ALL ".join(parts)) if parts else []
        return {name: int(value) for table, sums in found for name, value in zip(totals.NAMES[table], sums, strict=True)}

    def _all_sums(self) -> dict[str, int]:
        return totals.all_sums(lambda table, ids: self._read(SUMS[table], table, wide=True)[0])

    def _put_observations(self, kept: Sequence[Kept]) -> None:
        """Numbers are given while nobody else writes."""
        fresh = self.missing([item.observation.id for item in kept]) if kept else set()
        state = self.server.state
        seq, raw = state.seq, state.raw
        self._pieces.begin(self.server.turn, self.server.taken, state.blob, state.swept)
        for item in kept:
            seen = item.observation
            if seen.id not in fresh:
                continue
            fresh.discard(seen.id)
            seq += 1
            raw += len(getattr(seen, "body", b""))
            self._put_content(item, seq)
        self._put_pieces()
        self.server.state = msgspec.structs.replace(self.server.state, seq=seq, blob=self._pieces.last, raw=raw)

    def _put_content(self, item: Kept, seq: int) -> None:
        """What is large goes ahead, and the log names where it stands."""
        seen = item.observation
        body = getattr(seen, "body", b"")
        self._pieces.begins = together(seen.at, xxh3_64_intdigest((item.belongs or seen.id).encode("utf-8", "surrogatepass")))
        place = self._pieces.number()
        form, folded = self._folder.fold(body, item.layout)
        head = _encoder.encode(msgspec.structs.replace(seen, body=b"") if body else seen)
        self.server.first(CONTENTS, [(place, seq, form, head, folded)])
        kind = type(seen).__name__.lower()
        self.server.pending["observations", seq, 0, seen.id] = {"kind": kind, "project": seen.project, "at": seen.at, "place": place}
        self.server.pending["seen", 0, 0, seen.id] = {"seq": seq, "place": place}

    def _put_pieces(self) -> None:
        rows, digests = self._pieces.taken()
        self.server.first(CONTENTS, rows)
        self.server.pending.update(digests)

    def _take_out(self, ids: Sequence[str]) -> int:
        """How many were there."""
        rows = self._read(SEEN, "seen", f"key = 0 AND moment = 0 AND id IN {literal(ids)}") if ids else []
        for id, seq in rows:
            self.server.pending["observations", seq, 0, id] = GONE
            self.server.pending["seen", 0, 0, id] = GONE
        return len(rows)

    def take_projections(self, other: Projected, tables: Sequence[str] | None = None) -> None:
        """Only what differs is written, so that it is one insert unless very much does."""
        with self.server.writing():
            for table in tables or PROJECTIONS:
                names = ["id", *COLUMNS[table], "doc"] if table in COLUMNS else PLAIN[table]
                for place, values in replaced(table, names, self.projected(table, names), other.projected(table, names)):
                    self.server.pending[place] = values
            self.server.pending["facts", 0, 0, "outdated"] = GONE
            self.server.state = msgspec.structs.replace(self.server.state, totals=None)  # they are added up again when somebody asks
        self.server.distrust()

    def projected(self, table: str, names: Sequence[str]) -> Iterator[Row]:
        query = f"SELECT {source(table, names)} FROM {self.server.table} FINAL WHERE space = {literal(table)}"
        return (row_of(table, names, row) for row in self.server.stream(query))

    def docs(self, table: str) -> Iterator[Entity]:
        """Ordered by id, a page at a time: there may be millions."""
        after = ""
        while rows := self._read("id, doc", table, f"key = 0 AND moment = 0 AND id > {literal(after)}", "ORDER BY id LIMIT 1000"):
            for _, doc in rows:
                yield _decoders[table].decode(doc)
            after = rows[-1][0]

    # -- the log -----------------------------------------------------------------------------------------------------

    def missing(self, ids: Sequence[str]) -> set[str]:
        """In its own turn a writer remembers the answer: it asks before it decides, and again when it stores."""
        if self.server.mine and self._asked == (self.server.turn, tuple(ids)):
            left = set(self._absent)
        else:
            left = set(ids)
            asked = [id for id in ids if self._may_hold("seen", id)]
            for start in range(0, len(asked), CHUNK):
                chunk = asked[start : start + CHUNK]
                left -= {row[0] for row in self._read("id", "seen", f"key = 0 AND moment = 0 AND id IN {literal(chunk)}")}
        if self.server.mine:
            self._asked, self._absent = (self.server.turn, tuple(ids)), frozenset(left)
            left -= {id for id in left if ("seen", 0, 0, id) in self.server.pending}
        return left

    def projects_of(self, observations: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(observations), CHUNK):
            ids = f"id IN {literal(observations[start : start + CHUNK])}"
            numbers = f"SELECT {read_from('seq')} FROM {self.server.table} FINAL WHERE space = 'seen' AND key = 0 AND moment = 0 AND {ids}"
            found |= dict(self._read(f"id, {read_from('project')}", "observations", f"key IN ({numbers}) AND {ids}"))
        return found

    def seq(self) -> int:
        return self.server.state.seq if self.server.mine else self.server.last()[2].seq

    def observation(self, id: str) -> Observation | None:
        return self.seen([id]).get(id)

    def seen(self, ids: Sequence[str]) -> dict[str, Observation]:
        """Contents by their places, in one question; where one did not come, it is asked why."""
        if not ids:
            return {}
        which = f"space = 'seen' AND key = 0 AND moment = 0 AND id IN {literal(list(ids))}"
        places = f"(SELECT place FROM {self.server.table} FINAL WHERE {which} AND place > 0)"
        found = {seen.id: seen for seen in self._whole(dict(self._contents.at(places)).values())}
        lacking = [id for id in ids if id not in found]
        rows = self._read("key, place", "observations", f"(key, id) IN ({self._numbered(lacking)})") if lacking else []
        return found | {seen.id: seen for seen in self._whole(content for _, content in self._filled(rows))}

    def _numbered(self, ids: Sequence[str]) -> str:
        return f"SELECT {read_from('seq')}, id FROM {self.server.table} FINAL WHERE space = 'seen' AND key = 0 AND moment = 0 AND id IN {literal(list(ids))}"

    def observations(self, after: int = 0) -> Iterator[tuple[int, Observation]]:
        while rows := self._read("key, place", "observations", f"key > {after}", f"ORDER BY key LIMIT {PAGE}"):
            found = dict(self._filled(rows))
            yield from zip(found, self._whole(found.values()), strict=True)
            after = rows[-1][0]

    def _filled(self, rows: Sequence[Row], columns: str = "head, form, payload") -> Iterator[tuple[int, Content]]:
        """Numbers in the log, with what stands at their places. What is forgotten at this very moment is left out."""
        found = dict(self._contents.read([place for _, place in rows if place], columns))
        older = self._read_older([seq for seq, place in rows if not place])
        lost = [seq for seq, place in rows if place not in found and seq not in older]
        if lost and (named := self._read("key", "observations", f"key IN {literal(lost)}")):
            raise lacking(len(named))
        yield from ((seq, found[place] if place else older[seq]) for seq, place in rows if place in found or seq in older)

    def _read_older(self, seqs: Sequence[int]) -> dict[int, Content]:
        """From among the entries."""
        if not seqs or not self._pieces.older:
            return {}
        rows = self._read("key, doc, form, payload", "observations", f"key IN {literal(seqs)}")
        return {seq: (head, form, payload) for seq, head, form, payload in rows}

    def _whole(self, contents: Iterable[Content]) -> Iterator[Observation]:
        held = list(contents)
        bodies = unfold_each(self._pieces, [(form, folded) for _, form, folded in held], TOGETHER)
        return (seen_with(head, body) for (head, _, _), body in zip(held, bodies, strict=True))

    def _may_hold(self, space: str, name: object) -> bool:
        return self._known.may_hold(self.server, space, name)

    # -- rows and keys -----------------------------------------------------------------------------------------------

    def between(self, first: int, last: int, most: int) -> list[tuple[int, int, str]]:
        if first >> NEAR == last >> NEAR and not self._may_hold("keys", first >> NEAR):
            return []
        rows = self._read("key, moment, id", "keys", f"key BETWEEN {first} AND {last}", f"ORDER BY key, moment, id LIMIT {most}")
        return [(key, at, ref) for key, at, ref in rows]

    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]:
        found: dict[int, list[Entry]] = {}
        keys = [key for key in keys if self._may_hold("keys", key >> NEAR)]
        for start in range(0, len(keys), CHUNK):
            chunk = literal(keys[start : start + CHUNK])
            for key, at, ref in self._read(
                "key, moment, id", "keys", f"key IN {chunk}", f"ORDER BY key DESC, moment DESC, id DESC LIMIT {NEWEST} BY key"
            )[::-1]:
                found.setdefault(key, []).append((at, ref))
        return found

    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[Entry]:
        if not self._may_hold("keys", key >> NEAR):
            return []
        way = "DESC" if newest else "ASC"
        rows = self._read("moment, id", "keys", f"key = {key} AND moment BETWEEN {low} AND {high}", f"ORDER BY moment {way}, id {way} LIMIT {limit}")
        found = [(at, ref) for at, ref in rows]
        return found[::-1] if newest else found

    def load(self, table: str, id: str) -> Entity | None:
        if not self._may_hold(table, id):
            return None
        rows = self._read("doc", table, f"key = 0 AND moment = 0 AND id = {literal(id)}")
        return _decoders[table].decode(rows[0][0]) if rows else None

    def page(self, table: str, ask: Ask) -> list[Entity]:
        clauses = equal(ask.where, ask.without)
        clauses += [f"{read_from(column)} BETWEEN {low} AND {high}" for column, (low, high) in ask.within.items()]
        direction, compare = ("ASC", ">") if ask.ascending else ("DESC", "<")
        order = f"ORDER BY {read_from(ask.order)} {direction}, id {direction}"
        way = way_for(table, ask)
        if way is not None and ask.limit <= MOST_OF_A_WAY:
            return self._gone_along(table, ask, way, clauses, order)
        if ask.behind is not None:
            clauses.append(f"({read_from(ask.order)}, id) {compare} {literal(ask.behind)}")
        if way is not None and way.column:
            return self._fitting(table, self._led_to(table, way.column, [ask.where[way.column]]), clauses, f"{order} LIMIT {ask.limit}")
        return self._chosen(table, " AND ".join(clauses), order, f"{order} LIMIT {ask.limit}")

    def _gone_along(self, table: str, ask: Ask, way: Way, clauses: list[str], order: str) -> list[Entity]:
        """A stretch of the way after the other, until enough rows were found on it. A row counts in the stretch in which it stands now: the entry
        that it left elsewhere leads to it, too. It is no older than that entry, so that parts of the table in which all is are passed over."""
        found: list[Entity] = []
        place, size = ask.behind, ask.limit + ask.limit // 4 + 16
        value = ask.where[way.column] if way.column else ""
        compare, back, direction = (">", "<=", "ASC") if ask.ascending else ("<", ">=", "DESC")
        while True:
            entries = [along(table, way, [value]), *carried_by(way, ask)]
            start = [] if place is None else [f"{compare} {literal(place)}"]
            entries += [f"(moment, id) {one}" for one in start]
            stretch = self.server.read(
                f"SELECT id, moment, version FROM {self.server.table} WHERE {' AND '.join(entries)} "
                f"ORDER BY moment {direction}, id {direction} LIMIT {size * way.left}"
            )
            if not stretch:
                return found
            ended = len(stretch) < size * way.left
            if not ask.ascending:
                some = newest_of(stretch, size)
                ended, stretch = ended and len(some) == len(stretch), some
            place = None if ended else (stretch[-1][1], stretch[-1][0])
            end = [] if place is None else [f"{back} {literal(place)}"]
            bounds = [f"({read_from(ask.order)}, id) {one}" for one in (*start, *end)]
            since = f"version >= {min(version for _, _, version in stretch)}"
            ids = literal(sorted({id for id, _, _ in stretch}))
            found += self._fitting(table, ids, [since, *clauses, *bounds], f"{order} LIMIT {ask.limit - len(found)} {SINCE}")
            if len(found) == ask.limit or place is None:
                return found
            size = min(size * 4, CHUNK)

    def sift(self, table: str, ask: Ask, tests: Sequence[Test], most: int) -> Sifted:
        page = ClickHouseSifting(self.server, table, ask, tests)
        page.run(most)
        return Sifted([_decoders[table].decode(row[0]) for row in page.rows], page.looked, page.place)

    def get(self, ids: Sequence[int]) -> dict[int, tuple[int, bytes]]:
        return self._pieces.get(ids)

    def distrust(self) -> None:
        self.server.distrust()

    # -- forgetting ----------------------------------------------------------------------------------------------------

    def forget(self, ids: Sequence[str]) -> int:
        with self.server.writing():
            gone = sum(self._take_out(ids[start : start + CHUNK]) for start in range(0, len(ids), CHUNK))
            mark(self.server)
        return gone

    def rewrite(self, kept: Sequence[Kept]) -> None:
        with self.server.writing():
            state = self.server.state
            numbers: dict[str, int] = dict(self._read(SEEN, "seen", f"key = 0 AND moment = 0 AND id IN {literal([item.observation.id for item in kept])}"))
            self._pieces.begin(self.server.turn, self.server.taken, state.blob, state.swept)
            for item in kept:
                if (seq := numbers.get(item.observation.id)) is not None:
                    self._put_content(item, seq)
            self._put_pieces()
            self.server.state = msgspec.structs.replace(state, blob=self._pieces.last)
            mark(self.server)

    def bodies(self, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        rows = self._read("key, place", "observations", f"key > {after}", f"ORDER BY key LIMIT {limit}")
        found = [(seq, form, body) for seq, (_, form, body) in self._filled(rows, "'', form, payload")]
        return found if found or not rows else self.bodies(rows[-1][0], limit)

    def blobs(self, after: int, limit: int) -> list[tuple[int, int]]:
        rows: list[Row] = []
        if self._pieces.older and after < OLD:
            rows = self._read("key, form", "blobs", f"key > {after}", f"ORDER BY key LIMIT {limit}")
        return [(id, form) for id, form in rows] or self._contents.pieces(max(after, OLD), limit)

    def drop_blobs(self, ids: Sequence[int]) -> None:
        """A lost turn may have left some under numbers that were still to be given: whoever does the same again takes others, since
        these are marked later."""
        with self.server.writing():
            self.server.pending.update(self._pieces.drop(ids))
            state = self.server.state
            self.server.state = msgspec.structs.replace(state, blob=max(state.blob, highest(ids)), swept=state.swept + 1)
            mark(self.server)
        self._folder.forget()

    def keys_after(self, place: tuple[int, int, str], limit: int) -> list[tuple[int, int, str]]:
        rows = self._read("key, moment, id", "keys", f"(key, moment, id) > {literal(place)}", f"ORDER BY key, moment, id LIMIT {limit}")
        return [(key, at, ref) for key, at, ref in rows]

    def shrink(self) -> None:
        self.search.sweep()
        self.mesh().clear()
        wipe(self.server)
        self._contents.wipe()

    def write_anew(self) -> None:
        """Taking out is writing anew here; what waits for that is waited for."""
        self.search.sweep(wait=True)

    def sql(self, query: str, bounds: Bounds, further: Further | None = None, projects: frozenset[str] | None = None) -> Rows:
        refuse_projects(projects)
        return ask_directly(self.server, query, bounds)

    def mesh(self) -> ClickHouseMesh:
        """The rows behind the mesh's views, to be brought up."""
        return ClickHouseMesh(self.server)

    def _chosen(self, table: str, clauses: str, order: str, limited: str) -> list[Entity]:
        """Which ones is asked of the narrow columns alone; only theirs are read whole."""
        where = f" AND {clauses}" if clauses else ""
        chosen = f"SELECT id FROM {self.server.table} FINAL WHERE space = {literal(table)}{where} {limited}"
        rows = self._read("doc", table, f"key = 0 AND moment = 0 AND id IN ({chosen})", order, wide=True)
        return [_decoders[table].decode(doc) for (doc,) in rows]

    def _fitting(self, table: str, ids: str, clauses: Sequence[str], order: str) -> list[Entity]:
        """Of rows with these ids those that fit, as they are now."""
        return [_decoders[table].decode(doc) for doc in self._docs_of(table, ids, clauses, order)]

    def _docs_of(self, table: str, ids: str, clauses: Sequence[str], order: str) -> list[bytes]:
        where = " AND ".join([f"key = 0 AND moment = 0 AND id IN {ids}", *clauses])
        return [row[0] for row in self._read("doc", table, where, order)]

    def sketches(self, conversation: str) -> Iterator[Sketch]:
        ids = self._led_to("tasks", "conversation", [conversation])
        return map(_sketches.decode, self._docs_of("tasks", ids, [f"{read_from('conversation')} = {literal(conversation)}", written("kind <> 'none'")], written("ORDER BY opened, id")))

    def _led_to(self, table: str, column: str, values: Sequence[str]) -> str:
        """The ids of all rows that say this, or have said so. Where no way goes by it, all rows are asked."""
        way = way_by(table, column)
        which = f"space = {literal(table)} AND {read_from(column)} IN {literal(list(values))}" if way is None else along(table, way, values)
        return f"(SELECT id FROM {self.server.table} WHERE {which})"

    def inside(self) -> list[tuple[str, str]]:
        tasks = f"FROM {self.server.table} FINAL WHERE space = 'tasks' AND key = 0 AND moment = 0"
        roots = f"SELECT id FROM {self.server.table} WHERE {along('tasks', INSIDE)}"
        which = written("kind = 'root' AND parent <> ''")
        found = self.server.read(f"SELECT {written('parent, conversation')} {tasks} AND {which} AND id IN ({roots})")
        if not found:
            return []
        parents = literal(sorted({parent for parent, _ in found}))
        above: dict[str, str] = dict(self.server.read(f"SELECT id, {read_from('conversation')} {tasks} AND {read_from('kind')} <> 'none' AND id IN {parents}"))
        return sorted({(above[parent], conversation) for parent, conversation in found if above.get(parent, conversation) != conversation})

    def among(self, table: str, column: str, values: Sequence[str]) -> list[Entity]:
        if column == "id":
            values = [id for id in values if self._may_hold(table, id)]
        found: list[Entity] = []
        for start in range(0, len(values), CHUNK):
            some = values[start : start + CHUNK]
            ids = literal(some) if column == "id" else self._led_to(table, column, some)
            found += self._fitting(table, ids, [] if column == "id" else [f"{read_from(column)} IN {literal(some)}"], "ORDER BY id")
        return found

    def gather(self, wishes: Sequence[Wish]) -> list[list[Entity]]:
        """Whatever stands at the end of one of the ways, or has one of the ids; which wish it fits is seen here. What a way does not lead to is asked by itself."""
        apart = [wish for wish in wishes if wish.column != "id" and way_by(wish.table, wish.column) is None]
        together = [wish for wish in wishes if wish.values and wish not in apart]
        if len(together) < 2 or sum(len(wish.values) for wish in together) > CHUNK:
            return [self.among(wish.table, wish.column, wish.values) for wish in wishes]
        rows = self._led_together(together)
        return [
            self.among(wish.table, wish.column, wish.values) if wish in apart else
            [row for table, row in rows if table == wish.table and value_of(table, wish.column, row) in wish.values]
            for wish in wishes
        ]  # fmt: skip

    def _led_together(self, wishes: Sequence[Wish]) -> list[tuple[str, Entity]]:
        own = sorted({id for wish in wishes if wish.column == "id" for id in wish.values})
        led = [along(wish.table, way, wish.values) for wish in wishes if wish.column != "id" and (way := way_by(wish.table, wish.column)) is not None]
        which = [f"id IN {literal(own)}"] if own else []
        which += [f"id IN (SELECT id FROM {self.server.table} WHERE {' OR '.join(f'({one})' for one in led)})"] if led else []
        spaces = literal(sorted({wish.table for wish in wishes}))
        rows = self.server.read(
            f"SELECT toString(space), doc FROM {self.server.table} FINAL WHERE space IN {spaces} AND key = 0 AND moment = 0 AND ({' OR '.join(which)}) ORDER BY id"
        )
        return [(table, _decoders[table].decode(doc)) for table, doc in rows]

    def count(self, table: str, where: dict[str, str] | None = None, without: dict[str, str] | None = None) -> int:
        return int(self._read("count()", table, " AND ".join(equal(where or {}, without or {})), wide=True)[0][0])

    def openings(self, conversations: Sequence[str]) -> dict[str, tuple[str, int, int]]:
        columns = written("conversation, argMinIf(title, (opened, id), kind = 'root'), count(), countIf(kind = 'root')")
        if not conversations:
            return {}
        led = f"key = 0 AND moment = 0 AND id IN {self._led_to('tasks', 'conversation', conversations)}"
        own = read_from("conversation")
        rows = self._read(columns, "tasks", f"{led} AND {own} IN {literal(list(conversations))}", f"GROUP BY {own}")
        return {id: (title, tasks, roots) for id, title, tasks, roots in rows}

    def totals(self) -> dict[str, int]:
        held = (self.server.state if self.server.mine else self.server.last()[2]).totals
        return self._all_sums() if held is None else held

    def refs(self, value: str) -> list[Ref]:
        first, last = literal(f"{value}\x00"), literal(f"{value}\x01")
        rows = self._read("id", "refs", f"key = 0 AND moment = 0 AND id >= {first} AND id < {last}", "ORDER BY id")
        return [Ref(*parts) for row in rows if len(parts := row[0].rsplit("\x00", 3)) == 4 and parts[0] == value]

    def ids_like(self, table: str, prefix: str, limit: int) -> list[str]:
        clauses = f"key = 0 AND moment = 0 AND id >= {literal(prefix)} AND id < {literal(prefix + chr(0x7F))}"
        return [row[0] for row in self._read("id", table, clauses, f"ORDER BY id LIMIT {limit}")]

    def unreadable(self, limit: int) -> list[tuple[str, int, str]]:
        rows = self._read(f"id, {read_from('at')}, doc", "unreadable", "", f"ORDER BY {read_from('at')} DESC, id LIMIT {limit}")
        return [(observation, at, reason.decode()) for observation, at, reason in rows]

    def count_unreadable(self) -> int:
        return self.count("unreadable")

    # -- facts --------------------------------------------------------------------------------------------------------

    def fact(self, name: str) -> str | bytes | int | None:
        if name == "raw_bytes":
            return self._raw()
        pending = self.server.pending.get(("facts", 0, 0, name)) if self.server.mine else None
        if pending is not None:
            return None if "gone" in pending else msgspec.msgpack.decode(pending["doc"])
        rows = self._read("doc", "facts", f"key = 0 AND moment = 0 AND id = {literal(name)}")
        return msgspec.msgpack.decode(rows[0][0]) if rows else None

    def facts(self, prefix: str) -> dict[str, str | bytes | int]:
        rows = self._read("id, doc", "facts", f"startsWith(id, {literal(prefix)})" if prefix else "")
        found = {name: msgspec.msgpack.decode(value) for name, value in rows}
        for (space, _, _, fact), values in self.server.pending.items() if self.server.mine else ():
            if space == "facts" and fact.startswith(prefix):
                found.pop(fact, None)
                if "doc" in values:
                    found[fact] = msgspec.msgpack.decode(values["doc"])
        return found

    def set_fact(self, name: str, value: str | bytes | int) -> None:
        self.set_facts({name: value})

    def set_facts(self, facts: Mapping[str, str | bytes | int]) -> None:
        with self.server.writing():
            for name, value in facts.items():
                if name == "raw_bytes":
                    self.server.state = msgspec.structs.replace(self.server.state, raw=int(value))
                else:
                    self.server.pending["facts", 0, 0, name] = {"doc": msgspec.msgpack.encode(value)}

    def drop_facts(self, names: Sequence[str]) -> None:
        with self.server.writing():
            self.server.pending.update({("facts", 0, 0, name): GONE for name in names})

    # -- other writers, and the server ---------------------------------------------------------------------------------

    def sign(self, name: str) -> None:
        self.server.name = name

    def follow(self, tell: News) -> Callable[[], None]:
        return self.server.follow(tell)

    def check(self) -> str:
        return "; ".join(troubles(self.server)) or "ok"

    def about(self) -> About:
        return about(self.server, SCHEMA)

    def _raw(self) -> int:
        return self.server.state.raw if self.server.mine else self.server.last()[2].raw

    def size(self) -> dict[str, int]:
        parts = f"cluster({literal(self.server.cluster)}, system.parts)" if self.server.cluster else "system.parts"
        query = f"SELECT sum(bytes_on_disk) FROM {parts} WHERE active AND database = {literal(self.server.database)}"
        return {"bytes": int(self.server.read(query)[0][0] or 0), "raw_bytes": self._raw()}

    def in_use(self) -> int:
        """What was replaced is merged away by the server."""
        return self.size()["bytes"]

    def close(self) -> None:
        self.server.close()


def newest_of(stretch: list[Row], size: int) -> list[Row]:
    """Of a stretch that goes back in time: as far as the newest entries of so many rows. Each of them stands no further back than that."""
    known: set[str] = set()
    for place, (id, _, _) in enumerate(stretch):
        if id not in known and len(known) == size:
            return stretch[:place]
        known.add(id)
    return stretch


def counting(entries: Mapping[Place, Values], places: Iterable[Place]) -> Iterator[tuple[str, Values]]:
    """Those of the rows that are there, with their tables."""
    return ((place[0], row) for place in places if (row := entries.get(place)) is not None and "gone" not in row)


def equal(where: dict[str, str], without: dict[str, str]) -> list[str]:
    return [
        *(f"{read_from(column)} = {literal(value)}" for column, value in where.items()),
        *(f"{read_from(column)} <> {literal(value)}" for column, value in without.items()),
    ]

