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


def test_conversations_inside_others_are_found_without_looking_at_all_roots() -> None:
    store = open_sqlite("memory:")
    asked: list[str] = []
    store._file.writer.set_trace_callback(asked.append)
    store.inside()
    store._file.writer.set_trace_callback(None)
    assert any("tasks_inside" in row[3] for row in store._read(f"EXPLAIN QUERY PLAN {asked[-1]}"))


def test_views_lead_from_a_task_to_its_children_and_its_tool_calls() -> None:
    store = open_sqlite("memory:")
    children = store._read("EXPLAIN QUERY PLAN SELECT c.id FROM ramify_conversations v CROSS JOIN ramify_tasks c ON c.parent = v.id")
    assert any("SEARCH" in row[3] and "INDEX children" in row[3] for row in children)
    tools = " ".join(row[3] for row in store._read("EXPLAIN QUERY PLAN SELECT name FROM ramify_tool_calls WHERE task = 'x'"))
    assert "tools_task (task=?)" in tools
    assert "calls_task (task=?)" in tools
