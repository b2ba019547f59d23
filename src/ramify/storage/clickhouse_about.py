"""How a ClickHouse server stands, as far as it shows that to this user: parts, merges, deletions that wait, and the nodes of a cluster."""

from clickhouse_connect.driver.exceptions import DatabaseError

from ramify.storage.base import About
from ramify.storage.clickhouse_schema import literal
from ramify.storage.clickhouse_server import ClickHouseServer, Row

DENIED = "ACCESS_DENIED"


def about(server: ClickHouseServer, schema: int) -> About:
    own = f"database = {literal(server.database)}"
    partition = "GROUP BY hostName(), tcpPort(), table, partition"
    parts, most = shown(server, f"SELECT sum(n), max(n) FROM (SELECT count() AS n FROM {every(server, 'parts')} WHERE active AND {own} {partition})", 2)
    [merges] = shown(server, f"SELECT count() FROM {every(server, 'merges')} WHERE {own}", 1)
    [mutations] = shown(server, f"SELECT count() FROM {every(server, 'mutations')} WHERE {own} AND NOT is_done", 1)
    shards = replicas = answering = None
    if server.cluster:
        shards, replicas = shown(server, f"SELECT uniqExact(shard_num), count() FROM system.clusters WHERE cluster = {literal(server.cluster)}", 2)
        [answering] = shown(server, f"SELECT count() FROM {every(server, 'one')}", 1)
    [(version,)] = server.read("SELECT version()")
    return About(
        engine="ClickHouse", version=version, schema=schema, parts=parts, most_parts=most, merges=merges, mutations=mutations,
        shards=shards, replicas=replicas, answering=answering,
    )  # fmt: skip


def every(server: ClickHouseServer, table: str) -> str:
    """Of every node that answers."""
    return f"clusterAllReplicas({literal(server.cluster)}, system.{table})" if server.cluster else f"system.{table}"


def shown(server: ClickHouseServer, query: str, width: int) -> Row:
    """Nothing, where this user may not look."""
    try:
        return server.read(f"{query} SETTINGS skip_unavailable_shards = 1")[0]
    except DatabaseError as problem:
        if DENIED not in str(problem):
            raise
        return (None,) * width
