"""Who stands still and who goes round in circles: one rule, whichever way one asks."""

from collections import defaultdict
from itertools import groupby
from pathlib import Path

import pytest

from ramify.linking.loops import step_of
from ramify.model.entity import Call, Task
from ramify.query.flags import Patience
from ramify.query.runs import Runs, runs
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite
from tests import story as stories
from tests.linking.world_builder import BEGIN, SECOND, Story, agent, result, use
from tests.test_claude_sources import FOLDERS, sources_of


def flags(store: Sqlite, id: str, silent: float, now: float, limit: int = 120) -> list[str]:
    """Of a task, so many seconds after the story's end; every way to ask must say the same."""
    clock = BEGIN + int((now + silent) * SECOND)
    questions = Questions(store, Patience(limit, lambda: clock))
    told = questions.task(id)["flags"]
    columns = questions.skeleton(id)["rows"]
    assert columns["flags"][columns["id"].index(id)] == told
    assert next(task for task in questions.tasks(limit=0)["items"] if task["id"] == id)["flags"] == told
    assert questions.tree(id)["flags"] == told
    listed = {run["id"]: run["flags"] for run in runs(store, Runs(), 50, None, questions.patience)["items"]}
    assert listed.get(id, told) == told
    return list(told)


def family(story: Story) -> None:
    main = story.line(session="s")
    main.ask("a", "go", agent("toolu_1", "count"))
    child = story.line(session="s", agent="a1")
    child.ask("b", "count", use("toolu_2"))


def named(questions: Questions) -> dict[str, str]:
    return {task["prompt"]: task["id"] for task in questions.tasks(limit=0)["items"]}


def test_who_waits_for_somebody_at_work_is_not_stalled_and_the_one_at_work_is() -> None:
    story = Story()
    family(story)
    store, questions = story.told([one for seen in story.seen for one in seen])
    ids = named(questions)
    assert flags(store, ids["count"], 60, story.now) == []
    assert flags(store, ids["count"], 180, story.now) == ["stalled"]
    assert flags(store, ids["go"], 180, story.now) == []
    assert flags(store, ids["count"], 180, story.now, limit=600) == []


def test_when_its_child_is_done_a_silent_parent_is_the_one() -> None:
    story = Story()
    family(story)
    story.line(session="s", agent="a1").ask("c", "count", "7")
    store, questions = story.told([one for seen in story.seen for one in seen])
    assert flags(store, named(questions)["go"], 180, story.now) == ["stalled"]


def test_what_is_over_is_never_stalled() -> None:
    story = Story()
    story.line(session="s").ask("a", "go", "done")
    store, questions = story.told([one for seen in story.seen for one in seen])
    assert flags(store, named(questions)["go"], 1e6, story.now) == []


def repeating(*commands: str, side_by_side: int = 1) -> Story:
    story = Story()
    line = story.line(session="s")
    said: object = "go"
    for at, command in enumerate(commands):
        ids = [f"toolu_{at}_{number}" for number in range(side_by_side)]
        line.ask(f"c{at}", said, [use(id, command=command) for id in ids])
        said = [result(id) for id in ids]
    line.ask("end", said, "done")
    return story


@pytest.mark.parametrize(
    ("commands", "times"),
    [(("ls",), 1), (("ls", "ls"), 2), (("ls", "ls", "ls"), 3), (("ls", "ls", "cat", "ls"), 2), (("a", "b", "b", "b", "c", "c"), 3), (tuple("ababab"), 1)],
)
def test_the_same_thing_in_a_row_is_counted_in_any_order_of_arrival(commands: tuple[str, ...], times: int) -> None:
    story = repeating(*commands)
    for seed in range(12):
        store, questions = story.told(story.mixed(seed), 1 + seed % 5)
        id = named(questions)["go"]
        task = store.load("tasks", id)
        assert isinstance(task, Task)
        assert task.loops == times
        assert flags(store, id, 0, story.now) == (["looping"] if times >= 3 else [])


def test_the_same_things_side_by_side_count_each() -> None:
    store, questions = (story := repeating("ls", side_by_side=3)).told([one for seen in story.seen for one in seen])
    assert flags(store, named(questions)["go"], 0, story.now) == ["looping"]


def test_a_call_that_comes_late_parts_what_seemed_a_loop() -> None:
    story = repeating("ls", "ls", "cat", "ls")
    pairs = list(story.seen)
    late = pairs.pop(2)
    flat = [one for pair in [*pairs, late] for one in pair]
    store, questions = story.told(flat, 1)
    assert flags(store, named(questions)["go"], 0, story.now) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_kept_is_what_counting_from_the_beginning_gives(folder: Path) -> None:
    for seed in range(3):
        seen = [one for source in sources_of(folder) for one in stories.reports(folder, source)]
        store, _ = stories.told(stories.shuffled(seen, seed), 1 + 2 * seed)
        steps: defaultdict[str, list[tuple[bytes, int]]] = defaultdict(list)
        calls = (row for row in store.docs("calls") if isinstance(row, Call) and row.signs)
        for call in sorted(calls, key=lambda call: (call.started, call.id)):
            steps[call.task].append(step_of(call))
        for task in (row for row in store.docs("tasks") if isinstance(row, Task)):
            runs = [sum(times for _, times in group) for _, group in groupby(steps[task.id], key=lambda step: step[0])]
            assert task.loops == max(runs, default=0)
            assert task.tail_run == (runs[-1] if runs else 0)
