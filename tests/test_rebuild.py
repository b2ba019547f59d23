"""Deriving everything again: beside a writer, after corrections, and saying what moved."""

import threading
from pathlib import Path

from bench.traffic import traffic
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import Task
from ramify.rebuild import differences, rebuild, side_by_side
from ramify.storage.base import Changes
from ramify.storage.sqlite import open_sqlite
from tests.contracts.engines import derived, difference, seen_stories, told


def quiet(done: int, total: int) -> None:
    pass


def test_a_dry_run_says_what_would_move_and_changes_nothing(tmp_path: Path) -> None:
    store = told(open_sqlite(f"sqlite:{tmp_path}/store.db"), seen_stories())
    task = next(row for row in store.docs("tasks") if isinstance(row, Task))
    wrong = Task(task.id, project=task.project, conversation="elsewhere")
    store.append((), Changes(rows={("tasks", task.id): wrong, ("tasks", "task_none"): Task("task_none")}))
    before = derived(store)
    report = rebuild(store, Rules(), Prices(), True, quiet)
    assert {moved["id"] for moved in report["moved"]} == {task.id, "task_none"}
    assert {moved["now"] for moved in report["moved"]} >= {"not there"}
    assert derived(store) == before
    assert rebuild(store, Rules(), Prices(), False, quiet)["moved"] == report["moved"]
    assert rebuild(store, Rules(), Prices(), True, quiet)["moved"] == []
    store.close()


def test_a_rebuild_beside_a_writer_misses_nothing(tmp_path: Path) -> None:
    """One process derives again while another goes on storing; each has the file open for itself."""
    url = f"sqlite:{tmp_path}/store.db"
    writing, rebuilding = open_sqlite(url, busy_seconds=60), open_sqlite(url, busy_seconds=60)
    seen = [one for batch in traffic(160, turns=8, width=4) for one in batch]
    ingest = Ingest(writing)
    ingest.step(seen[:100])

    def write() -> None:
        for at in range(100, len(seen), 4):
            ingest.step(seen[at : at + 4])

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        assert rebuild(rebuilding, Rules(), Prices(), False, quiet)["moved"] == []
    thread.join()
    alone = told(open_sqlite("memory:"), seen)
    assert difference(derived(writing), derived(alone)) == []
    writing.close()
    rebuilding.close()


def test_rows_are_compared_side_by_side_without_holding_them_all() -> None:
    old, new = ([Task("a"), Task("b"), Task("d")], [Task("b", title="x"), Task("c"), Task("d"), Task("e")])
    pairs = [(was.id if was else "", now.id if now else "") for was, now in side_by_side(iter(old), iter(new))]
    assert pairs == [("a", ""), ("b", "b"), ("", "c"), ("d", "d"), ("", "e")]


def test_equal_stores_differ_in_nothing() -> None:
    one, other = (told(open_sqlite("memory:"), seen_stories(), seed) for seed in (1, 2))
    moved, same = differences(one, other)
    assert (moved, same > 100) == ([], True)
