"""ClickHouse's tables. Everything of a store stands in one, because one insert into one table is all or nothing there."""

from typing import Any, NamedTuple

from ramify.storage.columns import COLUMNS, NUMBERS, OPTIONAL

WINDOW = 10_000
"""So many of the last inserts are remembered by their number, which nobody can use a second time."""
KEY = ("space", "key", "moment", "id")
FIXED = {
    "space": "LowCardinality(String)", "key": "Int64", "moment": "Int64", "id": "String", "version": "UInt64", "gone": "UInt8",
    "form": "UInt8", "digest": "String", "doc": "String", "payload": "String", "words": "String",
}  # fmt: skip
CODECS = {"doc": " CODEC(ZSTD(1))", "payload": " CODEC(NONE)", "words": " CODEC(ZSTD(1))"}  # payloads are packed already
SETTINGS = {
    "index_granularity": 256, "fsync_after_insert": 1, "fsync_part_directory": 1, "non_replicated_deduplication_window": WINDOW,
}  # fmt: skip
PROJECTIONS = (*COLUMNS, "keys", "refs", "unreadable")


def columns() -> dict[str, str]:
    asked = sorted({name for names in COLUMNS.values() for name in names})
    return {**FIXED, **{column: kind_of(column) for column in asked}}


def kind_of(column: str) -> str:
    kind = "Float64" if column == "certainty" else "Int64" if column in NUMBERS else "String"
    return f"Nullable({kind})" if column in OPTIONAL else kind


TYPES = columns()
EMPTY: dict[str, Any] = {
    name: None if "Nullable" in kind else 0 if "Int" in kind else b"" if name in ("digest", "doc", "payload") else ""
    for name, kind in TYPES.items()
}


def name(text: str) -> str:
    return "`" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"


def literal(value: Any) -> str:
    """Numbers, texts, and lists of them, as SQL writes them."""
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\x00", "\\0") + "'"
    return f"({', '.join(map(literal, value))})"


class Shape(NamedTuple):
    """A table: its columns, what it is ordered by, which version replaces the others of the same place, how it is parted."""

    name: str
    columns: dict[str, str]
    order: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    parted: str = ""
    more: str = ""


ENTRIES = Shape("entries", TYPES, KEY, ("version", "gone"), more=", INDEX words words TYPE text(tokenizer = splitByString([' ']))")


def statements(database: str, cluster: str = "") -> list[str]:
    on = f" ON CLUSTER {name(cluster)}" if cluster else ""
    return [f"CREATE DATABASE IF NOT EXISTS {name(database)}{on}", *table(database, ENTRIES, cluster)]


def table(database: str, shape: Shape, cluster: str) -> list[str]:
    """On a cluster a store stands whole on one shard, which its name chooses, and is copied among that shard's replicas."""
    if not cluster:
        return [made(database, shape, shape.name, f"ReplacingMergeTree({', '.join(shape.replaced)})", SETTINGS)]
    on = f" ON CLUSTER {name(cluster)}"
    settings = {key: value for key, value in SETTINGS.items() if not key.startswith("non_")} | {"replicated_deduplication_window": WINDOW}
    path = literal(f"/clickhouse/tables/{{shard}}/{database}/{shape.name}")
    engine = f"ReplicatedReplacingMergeTree({', '.join((path, literal('{replica}'), *shape.replaced))})"
    own = f"{shape.name}_local"
    place = f"Distributed({literal(cluster)}, {literal(database)}, {literal(own)}, cityHash64({literal(database)}))"
    return [
        made(database, shape, f"{own}{on}", engine, settings),
        f"CREATE TABLE IF NOT EXISTS {name(database)}.{shape.name}{on} AS {name(database)}.{own} ENGINE = {place}",
    ]


def made(database: str, shape: Shape, called: str, engine: str, settings: dict[str, int]) -> str:
    typed = ", ".join(f"{name(column)} {kind}{CODECS.get(column, '')}" for column, kind in shape.columns.items())
    kept = ", ".join(f"{key} = {value}" for key, value in settings.items())
    parted = f" PARTITION BY {shape.parted}" if shape.parted else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {name(database)}.{called} ({typed}{shape.more}) "
        f"ENGINE = {engine}{parted} ORDER BY ({', '.join(shape.order)}) SETTINGS {kept}"
    )
