"""The list of runs: how far each is, and what a filter leaves out."""

from ramify.query.runs import Runs, runs
from tests.story import exchanges, told


def test_a_run_says_how_far_the_work_under_it_has_come() -> None:
    store, questions = told(exchanges("anthropic", "subtask-three-parallel"))
    run = runs(store, Runs(), 50, None)["items"][0]
    full = questions.task(run["id"])
    assert run["progress"] == {"tasks": 3, "done": 3, "working": 0, "failed": 0, "waiting": 0}
    assert questions.tasks(ids=[run["id"]])["items"][0]["progress"] == run["progress"]
    assert {name: run[name] for name in ("subtasks", "tree_usage", "usage", "branch")} == {
        name: full[name] for name in ("subtasks", "tree_usage", "usage", "branch")
    }


def test_a_filter_says_how_many_it_hides() -> None:
    store, _ = told([*exchanges("anthropic", "subtask-three-parallel"), *exchanges("anthropic", "linear")])
    everything = runs(store, Runs(), 50, None)
    assert everything["hidden"] == 0
    fences = runs(store, Runs(words="THREE fences"), 50, None)
    assert [run["title"] for run in fences["items"]] == ["Paint the three fences."]
    assert fences["hidden"] == len(everything["items"]) - 1
    assert runs(store, Runs(status="rejected"), 50, None)["items"] == []


def test_pages_go_on_where_the_last_one_ended() -> None:
    store, _ = told([*exchanges("anthropic", "subtask-three-parallel"), *exchanges("anthropic", "linear")])
    ids = [run["id"] for run in runs(store, Runs(), 50, None)["items"]]
    paged, cursor = [], None
    while True:
        page = runs(store, Runs(), 1, cursor)
        paged += [run["id"] for run in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert paged == ids
