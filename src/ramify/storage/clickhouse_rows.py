"""How derived rows stand among ClickHouse's entries, and back."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from ramify.storage.base import Changes
from ramify.storage.clickhouse_packing import named
from ramify.storage.clickhouse_ways import Place, Values, ways_of
from ramify.storage.columns import COLUMNS, columns_of

Row = tuple[Any, ...]
GONE: Values = {"gone": 1}
PLAIN = {"keys": ["key", "at", "ref"], "refs": ["value", "kind", "entity", "id"], "unreadable": ["observation", "at", "reason"]}
_encoder = msgspec.msgpack.Encoder()


def entries_of(changes: Changes, unreadable: set[str]) -> Iterator[tuple[Place, Values]]:
    """Of an observation that could not be read the first reason stays."""
    for (table, id), row in changes.rows.items():
        if row is None:
            yield (table, 0, 0, id), GONE
            continue
        values = dict(zip(COLUMNS[table], columns_of(row), strict=False))
        yield from ways_of(table, id, values)
        yield (table, 0, 0, id), values | {"doc": _encoder.encode(row)}
    for (key, at, ref), there in changes.keys.items():
        yield ("keys", key, at, ref), {} if there else GONE
    for one in changes.refs:
        yield place_of("refs", (one.value, one.kind, one.entity, one.id)), {}
    for id, at, reason in changes.unreadable:
        if id not in unreadable:
            unreadable.add(id)
            yield ("unreadable", 0, 0, id), {"at": at, "doc": reason.encode()}


def place_of(table: str, row: Sequence[Any]) -> Place:
    if table == "keys":
        return ("keys", row[0], row[1], row[2])
    return (table, 0, 0, "\x00".join(row) if table == "refs" else row[0])


def values_of(table: str, names: Sequence[str], row: Sequence[Any]) -> Values:
    if table in COLUMNS:
        return dict(zip(names[1:], row[1:], strict=True))
    return {"at": row[1], "doc": row[2].encode()} if table == "unreadable" else {}


def source(table: str, names: Sequence[str]) -> str:
    """The columns in which a row of these names stands."""
    if table in COLUMNS:
        return named(names)
    return {"keys": "key, moment, id", "refs": "id", "unreadable": named(("id", "at", "doc"))}[table]


def row_of(table: str, names: Sequence[str], found: Row) -> Row:
    if table in COLUMNS:
        return tuple(found)
    if table == "refs":
        found = tuple(found[0].rsplit("\x00", 3))
    elif table == "unreadable":
        found = (*found[:2], found[2].decode())
    row = dict(zip(PLAIN[table], found, strict=True))
    return tuple(row[name] for name in names)


def replaced(table: str, names: Sequence[str], old: Iterable[Row], new: Iterable[Row]) -> Iterator[tuple[Place, Values]]:
    """What must be written so that the new rows stand in place of the old ones. Of the old ones only sums are held."""
    known = {place_of(table, row): _sum(row) for row in old}
    for row in new:
        place = place_of(table, row)
        if known.pop(place, b"") != _sum(row):
            values = values_of(table, names, row)
            yield from ways_of(table, place[3], values)
            yield place, values
    for place in known:
        yield place, GONE


def _sum(row: Row) -> bytes:
    return blake2b(repr(tuple(row)).encode(), digest_size=16).digest()
