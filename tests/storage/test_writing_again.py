"""A row that is written again touches few indexes, and says the same as one that is written for the first time."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ramify.ingest import Ingest
from ramify.model.entity import Call, Entity, Message, Task, ToolCall
from ramify.naming import refs_of
from ramify.storage.base import Ask, Changes
from ramify.storage.columns import COLUMNS, STEADY, columns_of
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.story import exchanges

FIRST: dict[str, Entity] = {
    "calls": Call("call_1", "seen_1", project="p", conversation="conv_1", task="task_1", line="task_1", started=5, model="m"),
    "tools": ToolCall("tool_1", "native", "p", name="look", task="task_1", opened=3, observation="seen_1", protocol="otel"),
    "tasks": Task("task_1", "p", conversation="conv_1", opened=2, agent="a", kind="root", protocol="otel"),
    "messages": Message("msg_1", "p", "task_1", 7, 0, "seen_1", "otel", protocol="otel", role="user", blocks=b"[]"),
}
MOVED: dict[str, dict[str, Any]] = {
    "calls": {"task": "task_2", "line": "task_2"}, "tools": {"task": "task_2"}, "tasks": {"title": "other"}, "messages": {"line": "task_2"},
}  # fmt: skip
TURNED: dict[str, dict[str, Any]] = {
    "calls": {"conversation": "conv_2", "model": "n"}, "tools": {"name": "listen"}, "tasks": {"parent": "task_0", "kind": "sub"}, "messages": {"at": 8},
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path}/store.db"


def put(store: Sqlite, table: str, row: Entity) -> None:
    store.append((), Changes({(table, row.id): row}))


def written(store: Sqlite, table: str) -> tuple[Any, ...]:
    """What stands in the columns."""
    names = ", ".join(("id", *COLUMNS[table]))
    [row] = store._read(f"SELECT {names} FROM {table}")
    return tuple(row)


def changed(row: Entity, fields: dict[str, Any]) -> Entity:
    return replace(row, **fields)


@pytest.mark.parametrize("table", sorted(STEADY))
def test_every_column_follows_whatever_changes(path: str, table: str) -> None:
    store, row = open_sqlite(path), FIRST[table]
    for now in (row, changed(row, MOVED[table]), changed(row, TURNED[table]), changed(row, MOVED[table] | TURNED[table]), row):
        put(store, table, now)
        assert written(store, table) == (now.id, *columns_of(now))
        assert store.load(table, now.id) == now
        assert [found.id for found in store.page(table, Ask(ORDERS[table]))] == [now.id]
    assert store.check() == "ok"


ORDERS = {"calls": "started", "tools": "opened", "tasks": "opened", "messages": "at"}


@pytest.mark.parametrize("table", sorted(STEADY))
def test_what_others_wrote_meanwhile_is_not_missed(path: str, table: str) -> None:
    """What a store remembers of a row is a hint: another process may have written it, or taken it away."""
    one, other, row = open_sqlite(path), open_sqlite(path), FIRST[table]
    put(one, table, row)
    put(other, table, changed(row, TURNED[table]))
    put(one, table, changed(row, MOVED[table]))
    assert written(one, table) == (row.id, *columns_of(changed(row, MOVED[table])))
    other.append((), Changes({(table, row.id): None}))
    put(one, table, row)
    assert written(one, table) == (row.id, *columns_of(row))
    assert one.check() == "ok"


def test_a_write_that_failed_is_not_remembered(path: str) -> None:
    store, row = open_sqlite(path), FIRST["calls"]
    with pytest.raises(RuntimeError), store.exclusive():
        put(store, "calls", row)
        raise RuntimeError
    put(store, "calls", row)
    assert written(store, "calls") == (row.id, *columns_of(row))


@pytest.mark.parametrize("table", sorted(STEADY))
def test_a_row_that_moves_rewrites_only_the_indexes_that_it_moves_in(path: str, table: str) -> None:
    store, row = open_sqlite(path), FIRST[table]
    statements: list[str] = []
    put(store, table, row)
    store._file.writer.set_trace_callback(statements.append)
    put(store, table, changed(row, MOVED[table]))
    [update] = [one for one in statements if one.startswith((f"UPDATE {table}", f"INSERT INTO {table}"))]
    assert update.startswith("UPDATE")
    assert not [name for name in STEADY[table] if f" {name} = " in update.partition(" WHERE ")[0]]


def test_names_are_written_once_and_again_when_they_change(path: str) -> None:
    store, known = open_sqlite(path), dict[tuple[str, str], int]()
    row = FIRST["tools"]
    assert isinstance(row, ToolCall)
    first = refs_of({("tools", row.id): row}, known)
    assert [ref.value for ref in first] == ["native"]
    assert refs_of({("tools", row.id): replace(row, task="task_2")}, known) == []
    assert [ref.value for ref in refs_of({("tools", row.id): replace(row, native="other")}, known)] == ["other"]
    assert refs_of({("tools", row.id): row}) == first
    store.close()


def test_what_is_remembered_of_names_goes_with_all_else_that_is_remembered(path: str) -> None:
    """Names that another process took away come back with their rows."""
    store = open_sqlite(path)
    ingest = Ingest(store)
    seen = [one for story in exchanges("anthropic", "subtask-task") for one in story]
    ingest.step(seen)
    assert ingest.world.named
    ingest.world.forget()
    assert not ingest.world.named
