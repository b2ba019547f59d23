"""A tree in an answer: the uppermost first, every task reachable, what is hidden counted."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.mcp.budget import fits
from ramify.mcp.skeleton import skeleton
from ramify.query.outline import sizes


def outlined(depths: list[int]) -> dict[str, Any]:
    count = len(depths)
    rows = {
        "id": [f"task_{at}" for at in range(count)], "depth": depths, "size": sizes(depths), "title": ["Look at it"] * count, "agent": [0] * count,
        "status": ["c"] * count, "ms": [5] * count, "calls": [1] * count, "tools": [0] * count, "cost": [None] * count, "flags": [[]] * count,
        "certainty": [1] * count,
    }  # fmt: skip
    return {"n": count, "agents": ["Explore"], "rows": rows, "unattached": {"id": []}}


def trees() -> st.SearchStrategy[list[int]]:
    def depths(steps: list[int]) -> list[int]:
        found = [0]
        for step in steps:
            found.append(max(1, min(found[-1] + 1, step)))
        return found

    return st.lists(st.integers(1, 9), max_size=300).map(depths)


@settings(deadline=None)
@given(trees(), st.integers(2_000, 12_000))
def test_it_fits_and_hidden_tasks_are_counted(depths: list[int], budget: int) -> None:
    answer = skeleton(outlined(depths), budget)
    assert fits(answer, budget)
    assert answer["tasks"][0]["id"] == "task_0"
    assert len(answer["tasks"]) + sum(task.get("hidden", 0) for task in answer["tasks"]) == len(depths)
    assert ("left_out" in answer) == (len(answer["tasks"]) < len(depths))


def test_children_of_a_wide_task_come_in_several_answers() -> None:
    wide = outlined([0, *[1] * 30_000])
    seen: set[str] = set()
    start = 0
    while True:
        answer = skeleton(wide, 200_000, start)
        fresh = {task["id"] for task in answer["tasks"][1:]}
        assert not fresh & seen
        seen |= fresh
        start += len(fresh)
        if start >= 30_000:
            break
        assert f"start: {start}" in answer["left_out"]
    assert len(seen) == 30_000
