"""What was forgotten leaves the disk: a mark says that an entry is gone, and its older versions would stay until a merge.

Each insert that takes something away leaves a mark of its own, in the same insert. From these it is known which entries
have versions that must go; a wipe that was cut is done again by the next one.
"""

from ramify.storage.clickhouse_schema import KEY, literal
from ramify.storage.clickhouse_server import ClickHouseServer
from ramify.storage.clickhouse_ways import SPACES, TABLE

PLACE = ", ".join(KEY)
WAIT = {"mutations_sync": 2, "allow_nondeterministic_mutations": 1}


def mark(server: ClickHouseServer) -> None:
    """In the turn at hand."""
    server.pending["wipes", server.turn, 0, server.name] = {}


def wipe(server: ClickHouseServer) -> None:
    """First what was overwritten, then what leads to rows that are gone, then what overwrote them: the other way round it would be
    back for a moment."""
    last = int(server.read(f"SELECT max(version) FROM {server.table} WHERE space = 'wipes'")[0][0] or 0)
    if not last:
        return
    marked = f"version IN (SELECT version FROM {server.own} WHERE space = 'wipes' AND version <= {last})"
    newest = f"SELECT {PLACE}, max(version) AS newest FROM {server.own} WHERE {marked} GROUP BY {PLACE}"
    older = f"SELECT {PLACE}, version FROM {server.own} JOIN ({newest}) AS written USING ({PLACE}) WHERE version < newest"
    server.command(f"ALTER TABLE {server.own}{server.on} DELETE WHERE ({PLACE}, version) IN ({older})", WAIT)
    gone = f"SELECT toString(space), id FROM {server.own} WHERE gone = 1 AND version <= {last} AND {marked}"
    there = f"SELECT toString(space), id FROM {server.own} WHERE gone = 0 AND (toString(space), id) IN ({gone})"
    led = f"space IN {literal(SPACES)} AND ({TABLE}, id) IN ({gone}) AND ({TABLE}, id) NOT IN ({there})"
    server.command(f"ALTER TABLE {server.own}{server.on} DELETE WHERE {led}", WAIT)
    server.command(f"ALTER TABLE {server.own}{server.on} DELETE WHERE (gone = 1 OR space = 'wipes') AND version <= {last} AND {marked}", WAIT)
