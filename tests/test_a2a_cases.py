"""Recorded runs of A2A give their true answers, in whatever order and pieces their frames come."""

import base64
import random
from pathlib import Path
from typing import Any

import pytest

from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.moment import micros
from ramify.model.observation import Correction
from ramify.model.rules import RULES
from ramify.query.service import Questions
from ramify.rebuild import rebuild
from ramify.storage.sqlite import open_sqlite
from tests.a2a_verdicts import cases, differences, expected, frames, in_random_batches, native, rows, tell, told
from tests.linking.a2a_builder import records
from tests.story import row_differences
from tests.web.served import Small, serving

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


@pytest.mark.parametrize("case", cases())
def test_deriving_again_moves_nothing(case: str, tmp_path: Path) -> None:
    seen = records(frames(case))
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    tell(store, random.Random(7).sample(seen, len(seen)), 5)
    before = rows(store)
    report = rebuild(store, Rules(), Prices(), False, lambda done, total: None)
    assert report["moved"] == []
    assert row_differences(before, rows(store)) == []
    tell(store, records(frames("v1-refine")), 3)  # and it goes on from there
    assert differences(store, expected(case), alone=False) == []
    store.close()


def test_a_person_overrules_an_announcement_and_a_rebuild_keeps_it(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    tell(store, records(frames("v1-refine")))
    questions = Questions(store)
    first, second, kid = (questions.task(task["id"])["id"] for task in expected("v1-refine")["tasks"])
    Ingest(store).step([Correction("obs_word", "p", 1, "cli", "link", kid, first)])
    for _ in range(2):
        task = questions.task(kid)
        assert (task["link"]["parent"], task["link"]["rule"]) == (first, "manual")
        assert questions.why(kid)["candidates"][0]["parent"] == second
        assert rebuild(store, Rules(), Prices(), False, lambda done, total: None)["moved"] == []
    store.close()


class Shown(Small):
    def __init__(self, questions: Questions) -> None:
        super().__init__()
        self.questions = questions  # type: ignore[assignment]


async def test_the_api_shows_tree_task_messages_and_reasons_by_the_agents_own_ids() -> None:
    truth = {task["prompt"]: task["id"] for task in expected("mixed-v1-to-v03")["tasks"]}
    root = truth["plan depth=2 fanout=2 ask=-1 delay=0.03"]
    async with serving(Shown(Questions(told(records(frames("mixed-v1-to-v03")))))) as client:

        async def ask(path: str) -> Any:
            async with client.get(f"/api/{path}") as response:
                assert response.status == 200, await response.text()
                return await response.json()

        tree = await ask(f"tasks/{root}/tree")
        assert [(child["agent"], child["title"], [kid["title"] for kid in child["children"]]) for child in tree["children"]] == [
            ("v03", "Lending strategy", ["Rate lookup", "Rate lookup"])
        ] * 2
        child = tree["children"][0]
        task = await ask(f"tasks/{child['id']}")
        assert {one["name"] for one in task["artifacts"]} == {"config-form", "text-response"}
        (link,) = (await ask(f"tasks/{child['id']}/why"))["links"]
        assert (link["rule"], link["parent"], link["explanation"]) == ("referenceTaskIds", tree["id"], RULES["referenceTaskIds"])
        said = (await ask(f"tasks/{child['id']}/messages"))["items"]
        assert (said[0]["author"], said[0]["author_id"], said[0]["blocks"][0]["type"]) == ("agent", tree["id"], "text")
