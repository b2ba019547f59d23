"""Tables by their full names. A pooler may give each question another session, so that none of ours can rest on a search path."""

import re
from functools import lru_cache

from ramify.storage.columns import COLUMNS

TABLES = (*COLUMNS, "keys", "refs", "unreadable", "facts", "texts", "observations", "contents", "blobs", "digests", "writes", "schema_steps")
NAMED = re.compile(rf"\b(FROM|JOIN|INTO|UPDATE|TRUNCATE|COPY|TABLE)\s+({'|'.join(TABLES)})\b")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@lru_cache(1024)
def in_schema(schema: str, query: str) -> str:
    """Our own queries, which write their words in capitals; a table that is named before a column keeps its short name."""
    place = quoted(schema).replace("%", "%%") if "%s" in query else quoted(schema)
    return NAMED.sub(lambda found: f"{found[1]} {place}.{found[2]}", query)
