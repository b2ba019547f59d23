"""A person's corrections: what cannot be is refused, with the reason."""

import pytest

from ramify.acts import correction
from ramify.model.ids import call_id, observation_id, opened_task_id
from ramify.query.errors import BadQuestion
from tests.linking.world_builder import Story, agent


def task_of(name: str) -> str:
    return opened_task_id(call_id(observation_id("told", name)))


def test_a_task_is_not_put_under_what_began_later() -> None:
    story = Story()
    story.line().ask("a", "hello")
    story.line().ask("b", "look", agent("toolu_1", "count"))
    store, _ = story.told([one for seen in story.seen for one in seen])
    for parent in (task_of("b"), "toolu_1"):
        with pytest.raises(BadQuestion, match="began before"):
            correction(store, "link", task_of("a"), parent)
    assert correction(store, "link", task_of("b"), task_of("a")).parent == task_of("a")


def test_a_task_is_not_its_own_parent() -> None:
    story = Story()
    story.line().ask("a", "hello")
    store, _ = story.told(story.seen[0])
    with pytest.raises(BadQuestion, match="own ancestor"):
        correction(store, "link", task_of("a"), task_of("a"))
