"""Every case gives its true answer in its given order, in any other, and seen twice."""

import pytest

from tests import story
from tests.verdicts import differences


@pytest.mark.parametrize("case", story.anthropic_cases())
def test_a_case_gives_its_true_answer(case: str) -> None:
    _, questions = story.told(story.exchanges("anthropic", case))
    assert differences(questions, story.expected("anthropic", case)) == []


@pytest.mark.parametrize("case", story.anthropic_cases())
@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_arrival_does_not_matter(case: str, seed: int) -> None:
    seen = story.shuffled(story.exchanges("anthropic", case), seed)
    _, questions = story.told(seen, size=1 + seed % 5)
    assert differences(questions, story.expected("anthropic", case)) == []


@pytest.mark.parametrize("case", story.anthropic_cases())
def test_seen_twice_changes_nothing(case: str) -> None:
    seen = story.exchanges("anthropic", case)
    _, questions = story.told([*seen, *story.shuffled(seen, 1)])
    assert differences(questions, story.expected("anthropic", case)) == []


def everything() -> list[tuple[story.Observation, ...]]:
    seen = [line for case in story.anthropic_cases() for line in story.exchanges("anthropic", case)]
    return seen + [line for case in story.claude_cases() for line in story.exchanges("claude", case)]


@pytest.mark.parametrize("case", [*story.anthropic_cases(), *story.claude_cases()])
@pytest.mark.parametrize("seed", range(6))
def test_any_order_gives_the_same_rows(case: str, seed: int) -> None:
    protocol = "anthropic" if case in story.anthropic_cases() else "claude"
    seen = story.exchanges(protocol, case)
    one, _ = story.told(seen)
    other, _ = story.told(story.shuffled(seen, seed), size=1 + seed)
    assert story.row_differences(story.rows(one), story.rows(other)) == []


@pytest.mark.parametrize("seed", range(3))
def test_all_cases_in_one_store_do_not_disturb_each_other(seed: int) -> None:
    _, questions = story.told(story.shuffled(everything(), seed), size=50)
    for case in story.anthropic_cases():
        truth = {**story.expected("anthropic", case), "_mixed": True}
        assert differences(questions, truth) == [], case
