"""SQL that a person wrote, answered by the store; and what there is to be asked."""

import time
from typing import Any

from ramify.query.mesh_direct import asks_mesh, mesh_connection
from ramify.storage.base import Bounds, Store
from ramify.storage.direct import ask_directly

Answer = dict[str, Any]


def sql(store: Store, query: str, bounds: Bounds) -> Answer:
    """Bytes, which no JSON can hold, are written in hexadecimal."""
    start = time.perf_counter()
    found = ask_directly(mesh_connection(store), query, bounds) if asks_mesh(query) else store.sql(query, bounds)
    rows = [[value.hex() if isinstance(value, bytes) else value for value in row] for row in found.rows]
    return {"columns": list(found.columns), "rows": rows, "more": found.more, "ms": round((time.perf_counter() - start) * 1000, 3)}


def views(store: Store) -> dict[str, list[str]]:
    """Every view with its columns."""
    names = [str(name) for (name,) in store.sql("SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name", Bounds()).rows]
    return {name: list(store.sql(f"SELECT * FROM {name} LIMIT 0", Bounds()).columns) for name in names}
