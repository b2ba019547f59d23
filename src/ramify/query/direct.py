"""SQL that a person wrote, answered by the store; and what there is to be asked."""

import time
from typing import Any

from ramify.query.mesh_direct import asks_mesh, bring_up_mesh
from ramify.query.mesh_views import VIEWS as MESH_VIEWS
from ramify.query.read_columns import further
from ramify.storage.base import Bounds, Store
from ramify.storage.views import VIEWS

Answer = dict[str, Any]


def sql(store: Store, query: str, bounds: Bounds) -> Answer:
    """Bytes, which no JSON can hold, are written in hexadecimal."""
    start = time.perf_counter()
    if asks_mesh(query):
        bring_up_mesh(store)
    found = store.sql(query, bounds, further(store))
    rows = [[value.hex() if isinstance(value, bytes) else value for value in row] for row in found.rows]
    return {"columns": list(found.columns), "rows": rows, "more": found.more, "ms": round((time.perf_counter() - start) * 1000, 3)}


def views(store: Store) -> dict[str, list[str]]:
    """Every view with its columns."""
    return {name: sql(store, f"SELECT * FROM {name} LIMIT 0", Bounds())["columns"] for name in (*VIEWS, *MESH_VIEWS)}
