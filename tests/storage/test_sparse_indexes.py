"""Indexes that leave empty values out are of no use unless a query says that it wants none of them."""

import pytest

from ramify.storage.columns import SPARSE
from ramify.storage.sqlite import open_sqlite


@pytest.mark.parametrize(("table", "column"), sorted(SPARSE))
def test_rows_of_a_sparse_column_are_found_by_its_index(table: str, column: str) -> None:
    store = open_sqlite("memory:")
    asked: list[str] = []
    store._file.writer.set_trace_callback(asked.append)
    store.among(table, column, ["a", "b"])
    store._file.writer.set_trace_callback(None)
    plan = store._read(f"EXPLAIN QUERY PLAN {asked[-1]}")
    assert [row[3] for row in plan if not row[3].startswith("SEARCH")] == []
