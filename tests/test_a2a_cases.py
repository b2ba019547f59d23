"""Recorded runs of A2A give their true answers, in whatever order and pieces their frames come."""

import base64
import random
from typing import Any

import pytest

from ramify.model.moment import micros
from ramify.query.service import Questions
from tests.a2a_verdicts import cases, differences, expected, frames, in_random_batches, native, rows, tell, told
from tests.linking.a2a_builder import records
from tests.story import row_differences

Shape = dict[str, Any]


@pytest.mark.parametrize("case", cases())
@pytest.mark.parametrize("size", [1, 13, 1000])
def test_a_case_gives_its_true_answer(case: str, size: int) -> None:
    store = told(records(frames(case)), size)
    assert differences(store, expected(case)) == []
    assert store.count_unreadable() == 0


@pytest.mark.parametrize("case", cases())
@pytest.mark.parametrize("seed", range(6))
def test_any_order_gives_the_same_rows(case: str, seed: int) -> None:
    chance = random.Random(seed)
    seen = records(frames(case))
    mixed = chance.sample(seen, len(seen))
    store = in_random_batches(mixed if seed else mixed[:60] + seen, chance)
    assert differences(store, expected(case)) == []
    assert row_differences(rows(told(seen)), rows(store)) == []


@pytest.mark.parametrize("case", cases())
def test_seen_twice_changes_nothing(case: str) -> None:
    seen = records(frames(case))
    store = told([*seen, *seen[::-1]], 37)
    assert differences(store, expected(case)) == []
    assert row_differences(rows(told(seen)), rows(store)) == []


@pytest.mark.parametrize("case", cases())
def test_two_halves_of_a_file_in_either_order_are_the_file(case: str) -> None:
    seen = records(frames(case))
    one, two = seen[::2], seen[1::2]
    for first, second in ((one, two), (two, one), (seen[len(seen) // 2 :], seen[: len(seen) // 2])):
        store = told(first, 1000)
        tell(store, second, 1000)
        assert row_differences(rows(told(seen)), rows(store)) == []


def recut(seen: list[Shape], size: int) -> list[Shape]:
    """Every stream cut again, into slices of so many bytes; frames are numbered anew."""
    numbers: dict[str, int] = {}
    found: list[Shape] = []
    for frame in sorted(seen, key=lambda frame: (frame["connection"], frame["seq"])):
        raw = frame.get("raw", "").encode()
        pieces = [raw[start : start + size] for start in range(0, len(raw), size)] if frame["kind"] == "sse" else [b""]
        for piece in pieces:
            number = numbers[frame["connection"]] = numbers.get(frame["connection"], -1) + 1
            slice = {"raw_b64": base64.b64encode(piece).decode()} if frame["kind"] == "sse" else {}
            found.append({**{name: value for name, value in frame.items() if name != "raw"}, **slice, "seq": number})
    return sorted(found, key=lambda frame: str(frame["time"]))


@pytest.mark.parametrize("case", cases())
@pytest.mark.parametrize("size", [29, 255, 4096])
def test_streams_may_be_cut_anywhere(case: str, size: int) -> None:
    store = told(records(recut(frames(case), size)), 500)
    assert differences(store, expected(case)) == []


def test_a_stream_may_be_cut_at_every_byte() -> None:
    assert differences(told(records(recut(frames("v1-refine"), 1)), 1000), expected("v1-refine")) == []


@pytest.mark.parametrize("case", cases())
def test_a_checkpoint_is_as_things_stood_then(case: str) -> None:
    point = expected(case)["checkpoint"]
    until = micros(point["until"])
    questions = Questions(told(records([frame for frame in frames(case) if micros(frame["time"]) <= until])))
    found = {native(task): task for task in questions.tasks(limit=0)["items"]}
    assert set(found) == {wanted["id"] for wanted in point["tasks"]}
    for wanted in point["tasks"]:
        task = found[wanted["id"]]
        assert (task["agent"], task["status"]) == (wanted["agent"], wanted["status"])
        if wanted["parent"]:
            assert task["link"]["parent"] == found[wanted["parent"]]["id"]


@pytest.mark.parametrize("seed", range(2))
def test_all_cases_in_one_store_do_not_disturb_each_other(seed: int) -> None:
    seen = records([frame for case in cases() for frame in frames(case)])
    store = told(random.Random(seed).sample(seen, len(seen)) if seed else seen, 200)
    for case in cases():
        assert differences(store, expected(case), alone=False) == [], case
    assert Questions(store).stats()["tasks"] == sum(len(expected(case)["tasks"]) for case in cases())


def test_the_same_frames_of_two_projects_stay_apart() -> None:
    seen = [*records(frames("v1-refine"), "one"), *records(frames("v1-refine"), "two")]
    store = told(seen)
    tasks = Questions(store).tasks(limit=0)["items"]
    assert sorted(task["project"] for task in tasks) == ["one"] * 3 + ["two"] * 3
    projects = {task["id"]: task["project"] for task in tasks}
    assert all(projects[task["link"]["parent"]] == task["project"] for task in tasks if task["link"])
