"""The five questions about a task of a mesh: peers' answers, and ids that fit several calls or none."""

from typing import Any

import pytest

from ramify.query import Ambiguous, NotFound, TaskQueryService
from tests import story
from tests.mesh_story import Mesh, data, model_answered, model_asked, returned, started
from tests.test_mesh_cases import lines, observed, told


def service(case: str) -> tuple[TaskQueryService, dict[str, Any]]:
    return TaskQueryService(told(observed(lines(case)))[1]), story.expected("sam", case)


def test_a_peers_answer_is_read_out_of_its_task() -> None:
    asked, truth = service("simple")
    assert asked.get_tool_call_with_io(truth["tool_calls"][0]["call_id"]).output_text == "Let me look that up.Utrecht: 21.5 C."
    thought = [block.kind for block in asked.get_tool_call_with_io(truth["tool_calls"][0]["call_id"]).reasoning]
    assert thought == ["context", "explanation"]


def test_what_an_agent_says_of_an_error_is_told_once_and_the_end_says_it_in_its_own_words() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_asked())
    mesh.say("t", data(a2a_signal_type="tool_execution_error", error_message="the model is down"))
    mesh.end("t", "Something went wrong", state="failed")
    asked = TaskQueryService(mesh.told())
    told = asked.get_complete_task_flow("t")
    assert [event["text"] for event in told.timeline if event["kind"] == "error"] == ["the model is down"]
    assert [event["status"] for event in told.timeline if event["kind"] == "model_call"] == ["error"]
    assert told.final_text == "Something went wrong"


def test_a_prompt_of_several_parts_is_told_once() -> None:
    mesh = Mesh()
    asked = mesh.ask("t", "Chef", "Request received by gateway at: 2026-11-15T10:00:00+00:00")
    asked["payload"]["params"]["message"]["parts"] += [{"kind": "text", "text": "Boil"}, {"kind": "text", "text": "an egg"}]
    mesh.end("t", "boiled")
    told = TaskQueryService(mesh.told()).get_complete_task_flow("t")
    assert told.request_text == "Boil\nan egg"
    assert [event["kind"] for event in told.timeline] == ["request", "message", "end"]


def test_an_end_without_words_has_none_whatever_was_said_before() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", {"kind": "text", "text": "half of it"})
    mesh.say("t", data(type="structured_invocation_result", status="success"), kind="task", state="completed")
    assert TaskQueryService(mesh.told()).get_complete_task_flow("t").final_text is None


def test_an_id_that_fits_several_calls_names_them_and_an_unknown_one_is_not_found() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("call_1", "add", {}), ("call_1", "mul", {})))
    asked = TaskQueryService(mesh.told())
    with pytest.raises(Ambiguous) as several:
        asked.get_tool_call_with_io("call_1")
    assert [(one["task_id"], one["occurrence"], one["name"]) for one in several.value.candidates] == [("t", 1, "add"), ("t", 2, "mul")]
    assert asked.get_tool_call_with_io("sam:call:t/call_1/2").name == "mul"
    with pytest.raises(NotFound):
        asked.get_subtasks("nobody")
    assert asked.get_subtasks("t") == []


def test_a_call_whose_decision_nobody_saw_has_no_reasoning_of_another_turn() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", data(type="agent_progress_update", status_text="looking"))
    mesh.say("t", started("c", "look"))
    mesh.say("t", returned("c", "look", 1))
    asked = TaskQueryService(mesh.told())
    assert [block.text for block in asked.get_reasoning_for_task("t")] == ["looking"]
    assert asked.get_tool_call_with_io("c").reasoning == []


def test_a_thought_belongs_to_the_turn_that_it_came_before_also_where_nobody_saw_that_begin() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", data(type="thinking_content", content="Hm. "), data(type="thinking_content", content="", is_complete=True))
    mesh.say("t", model_answered(("c", "look", {}), text="I look."))
    mesh.say("t", data(type="thinking_content", content="And now?"))
    mesh.say("t", model_answered(("d", "taste", {})))
    asked = TaskQueryService(mesh.told())
    assert [[block.text for block in asked.get_tool_call_with_io(call).reasoning] for call in "cd"] == [["Hm. ", "I look."], ["And now?"]]


def test_a_task_that_waits_for_input_has_not_ended_and_its_flow_says_so() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.end("t", "Which one?", state="input-required")
    asked = TaskQueryService(mesh.told()).get_complete_task_flow("t")
    assert [(event["kind"], event["text"]) for event in asked.timeline] == [("request", "do it"), ("message", "Which one?")]
    mesh.end("t", "Done")
    told = TaskQueryService(mesh.told()).get_complete_task_flow("t")
    assert [event["text"] for event in told.timeline if event["kind"] == "end"] == ["Done"]
    assert told.final_text == "Done"


def test_a_task_ends_once_however_often_it_is_said() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.end("t", "stopped", state="canceled")
    mesh.end("t", "done all the same")
    flow = TaskQueryService(mesh.told()).get_complete_task_flow("t")
    assert [(event["text"], event["status"]) for event in flow.timeline if event["kind"] == "end"] == [("stopped", "canceled")]
    assert [event["text"] for event in flow.timeline if event["kind"] == "message"] == ["stopped", "done all the same"]
    mesh.ask("t", "Chef", "again")
    flow = TaskQueryService(mesh.told()).get_complete_task_flow("t")
    assert (flow.open_items, [event for event in flow.timeline if event["kind"] == "end"]) == (["t"], [])


def test_a_flow_names_tasks_and_calls_as_the_mesh_does() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c", "peer_Cook", {})))
    mesh.say("t", started("c", "peer_Cook"))
    mesh.ask("kid", "Cook", parent="t", call="c")
    flow = TaskQueryService(mesh.told()).get_complete_task_flow("t")
    assert flow.open_items == ["t", "kid", "c"]
    told = [(event["kind"], event["task"], event["id"]) for event in flow.timeline if event["kind"] != "model_call"]
    assert told == [("request", "t", "t"), ("tool_call", "t", flow.tool_calls[0].ref), ("subtask", "t", "kid"), ("request", "kid", "kid")]
