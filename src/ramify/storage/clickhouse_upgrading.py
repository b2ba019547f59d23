"""From the table of earlier versions, in which every column of every row stood for itself, to the one that packs them.

The old table is taken out of everybody's hands by another name first, so that an older server that still runs stores nothing that would be lost. What is copied twice is there
once, and the facts come last: where the new table knows its schema, all of it has arrived. A copy that was cut is begun again by whoever opens the store next.
"""

from collections.abc import Container, Iterator

from ramify.storage.clickhouse_packing import APART, LOG, NONE, order
from ramify.storage.clickhouse_schema import BEFORE, ENTRIES, KEY, literal, name, spread_over, table
from ramify.storage.clickhouse_server import ClickHouseServer
from ramify.storage.clickhouse_ways import WAYS
from ramify.storage.columns import COLUMNS, OPTIONAL

EARLY = {"form": "UInt8", "payload": "String"}
"""Columns of the first layout of all, in which contents stood among the entries; where there are any, they stay."""
PLAIN = (*KEY, "version", "gone", "place", "digest", "doc", *APART, *EARLY)
COPYING = {"insert_deduplicate": 0, "max_partitions_per_insert_block": 0}


def upgrade(server: ClickHouseServer) -> None:
    local = "_local" if server.cluster else ""
    there = columns_of(server)
    if not is_packed(there.get(f"{ENTRIES.name}{local}", ("texts",))):
        server.command(f"RENAME TABLE {of(server, ENTRIES.name, local)} TO {of(server, BEFORE, local)}{server.on}")
    elif f"{BEFORE}{local}" not in there:
        return
    if server.cluster and not is_packed(there.get(ENTRIES.name, ("texts",))):  # it holds nothing, and knows only the columns of before
        server.command(f"DROP TABLE IF EXISTS {of(server, ENTRIES.name)}{server.on} SYNC")
    made = table(server.database, ENTRIES, server.cluster)
    made += [spread_over(server.database, ENTRIES, server.cluster, BEFORE)] if server.cluster else []
    for statement in made:
        server.command(statement)
    if not server.read(f"SELECT 1 FROM {server.table} WHERE space = 'facts' AND id = 'schema' LIMIT 1"):
        take_over(server, columns_of(server)[f"{BEFORE}{local}"])
    for gone in dict.fromkeys((of(server, BEFORE), of(server, BEFORE, local))):
        server.command(f"DROP TABLE IF EXISTS {gone}{server.on} SYNC")


def take_over(server: ClickHouseServer, present: Container[str]) -> None:
    for column in [column for column in EARLY if column in present]:
        for one in dict.fromkeys((server.own, server.table)):
            server.command(f"ALTER TABLE {one}{server.on} ADD COLUMN IF NOT EXISTS {column} {EARLY[column]}")
    for statement in copying(of(server, BEFORE), server.table, present):
        server.command(statement, COPYING)


def columns_of(server: ClickHouseServer) -> dict[str, list[str]]:
    return dict(server.read(f"SELECT table, groupArray(name) FROM system.columns WHERE database = {literal(server.database)} GROUP BY table"))


def is_packed(columns: Container[str]) -> bool:
    return "texts" in columns


def of(server: ClickHouseServer, what: str, local: str = "") -> str:
    return f"{name(server.database)}.{what}{local}"


def copying(old: str, new: str, present: Container[str]) -> Iterator[str]:
    plain = [column for column in PLAIN if column in present]
    packing = {space: order(space) for space in (*COLUMNS, *LOG)}
    packing |= {f"{table}/{way.name}": order(f"{table}/{way.name}", way.carried) for table, ways in WAYS.items() for way in ways if way.carried}
    rest = f"space NOT IN {literal([*packing, 'facts'])}"
    for which, (texts, numbers) in [(f"space = {literal(space)}", columns) for space, columns in packing.items()] + [(rest, ((), ())), ("space = 'facts'", ((), ()))]:
        lists = f"[{', '.join(text(one, present) for one in texts)}]::Array(String), [{', '.join(number(one, present) for one in numbers)}]::Array(Int64)"
        yield f"INSERT INTO {new} ({', '.join(plain)}, texts, numbers) SELECT {', '.join(plain)}, {lists} FROM {old} FINAL WHERE {which}"


def text(column: str, present: Container[str]) -> str:
    return name(column) if column in present else "''"


def number(column: str, present: Container[str]) -> str:
    if column not in present:
        return str(NONE) if column in OPTIONAL else "0"
    value = f"reinterpretAsInt64({name(column)})" if column == "certainty" else name(column)
    return f"ifNull({value}, {NONE})" if column in OPTIONAL else value
