"""Where an engine keeps the rows behind the mesh's views written out, they are brought up to now before somebody asks."""

import re

from ramify.mesh_sql import bring_up
from ramify.query.mesh_views import VIEWS
from ramify.storage.base import Store

ASKED = re.compile(rf"\b(?:{'|'.join(VIEWS)})\b", re.IGNORECASE)


def asks_mesh(query: str) -> bool:
    return ASKED.search(query) is not None


def bring_up_mesh(store: Store) -> None:
    if not hasattr(store, "mesh"):
        return
    tables = store.mesh()
    try:
        bring_up(store, tables)
    finally:
        tables.close()
