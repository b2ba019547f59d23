"""The five questions about a task, over recorded runs of a mesh: the true answers, under the mesh's own ids."""

from typing import Any

import pytest

from ramify.query import Ambiguous, NotFound, TaskQueryService
from ramify.query.flow import flow
from tests import story
from tests.mesh_story import Mesh, model_answered
from tests.test_mesh_cases import CASES, lines, observed, told


def service(case: str) -> tuple[TaskQueryService, dict[str, Any]]:
    return TaskQueryService(told(observed(lines(case)))[1]), story.expected("sam", case)


@pytest.mark.parametrize("case", CASES)
def test_tool_calls(case: str) -> None:
    asked, truth = service(case)
    found = asked.get_tool_calls_by_task(truth["root_task_id"], include_subtasks=True)
    told = {(call.task_id, call.id, call.occurrence): call for call in found}
    assert len(told) == len(found) == truth["totals"]["tool_calls"]
    for entry in truth["tool_calls"]:
        call = told[entry["task_id"], entry["call_id"], entry["occurrence"]]
        assert (call.name, call.args, call.type, call.status, call.phases, call.duration_ms, call.agent_name) == tuple(
            entry[name] for name in ("name", "args", "type", "status", "phases", "duration_ms", "agent_name")
        )
        assert call.child_task_ids == ([entry["child_task_id"]] if entry["child_task_id"] else [])
        assert (call.started_at is not None) == ("tool_invocation_start" in entry["phases"])
        one = asked.get_tool_call_with_io(entry["call_id"], task_id=entry["task_id"])
        assert (one.input, one.ref, (one.output is not None), one.result_source) == (entry["args"], call.ref, entry["has_result"], entry["result_source"])
    for entry in truth["tasks"]:
        own = asked.get_tool_calls_by_task(entry["task_id"])
        assert len(own) == sum(call["task_id"] == entry["task_id"] for call in truth["tool_calls"])


@pytest.mark.parametrize("case", CASES)
def test_reasoning(case: str) -> None:
    asked, truth = service(case)
    for entry in truth["reasoning"]:
        for kind in ("thinking", "explanation", "progress"):
            assert [block.text for block in asked.get_reasoning_for_task(entry["task_id"], kinds=[kind])] == entry[kind]
        contexts = asked.get_reasoning_for_task(entry["task_id"], kinds=["context"])
        assert len(contexts) == entry["contexts"]
        assert all(block.conversation_history and block.model for block in contexts)


@pytest.mark.parametrize("case", CASES)
def test_sub_tasks(case: str) -> None:
    asked, truth = service(case)
    found = {one.task_id: one for one in asked.get_subtasks(truth["root_task_id"], recursive=True)}
    wanted = {entry["task_id"]: entry for entry in truth["tasks"] if entry["depth"]}
    assert list(found) == list(wanted)
    for id, entry in wanted.items():
        one = found[id]
        assert (one.parent_task_id, one.agent_name, one.num_messages, one.depth, one.status) == (
            entry["parent_task_id"], entry["agent_name"], entry["own_messages"], entry["depth"], entry["status"],
        )  # fmt: skip
        assert (one.function_call_id, one.delegating_agent_name) == (entry["function_call_id"], entry["delegating_agent_name"])
        assert one.ended_at is not None
        assert one.ended_at.isoformat() == entry["ended_at"]
    direct = asked.get_subtasks(truth["root_task_id"])
    assert [one.task_id for one in direct] == [id for id, entry in wanted.items() if entry["depth"] == 1]


@pytest.mark.parametrize("case", CASES)
def test_the_flow(case: str) -> None:
    asked, truth = service(case)
    whole = asked.get_complete_task_flow(truth["root_task_id"])
    totals = truth["totals"]
    assert (whole.task_id, whole.context_id, whole.status, whole.final_text) == (truth["root_task_id"], truth["context_id"], truth["final_status"], truth["final_text"])
    assert (len(whole.tool_calls), len(whole.subtasks), whole.tree_usage["input"]) == (totals["tool_calls"], totals["subtasks"], totals["input_tokens"])
    assert [(one["rating"], one["comment"]) for one in whole.feedback] == [(one["rating"], one["comment"]) for one in truth["feedback"]]
    answer = flow(asked.questions, truth["root_task_id"])
    kinds = [event["kind"] for event in answer["events"]]
    assert kinds.count("request") == kinds.count("end") == totals["tasks"]
    assert kinds.count("subtask") == totals["subtasks"]
    assert kinds.count("tool_call") == totals["tool_calls"]
    assert kinds.count("model_call") == totals["model_calls"]
    assert kinds.count("cancel_request") == len(truth["cancel_requests"])
    assert kinds.count("thinking") == sum(len(entry["thinking"]) for entry in truth["reasoning"])
    stamps = [event["timestamp"] for event in answer["events"]]
    assert stamps == sorted(stamps)


def test_a_peers_answer_is_read_out_of_its_task() -> None:
    asked, truth = service("simple")
    assert asked.get_tool_call_with_io(truth["tool_calls"][0]["call_id"]).output_text == "Let me look that up.Utrecht: 21.5 C."
    thought = [block.kind for block in asked.get_tool_call_with_io(truth["tool_calls"][0]["call_id"]).reasoning]
    assert thought == ["context", "explanation"]


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
