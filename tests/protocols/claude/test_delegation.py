"""Agents in transcripts: who started whom, with what words, and how it ended."""

from typing import Any

import pytest

from ramify.model.event import MessageSaid, ModelAnswered, TaskMoved, TaskOpened, TaskReferred, ToolReturned, Unreadable
from tests.protocols.claude.lines import AGENT, AT, SESSION, of, only
from tests.protocols.claude.transcripts import (
    AGENT_FILE,
    PROJECT,
    RUN,
    SIDECAR,
    WORKFLOW,
    assistant,
    decode,
    prompted,
    returned,
    user,
)

REPORT = {"status": "completed", "prompt": "Count.", "agentId": AGENT, "totalTokens": 9}
RECEIPT = {"isAsync": True, "status": "async_launched", "agentId": AGENT, "description": "Look", "prompt": "Count."}


def test_the_first_line_of_an_agents_file_is_its_callers_prompt() -> None:
    events = decode(prompted("Count the trees."), AGENT_FILE, 1)
    opened, said = only(events, TaskOpened), only(events, MessageSaid)
    assert (opened.prompt, opened.scope.session, opened.scope.agent, opened.at) == (
        "Count the trees.",
        SESSION,
        AGENT,
        AT + 1,
    )
    assert (said.hint.author, said.scope) == ("agent", opened.scope)


@pytest.mark.parametrize(
    "line",
    [
        user("More.", agentId=AGENT, isSidechain=True),
        user("Sum.", agentId=AGENT, isSidechain=True, parentUuid=None, isCompactSummary=True),
        returned({}, agentId=AGENT, isSidechain=True, parentUuid=None),
        user("Hello.", parentUuid=None),
    ],
)
def test_other_lines_open_no_agent(line: dict[str, Any]) -> None:
    assert of(decode(line), TaskOpened) == []


@pytest.mark.parametrize(
    ("note", "status"),
    [
        (REPORT, "completed"),
        ({**REPORT, "totalTokens": 0}, "failed"),
        ({**REPORT, "agentType": "Explore"}, "completed"),
    ],
)
def test_a_report_names_its_agent_and_ends_it(note: dict[str, Any], status: str) -> None:
    """2.0.42 to 2.1.112 say `completed` of agents that failed."""
    events = decode(returned(note))
    referred, opened, moved = only(events, TaskReferred), only(events, TaskOpened), only(events, TaskMoved)
    assert (referred.rule, referred.tool, referred.scope.agent) == ("agent-id-in-result", "toolu_1", AGENT)
    assert (opened.prompt, opened.agent_type, opened.from_main) == ("Count.", note.get("agentType", ""), True)
    assert (moved.scope.agent, moved.status, moved.at) == (AGENT, status, AT + 7)


def test_a_receipt_starts_an_agent_in_the_background() -> None:
    events = decode(returned(RECEIPT))
    opened = only(events, TaskOpened)
    assert (opened.background, opened.title, opened.at) == (True, "Look", AT + 7)
    assert of(events, TaskMoved) == []


def test_a_result_in_an_agents_file_was_that_agents_call() -> None:
    opened = only(decode(returned({**REPORT, "agentId": "a2"}, agentId=AGENT, isSidechain=True)), TaskOpened)
    assert (opened.scope.agent, opened.scope.parent_agent, opened.from_main) == ("a2", AGENT, False)


def test_a_report_on_a_side_line_was_not_the_main_lines() -> None:
    assert not only(decode(returned(REPORT, isSidechain=True)), TaskOpened).from_main


@pytest.mark.parametrize(
    "note", [{"agentId": "x", "status": "ok"}, {"agentId": "x", "prompt": "p"}, "text", {"prompt": 1}]
)
def test_other_tools_notes_name_no_agent(note: Any) -> None:
    assert of(decode(returned(note)), TaskReferred) == []


def test_waking_an_agent_is_no_spawn() -> None:
    events = decode(returned({"success": True, "resumedAgentId": AGENT, "pin": {"id": AGENT}}))
    assert of(events, TaskReferred) == []
    assert (only(events, TaskMoved).scope.agent, only(events, TaskMoved).status) == (AGENT, "working")


def test_progress_names_the_agent_and_the_call_before_the_result_does() -> None:
    """2.1.30."""
    line = {
        "type": "progress",
        "sessionId": SESSION,
        "parentToolUseID": "toolu_1",
        "toolUseID": "agent_msg_1",
        "data": {"type": "agent_progress", "agentId": "a6bdf7e", "prompt": "Count.", "message": {"type": "user"}},
    }
    events = decode(line)
    referred = only(events, TaskReferred)
    assert (referred.rule, referred.tool, referred.scope.agent) == ("parent_tool_use_id", "toolu_1", "a6bdf7e")
    assert only(events, TaskOpened).prompt == "Count."
    others: list[Any] = [{"type": "bash_progress", "agentId": "a6bdf7e"}, {"type": "agent_progress"}, None, [], 1]
    for data in others:
        assert decode({**line, "data": data}) == ()


def test_a_fork_begins_behind_a_copy_of_its_callers_call() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Agent", "input": {"prompt": "Try.", "subagent_type": "fork"}}
    assert decode(assistant(call, agentId=AGENT, isSidechain=True, parentUuid=None), AGENT_FILE, 2) == ()
    assert of(decode(assistant(call)), ModelAnswered)


def test_a_fork_learns_from_its_receipt_who_it_is() -> None:
    receipt = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Fork started — that fork is you."}
    words = "<fork-boilerplate>\nRules.\n</fork-boilerplate>\n\nYour directive: Try the other way."
    line = user([receipt, {"type": "text", "text": words}], agentId=AGENT, isSidechain=True)
    events = decode(line, AGENT_FILE, 3)
    assert of(events, ToolReturned) == []
    assert (only(events, TaskReferred).tool, only(events, TaskReferred).scope.agent) == ("toolu_1", AGENT)
    assert only(events, TaskOpened).prompt == "Try the other way."
    assert only(events, MessageSaid).hint.author == "agent"


@pytest.mark.parametrize(
    ("fields", "parent", "from_main"),
    [
        ({"toolUseId": "toolu_1", "spawnDepth": 1}, "", True),
        ({"toolUseId": "toolu_1", "spawnDepth": 2, "parentAgentId": "a1"}, "a1", False),
        ({"toolUseId": "toolu_1", "spawnDepth": 2}, "", False),  # 2.1.199 does not name the agent above
        ({"toolUseId": "toolu_1"}, "", False),
    ],
)
def test_a_sidecar_names_the_call_and_the_caller(fields: dict[str, Any], parent: str, from_main: bool) -> None:
    events = decode({"agentType": "Explore", "description": "Look", "name": "ada", **fields}, SIDECAR, 1)
    opened, referred = only(events, TaskOpened), only(events, TaskReferred)
    assert (opened.agent_type, opened.title, opened.name) == ("Explore", "Look", "ada")
    assert (opened.scope.session, opened.scope.agent, opened.scope.parent_agent) == (SESSION, AGENT, parent)
    assert opened.from_main == from_main
    assert (referred.rule, referred.tool, referred.scope) == ("sidecar", "toolu_1", opened.scope)


def test_a_sidecar_of_2_1_112_names_no_call() -> None:
    (opened,) = decode({"agentType": "Explore", "description": "Look"}, SIDECAR, 1)
    assert isinstance(opened, TaskOpened)
    assert (opened.background, opened.from_main) == (None, False)


@pytest.mark.parametrize(("shape", "background"), [("background", True), ("foreground", False), (None, None)])
def test_a_sidecar_tells_how_the_agent_was_started(shape: str | None, background: bool | None) -> None:
    assert only(decode({"requestShape": shape}, SIDECAR, 1), TaskOpened).background is background


def test_a_finished_agent_may_have_failed() -> None:
    events = decode({"toolUseId": "toolu_1", "finished": True, "spawnDepth": 1}, SIDECAR, 1)
    assert of(events, TaskMoved) == []
    assert only(events, TaskOpened).native == {"finished": True, "spawnDepth": 1}


def test_an_agent_that_a_person_stopped_is_canceled() -> None:
    moved = only(decode({"stoppedByUser": True}, SIDECAR, 1), TaskMoved)
    assert (moved.scope.agent, moved.status) == (AGENT, "canceled")


def test_a_sidecar_outside_of_a_session_is_nobodys() -> None:
    (event,) = decode({"agentType": "Explore"}, f"agent-{AGENT}.meta.json", 1)
    assert isinstance(event, Unreadable)


def test_a_sidecar_may_come_as_a_line() -> None:
    line = {"type": "agent_metadata", "agentType": "Explore", "toolUseId": "toolu_1", "spawnDepth": 1}
    events = decode(line, AGENT_FILE, 1)
    assert (only(events, TaskOpened).native, only(events, TaskReferred).tool) == ({"spawnDepth": 1}, "toolu_1")


def test_a_workflow_ties_its_call_and_its_agents_by_its_run() -> None:
    note = {"status": "async_launched", "taskId": "w06hdiah2", "runId": RUN, "taskType": "local_workflow"}
    by_call = of(decode(returned(note)), TaskReferred)
    assert {(tie.rule, tie.tool, tie.scope.agent) for tie in by_call} == {("workflow-run", "toolu_1", "")}
    assert RUN in {tie.run for tie in by_call}
    agents = [
        decode(prompted("[Workflow harness] Look left."), f"{WORKFLOW}/agent-{AGENT}.jsonl", 1),
        decode({"agentType": "workflow-subagent"}, f"{WORKFLOW}/agent-{AGENT}.meta.json", 1),
        decode({"type": "started", "agentId": AGENT}, f"{WORKFLOW}/journal.jsonl", 2),
        decode(
            {"workflowProgress": [{"type": "workflow_agent", "agentId": AGENT}, {"type": "workflow_phase"}, 1]},
            f"{PROJECT}/{SESSION}/workflows/{RUN}.json",
            1,
        ),
    ]
    for events in agents:
        tie = only(events, TaskReferred)
        assert (tie.rule, tie.run, tie.tool, tie.scope.agent, tie.scope.session) == (
            "workflow-run",
            RUN,
            "",
            AGENT,
            SESSION,
        )


def test_a_workflows_prompt_says_itself_whose_it_is() -> None:
    events = decode(prompted("[Workflow harness] Look left."), f"{WORKFLOW}/agent-{AGENT}.jsonl", 1)
    assert only(events, MessageSaid).hint.author == ""


def test_a_workflows_journal_and_state_tell_how_its_agents_ended() -> None:
    journal = decode({"type": "result", "agentId": AGENT, "result": "Left."}, f"{WORKFLOW}/journal.jsonl", 4)
    assert (only(journal, TaskMoved).status, only(journal, TaskMoved).scope.agent) == ("completed", AGENT)
    assert decode({"type": "launched"}, f"{WORKFLOW}/journal.jsonl", 1) == ()
    agent = {
        "type": "workflow_agent",
        "agentId": AGENT,
        "label": "Left",
        "state": "done",
        "startedAt": 5000,
        "lastProgressAt": 7000,
    }
    state = decode({"workflowProgress": [agent]}, f"{PROJECT}/{SESSION}/workflows/{RUN}.json", 1)
    opened, moved = only(state, TaskOpened), only(state, TaskMoved)
    assert (opened.title, opened.at, moved.status, moved.at) == ("Left", 5_000_000, "completed", 7_000_000)
