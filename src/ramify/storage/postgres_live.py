"""How much of PostgreSQL's files is in use: room of deleted rows stays in them, and is taken by new ones.

A server says that only by an extension, which needs a superuser. So what the rows take is added up, as they would stand if their tables were
written anew. Indexes are taken to be as full as their table.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ramify.storage.postgres_names import quoted

PAGE, USABLE = 8192, 8168
HEAD = 28  # of a row: what the server notes about it, and where on its page it is
SMALL = 64 * 2**10  # a table of a few pages is as large as it is
MOST_INLINE = 2032 - HEAD  # a larger row leaves its long values to a table beside
CHUNKS = PAGE / (4 * 1996)  # of these: four pieces on a page
POINTER = 60  # what is left of such a row
Read = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
TABLES = """
    SELECT c.relname, pg_relation_size(c.oid) + coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0), pg_total_relation_size(c.oid), array_agg(a.attname::text)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND attnum > 0 AND NOT attisdropped
    WHERE n.nspname = %s AND c.relkind = 'r' GROUP BY c.oid, c.relname
"""


def in_use(read: Read, schema: str) -> int:
    return round(sum(_in_use(read, f"{quoted(schema)}.{quoted(table)}", *rest) for table, *rest in read(TABLES, (schema,))))


def _in_use(read: Read, table: str, data: int, total: int, columns: Sequence[str]) -> float:
    if data <= SMALL:
        return total
    row = " + ".join(f"coalesce(pg_column_size({quoted(column)}), 0)" for column in columns)
    query = f"SELECT size > {MOST_INLINE}, count(*), sum(size) FROM (SELECT {row} AS size FROM {table}) AS rows GROUP BY 1"
    return total * min(1.0, sum(_packed(*some) for some in read(query, ())) / data)


def _packed(large: bool, count: int, size: int) -> float:
    """Rows that are of one size, as far as their average goes."""
    if large:
        return float(size) * CHUNKS + _packed(False, count, count * POINTER)
    return PAGE * count / max(1, USABLE // (HEAD + float(size) / count))
