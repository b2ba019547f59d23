"""Lines of a session's file, one at a time."""

from typing import Any

import pytest

from ramify.model.event import (
    AgentSeen,
    Hint,
    MessageSaid,
    ModelAnswered,
    Place,
    TaskMoved,
    TaskOpened,
    TaskReferred,
    ToolReturned,
    Unreadable,
    UsageReported,
)
from ramify.model.prices import Tokens
from tests.protocols.claude.lines import AGENT, AT, SESSION, of, only
from tests.protocols.claude.transcripts import AGENT_FILE, assistant, decode, prompted, record, returned, user

INTERRUPTED = "[Request interrupted by user for tool use]"
NOTICE = "<task-notification>\n<task-id>{}</task-id>\n<tool-use-id>toolu_1</tool-use-id>\n<status>{}</status>\n"
NOTICE += "</task-notification>"


def test_a_line_of_an_answer_is_a_sighting_of_a_call_and_a_piece_of_a_message() -> None:
    answered, said = decode(assistant(apiBlockIndex=2))
    assert isinstance(answered, ModelAnswered)
    assert isinstance(said, MessageSaid)
    assert (answered.request, answered.message, answered.request_id) == ("", "msg_1", "req_1")
    assert (answered.model, answered.stop_reason, answered.status, answered.final) == (
        "claude-opus-5-5",
        "end_turn",
        "ok",
        True,
    )
    assert answered.tokens == Tokens(3, 5, 7)
    assert (answered.source, answered.at, answered.place) == ("transcript", AT + 7, Place("u-2", "u-1", 7))
    assert answered.scope == said.scope
    assert (said.scope.session, said.scope.agent, said.message) == (SESSION, "", "msg_1")
    assert said.blocks == ({"type": "text", "text": "Well."},)
    assert said.part is answered.part
    assert [text.block for text in said.part.texts] == [2]


def test_a_calls_place_is_its_number_in_the_answer_or_its_line() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
    numbered = only(decode(assistant(use, apiBlockIndex=3)), ModelAnswered).part
    by_line = only(decode(assistant(use), number=41), ModelAnswered).part
    assert numbered is not None
    assert by_line is not None
    assert ([use.block for use in numbered.uses], [use.block for use in by_line.uses]) == ([3], [41])


def test_without_a_stop_reason_the_figures_are_not_final() -> None:
    assert not only(decode(assistant(message={"stop_reason": None})), ModelAnswered).final


def test_an_answer_that_was_broken_off_says_so() -> None:
    line = assistant(isAbortedMidStream=True, message={"stop_reason": None})
    assert only(decode(line), ModelAnswered).status == "aborted"


def test_an_answer_without_an_id_is_words_and_no_call() -> None:
    events = decode(assistant(message={"id": None}))
    assert of(events, ModelAnswered) == []
    assert only(events, MessageSaid).message == ""


@pytest.mark.parametrize(
    ("more", "moves"),
    [
        ({"isApiErrorMessage": True, "message": {"model": "<synthetic>"}}, ["failed"]),
        ({"isApiErrorMessage": True}, ["failed"]),
        ({"isApiErrorMessage": False, "message": {"model": "<synthetic>"}}, []),
    ],
)
def test_words_in_place_of_an_answer_are_the_clients_and_no_call(more: dict[str, Any], moves: list[str]) -> None:
    events = decode(assistant(**more))
    assert of(events, ModelAnswered) == []
    assert only(events, MessageSaid).hint.author == "harness"
    assert only(events, MessageSaid).message == ""
    assert [moved.status for moved in of(events, TaskMoved)] == moves


def test_a_failed_agent_is_the_one_whose_file_it_is() -> None:
    line = assistant(isApiErrorMessage=True, agentId=AGENT, isSidechain=True)
    assert only(decode(line, AGENT_FILE), TaskMoved).scope.agent == AGENT


def test_a_line_names_its_agent_and_session_where_the_path_does_not() -> None:
    """2.0.42: the agent's file lies beside the session's."""
    said = only(decode(assistant(isSidechain=True), "-p/agent-0a1b2c3d.jsonl"), MessageSaid)
    assert (said.scope.session, said.scope.agent, said.place.side) == (SESSION, "0a1b2c3d", False)
    path = only(decode(user("Hello.", sessionId=None), "-p/s-9.jsonl"), MessageSaid)
    assert path.scope.session == "s-9"


def test_a_side_line_without_an_agent_is_marked_and_follows_the_one_before() -> None:
    """2.0.26 writes sub-agents' lines into the session's file and does not say whose they are."""
    said = only(decode(user("Go.", isSidechain=True, parentUuid=None)), MessageSaid)
    assert (said.place.side, said.scope.agent, said.place.before) == (True, "", "")
    assert said.hint.author == "agent"
    answer = only(decode(assistant(isSidechain=True)), ModelAnswered)
    assert answer.place == Place("u-2", "u-1", 7, True)


def test_a_warm_up_is_nobodys_prompt() -> None:
    hint = only(decode(user("Warmup", isSidechain=True, parentUuid=None)), MessageSaid).hint
    assert (hint.author, hint.meta) == ("", True)


@pytest.mark.parametrize(
    "line",
    [
        assistant(isApiErrorMessage=True, isSidechain=True),
        user(INTERRUPTED, isSidechain=True),
    ],
)
def test_nobody_is_known_to_have_ended_on_a_side_line(line: dict[str, Any]) -> None:
    assert of(decode(line), TaskMoved) == []


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        ({"promptSource": "typed"}, ("human", "", False)),
        ({"promptSource": "queued"}, ("human", "", False)),
        ({"promptSource": "suggestion_accepted"}, ("human", "", False)),
        ({"promptSource": "sdk", "turnOrigin": "sdk"}, ("human", "", False)),
        ({"origin": {"kind": "human"}}, ("human", "", False)),
        ({"promptSource": "system"}, ("", "", True)),
        ({"isMeta": True}, ("", "", True)),
        ({"isMeta": True, "sourceToolUseID": "toolu_1"}, ("harness", "skill", True)),
        ({"isMeta": True, "origin": {"kind": "coordinator"}}, ("agent", "", False)),
        ({"isMeta": True, "origin": {"kind": "peer", "senderTaskId": "a2"}}, ("agent", "", False)),
        ({"origin": {"kind": "task-notification"}, "promptSource": "system"}, ("harness", "notification", False)),
        ({"turnOrigin": "task_notification"}, ("harness", "notification", False)),
        ({"origin": {"kind": "something-new"}, "promptSource": "sdk"}, ("", "", True)),
        ({"isCompactSummary": True, "isVisibleInTranscriptOnly": True}, ("harness", "compact-summary", False)),
        ({"isVisibleInTranscriptOnly": True}, ("", "", True)),
        ({"turnOrigin": "sdk"}, ("", "", False)),
        ({}, ("", "", False)),
    ],
)
def test_flags_tell_who_wrote(flags: dict[str, Any], hint: tuple[str, str, bool]) -> None:
    found = only(decode(user("Words.", **flags)), MessageSaid).hint
    assert (found.author, found.kind, found.meta) == hint
    assert not found.during_turn


def test_another_agents_message_names_it() -> None:
    line = user("News.", origin={"kind": "peer", "senderTaskId": "a2"})
    assert only(decode(line), MessageSaid).hint.agent == "a2"


@pytest.mark.parametrize(
    ("flags", "begins"),
    [({"promptSource": "sdk", "turnOrigin": "sdk"}, True), ({"turnOrigin": "sdk"}, True), ({}, False)],
)
def test_a_turn_begins_where_the_client_says_so(flags: dict[str, Any], begins: bool) -> None:
    """A slash command that becomes a prompt has a turn's origin; a local one has not."""
    line = user("<command-name>/count</command-name>", **flags)
    assert only(decode(line), MessageSaid).hint.begins_turn == begins


def test_a_queued_prompt_shows_that_the_session_was_at_work() -> None:
    line = {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION, "content": "Please delegate this"}
    (seen,) = decode(line)
    assert isinstance(seen, AgentSeen)
    assert (seen.scope.session, seen.at) == (SESSION, AT + 7)


def test_words_alone_give_no_hint() -> None:
    for words in (INTERRUPTED, "<command-name>/count</command-name>", "Stop hook feedback:\nNo."):
        assert only(decode(user(words)), MessageSaid).hint == Hint()


def test_an_interruption_ends_what_runs_on_its_line() -> None:
    moved = only(decode(user([{"type": "text", "text": INTERRUPTED}])), TaskMoved)
    assert (moved.status, moved.scope.agent) == ("canceled", "")
    inside = only(decode(user(INTERRUPTED, agentId=AGENT, isSidechain=True), AGENT_FILE), TaskMoved)
    assert (inside.status, inside.scope.agent) == ("canceled", AGENT)


@pytest.mark.parametrize(
    "line",
    [
        user(INTERRUPTED, promptSource="typed"),
        user(f"Why {INTERRUPTED}?"),
        returned({}, INTERRUPTED),
    ],
)
def test_the_same_words_elsewhere_end_nothing(line: dict[str, Any]) -> None:
    assert of(decode(line), TaskMoved) == []


@pytest.mark.parametrize(
    ("line", "status", "error"),
    [
        (returned({"stdout": "x", "interrupted": False}), "", False),
        (returned({"stdout": "x", "interrupted": True}), "canceled", False),
        (returned("User rejected tool use", toolDenialKind="user-rejected"), "canceled", False),
        (returned("User rejected tool use"), "canceled", False),
        (returned(f"Error: Exit code 137\n{INTERRUPTED}"), "canceled", False),
        (returned(f"Error: {INTERRUPTED} it said"), "", False),
        (returned("Error: Exit code 3"), "", False),
        (returned(None), "", False),
        (returned(["a", 1]), "", False),
    ],
)
def test_a_result_says_how_its_call_ended(line: dict[str, Any], status: str, error: bool) -> None:
    found = only(decode(line), ToolReturned)
    assert (found.result.id, found.status, found.result.error) == ("toolu_1", status, error)


def test_a_message_may_hold_several_results() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("toolu_1", "toolu_2")]
    events = decode(user(blocks, toolUseResult={"status": "completed", "agentId": "a2", "prompt": "Go."}))
    assert [event.result.id for event in of(events, ToolReturned)] == ["toolu_1", "toolu_2"]
    assert of(events, TaskReferred) == []


def test_a_copied_line_says_where_it_was_first_said() -> None:
    line = user("Hello.", forkedFrom={"sessionId": "s-0", "messageUuid": "u-0"})
    assert only(decode(line), MessageSaid).copied_from == "s-0"


@pytest.mark.parametrize("flags", [{"origin": {"kind": "task-notification"}}, {"turnOrigin": "task_notification"}, {}])
@pytest.mark.parametrize(
    ("native", "status"), [("completed", "completed"), ("failed", "failed"), ("killed", "canceled"), ("odd", None)]
)
def test_a_notification_names_an_agent_its_call_and_its_end(
    flags: dict[str, Any], native: str, status: str | None
) -> None:
    events = decode(user(NOTICE.format(AGENT, native), **flags))
    referred = only(events, TaskReferred)
    assert (referred.rule, referred.tool, referred.scope.agent) == ("task-notification", "toolu_1", AGENT)
    assert [(moved.status, moved.native) for moved in of(events, TaskMoved)] == ([(status, native)] if status else [])


@pytest.mark.parametrize("task", ["byy1wfnnh", "w06hdiah2", "b8e1a2f"])
def test_a_shell_or_a_workflow_is_no_agent(task: str) -> None:
    assert of(decode(user(NOTICE.format(task, "completed"))), TaskReferred) == []


def test_an_old_agents_id_may_begin_with_any_digit() -> None:
    assert only(decode(user(NOTICE.format("b8e1a2f0", "completed"))), TaskReferred).scope.agent == "b8e1a2f0"


@pytest.mark.parametrize("line", [user(NOTICE.format(AGENT, "failed"), promptSource="typed")])
def test_a_person_who_writes_a_notification_tells_nothing(line: dict[str, Any]) -> None:
    events = decode(line)
    assert (of(events, TaskReferred), of(events, TaskMoved)) == ([], [])


def test_a_caller_who_writes_a_notification_tells_nothing() -> None:
    events = decode(prompted(NOTICE.format("a2", "failed")), AGENT_FILE)
    assert (of(events, TaskReferred), of(events, TaskMoved)) == ([], [])
    assert only(events, TaskOpened).scope.agent == AGENT


def test_a_local_commands_output_is_said_and_the_rest_of_the_clients_notes_is_not() -> None:
    words = "<local-command-stdout>Much.</local-command-stdout>"
    said = only(decode({"type": "system", "subtype": "local_command", "content": words}), MessageSaid)
    assert (said.part.role, said.hint.meta, said.blocks) == ("system", True, ({"type": "text", "text": words},))
    for subtype in ("compact_boundary", "api_error", "turn_duration", "stop_hook_summary"):
        assert decode({"type": "system", "subtype": subtype, "content": "Conversation compacted"}) == ()


def test_the_clients_own_sum_counts_from_the_sessions_beginning() -> None:
    figures = {
        "inputTokens": 15,
        "outputTokens": 127,
        "cacheReadInputTokens": 50216,
        "cacheCreationInputTokens": 9,
        "cacheCreationEphemeral1hInputTokens": 4,
        "costUSD": 0.0126432,
    }
    line = {"type": "cost-state", "sessionId": SESSION, "modelUsage": {"claude-opus-5-5": figures, "odd": 1}}
    reported = only(decode(line), UsageReported)
    assert reported.models == (("claude-opus-5-5", Tokens(15, 127, 50216, 5, 4), 12_643_200),)
    assert not reported.since_last
    assert decode({"type": "cost-state", "sessionId": SESSION, "modelUsage": {}}) == ()


@pytest.mark.parametrize(
    "kind",
    ["last-prompt", "ai-title", "summary", "mode", "tools-used", "atis-latch", "fork-context-ref"],
)
def test_lines_that_are_no_messages_mean_nothing(kind: str) -> None:
    assert decode({"type": kind, "sessionId": SESSION, "content": "Please delegate this", "message": {}}) == ()


@pytest.mark.parametrize("kind", ["api-request", "api-request-blob", "api-request-shape", "file-history-snapshot"])
def test_copies_of_requests_mean_nothing_unless_they_are_cut(kind: str) -> None:
    body = b'{"type":"%s","message":{"role":"user","content":"Hello."}}' % kind.encode()
    assert decode(body) == decode(body + b" \r") == ()
    (cut,) = decode(body[:-3])
    assert isinstance(cut, Unreadable)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b'"text"', b'{"type":"user"', b"\xff"])
def test_what_is_no_object_is_unreadable(body: bytes) -> None:
    (event,) = decode(body)
    assert isinstance(event, Unreadable)
    assert event.observation == record(body).id
    assert event.reason


@pytest.mark.parametrize("message", [None, 1, "Hello.", [], {}, {"role": 1, "content": 2}])
def test_a_message_of_no_shape_is_no_message(message: Any) -> None:
    assert decode({"type": "user", "message": message}) == ()
    assert [type(event) for event in decode({"type": "assistant", "message": message})] in ([], [MessageSaid])


def test_half_a_character_is_an_unknown_one_and_the_line_is_read() -> None:
    r"""JavaScript cuts strings between the halves of a character; `\\ud83d` behind a backslash is just text."""
    body = rb'{"type":"user","message":{"role":"user","content":"cut \ud83d, whole \ud83d\ude00, text \\ud83d"}}'
    said = only(decode(body), MessageSaid)
    assert said.blocks[0]["text"] == "cut �, whole 😀, text \\ud83d"
