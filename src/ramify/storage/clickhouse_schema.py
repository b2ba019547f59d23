"""ClickHouse's tables. What decides and what is decided stands in one, because one insert into one table is all or nothing
there. What is large and never changes stands in others, which a cluster spreads over its shards."""

from collections.abc import Collection
from typing import Any

from msgspec import Struct

from ramify.storage.clickhouse_packing import APART, read_from
from ramify.storage.columns import COLUMNS

WINDOW = 10_000
"""So many of the last inserts are remembered by their number, which nobody can use a second time."""
KEY = ("space", "key", "moment", "id")
CODECS = {
    "doc": " CODEC(ZSTD(1))", "prompt": " CODEC(ZSTD(1))", "head": " CODEC(ZSTD(1))", "words": " CODEC(ZSTD(1))", "payload": " CODEC(NONE)",
}  # fmt: skip
"""Payloads are packed already."""
SETTINGS: dict[str, int | str] = {
    "index_granularity": 256, "fsync_after_insert": 1, "fsync_part_directory": 1, "non_replicated_deduplication_window": WINDOW, "auto_statistics_types": "''",
}  # fmt: skip
"""The last: nobody asks for statistics, which every insert and merge would make of every column."""
PROJECTIONS = (*COLUMNS, "keys", "refs", "unreadable")


TYPES = {
    "space": "LowCardinality(String)", "key": "Int64", "moment": "Int64", "id": "String", "version": "UInt64", "gone": "UInt8",
    "place": "Int64", "digest": "String", "doc": "String", **dict.fromkeys(APART, "String"), "texts": "Array(String)", "numbers": "Array(Int64)",
}  # fmt: skip
EMPTY: dict[str, Any] = {"gone": 0, "place": 0, "digest": b"", "doc": b"", **dict.fromkeys(APART, ""), "texts": (), "numbers": ()}


def name(text: str) -> str:
    return "`" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"


def literal(value: Any) -> str:
    """Numbers, texts, and lists of them, as SQL writes them."""
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\x00", "\\0") + "'"
    return f"({', '.join(map(literal, value))})"


class Shape(Struct, frozen=True):
    """A table: its columns, what it is ordered by, which version replaces the others of the same place, how it is parted.

    `spread` says by what its rows are spread over the shards of a cluster; without it all of them stand on one, which the
    store's name chooses. Those of the entries do so too, but whoever asks for a space learns from it that only one shard need be
    asked. `expires` says what the engine takes away by itself."""

    name: str
    columns: dict[str, str]
    order: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    parted: str = ""
    indexes: dict[str, str] = {}
    spread: str = ""
    expires: str = ""
    settings: dict[str, int] = {}
    filled: tuple[str, ...] = ()  # columns that a batch brings
    path: str = ""  # of its copies, where there was another table of this name


DAY_BITS, NEAR_BITS, NUMBER_BITS = 16, 15, 32
"""Of the number of a content: the day on which it was seen, what stands together, and a number of its own."""
NAMED = {
    "named": f"({', '.join(dict.fromkeys(f'lower({read_from(one)})' for one in ('model', 'name', 'project')))}, {read_from('status')}) TYPE set(512) GRANULARITY 16",
    "agents": f"lower({read_from('agent')}) TYPE set(256) GRANULARITY 16",
}
"""Which of these words there are in every few thousand entries: one that is seldom or nowhere is looked for where it is. Those of agents stand apart,
because calls have an id of their own there."""
LARGEST = {"max_bytes_to_merge_at_max_space_in_pool": 4 << 30}
"""Parts of this size are left as they are, so that an entry is merged a few times and not more often the more there are."""
PLACES = "({0}) TYPE bloom_filter(0.01) GRANULARITY 1"
"""Whether a part can hold these at all: they are hashes, so that each part, by what it is sorted by, might hold any of them."""
INDEXES = {"version": "version TYPE minmax GRANULARITY 16", "places": PLACES.format("key, id"), **NAMED}
ENTRIES = Shape(
    "entries", TYPES, KEY, ("version", "gone"), indexes=INDEXES, spread="cityHash64({store}, space = '')", settings=LARGEST, path="packed",
)  # fmt: skip
CONTENTS = Shape(
    "contents",
    {"id": "Int64", "version": "UInt64", "gone": "UInt8", "marked": "DateTime", "seq": "Int64", "form": "UInt8", "head": "String", "payload": "String"},
    ("id",), ("version", "gone"), parted=f"bitShiftRight(id, {NEAR_BITS + NUMBER_BITS})",
    spread=f"bitAnd(bitShiftRight(id, {NUMBER_BITS}), {(1 << NEAR_BITS) - 1})",
    indexes={"places": PLACES.format("id")}, expires="marked + INTERVAL 1 DAY DELETE WHERE gone = 1", settings={"index_granularity": 64}, filled=("id", "seq", "form", "head", "payload"),
)  # fmt: skip
TEXTS = Shape(
    "texts", {"filling": "UInt32", "key": "Int64", "version": "UInt64", "doc": "String", "words": "String"}, ("filling", "key"), ("version",),
    parted="filling", indexes={"words": "words TYPE text(tokenizer = splitByString([' ']))"}, spread="bitShiftRight(key, 20)",
    filled=("filling", "key", "doc", "words"),
)  # fmt: skip
SHAPES = (ENTRIES, CONTENTS, TEXTS)
BEFORE = f"{ENTRIES.name}_before"
"""What the table of an earlier layout is called while it is taken over."""


def statements(database: str, cluster: str = "", present: Collection[str] = ()) -> list[str]:
    """Without those tables that are there."""
    on = f" ON CLUSTER {name(cluster)}" if cluster else ""
    made = [one for shape in SHAPES if shape.name not in present for one in table(database, shape, cluster)]
    return made if present else [f"CREATE DATABASE IF NOT EXISTS {name(database)}{on}", *made]


def table(database: str, shape: Shape, cluster: str) -> list[str]:
    """On a cluster each shard copies its part among its replicas, and a table over them finds it."""
    if not cluster:
        return [made(database, shape, shape.name, f"ReplacingMergeTree({', '.join(shape.replaced)})", SETTINGS)]
    on = f" ON CLUSTER {name(cluster)}"
    settings = {key: value for key, value in SETTINGS.items() if not key.startswith("non_")} | {"replicated_deduplication_window": WINDOW}
    path = literal(f"/clickhouse/tables/{{shard}}/{database}/{shape.path or shape.name}")
    engine = f"ReplicatedReplacingMergeTree({', '.join((path, literal('{replica}'), *shape.replaced))})"
    return [made(database, shape, f"{shape.name}_local{on}", engine, settings), spread_over(database, shape, cluster, shape.name)]


def spread_over(database: str, shape: Shape, cluster: str, called: str) -> str:
    own = f"{called}_local"
    spread = (shape.spread or "cityHash64({store}, 0)").format(store=literal(database))
    place = f"Distributed({literal(cluster)}, {literal(database)}, {literal(own)}, {spread})"
    return f"CREATE TABLE IF NOT EXISTS {name(database)}.{called} ON CLUSTER {name(cluster)} AS {name(database)}.{own} ENGINE = {place}"


def made(database: str, shape: Shape, called: str, engine: str, settings: dict[str, int | str]) -> str:
    typed = ", ".join(f"{name(column)} {kind}{CODECS.get(column, '')}" for column, kind in shape.columns.items())
    kept = ", ".join(f"{key} = {value}" for key, value in {**settings, **shape.settings}.items())
    indexes = "".join(f", INDEX {one} {what}" for one, what in shape.indexes.items())
    parted = f" PARTITION BY {shape.parted}" if shape.parted else ""
    expires = f" TTL {shape.expires}" if shape.expires else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {name(database)}.{called} ({typed}{indexes}) "
        f"ENGINE = {engine}{parted} ORDER BY ({', '.join(shape.order)}){expires} SETTINGS {kept}"
    )
