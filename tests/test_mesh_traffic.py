"""What the bench fills stores with is what a mesh would say, and always the same."""

from itertools import islice
from pathlib import Path

from bench.mesh_store import fill
from bench.mesh_traffic import lines
from ramify.query.service import Questions
from ramify.storage.sqlite import open_sqlite


def test_it_is_always_the_same_however_much_is_taken() -> None:
    assert list(lines(200)) == list(islice(lines(5_000), len(list(lines(200)))))


def test_it_is_understood_as_a_mesh(tmp_path: Path) -> None:
    [(count, _, _)] = fill(tmp_path / "mesh.db", 1_500)
    assert count > 1_500
    questions = Questions(open_sqlite(f"sqlite:{tmp_path}/mesh.db"))
    tasks = questions.tasks(limit=0)["items"]
    under = [task for task in tasks if task["refs"][0]["value"].startswith("a2a_subtask_")]
    assert {task["depth"] for task in tasks} >= {0, 1, 2}
    assert all(task["link"]["rule"] == "parentTaskId" for task in under)
    assert {"completed", "working"} <= {task["status"] for task in tasks}
    assert questions.store.count_unreadable() == 0
    assert questions.search("marmalade")["items"]
    questions.store.close()
