"""Lines of the message stream, one kind at a time, from the oldest client that is known to the newest."""

from typing import Any

import pytest

from ramify.model.event import (
    Event,
    Hint,
    MessageSaid,
    ModelAnswered,
    TaskMoved,
    TaskOpened,
    TaskReferred,
    ToolReturned,
    Unreadable,
    UsageReported,
)
from ramify.model.prices import Tokens
from ramify.protocols.claude.stream import decode_stream
from tests.protocols.claude.lines import AGENT, AT, SESSION, of, only, record

USAGE = {"input_tokens": 3, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 1}


def decode(line: dict[str, Any], number: int = 7) -> tuple[Event, ...]:
    return decode_stream(record({"session_id": SESSION, "uuid": "u-1", **line}, "stream-json", number))


def assistant(*blocks: dict[str, Any], stop: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"id": "msg_1", "role": "assistant", "model": "claude-x", "content": list(blocks), "stop_reason": stop}
    return {"type": "assistant", "message": {**message, "usage": USAGE}, "parent_tool_use_id": None, **more}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None, **more}


def returned(result: Any, tool: str = "toolu_1", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": tool, "content": "done", **more}
    return user([block], tool_use_result=result)


def system(subtype: str, **more: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


AGENT_CALL = {"type": "tool_use", "id": "toolu_1", "name": "Agent", "input": {"description": "Look", "prompt": "Go."}}


def test_a_block_of_an_answer_is_a_piece_of_the_answer_and_a_message() -> None:
    events = decode(assistant(AGENT_CALL, request_id="req_1"))
    answer, said = only(events, ModelAnswered), only(events, MessageSaid)
    assert (answer.request, answer.message, answer.request_id, answer.model) == ("", "msg_1", "req_1", "claude-x")
    assert answer.scope is not None
    assert (answer.scope.session, answer.scope.agent, answer.under, answer.source) == (SESSION, "", "", "stream")
    assert answer.part is not None
    assert [(use.id, use.name, use.text, use.title) for use in answer.part.uses] == [
        ("toolu_1", "Agent", "Go.", "Look")
    ]
    assert (said.message, said.place.id, said.place.position, said.part.role) == ("msg_1", "u-1", 7, "assistant")
    assert said.blocks == (AGENT_CALL,)


def test_without_a_stop_reason_the_figures_are_those_of_the_beginning() -> None:
    early = only(decode(assistant(text("Hm."))), ModelAnswered)
    late = only(decode(assistant(text("Hm."), stop="end_turn")), ModelAnswered)
    assert (early.final, late.final, late.stop_reason) == (False, True, "end_turn")
    assert early.tokens == Tokens(3, 1, 90, 5, 0)


def test_tool_calls_of_one_answer_keep_the_order_of_their_lines() -> None:
    first, second = (only(decode(assistant(AGENT_CALL), number), ModelAnswered).part for number in (7, 8))
    assert first is not None
    assert second is not None
    assert first.uses[0].block < second.uses[0].block


def test_an_answer_that_a_person_stopped_is_aborted() -> None:
    assert only(decode(assistant(text("And th"), aborted=True)), ModelAnswered).status == "aborted"


def test_an_agents_line_names_the_call_that_started_it() -> None:
    events = decode(assistant(text("Hm."), agent_id=AGENT, parent_tool_use_id="toolu_9"))
    referred, answer = only(events, TaskReferred), only(events, ModelAnswered)
    assert (referred.scope.agent, referred.tool, referred.rule) == (AGENT, "toolu_9", "parent_tool_use_id")
    assert answer.scope is not None
    assert (answer.scope.agent, answer.under) == (AGENT, "")


def test_where_the_agent_is_not_named_the_call_around_it_is() -> None:
    events = decode(assistant(text("Hm."), parent_tool_use_id="toolu_9"))
    assert of(events, TaskReferred) == []
    assert {only(events, ModelAnswered).under, only(events, MessageSaid).under} == {"toolu_9"}


def test_the_clients_words_in_place_of_an_answer_are_no_model_call() -> None:
    failed = assistant(text("API Error: 529"), stop="stop_sequence", error="server_error")
    failed["message"].update(model="<synthetic>", id="9d4f8a2e")
    events = decode(failed)
    assert of(events, ModelAnswered) == []
    assert only(events, MessageSaid).hint.author == "harness"
    assert (only(events, TaskMoved).status, only(events, TaskMoved).native) == ("failed", "server_error")


def test_a_local_commands_output_is_no_model_call_and_no_failure() -> None:
    line = assistant(text("## Context"), stop="end_turn", local_command_source="<local-command-stdout>## Context")
    line["message"]["model"] = "<synthetic>"
    (said,) = decode(line)
    assert isinstance(said, MessageSaid)
    assert (said.hint.author, said.hint.kind) == ("harness", "command-output")


@pytest.mark.parametrize(
    ("line", "author", "kind", "meta"),
    [
        (user("Take your time.", isReplay=True), "human", "", False),
        (user([text("A"), text("B")], isReplay=True), "human", "", False),
        (user("<system-reminder>I typed this.</system-reminder> What is it?", isReplay=True), "human", "", False),
        (user("<local-command-stdout>Compacted </local-command-stdout>", isReplay=True), "", "", False),
        (user("<command-message>count</command-message>", isReplay=True), "", "", False),
        (user("This session is being continued from …", isSynthetic=True, isReplay=False), "", "", True),
        (user([text("Stop hook feedback:\nno")], isSynthetic=True), "", "", True),
        (user([text("Count the trees.")], parent_tool_use_id="toolu_1", agent_id=AGENT), "agent", "", False),
        (user([text("Count the trees.")], parent_tool_use_id="toolu_1"), "agent", "", False),
        (user([text("[Request interrupted by user]")]), "", "", False),
        (user([text("[Request interrupted by user for tool use]")], parent_tool_use_id="toolu_1"), "", "", False),
        (
            user("<task-notification>…", isReplay=True, origin={"kind": "task-notification"}),
            "harness",
            "notification",
            False,
        ),
        (user("Hurry.", origin={"kind": "coordinator"}, isSynthetic=True), "agent", "", False),
        (user("Typed.", origin={"kind": "human"}), "human", "", False),
        (user("?", origin={"kind": "weather"}), "", "", False),
        (returned(None), "", "", False),
    ],
)
def test_flags_say_who_wrote_a_users_line(line: dict[str, Any], author: str, kind: str, meta: bool) -> None:
    hint = only(decode(line), MessageSaid).hint
    assert (hint.author, hint.kind, hint.meta) == (author, kind, meta)


def test_another_agents_message_names_its_writer() -> None:
    origin = {"kind": "peer", "from": "ada", "senderTaskId": AGENT}
    hint = only(decode(user("I found it.", isReplay=True, isSynthetic=True, origin=origin)), MessageSaid).hint
    assert (hint.author, hint.agent) == ("agent", AGENT)


def test_what_flags_do_not_tell_is_left_to_the_words() -> None:
    assert only(decode(user([text("Hello")])), MessageSaid).hint == Hint()


def test_an_interruption_cancels_the_line_that_it_stands_in() -> None:
    main = only(decode(user([text("[Request interrupted by user]")])), TaskMoved)
    inside = only(decode(user([text("[Request interrupted by user]")], parent_tool_use_id="toolu_1")), TaskMoved)
    assert (main.status, main.scope.agent, main.under) == ("canceled", "", "")
    assert (inside.status, inside.under) == ("canceled", "toolu_1")


def test_a_quoted_interruption_mark_cancels_nothing() -> None:
    assert of(decode(user("Why does it say [Request interrupted by user]?", isReplay=True)), TaskMoved) == []


def test_a_result_of_a_blocking_agent_names_and_ends_it() -> None:
    value = {"status": "completed", "agentId": AGENT, "agentType": "Explore", "prompt": "Go.", "totalTokens": 9}
    events = decode(returned(value))
    assert only(events, ToolReturned).result.id == "toolu_1"
    referred, opened, moved = only(events, TaskReferred), only(events, TaskOpened), only(events, TaskMoved)
    assert (referred.scope.agent, referred.tool, referred.rule) == (AGENT, "toolu_1", "agent-id-in-result")
    assert (opened.prompt, opened.agent_type, opened.background) == ("Go.", "Explore", None)
    assert (moved.scope.agent, moved.status) == (AGENT, "completed")


def test_an_agent_whose_last_answer_cost_nothing_has_failed_whatever_the_client_says() -> None:
    value = {"status": "completed", "agentId": AGENT, "prompt": "Go.", "totalTokens": 0}
    moved = only(decode(returned(value)), TaskMoved)
    assert (moved.scope.agent, moved.status, moved.native) == (AGENT, "failed", "completed")


def test_a_report_does_not_know_when_its_agent_began() -> None:
    assert only(decode(returned({"status": "completed", "agentId": AGENT})), TaskOpened).at == 0
    assert only(decode(returned({"status": "async_launched", "agentId": AGENT})), TaskOpened).at == AT + 7


def test_a_receipt_names_an_agent_in_the_background_and_ends_nothing() -> None:
    value = {"isAsync": True, "status": "async_launched", "agentId": AGENT, "description": "Look", "prompt": "Go."}
    events = decode(returned(value))
    assert (only(events, TaskOpened).background, only(events, TaskOpened).title) == (True, "Look")
    assert of(events, TaskMoved) == []


def test_a_nested_calls_result_tells_who_called() -> None:
    line = {
        **returned({"status": "completed", "agentId": "a2", "prompt": "Go."}),
        "agent_id": AGENT,
        "parent_tool_use_id": "toolu_0",
    }
    assert only(decode(line), TaskOpened).scope.parent_agent == AGENT


def test_waking_an_agent_is_no_spawn() -> None:
    events = decode(returned({"success": True, "resumedAgentId": AGENT, "pin": {"id": AGENT}}))
    assert of(events, TaskReferred) == []
    assert (only(events, TaskMoved).scope.agent, only(events, TaskMoved).status) == (AGENT, "working")


def test_a_workflows_call_is_tied_to_both_names_of_its_run() -> None:
    events = decode(returned({"status": "async_launched", "taskId": "w06hdiah2", "runId": "wf_1"}))
    ties = [(tie.rule, tie.tool, tie.run, tie.scope.agent) for tie in of(events, TaskReferred)]
    assert ties == [("workflow-run", "toolu_1", "wf_1", ""), ("workflow-run", "toolu_1", "w06hdiah2", "")]


def test_a_structured_result_beside_two_blocks_is_nobodys() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": tool, "content": "done"} for tool in ("toolu_1", "toolu_2")]
    events = decode(user(blocks, tool_use_result={"status": "completed", "agentId": AGENT, "prompt": "Go."}))
    assert len(of(events, ToolReturned)) == 2
    assert of(events, TaskReferred) == []


@pytest.mark.parametrize("value", ["Error: Agent terminated early", None, 3, [], {"agentId": 3, "status": "x"}])
def test_a_structured_result_may_be_anything(value: Any) -> None:
    events = decode(returned(value, is_error=True))
    assert only(events, ToolReturned).result.error
    assert of(events, TaskReferred) == []


@pytest.mark.parametrize(
    "line",
    [
        {
            **returned("User rejected tool use"),
            "tool_result_meta": [{"id": "toolu_1", "non_execution_kind": "user-rejected"}],
        },
        returned({"stdout": "", "interrupted": True}),
        returned(None, content="Exit code 137\n[Request interrupted by user for tool use]", is_error=True),
    ],
)
def test_a_tool_that_a_person_stopped_is_canceled(line: dict[str, Any]) -> None:
    assert only(decode(line), ToolReturned).status == "canceled"


def test_shell_output_that_ends_like_an_interruption_cancels_nothing() -> None:
    line = returned(None, content="grep: [Request interrupted by user for tool use]")
    assert only(decode(line), ToolReturned).status == ""


def started(**more: Any) -> dict[str, Any]:
    fields = {"task_id": AGENT, "tool_use_id": "toolu_1", "description": "Look", "task_type": "local_agent"}
    return system("task_started", **fields, prompt="Go.", **more)


def test_a_started_task_is_the_whole_story_of_a_spawn() -> None:
    line = started(subagent_type="Explore", spawn_depth=1, is_backgrounded=False, run_id="r1")
    opened, moved, referred = decode(line)
    assert isinstance(opened, TaskOpened)
    assert (opened.prompt, opened.title, opened.agent_type) == ("Go.", "Look", "Explore")
    assert (opened.from_main, opened.background, opened.scope.parent_agent) == (True, False, "")
    assert opened.native == {"run_id": "r1", "tool_use_id": "toolu_1"}
    assert isinstance(moved, TaskMoved)
    assert (moved.scope.agent, moved.status) == (AGENT, "working")
    assert isinstance(referred, TaskReferred)
    assert (referred.scope.agent, referred.tool, referred.rule) == (AGENT, "toolu_1", "task_started")


def test_a_deeper_task_names_the_agent_above_it() -> None:
    opened = only(decode(started(spawn_depth=2, parent_task_id="aa")), TaskOpened)
    assert (opened.scope.parent_agent, opened.from_main) == ("aa", False)


def test_an_older_client_does_not_say_how_deep_it_is() -> None:
    opened = only(decode(started()), TaskOpened)
    assert (opened.from_main, opened.background, opened.agent_type) == (False, None, "")


@pytest.mark.parametrize("kind", ["local_bash", "in_process_teammate", "monitor", "remote_agent", 7])
def test_other_tasks_are_no_agents(kind: Any) -> None:
    assert decode({**started(), "task_type": kind}) == ()


def test_a_workflows_start_ties_its_name_to_the_call() -> None:
    (tie,) = decode({**started(), "task_type": "local_workflow", "task_id": "w06hdiah2"})
    assert isinstance(tie, TaskReferred)
    assert (tie.scope.agent, tie.tool, tie.run) == ("", "toolu_1", "w06hdiah2")


def test_progress_names_the_agents_of_a_workflow() -> None:
    steps = [
        {"type": "workflow_phase", "index": 1, "title": "Look"},
        {"agentId": "a1", "label": "Look left.", "state": "progress", "startedAt": 1_700_000_000_000},
        {"agentId": "a2", "label": "Right", "state": "done", "startedAt": 1_700_000_000_000, "durationMs": 94},
        {"agentId": 7},
    ]
    line = system("task_progress", task_id="w06hdiah2", tool_use_id="toolu_1", workflow_progress=steps)
    events = decode(line)
    assert [(tie.scope.agent, tie.run) for tie in of(events, TaskReferred)] == [
        ("a1", "w06hdiah2"),
        ("a2", "w06hdiah2"),
    ]
    assert [(task.title, task.at) for task in of(events, TaskOpened)] == [("Look left.", AT), ("Right", AT)]
    moves = [(move.scope.agent, move.status, move.at) for move in of(events, TaskMoved)]
    assert moves == [("a1", "working", AT + 7), ("a2", "completed", AT + 94_000)]


@pytest.mark.parametrize(
    ("native", "status"),
    [
        ("completed", "completed"),
        ("failed", "failed"),
        ("killed", "canceled"),
        ("stopped", "canceled"),
        ("running", "working"),
    ],
)
def test_an_update_moves_an_agents_task_at_its_own_time(native: str, status: str) -> None:
    patch = {"status": native, "end_time": 1_700_000_000_123}
    moved = only(decode(system("task_updated", task_id=AGENT, patch=patch)), TaskMoved)
    assert (moved.scope.agent, moved.status, moved.native, moved.at) == (AGENT, status, native, 1_700_000_000_123_000)
    told = decode(system("task_notification", task_id=AGENT, tool_use_id="toolu_1", status=native))
    assert (only(told, TaskMoved).status, only(told, TaskMoved).at) == (status, AT + 7)
    assert (only(told, TaskReferred).rule, only(told, TaskReferred).tool) == ("task-notification", "toolu_1")


@pytest.mark.parametrize("task", ["byy1wfnnh", "w06hdiah2", ""])
def test_the_end_of_a_shell_or_a_workflow_moves_no_agent(task: str) -> None:
    assert decode(system("task_updated", task_id=task, patch={"status": "completed"})) == ()
    assert decode(system("task_notification", task_id=task, tool_use_id="toolu_1", status="completed")) == ()


@pytest.mark.parametrize("agent", ["ade2e80", "b1c2d3e4", AGENT])
def test_agents_ids_of_all_generations_are_agents(agent: str) -> None:
    assert of(decode(system("task_updated", task_id=agent, patch={"status": "completed"})), TaskMoved) != []


def test_an_update_without_a_known_status_moves_nothing() -> None:
    assert decode(system("task_updated", task_id=AGENT, patch={"status": "pondering"})) == ()
    assert decode(system("task_updated", task_id=AGENT, patch={"is_backgrounded": True})) == ()


FIGURES = {
    "inputTokens": 12,
    "outputTokens": 34,
    "cacheReadInputTokens": 56,
    "cacheCreationInputTokens": 10,
    "cacheCreationEphemeral1hInputTokens": 4,
    "costUSD": 0.0108678,
}


def result(**more: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, **more}


@pytest.mark.parametrize(
    ("fields", "status", "native"),
    [
        ({"terminal_reason": "completed"}, "completed", "completed"),
        ({}, "completed", "success"),
        ({"is_error": True, "terminal_reason": "api_error"}, "failed", "api_error"),
        ({"subtype": "error_max_turns"}, "failed", "error_max_turns"),
        (
            {"subtype": "error_during_execution", "is_error": True, "terminal_reason": "aborted_tools"},
            "canceled",
            "aborted_tools",
        ),
        ({"subtype": "error_during_execution"}, "canceled", "error_during_execution"),
        ({"subtype": "error_during_execution", "errors": []}, "canceled", "error_during_execution"),
        ({"subtype": "error_during_execution", "errors": ["Boom"]}, "failed", "error_during_execution"),
        ({"subtype": "error_during_execution", "is_error": True}, "failed", "error_during_execution"),
    ],
)
def test_a_result_ends_the_turn_of_the_main_line(fields: dict[str, Any], status: str, native: str) -> None:
    moved = only(decode(result(**fields)), TaskMoved)
    assert (moved.status, moved.native, moved.scope.agent, moved.wakes) == (status, native, "", False)


@pytest.mark.parametrize(("kind", "wakes"), [("task-notification", True), ("peer", True), ("human", False)])
def test_a_turn_that_no_prompt_began_says_so(kind: str, wakes: bool) -> None:
    assert only(decode(result(origin={"kind": kind})), TaskMoved).wakes is wakes


def test_what_was_used_since_the_last_result_is_preferred_to_the_total() -> None:
    both = result(modelUsage={"claude-x": FIGURES}, model_usage_since_last_result={"claude-y": FIGURES})
    usage = only(decode(both), UsageReported)
    assert usage.since_last
    assert usage.models == (("claude-y", Tokens(12, 34, 56, 6, 4), 10_867_800),)


def test_an_older_client_has_only_the_total() -> None:
    usage = only(decode(result(modelUsage={"claude-x": FIGURES})), UsageReported)
    assert (usage.since_last, usage.models[0][0]) == (False, "claude-x")


def test_a_turn_that_used_nothing_reports_nothing() -> None:
    assert of(decode(result(modelUsage={"claude-x": FIGURES}, model_usage_since_last_result={})), UsageReported) == []


def delta(usage: dict[str, Any], **more: Any) -> dict[str, Any]:
    event = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": None, **more}


def test_the_end_of_a_streamed_answer_has_the_true_figures() -> None:
    answer = only(decode(delta({**USAGE, "output_tokens": 48}, api_message_id="msg_1")), ModelAnswered)
    assert (answer.message, answer.final, answer.part, answer.stop_reason) == ("msg_1", True, None, "end_turn")
    assert answer.tokens is not None
    assert answer.tokens.output == 48


def test_without_the_answers_id_or_its_input_the_end_tells_nothing() -> None:
    assert decode(delta(USAGE)) == ()
    assert decode(delta({"output_tokens": 48}, api_message_id="msg_1")) == ()


@pytest.mark.parametrize(
    "line",
    [
        system("init", tools=["Task"]),
        system("compact_boundary", compact_metadata={"trigger": "auto"}),
        system("status", status="compacting"),
        system("task_progress", task_id=AGENT, tool_use_id="toolu_1"),
        {"type": "tool_progress", "tool_use_id": "agent_msg_1", "parent_tool_use_id": "toolu_1"},
        {"type": "control_response", "response": {}},
        {
            "type": "stream_event",
            "event": {"type": "message_start", "message": {"id": "msg_1"}},
            "api_message_id": "msg_1",
        },
        {"type": "next year's"},
        {},
    ],
)
def test_other_lines_tell_nothing(line: dict[str, Any]) -> None:
    assert decode(line) == ()


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"7", b'{"a": "\xff"}', b'{"a": NaN}', b'{"a":' * 50_000 + b"1" + b"}" * 50_000]
)
def test_what_is_no_object_is_unreadable(body: bytes) -> None:
    (event,) = decode_stream(record(body, "stream-json"))
    assert isinstance(event, Unreadable)
    assert event.reason


def test_half_a_character_does_not_make_a_line_unreadable() -> None:
    body = b'{"type": "user", "message": {"role": "user", "content": "cut \\ud83d"}, "isReplay": true}'
    said = only(decode_stream(record(body, "stream-json")), MessageSaid)
    assert said.part.texts[0].raw.startswith("cut ")
