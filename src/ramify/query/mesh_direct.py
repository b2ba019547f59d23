"""The connection on which an agent mesh is asked in SQL: a file beside the store, brought up when somebody asks."""

import re
import sqlite3
from urllib.parse import quote

from ramify.mesh_sql import bring_up
from ramify.storage.base import Bounds, Rows, Store
from ramify.storage.direct import ask_directly
from ramify.storage.mesh_tables import ENDING, VIEWS, MeshTables

ASKED = re.compile(rf"\b(?:{'|'.join(VIEWS)})\b", re.IGNORECASE)


def asks_mesh(query: str) -> bool:
    return ASKED.search(query) is not None


def ask_mesh(store: Store, query: str, bounds: Bounds) -> Rows:
    """Where the engine has the views itself, only their rows are brought up."""
    if not hasattr(store, "mesh"):
        return ask_directly(mesh_connection(store), query, bounds, own=True)
    tables = store.mesh()
    try:
        bring_up(store, tables)
    finally:
        tables.close()
    return store.sql(query, bounds)


def mesh_file(store: Store) -> str:
    """Where the tables stand; what came since the last time is added to them. Empty: a store in memory has no file."""
    tables = tables_of(store)
    tables.close()
    return f"{store.path}{ENDING}" if store.path else ""


def mesh_connection(store: Store) -> sqlite3.Connection:
    """Up to now, and read-only where it is a file; whoever asks closes it."""
    tables = tables_of(store)
    if not store.path:
        return tables.connection
    tables.close()
    place = f"file:{quote(store.path + ENDING)}?mode=ro"
    return sqlite3.connect(place, uri=True, timeout=5, isolation_level=None)


def tables_of(store: Store) -> MeshTables:
    identity = store.fact("identity")
    tables = MeshTables(f"{store.path}{ENDING}" if store.path else "", int(identity) if identity is not None else 0)
    bring_up(store, tables)
    return tables


def mesh_views() -> dict[str, list[str]]:
    """Known without any message."""
    tables = MeshTables("", 0)
    try:
        return {name: [column[0] for column in tables.connection.execute(f"SELECT * FROM {name}").description] for name in VIEWS}
    finally:
        tables.close()
