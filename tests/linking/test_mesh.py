"""Rules of a mesh, one small story each; `told` holds every answer to be the same in any order."""

import random
from typing import Any

import pytest

from ramify.ingest import Ingest
from ramify.linking.mesh import names
from ramify.model.observation import Correction
from ramify.query.service import Questions
from tests import story
from tests.mesh_story import Mesh, data, model_answered, model_asked, returned, started, stored, task_object


def tools(ask: Questions, task: str) -> list[tuple[Any, ...]]:
    return [(tool["call_id"], tool["occurrence"], tool["name"], tool["type"], tool["status"]) for tool in ask.tools(task, limit=0)["items"]]


def parent_of(ask: Questions, task: str) -> tuple[Any, ...]:
    link = ask.task(task)["link"]
    return (link["rule"], ask.task(link["parent"])["refs"][0]["value"], link["via"], link["certainty"]) if link else (None,)


def test_a_weak_model_calls_everything_the_same_and_each_call_is_one() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("call_1", "add", {"n": 1}), ("call_1", "mul", {"n": 2})))
    mesh.say("t", started("call_1", "mul", {"n": 2}))
    mesh.say("t", started("call_1", "add", {"n": 1}))
    mesh.say("t", returned("call_1", "add", 1))
    mesh.say("t", model_answered(("call_1", "add", {"n": 3})))
    mesh.say("t", started("call_1", "add", {"n": 3}))
    mesh.say("t", returned("call_1", "add", 3))
    mesh.say("t", returned("call_1", "mul", 2))
    mesh.end("t")
    ask = mesh.told()
    assert tools(ask, "t") == [
        ("call_1", 1, "add", "tool_result", "ok"), ("call_1", 2, "mul", "tool_result", "ok"), ("call_1", 3, "add", "tool_result", "ok"),
    ]  # fmt: skip
    assert [tool["result"] for tool in ask.tools("t")["items"]] == [1, 2, 3]
    assert ask.tool("sam:call:t/call_1/2")["name"] == "mul"


def test_a_peer_that_timed_out_is_known_from_a_later_history() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c1", "peer_Cook", {})))
    mesh.say("t", started("c1", "peer_Cook"))
    mesh.ask("kid", "Cook", parent="t", call="c1")
    mesh.say("t", model_asked(("c1", "peer_Cook", {"error": "Peer timed out after 30 seconds"})))
    mesh.say("t", model_answered(text="never mind"))
    mesh.end("t")
    mesh.end("kid", agent="Cook", at=100)
    ask = mesh.told()
    (tool,) = ask.tools("t")["items"]
    assert (tool["status"], tool["result_source"], tool["result"]["error"], tool["closed"]) == ("timed_out", "history", "Peer timed out after 30 seconds", None)
    assert (ask.task("kid")["status"], ask.task("kid")["closed"]) == ("completed", "2026-11-15T10:01:40.000000Z")
    assert parent_of(ask, "kid") == ("parentTaskId", "t", "c1", 1.0)


def test_of_calls_with_one_id_the_last_result_in_the_history_is_that_of_the_last() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c", "peer_A", {})))
    mesh.say("t", returned("c", "peer_A", "first"))
    mesh.say("t", model_asked(("c", "peer_A", "first")))
    mesh.say("t", model_answered(("c", "peer_A", {})))
    mesh.say("t", model_asked(("c", "peer_A", "timed out after 5 seconds")))  # the first was compacted away
    ask = mesh.told()
    assert [(tool["status"], tool["result_source"]) for tool in ask.tools("t")["items"]] == [("ok", "wire"), ("timed_out", "history")]


def test_a_tool_that_does_not_exist_ends_in_error_and_one_without_result_is_missing() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c1", "fly", {}), ("c2", "swim", {})))
    mesh.say("t", started("c2", "swim"))
    mesh.say("t", data(a2a_signal_type="tool_execution_error", error_message="Tool fly not found"))
    mesh.end("t", "Something went wrong", state="failed")
    ask = mesh.told()
    assert tools(ask, "t") == [("c1", 1, "fly", "llm_response", "error"), ("c2", 1, "swim", "tool_invocation_start", "missing")]
    assert ask.task("t")["native"]["error"] == "Tool fly not found"


def test_an_error_that_names_a_tool_is_not_about_one_whose_name_it_begins_with() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c1", "search", {}), ("c2", "search_web", {})))
    mesh.say("t", data(a2a_signal_type="tool_execution_error", error_message="Tool 'search_web' not found"))
    mesh.end("t", state="failed")
    assert [tool[-1] for tool in tools(mesh.told(), "t")] == ["missing", "error"]


def test_a_start_without_arguments_takes_none_away() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c", "look", {"n": 1})))
    mesh.say("t", started("c", "look"))
    mesh.say("t", started("d", "look"))
    assert [tool["args"] for tool in mesh.told().tools("t")["items"]] == [{"n": 1}, {}]


def test_what_began_ends_in_an_error_that_names_it_unless_another_of_that_name_never_began() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c1", "fly", {}), ("c2", "fly", {}), ("c3", "swim", {})))
    for id, name in (("c1", "fly"), ("c3", "swim")):
        mesh.say("t", started(id, name))
    mesh.say("t", data(a2a_signal_type="tool_execution_error", error_message="Tool fly not found"))
    mesh.say("t", data(a2a_signal_type="tool_execution_error", error_message="Tool swim sank"))
    mesh.end("t", state="failed")
    assert [tool[-1] for tool in tools(mesh.told(), "t")] == ["missing", "error", "error"]


def test_a_result_that_only_a_history_holds_is_judged_as_one_on_the_wire() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c", "look", {}), ("d", "peer_Cook", {}), ("e", "peer_Baker", {}), ("f", "look", {})))
    late = {"status": "error", "message": "Peer timed out after 30 seconds"}
    mesh.say("t", model_asked(("c", "look", {"status": "error", "message": "dark"}), ("d", "peer_Cook", task_object("kid", "canceled")), ("e", "peer_Baker", late), ("f", "look", {"status": "success"})))
    found = mesh.told().tools("t")["items"]
    assert [(tool["status"], tool["error"]) for tool in found] == [("error", "dark"), ("canceled", None), ("timed_out", None), ("ok", None)]


def test_words_about_time_are_no_time_out() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c", "peer_Cook", {})))
    mesh.say("t", model_asked(("c", "peer_Cook", {"text": "the first pan timed out after all"})))
    assert tools(mesh.told(), "t")[0][-1] == "ok"


def test_what_runs_is_running_and_what_was_canceled_is_canceled() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_asked())
    mesh.say("t", model_answered(("c", "wait", None)))
    mesh.say("t", started("c", "wait"))
    mesh.say("t", model_asked())
    ask = mesh.told()
    assert tools(ask, "t")[0][-1] == "running"
    assert ask.task("t")["status"] == "working"
    assert [call["status"] for call in ask.calls(task="t")["items"]] == ["running", "ok"]
    mesh.cancel("t", "Chef")
    mesh.end("t", state="canceled")
    ask = mesh.told()
    assert tools(ask, "t")[0][-1] == "canceled"
    assert [call["status"] for call in ask.calls(task="t")["items"]] == ["aborted", "ok"]
    assert ask.task("t")["usage"]["calls"] == 2
    assert [task["refs"][0]["value"] for task in ask.tasks()["items"]] == ["t"]


@pytest.mark.parametrize(("state", "status"), [("completed", "ok"), ("failed", "error"), ("rejected", "error"), ("canceled", "canceled")])
def test_a_childs_end_is_the_result_of_its_call(state: str, status: str) -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c", "peer_Cook", {})))
    mesh.ask("kid", "Cook", parent="t", call="c")
    mesh.end("kid", state=state, agent="Cook")
    mesh.say("t", returned("c", "peer_Cook", task_object("kid", state)))
    ask = mesh.told()
    assert tools(ask, "t")[0][-1] == status
    assert ask.task("kid")["status"] == state


def test_two_children_of_one_call_id_go_to_their_own_calls() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c", "peer_Cook", {"n": 1}), ("c", "peer_Cook", {"n": 2}), ("c", "peer_Cook", {"n": 3})))
    for kid in ("one", "two", "three"):
        mesh.ask(kid, "Cook", parent="t", call="c")
    mesh.say("t", returned("c", "peer_Cook", task_object("two")))  # the oldest that lacks a result is the first call
    ask = mesh.told()
    spawned = [[ask.task(kid)["refs"][0]["value"] for kid in tool["spawned"]] for tool in ask.tools("t")["items"]]
    assert spawned == [["two"], ["one"], ["three"]]


def test_a_workflow_still_open_belongs_to_the_nearest_call_before_it() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c1", "workflow_Report", {}), ("c2", "workflow_Report", {})))
    mesh.say("t", started("c1", "workflow_Report"))
    mesh.say("t", started("c2", "workflow_Report"))
    mesh.ask("w1", "Report", "", parent="t")
    mesh.ask("w2", "Report", "", parent="t")
    ask = mesh.told()
    assert [parent_of(ask, id)[2] for id in ("w1", "w2")] == ["c1", "c2"]
    assert ask.task("w1")["prompt"] is None
    mesh.say("t", returned("c2", "workflow_Report", task_object("w1")))
    ask = mesh.told()
    assert [parent_of(ask, id)[2] for id in ("w1", "w2")] == ["c2", "c1"]


def test_a_workflow_may_be_asked_before_its_call_is_said_to_have_started() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c1", "workflow_Report", {}), ("c2", "workflow_Report", {})))
    mesh.say("t", started("c1", "workflow_Report"), at=5)
    mesh.ask("w1", "Report", "", parent="t", at=6)
    mesh.ask("w2", "Report", "", parent="t", at=7)
    mesh.say("t", started("c2", "workflow_Report"), at=7.01)
    ask = mesh.told()
    assert [parent_of(ask, id)[2] for id in ("w1", "w2")] == ["c1", "c2"]


def test_a_listener_that_joined_late_finds_parents_all_the_same() -> None:
    mesh = Mesh()
    mesh.say("t", data(type="workflow_node_execution_start", node_id="n", sub_task_id="node"))
    mesh.say("t", returned("c", "peer_Cook", task_object("kid")))
    mesh.say("other", data(type="llm_response"), agent="Baker")
    mesh.say("t", metadata={"forwarded_from_peer": "Baker", "original_peer_event_taskId": "other"})
    mesh.say("t", metadata={"forwarded_from_peer": "UnknownPeer", "original_peer_event_taskId": "deep"})
    ask = mesh.told()
    assert parent_of(ask, "node") == ("workflow-node", "t", None, 1.0)
    assert parent_of(ask, "kid") == ("result-task-id", "t", "c", 1.0)
    assert parent_of(ask, "other") == ("forwarded-copy", "t", None, 0.95)
    assert (ask.task("node")["status"], ask.task("node")["agent"], ask.task("node")["prompt"]) == ("unknown", None, None)
    assert (ask.task("other")["agent"], ask.task("other")["status"]) == ("Baker", "working")
    assert ask.task("t")["native"]["messages"] == 2
    assert len(ask.tasks()["items"]) == 4
    mesh.ask("kid", "Cook", "the request, late", parent="t", call="c", at=0.5)
    whole = mesh.told()
    assert parent_of(whole, "kid") == ("parentTaskId", "t", "c", 1.0)
    assert whole.task("kid")["prompt"] == "the request, late"
    assert whole.why("kid")["links"][0]["explanation"]


def test_what_is_known_of_a_task_by_name_reaches_those_below_it_whenever_it_comes() -> None:
    mesh = Mesh()
    mesh.say("a", returned("c", "peer_Cook", task_object("b")), at=5)
    mesh.say("b", metadata={"forwarded_from_peer": "Cook", "original_peer_event_taskId": "c"}, at=6)
    mesh.say("unseen", metadata={"forwarded_from_peer": "Cook", "original_peer_event_taskId": "d"}, at=7)
    mesh.say("d", model_answered(), agent="Cook", at=8)
    ask = mesh.told()
    assert [ask.task(id)["native"]["context_id"] for id in "abcd"] == ["c"] * 4
    assert (parent_of(ask, "c")[:2], ask.task("d")["branch"]) == (("forwarded-copy", "b"), "subtask_3")


def test_a_conversation_of_children_alone_has_no_main_line() -> None:
    mesh = Mesh()
    mesh.say("kid", model_answered(), agent="Cook")
    mesh.say("unseen", metadata={"forwarded_from_peer": "Cook", "original_peer_event_taskId": "kid"})
    (conversation,) = mesh.told().conversations()["items"]
    assert conversation["branches"] == ["subtask_1"]


def test_a_parent_that_only_its_child_names_is_there_by_name() -> None:
    mesh = Mesh()
    mesh.ask("kid", "Cook", parent="t", call="c")
    ask = mesh.told()
    assert (ask.task("t")["status"], ask.task("t")["prompt_author"]) == ("unknown", "unknown")
    assert ask.tree("t")["children"][0]["refs"][0]["value"] == "kid"
    assert ask.task("kid")["prompt_author"] == "agent"
    mesh.ask("t", "Chef", at=0.2)
    ask = mesh.told()
    assert (ask.task("t")["prompt"], ask.task("kid")["branch"]) == ("do it", "subtask_1")
    assert ask.task("kid")["native"]["delegating_agent_name"] == "Chef"


def test_only_an_end_ends_a_task_and_silence_does_not() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", {"kind": "text", "text": "all done"}, final=True)
    mesh.say("t", state="completed")
    ask = mesh.told()
    assert (ask.task("t")["status"], ask.task("t")["closed"]) == ("working", None)
    mesh.say("t", state="input-required")
    assert mesh.told().task("t")["status"] == "input-required"
    mesh.say("t", {"kind": "text", "text": "on it"})
    assert mesh.told().task("t")["status"] == "working"
    mesh.end("t")
    assert mesh.told().task("t")["status"] == "completed"
    mesh.ask("t", "Chef", "and again")
    ask = mesh.told()
    assert (ask.task("t")["status"], ask.task("t")["prompt"]) == ("working", "do it")


def test_input_that_a_peer_waits_for_is_waited_for_above_it_too() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.ask("kid", "Cook", parent="t", call="c")
    mesh.say("kid", state="input-required", agent="Cook", message_id="same")
    mesh.say("t", state="input-required", message_id="same", result_metadata={"forwarded_from_peer": "Cook", "task_call_stack": []})
    ask = mesh.told()
    assert [ask.task(id)["status"] for id in ("t", "kid")] == ["input-required"] * 2
    assert [ask.task(id)["native"]["messages"] for id in ("t", "kid")] == [1, 2]


def test_a_copy_that_waits_is_remembered_until_its_task_is_known_and_other_states_of_copies_move_nothing() -> None:
    mesh = Mesh()
    mesh.say("t", state="input-required", message_id="same", result_metadata={"forwarded_from_peer": "Cook", "task_call_stack": []}, at=5)
    mesh.ask("t", "Chef", at=1)
    mesh.ask("u", "Chef", at=6)
    mesh.say("u", state="failed", metadata={"forwarded_from_peer": "Cook", "original_peer_event_taskId": "kid"})
    ask = mesh.told()
    assert (ask.task("t")["status"], ask.task("u")["status"], ask.task("u")["native_status"]) == ("input-required", "working", None)


def test_the_first_end_is_final() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.end("t", "stopped", state="canceled")
    mesh.end("t", "done all the same")
    task = mesh.told().task("t")
    assert (task["status"], task["native"]["final_text"], task["closed"]) == ("canceled", "stopped", "2026-11-15T10:00:02.000000Z")
    mesh.ask("t", "Chef", "again")
    mesh.end("t", "done now")
    assert mesh.told().task("t")["native"]["final_text"] == "done now"


def test_a_request_from_a_clock_that_is_ahead_does_not_open_its_task_again() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef", at=60)
    mesh.say("t", model_asked(), at=10)
    mesh.say("t", model_answered(), at=11)
    mesh.end("t", at=12)
    task = mesh.told().task("t")
    assert (task["status"], task["prompt"], task["closed"]) == ("completed", "do it", "2026-11-15T10:00:12.000000Z")


def test_an_error_beside_an_id_fails_its_task() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.messages.append({"topic": "n/a2a/v1/gateway/response/gw/t", "received_at": "2026-11-15T10:00:09+00:00", "payload": {"id": "t", "error": {"code": -32603, "message": "boom", "data": {"taskId": "t"}}}})
    task = mesh.told().task("t")
    assert (task["status"], task["native"]["error"]) == ("failed", "boom")


def test_a_cancel_request_that_was_refused_ends_no_task() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    refused = {"id": "x1", "error": {"code": -32002, "message": "cannot be canceled", "data": {"taskId": "t"}}}
    mesh.messages.append({"topic": "n/a2a/v1/gateway/response/gw/t", "received_at": "2026-11-15T10:00:09+00:00", "payload": refused})
    ask = mesh.told()
    assert (ask.task("t")["status"], len(ask.tasks()["items"])) == ("working", 1)
    mesh.messages.append({"topic": "n/a2a/v1/gateway/response/gw/t", "received_at": "2026-11-15T10:00:10+00:00", "payload": {**refused, "id": "t"}})
    assert mesh.told().task("t")["status"] == "failed"


def test_thoughts_end_with_their_mark_or_with_the_answer() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    for text, complete in (("I ", False), ("think.", False), ("", True), ("And ", False), ("again", False)):
        mesh.say("t", data(type="thinking_content", content=text, is_complete=complete))
    mesh.say("t", model_answered(("c", "look", {}), text="I look."))
    mesh.say("t", data(type="thinking_content", content="third"))
    mesh.say("t", model_answered(("host-notify-1", "_notify", {}), text="not explained"))
    mesh.say("t", model_answered(text="partial", partial=True))
    blocks = mesh.told().reasoning("t")["items"]
    assert [(block["kind"], block["text"]) for block in blocks] == [("thinking", "I think."), ("thinking", "And again"), ("explanation", "I look."), ("thinking", "third")]


def test_a_call_to_a_model_ends_the_thought_of_the_turn_before_it() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    for text in ("first", "second"):
        mesh.say("t", model_asked())
        mesh.say("t", data(type="thinking_content", content=text))
    assert [block["text"] for block in mesh.told().reasoning("t")["items"] if block["kind"] == "thinking"] == ["first", "second"]


def test_a_cancel_request_finds_a_task_whose_id_lost_its_beginning() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.ask("a2a_subtask_77", "Cook", parent="t", call="c")
    mesh.ask("b_77", "Baker", parent="t", call="d")
    mesh.cancel("77", "Cook")
    mesh.cancel("nobody", "Cook")
    mesh.ask("x0123456789", "Cook", parent="t", call="e")
    mesh.cancel("0123456789", "Cook")
    mesh.cancel("0123456789", "Baker")
    ask = mesh.told()
    notes = [row for row in ask.store.docs("notes") if getattr(row, "kind", "") == "cancel_request"]
    assert sorted(getattr(note, "task", "") for note in notes) == sorted([ask.task("a2a_subtask_77")["id"], ask.task("x0123456789")["id"], "", ""])
    assert len(ask.tasks()["items"]) == 4


def test_tokens_of_a_tool_are_a_call_of_their_own_and_a_response_alone_counts() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c", "look", {}), used=(7, 3)))
    mesh.say("t", returned("c", "look", {"status": "error", "message": "dark"}, llm_usage={"input_tokens": 100, "output_tokens": 50, "model": "small"}))
    ask = mesh.told()
    usage = ask.task("t")["usage"]
    assert (usage["calls"], usage["input"], usage["output"]) == (2, 107, 53)
    assert {call["utility"] for call in ask.calls(task="t")["items"]} == {None, "tool"}
    (tool,) = ask.tools("t")["items"]
    assert (tool["status"], tool["error"]) == ("error", "dark")


def test_a_clock_that_runs_backwards_gives_no_duration() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", returned("c", "look", 1), at=5)
    mesh.say("t", started("c", "look"), at=9)
    mesh.say("t", started("d", "look"), at=10)
    mesh.say("t", returned("d", "look", 1), at=12)
    found = mesh.told().tools("t")["items"]
    assert [(tool["duration_ms"], tool["flags"]) for tool in found] == [(None, ["clock"]), (2000.0, [])]


def test_a_task_that_names_itself_as_its_parent_has_none() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef", parent="t")
    ask = mesh.told()
    assert ask.task("t")["link"] is None
    assert ask.why("t")["links"][0]["kind"] == "refers"


def test_tasks_that_name_each_other_as_parents_are_judged_together() -> None:
    mesh, names = Mesh(), ("t1", "t2", "t3")
    for task, parent in (("t1", "t3"), ("t2", "t1"), ("t3", "t2")):
        mesh.ask(task, "Cook", parent=parent, call="x")
        mesh.say(task, model_asked(), agent="Cook")
    ask = mesh.told()
    assert [parent_of(ask, task)[1:2] for task in names] == [("t3",), ("t1",), ()]  # the youngest closes the circle
    assert ask.why("t3")["links"][0]["kind"] == "refers"
    mesh.ask("t1", "Cook", parent="root", call="x", at=0.5)  # an earlier request says whose child it is
    ask = mesh.told()
    assert [parent_of(ask, task)[1:2] for task in names] == [("root",), ("t1",), ("t2",)]
    assert [link["kind"] for link in ask.why("t3")["links"]] == ["spawned"]


def test_calls_to_a_model_stand_where_their_task_stands_whoever_moved_it() -> None:
    mesh = Mesh()
    mesh.ask("root", "Chef")
    mesh.ask("kid", "Cook", parent="root")
    mesh.ask("deep", "Baker", parent="kid", call="c")
    mesh.say("deep", model_answered(), agent="Baker")
    mesh.ask("other", "Chef")
    mesh.say("other", model_asked())
    for message, context in zip(mesh.messages, ("c", "d", "e", "e", "f", "f"), strict=True):
        payload = message["payload"]
        (payload["params"]["message"] if "params" in payload else payload["result"])["contextId"] = context
    ask = mesh.told()
    assert branches(ask, "c") == ["subtask_2"]
    Ingest(ask.store).step([Correction("obs_word", "default", 1, "cli", "link", ask.task("other")["id"], ask.task("deep")["id"])])
    assert branches(ask, "c") == ["subtask_3", "subtask_2"]
    Ingest(ask.store).step([Correction("obs_other", "default", 2, "cli", "unlink", ask.task("kid")["id"], "")])
    assert branches(ask, "c") == []
    assert branches(ask, "d") == ["subtask_2", "subtask_1"]


def test_a_task_that_was_nobodys_before_somebody_gave_it_out_was_called_by_nobody() -> None:
    mesh = Mesh()
    mesh.say("t", model_answered(("c", "peer_Cook", {})))
    mesh.ask("kid", "Cook", "at first")
    mesh.ask("kid", "Cook", "and again", parent="t", call="c")
    ask = mesh.told()
    assert (parent_of(ask, "kid"), ask.tools("t")["items"][0]["spawned"]) == ((None,), [])


def corrected(mesh: Mesh, *words: tuple[str, str, str]) -> Questions:
    """What people said, before, between and after what the mesh said; each word is an act, a child and its parent."""
    said = [
        Correction(f"obs_{number}", "default", number, "cli", act, names.task_id("default", child), parent)
        for number, (act, child, parent) in enumerate(words)
    ]
    seen = [*mesh.observations(), *said]
    first = stored(seen, 1000)
    for seed in range(12):
        mixed = random.Random(seed).sample(seen, len(seen))
        assert story.row_differences(story.rows(first), story.rows(stored(mixed, (1, 3, 7)[seed % 3]))) == []
    return Questions(first)


def test_a_persons_word_breaks_a_circle_before_any_rule_does() -> None:
    mesh = Mesh()
    mesh.ask("a", "Chef", parent="b")
    mesh.ask("b", "Chef", parent="a")
    mesh.ask("o", "Chef")
    a, b, o = (names.task_id("default", id) for id in "abo")
    told = {
        (("unlink", "a", ""),): [None, "a", None],
        (("unlink", "b", ""),): ["b", None, None],
        (("link", "b", o),): ["b", "o", None],
        (("link", "b", o), ("unlink", "b", "")): ["b", None, None],
        (("link", "o", a),): ["b", None, "a"],
        (("link", "o", a), ("link", "a", b), ("link", "b", o)): ["b", None, "a"],
    }
    for words, parents in told.items():
        ask = corrected(mesh, *words)
        assert [parent_of(ask, id)[1] if ask.task(id)["link"] else None for id in "abo"] == parents


def test_what_came_of_a_call_is_what_a_person_says_came_of_it() -> None:
    mesh = Mesh()
    mesh.ask("t", "Chef")
    mesh.say("t", model_answered(("c", "peer_Cook", {})))
    mesh.ask("u", "Chef")
    mesh.say("u", model_answered(("d", "peer_Cook", {})))
    mesh.ask("kid", "Cook", parent="t", call="c")
    ask = corrected(mesh, ("unlink", "kid", ""))
    assert [ask.tools(id)["items"][0]["spawned"] for id in "tu"] == [[], []]
    ask = corrected(mesh, ("link", "kid", names.tool_id("default", "u", "d", 1)))
    assert [ask.tools(id)["items"][0]["spawned"] for id in "tu"] == [[], [ask.task("kid")["id"]]]
    assert [one["id"] for one in ask.subtasks("d")["items"]] == [ask.task("kid")["id"]]


def branches(ask: Questions, context: str) -> list[str]:
    return [call["branch"] for call in ask.calls(conversation=f"sam:context:{context}")["items"]]


def test_feedback_may_come_before_its_task() -> None:
    mesh = Mesh()
    feedback = {"feedback": {"task_id": "t", "feedback_type": "down", "feedback_text": "slow"}, "task_stim_data": {"invocation_flow": []}}
    mesh.messages.append({"topic": "anything", "payload": feedback, "received_at": "2026-11-15T10:00:09+00:00"})
    assert mesh.told().tasks()["items"] == []
    mesh.ask("t", "Chef")
    ask = mesh.told()
    (note,) = [row for row in ask.store.docs("notes") if getattr(row, "kind", "") == "feedback"]
    assert (getattr(note, "task", ""), getattr(note, "status", "")) == (ask.task("t")["id"], "down")
