"""Spans that a sender puts above themselves: whatever they say, the fold comes to an end."""

import faulthandler
from collections.abc import Iterator

import pytest

from tests.spans import Span, agent, chat, one_by_one, span, told, tool


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    """A circle that is followed for ever would hold up all tests: the process ends with the way that led there."""
    faulthandler.dump_traceback_later(60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def client(name: str, parent: str) -> Span:
    return span("claude_code.llm_request", parent, id=name, attributes={"session.id": "s", "agent_id": "a", "span.type": "llm_request"})


def named(name: str, parent: str) -> Span:
    return agent(name, parent, attributes={"gen_ai.task.id": "one task"})


CIRCLES = {
    "itself": [agent("a", "a"), chat("c", "a")],
    "agents": [agent("a", "b"), agent("b", "a"), chat("c", "b")],
    "one task": [named("a", "b"), named("b", "a"), chat("c", "b")],
    "calls": [chat("a", "b"), chat("b", "a"), chat("c", "b")],
    "tools": [tool("a", "b", "same"), tool("b", "a", "same"), tool("c", "b", "same")],
    "client": [client("a", "b"), client("b", "a"), client("c", "c")],
    "plain": [span("a", "b"), span("b", "a"), chat("c", "b")],
}


@pytest.mark.parametrize("spans", CIRCLES.values(), ids=CIRCLES)
def test_a_circle_of_spans_is_folded_and_asked_about(spans: list[Span]) -> None:
    for world in (told(*spans), one_by_one(spans), one_by_one(spans, 1)):
        tasks = world.questions.tasks(limit=0)["items"]
        for task in tasks:
            world.questions.tree(task["id"])
        assert sum(task["usage"]["calls"] for task in tasks) <= len(spans)


def test_a_span_that_names_itself_as_its_parent_is_a_root() -> None:
    assert told(agent("a", "a"), chat("c", "a")).drawn() == ["a - calls=1 in=10 out=5 tools=0 completed"]
