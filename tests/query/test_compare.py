"""Two runs: where they part, on which level, and what each spent from there on."""

from typing import Any

from ramify.query.service import Questions
from tests.linking.world_builder import Story, agent, report, result, use


def told(story: Story) -> Questions:
    return story.told([one for seen in story.seen for one in seen])[1]


def run(story: Story, session: str, *commands: str, ends: str = "done", spends: int = 5, bad: str = "") -> None:
    line = story.line(session=session)
    said: object = "count the hats"
    for at, command in enumerate(commands):
        id = f"toolu_{session}_{at}"
        line.ask(f"{session}{at}", said, use(id, command=command), usage={"output_tokens": spends})
        said = result(id, is_error=True) if command == bad else result(id)
    line.ask(f"{session}_end", said, ends, usage={"output_tokens": spends})


def compared(story: Story) -> dict[str, Any]:
    questions = told(story)
    roots = sorted(questions.tasks(roots=True, limit=0)["items"], key=lambda task: str(task["opened"]))
    return questions.compare(roots[0]["id"], roots[1]["id"])


def test_two_runs_that_do_the_same_are_the_same_whatever_their_numbers() -> None:
    story = Story()
    run(story, "a", "ls /tmp/abc123", "echo 123456")
    run(story, "b", "ls /tmp/zzz", "echo 987654")
    answer = compared(story)
    assert answer["same"]
    assert answer["asked_the_same"]
    assert answer["parting"] is None
    assert [(node["kind"], node["steps"]) for node in answer["tasks"]] == [("same", [])]


def test_the_first_step_that_differs_is_named_with_both_sides() -> None:
    story = Story()
    run(story, "a", "one", "two", "three")
    run(story, "b", "one", "other", "three")
    answer = compared(story)
    assert answer["parting"]["kind"] == "input"
    assert answer["parting"]["passed"] == 1
    assert answer["parting"]["a"]["act"]["text"] == "two"
    assert answer["parting"]["b"]["act"]["text"] == "other"
    assert [step["kind"] for step in answer["tasks"][0]["steps"]] == ["same", "changed", "same"]


def test_what_only_one_did_is_told_beside_what_the_other_did_instead() -> None:
    story = Story()
    run(story, "a", "one")
    run(story, "b", "one", "two")
    answer = compared(story)
    assert answer["parting"]["text"] == "At step 2 the left one did nothing, the right one Bash."
    assert answer["tasks"][0]["steps"][-1]["kind"] == "right"


def test_each_spent_since_then_what_its_calls_spent_from_the_deciding_one_on() -> None:
    story = Story()
    run(story, "a", "one", "two", spends=7)
    run(story, "b", "one", "other", "more", spends=11)
    since = compared(story)["since"]
    assert (since["a"]["calls"], since["a"]["output"]) == (2, 14)
    assert (since["b"]["calls"], since["b"]["output"]) == (3, 33)


def test_the_same_step_with_another_outcome_parts_them() -> None:
    story = Story()
    run(story, "a", "one", "two")
    run(story, "b", "one", "two", bad="one")
    parting = compared(story)["parting"]
    assert (parting["kind"], parting["passed"]) == ("result", 0)


def delegating(story: Story, session: str, command: str, later: str = "look") -> None:
    main = story.line(session=session)
    main.ask(f"{session}1", "find it", agent(f"toolu_{session}1", "look around", subagent_type="Explore"))
    child = story.line(session=session, agent=f"agent{session}")
    child.ask(f"{session}2", "look around", use(f"toolu_{session}2", command=command))
    child.ask(f"{session}3", result(f"toolu_{session}2"), "seen")
    main.ask(f"{session}4", report(f"toolu_{session}1", f"agent{session}"), use(f"toolu_{session}5", command=later))
    main.ask(f"{session}6", result(f"toolu_{session}5"), "done")


def test_a_sub_task_that_differs_comes_before_what_its_parent_did_later() -> None:
    story = Story()
    delegating(story, "a", "ls", later="x")
    delegating(story, "b", "find .", later="y")
    answer = compared(story)
    assert answer["parting"]["depth"] == 1
    assert answer["parting"]["a"]["act"]["text"] == "ls"
    assert [(node["depth"], node["kind"]) for node in answer["tasks"]] == [(0, "changed"), (1, "changed")]


def test_what_is_the_same_is_folded_with_everything_under_it() -> None:
    story = Story()
    delegating(story, "a", "ls", later="x")
    delegating(story, "b", "ls", later="y")
    answer = compared(story)
    assert answer["parting"]["depth"] == 0
    assert [(node["depth"], node["kind"], node["size"]) for node in answer["tasks"]] == [(0, "changed", 2), (1, "same", 1)]


def test_a_run_may_be_named_by_anything_in_it() -> None:
    story = Story()
    run(story, "a", "one")
    run(story, "b", "one")
    questions = told(story)
    assert questions.compare("toolu_a_0", "b")["same"]


def test_long_stretches_of_the_same_are_a_number() -> None:
    story = Story()
    same = [f"step {letter}" for letter in "abcdefghij"]
    run(story, "a", *same, "left")
    run(story, "b", *same, "right")
    steps = compared(story)["tasks"][0]["steps"]
    assert [(step["kind"], step["count"]) for step in steps] == [("folded", 8), ("same", 1), ("same", 1), ("changed", 1)]
