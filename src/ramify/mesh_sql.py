"""Keeps the tables in which an engine has the messages of a mesh written out up with its log; each ask adds what is new."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from ramify.model.entity import Task, ToolCall
from ramify.model.observation import Record
from ramify.protocols.sam.decode import FORMAT
from ramify.protocols.sam.tabular import row_of
from ramify.storage.base import Store

BATCH = 200

Row = tuple[Any, ...]


class Tables(Protocol):
    """Where the rows stand, by engine."""

    @property
    def seq(self) -> int: ...
    def add_messages(self, rows: Sequence[Row], seq: int) -> None: ...
    def put_rows(self, tasks: Iterable[Row], tools: Iterable[Row]) -> None: ...


def bring_up(store: Store, tables: Tables) -> None:
    """What came since the last time. Rows follow links, so they are read anew."""
    batch: list[Row] = []
    known = seq = tables.seq
    for seq, seen in store.observations(known):
        row = row_of(seen) if isinstance(seen, Record) and seen.format == FORMAT else None
        if row is not None:
            batch.append(row)
        if len(batch) >= BATCH:
            tables.add_messages(batch, seq)
            batch = []
    tables.add_messages(batch, seq)
    tasks = {row.id: row for row in store.docs("tasks") if isinstance(row, Task) and row.protocol == FORMAT}
    tables.put_rows(task_rows(tasks), tool_rows(store, tasks))


def native(task: Task | None) -> str | None:
    refs = task.refs if task is not None else ()
    return next((ref.value for ref in refs if ref.kind == "task"), None)


def task_rows(tasks: dict[str, Task]) -> Iterator[Row]:
    for task in tasks.values():
        yield (
            native(task), native(tasks.get(task.parent)), native(root_of(task, tasks)), task.native.get("context_id"),
            task.native.get("user_id"), task.agent or None, task.prompt or None, task.native.get("final_text"), task.status,
            task.opened, task.closed or None, task.calls, task.usage.input, task.usage.output,
        )  # fmt: skip


def root_of(task: Task, tasks: dict[str, Task]) -> Task:
    passed: set[str] = set()
    while task.parent in tasks and task.id not in passed:
        passed.add(task.id)
        task = tasks[task.parent]
    return task


def tool_rows(store: Store, tasks: dict[str, Task]) -> Iterator[Row]:
    for row in store.docs("tools"):
        if isinstance(row, ToolCall) and row.protocol == FORMAT and row.task in tasks:
            child = tasks.get(row.children[0]) if row.children else None
            yield (
                row.id, row.native, row.occurrence, native(tasks[row.task]), row.name, row.phases[-1], row.status,
                row.args.decode() or None, row.result.decode() or None, row.agent_name or None, row.opened, row.begun or None,
                row.closed or None, native(child),
            )  # fmt: skip
