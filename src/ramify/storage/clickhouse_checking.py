"""What ClickHouse itself says is wrong with a store. Reading every byte, as CHECK TABLE does, is for its own people."""

from collections.abc import Iterator

from ramify.storage.clickhouse_schema import literal
from ramify.storage.clickhouse_server import ClickHouseServer

LITTLE = 500 * 2**20


def troubles(server: ClickHouseServer) -> Iterator[str]:
    own = f"database = {literal(server.database)}"
    for part, reason in server.read(f"SELECT name, reason FROM system.detached_parts WHERE {own} AND startsWith(reason, 'broken') LIMIT 3"):
        yield f"the part {part} is put aside as {reason}"
    for command, reason in server.read(f"SELECT command, latest_fail_reason FROM system.mutations WHERE {own} AND NOT is_done AND latest_fail_reason <> '' LIMIT 3"):
        yield f"it cannot delete ({command[:60]}): {reason[:120]}"
    for table, delay in server.read(f"SELECT table, absolute_delay FROM system.replicas WHERE {own} AND is_readonly"):
        yield f"the replica of {table} takes nothing, {delay} s behind"
    for disk, free in server.read(f"SELECT name, free_space FROM system.disks WHERE free_space < {LITTLE} AND total_space > 0"):
        yield f"the server's disk {disk} has {free / 2**20:.0f} MiB left"
    server.read(f"SELECT count() FROM {server.table} WHERE space = 'turns'")
