"""Two engines, one shape: what SQLite's steps have added up to, PostgreSQL has from the start."""

import re

from ramify.storage import postgres_schema
from ramify.storage.columns import COLUMNS
from ramify.storage.sqlite import open_sqlite


def test_every_column_has_the_same_kind() -> None:
    store = open_sqlite("memory:")
    kinds = {"INTEGER": "bigint", "TEXT": "text", "BLOB": "bytea", "REAL": "float8"}
    for table, columns in COLUMNS.items():
        found = {row[1]: kinds[row[2]] for row in store._read(f"PRAGMA table_info({table})")}
        assert {name: postgres_schema.kind_of(name) for name in columns} == {name: found[name] for name in columns}, table


def test_every_index_is_there() -> None:
    store = open_sqlite("memory:")
    rows = store._read("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    ours = {re.sub(r"\s+", " ", sql).strip() for name, sql in rows if name.split("_")[0] in COLUMNS}
    folded = {re.sub(r"(\w+) COLLATE NOCASE", r'lower(\1 COLLATE "C")', sql) for sql in ours}
    assert folded == set(postgres_schema.INDEXES)
