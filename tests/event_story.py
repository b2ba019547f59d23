"""Cases of the event log: lines as they were seen, what a store must hold afterwards, and other ways the lines may arrive."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as some

from ramify.ingest import Ingest
from ramify.linking.world import Rules
from ramify.model.entity import Logged, Operation, Task
from ramify.model.observation import Record
from ramify.protocols.adcp.keep import Entry, keep
from ramify.query.operations import operation_shape
from ramify.storage.sqlite import Sqlite, open_sqlite

FOLDER = Path(__file__).parent / "cases" / "events"
CASES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
START = 1_794_765_000_000_000
Line = dict[str, Any]


def lines(case: str) -> list[Line]:
    return [json.loads(line) for line in (FOLDER / case / "records.jsonl").read_text().splitlines()]


def expected(case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / case / "expected.json").read_text())
    return found


def records(given: Sequence[Line], session: str = "local", step: int = 1000) -> list[Record]:
    """Each line as it arrives, a moment after the one before."""
    return [
        keep(line, Entry("default", START + step * at, session, at=START + step * at, identity=str(at)))
        for at, line in enumerate(given, 1)
    ]


def told(given: Sequence[Line], sizes: Sequence[int] = (), rules: Rules | None = None) -> Sqlite:
    """A store that has heard all of it, in batches of these sizes."""
    store = open_sqlite("memory:")
    ingest = Ingest(store, rules)
    seen = records(given)
    at = 0
    for size in (*sizes, len(seen)):
        ingest.step(seen[at : at + size])
        at += size
    assert not store.unreadable(10)
    return store


def tasks(store: Sqlite) -> list[Task]:
    return [row for row in store.docs("tasks") if isinstance(row, Task)]


def operations(store: Sqlite) -> dict[str, dict[str, Any]]:
    return {row.native: operation_shape(row) for row in store.docs("operations") if isinstance(row, Operation)}


def events(store: Sqlite) -> list[Logged]:
    return [row for row in store.docs("events") if isinstance(row, Logged)]


def states(store: Sqlite) -> list[tuple[Any, ...]]:
    """Every task as the cases tell of it, sub-tasks under theirs."""
    rows = tasks(store)
    return sorted(
        (
            row.operation, row.agent, row.title, row.native["agentTaskId"] or "", row.native["transportTaskId"] or "", row.status,
            tuple(sorted((child.title, child.status) for child in rows if child.parent == row.id)),
        )
        for row in rows
        if not row.parent
    )  # fmt: skip


def expected_states(case: str) -> list[tuple[Any, ...]]:
    return sorted(
        (
            task["operation"], task["agent"], task["taskType"], task["agentTaskId"] or "", task["transportTaskId"] or "",
            task["status"], tuple(sorted((child["title"], child["status"]) for child in task.get("subtasks", ()))),
        )
        for task in expected(case)["tasks"]
    )  # fmt: skip


def source_of(line: Line) -> tuple[str, ...]:
    """Lines of one source keep their order."""
    if "kind" not in line:
        return "task events", str(line.get("agentId", line.get("agent_id", line.get("targetEntity"))))
    agent = line.get("agent") or line["activity"]["agent_id"]
    heard = line["kind"] == "activity" and line["activity"]["type"] == "webhook_received"
    called = line["kind"] in ("activity", "result", "progress") and not heard
    return agent, "calls" if called else "heard" if heard else line["kind"]


@some.composite
def interleaved(draw: some.DrawFn, given: Sequence[Line]) -> list[Line]:
    waiting: dict[tuple[str, ...], list[Line]] = {}
    for line in given:
        waiting.setdefault(source_of(line), []).append(line)
    order = draw(some.permutations([source for source, kept in waiting.items() for _ in kept]))
    return [waiting[source].pop(0) for source in order]
