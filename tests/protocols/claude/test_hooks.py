"""What hooks are told, one event at a time."""

from typing import Any

import pytest

from ramify.model.event import (
    Event,
    MessageSaid,
    TaskMoved,
    TaskOpened,
    TaskReferred,
    ToolCalled,
    ToolReturned,
    Unreadable,
)
from ramify.protocols.claude.hooks import decode_hook
from tests.protocols.claude.lines import AGENT, AT, SESSION, of, only, record


def hook(name: str, **more: Any) -> dict[str, Any]:
    return {"session_id": SESSION, "prompt_id": "p-1", "cwd": "/", "hook_event_name": name, **more}


def decode(line: dict[str, Any]) -> tuple[Event, ...]:
    return decode_hook(record(line, "claude-hook"))


def test_a_submitted_prompt_is_a_persons_message_known_by_its_prompt_id() -> None:
    (said,) = decode(hook("UserPromptSubmit", prompt="Please look."))
    assert isinstance(said, MessageSaid)
    assert (said.hint.author, said.place.id.partition("#")[0], said.part.role) == ("human", "prompt:p-1", "user")
    assert (said.scope.session, said.source, said.at) == (SESSION, "hook", AT + 7)
    assert said.blocks == ({"type": "text", "text": "Please look."},)


@pytest.mark.parametrize(
    ("more", "author", "kind"),
    [
        ({"prompt": "<task-notification>\n<task-id>a</task-id>"}, "harness", "notification"),
        ({"prompt": "What is <task-notification>?"}, "human", ""),
        ({"prompt": '<agent-message from="ada">\nI found it.\n</agent-message>'}, "agent", ""),
        ({"prompt": "Go.", "source": "sdk"}, "human", ""),
        ({"prompt": "Wake up.", "source": "loop_wakeup"}, "harness", ""),
    ],
)
def test_not_every_submitted_prompt_is_a_persons(more: dict[str, Any], author: str, kind: str) -> None:
    hint = only(decode(hook("UserPromptSubmit", **more)), MessageSaid).hint
    assert (hint.author, hint.kind) == (author, kind)


def test_what_is_said_during_a_turn_is_a_message_of_its_own() -> None:
    first, second = (only(decode(hook("UserPromptSubmit", prompt=words)), MessageSaid) for words in ("Go.", "Also up."))
    assert first.place.id != second.place.id


def test_without_a_prompt_id_the_message_has_none() -> None:
    assert only(decode(hook("UserPromptSubmit", prompt="Go.", prompt_id=None)), MessageSaid).place.id == ""


def test_a_tool_is_called_by_the_agent_that_the_hook_names() -> None:
    asked = {"description": "Go", "prompt": "Delegate.", "subagent_type": "Explore"}
    fields = {"tool_name": "Agent", "tool_input": asked, "tool_use_id": "toolu_1", "agent_id": AGENT}
    called = only(decode(hook("PreToolUse", **fields)), ToolCalled)
    assert (called.use.id, called.use.name, called.use.text, called.scope.agent) == (
        "toolu_1",
        "Agent",
        "Delegate.",
        AGENT,
    )


def test_a_callbacks_second_argument_is_not_taken_for_a_tool() -> None:
    line = {"input": hook("Stop"), "tool_use_id": "5f99f5e1"}
    assert [type(event) for event in decode(line)] == [TaskMoved]


def test_the_result_of_an_agents_call_is_the_exact_join() -> None:
    value = {"status": "completed", "agentId": "a2", "agentType": "Explore", "prompt": "Deeper."}
    fields = {"tool_name": "Agent", "tool_use_id": "toolu_1", "tool_response": value, "agent_id": AGENT}
    events = decode(hook("PostToolUse", **fields))
    referred, opened = only(events, TaskReferred), only(events, TaskOpened)
    assert (referred.rule, referred.tool, referred.scope.agent) == ("hook", "toolu_1", "a2")
    assert (opened.scope.parent_agent, opened.from_main, opened.prompt) == (AGENT, False, "Deeper.")
    assert (only(events, TaskMoved).scope.agent, only(events, TaskMoved).status) == ("a2", "completed")
    assert (only(events, ToolReturned).result.agent, only(events, ToolReturned).scope.agent) == ("a2", AGENT)


def test_a_call_outside_of_any_agent_was_the_main_lines() -> None:
    value = {"status": "async_launched", "agentId": "a2", "description": "Slow job", "prompt": "Slow."}
    events = decode(hook("PostToolUse", tool_name="Agent", tool_use_id="toolu_1", tool_response=value))
    opened = only(events, TaskOpened)
    assert (opened.from_main, opened.background, opened.title) == (True, True, "Slow job")
    assert of(events, TaskMoved) == []


def test_an_older_client_names_the_agent_but_not_the_call() -> None:
    value = {"status": "completed", "agentId": "a2", "prompt": "Go."}
    events = decode(hook("PostToolUse", tool_name="Task", tool_response=value))
    assert {type(event) for event in events} == {TaskOpened, TaskMoved}
    assert only(events, TaskOpened).prompt == "Go."


def test_a_callback_of_an_older_client_has_the_call_beside_it() -> None:
    line = {"input": hook("PreToolUse", tool_name="Bash", tool_input={}), "tool_use_id": "toolu_1"}
    assert only(decode(line), ToolCalled).use.id == "toolu_1"


@pytest.mark.parametrize(
    ("name", "more", "error", "status"),
    [
        ("PostToolUse", {"tool_response": {"stdout": "a", "interrupted": False}}, False, ""),
        ("PostToolUse", {"tool_response": "text"}, False, ""),
        ("PostToolUse", {"tool_response": {"interrupted": True}}, False, "canceled"),
        ("PostToolUseFailure", {"error": "Exit code 3", "is_interrupt": False}, True, ""),
        ("PostToolUseFailure", {"error": "stopped", "is_interrupt": True}, True, "canceled"),
    ],
)
def test_a_tool_returns(name: str, more: dict[str, Any], error: bool, status: str) -> None:
    returned = only(decode(hook(name, tool_name="Bash", tool_use_id="toolu_1", **more)), ToolReturned)
    assert (returned.result.id, returned.result.error, returned.status) == ("toolu_1", error, status)


def test_an_agent_starts_and_stops() -> None:
    opened = only(decode(hook("SubagentStart", agent_id=AGENT, agent_type="Explore")), TaskOpened)
    moved = only(decode(hook("SubagentStop", agent_id=AGENT, agent_type="Explore")), TaskMoved)
    assert (opened.scope.agent, opened.agent_type, opened.from_main) == (AGENT, "Explore", False)
    assert (moved.scope.agent, moved.status, moved.native) == (AGENT, "completed", "SubagentStop")


def test_an_agent_without_a_type_may_be_the_clients_own() -> None:
    assert decode(hook("SubagentStop", agent_id=AGENT, agent_type="")) == ()
    assert decode(hook("SubagentStop", agent_id=AGENT)) == ()


def test_an_agent_of_a_workflow_is_tied_to_its_run_by_its_file() -> None:
    path = f"/home/dev/.claude/projects/-p/{SESSION}/subagents/workflows/wf_1-2/agent-{AGENT}.jsonl"
    line = hook("SubagentStop", agent_id=AGENT, agent_type="workflow-subagent", agent_transcript_path=path)
    tie = only(decode(line), TaskReferred)
    assert (tie.rule, tie.run, tie.tool, tie.scope.agent) == ("workflow-run", "wf_1-2", "", AGENT)


def test_an_agent_that_failed_is_named_by_the_failure() -> None:
    moved = only(decode(hook("StopFailure", agent_id=AGENT, agent_type="Explore", error="server_error")), TaskMoved)
    assert (moved.scope.agent, moved.status, moved.native) == (AGENT, "failed", "server_error")


@pytest.mark.parametrize("name", ["SubagentStart", "SubagentStop"])
def test_an_agent_that_is_not_named_moves_nothing(name: str) -> None:
    assert decode(hook(name)) == ()


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (hook("Stop"), "completed"),
        (hook("StopFailure", error="rate_limit"), "failed"),
        (hook("PermissionRequest", tool_name="Bash"), "input-required"),
        (hook("Elicitation", message="Which?"), "input-required"),
        (hook("Notification", notification_type="permission_prompt", message="…"), "input-required"),
        (hook("Notification", message="Claude needs your permission to use Bash"), "input-required"),
    ],
)
def test_the_main_line_moves(line: dict[str, Any], status: str) -> None:
    moved = only(decode(line), TaskMoved)
    assert (moved.status, moved.scope.agent, moved.at) == (status, "", AT + 7)


@pytest.mark.parametrize(
    "line",
    [
        hook("Notification", notification_type="idle_prompt", message="Claude is waiting for your input"),
        hook("SessionStart", source="startup"),
        hook("SessionEnd", reason="other"),
        hook("PostToolBatch", tool_calls=[{"tool_use_id": "toolu_1"}]),
        hook("TaskCreated", task_id="1"),
        hook("PreToolUse", tool_name="Bash"),
        hook("PostToolUse", tool_name="Bash", tool_response={"stdout": "a"}),
        hook("Unheard"),
        {},
    ],
)
def test_other_hooks_tell_nothing(line: dict[str, Any]) -> None:
    assert decode(line) == ()


def test_what_is_no_object_is_unreadable() -> None:
    (event,) = decode_hook(record(b'{"session_id": ', "claude-hook"))
    assert isinstance(event, Unreadable)
