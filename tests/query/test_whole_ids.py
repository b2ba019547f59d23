"""One question, asked of a conversation or an operation: of all of its tasks."""

import pytest

from ramify.query.errors import NotFound
from ramify.query.filter import BadFilter
from ramify.query.service import Questions
from tests.event_story import lines, told
from tests.mesh_story import Mesh, model_answered


def test_sub_tasks_of_a_conversation_are_those_of_its_roots_or_all() -> None:
    mesh = Mesh()
    for root, kid in (("t", "kid"), ("u", "other")):
        mesh.ask(root, "Chef")
        mesh.ask(kid, "Cook", parent=root, call="x")
    mesh.ask("deep", "Baker", parent="kid", call="y")
    ask = mesh.told()
    conversation = ask.conversations()["items"][0]["id"]
    for id in ("sam:context:c", conversation):
        assert [task["agent"] for task in ask.subtasks(id)["items"]] == ["Cook", "Cook"]
        assert [task["agent"] for task in ask.subtasks(id, tree=True)["items"]] == ["Cook", "Baker", "Cook"]
    assert len(ask.subtasks(conversation, tree=True, limit=2)["items"]) == 2


def test_an_operation_is_asked_like_a_task() -> None:
    ask = Questions(told(lines("async_fanout")))
    operation = ask.operations()["items"][0]["operationId"]
    named = {task["id"] for task in ask.tree(operation)["roots"]}
    assert named
    assert {message["task"] for message in ask.messages(operation, limit=0)["items"]} <= named
    assert ask.tools(operation)["items"] == ask.tools(operation, tree=True)["items"]
    assert ask.reasoning(operation)["items"] == []
    assert {one["task"] for one in ask.artifacts(operation, limit=0)["items"]} <= named
    under = {child["id"] for task in ask.tree(operation)["roots"] for child in task["children"]}
    assert {task["id"] for task in ask.subtasks(operation, limit=0)["items"]} == under
    with pytest.raises(NotFound, match="is an operation, not a task"):
        ask.why(operation)


def test_what_nothing_is_called_is_not_found_by_its_first_name() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c1", "look", {})))
    ask = mesh.told()
    with pytest.raises(NotFound, match="nothing has the id 'nobody'"):
        ask.subtasks("nobody")
    with pytest.raises(NotFound, match="'c1' is a tool call, not a task or conversation"):
        ask.messages("c1")


def test_half_a_character_names_nothing_on_any_engine() -> None:
    """What a terminal gives of bytes that are no UTF-8: it was a traceback."""
    ask = Questions(told(lines("async_fanout")))
    for id in ("\udcff", "task_\ud800", "otel:trace:\udcff"):
        for question in (ask.show, ask.tree, ask.why, ask.messages, ask.files):
            with pytest.raises(NotFound, match="nothing has the id"):
                question(id)
    with pytest.raises(BadFilter, match="UTF-8"):
        ask.tasks(filter="agent:\udcff")
