"""What agents answer, as the follower understands it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.capture.a2a_client.forest import Forest
from ramify.capture.a2a_client.heard import NOT_CANCELABLE, NOT_FOUND, Heard, hear

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["result", "error", "kind", "task", "status", "message", "id", "code", "tasks", "history", "parts"]), inner),
    max_leaves=12,
)


def message(role: str, *ids: str, title: str = "", id: str = "m") -> dict[str, Any]:
    metadata = {"referencedWorkflow": {"workflowName": title}} if title else {}
    return {"messageId": id, "role": role, "parts": [{"text": "x"}], "referenceTaskIds": list(ids), "metadata": metadata}


def task(state: str = "TASK_STATE_WORKING", *history: dict[str, Any], **more: Any) -> Heard:
    return hear({"jsonrpc": "2.0", "result": {"id": "p", "contextId": "c", "status": {"state": state, **more}, "history": list(history)}})


def test_every_reference_of_the_agent_counts_wherever_it_stands_and_a_clients_never() -> None:
    heard = task("TASK_STATE_WORKING", message("ROLE_USER", "old"), message("ROLE_AGENT", "a", "b", title="Two"), message=message("ROLE_AGENT", "c"))
    assert list(heard.references) == [("a", "Two"), ("b", "Two"), ("c", "")]


def test_a_task_that_is_named_again_or_names_its_parent_is_followed_once() -> None:
    forest = Forest()
    root = forest.begin("p", "agent", 1)
    _, children = forest.hear(root, task("TASK_STATE_WORKING", message("ROLE_AGENT", "a", "p", "a")), 2)
    assert [child.id for child in children] == ["a"]
    _, again = forest.hear(children[0], task("TASK_STATE_WORKING", message("ROLE_AGENT", "p", "a", "b")), 3)
    assert [child.id for child in again] == ["b"]
    assert [each.id for each in forest.each()] == ["p", "a", "b"]
    assert [each.depth for each in forest.each()] == [0, 1, 2]


def test_a_look_that_shows_the_same_is_no_news() -> None:
    forest = Forest()
    root = forest.begin("p", "agent", 1)
    assert forest.hear(root, task(), 2)[0]
    assert not forest.hear(root, task(), 3)[0]
    assert forest.hear(root, task("TASK_STATE_WORKING", message("ROLE_AGENT", id="m2")), 4)[0]


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        ({"jsonrpc": "2.0", "error": {"code": -32001, "message": "no"}}, 200, NOT_FOUND),
        ({"error": {"code": 404, "status": "NOT_FOUND", "message": "no", "details": [{"reason": "TASK_NOT_FOUND"}]}}, 404, NOT_FOUND),
        ({"error": {"code": 400, "message": "no", "details": [{"reason": "TASK_NOT_CANCELABLE"}]}}, 400, NOT_CANCELABLE),
        ({"message": "no such task"}, 500, 500),
    ],
)
def test_refusals_are_understood_in_every_binding(answer: Any, status: int, code: int) -> None:
    heard = hear(answer, status=status)
    assert (heard.kind, heard.code) == ("error", code)
    assert heard.reason


@given(JSON, st.sampled_from([200, 404, 500]))
def test_no_answer_breaks_the_reader(value: Any, status: int) -> None:
    heard = hear(value, status=status)
    assert status == 200 or heard.kind == "error"
    list(heard.references)
