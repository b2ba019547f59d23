"""The SDK's objects: the stream with less in it."""

from typing import Any

import pytest
from msgspec.structs import replace

from ramify.model.event import (
    Event,
    MessageSaid,
    ModelAnswered,
    TaskMoved,
    TaskOpened,
    TaskReferred,
    ToolCalled,
    ToolReturned,
    UsageReported,
)
from ramify.protocols.claude.sdk import to_stream
from ramify.protocols.claude.stream import decode_sdk
from tests.protocols.claude.lines import AGENT, SESSION, of, only, record


def decode(line: dict[str, Any]) -> tuple[Event, ...]:
    return decode_sdk(record(line, "sdk"))


def assistant(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    fields = {"class": "AssistantMessage", "content": list(blocks), "model": "claude-x", "message_id": "msg_1"}
    return {**fields, "session_id": SESSION, "uuid": "u-1", "usage": {"input_tokens": 3, "output_tokens": 1}, **more}


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"text": "Hm."}, "text"),
        ({"thinking": "Hm.", "signature": "s"}, "thinking"),
        ({"id": "toolu_1", "name": "Bash", "input": {"text": "a"}}, "tool_use"),
        ({"tool_use_id": "toolu_1", "content": "x", "is_error": None}, "tool_result"),
        ({"id": "srvtoolu_1", "name": "web_search", "input": {}}, "server_tool_use"),
        ({"tool_use_id": "srvtoolu_1", "content": {}}, "server_tool_result"),
        ({"type": "image", "source": {}}, "image"),
        ({"new": 1}, "unknown"),
    ],
)
def test_a_blocks_type_follows_from_its_keys(block: dict[str, Any], kind: str) -> None:
    (typed,) = to_stream(assistant(block))["message"]["content"]
    assert typed == {"type": kind, **block}


def test_an_answer_keeps_its_id_and_the_call_around_it() -> None:
    events = decode(assistant({"id": "toolu_2", "name": "Bash", "input": {}}, parent_tool_use_id="toolu_1"))
    answer = only(events, ModelAnswered)
    assert (answer.message, answer.model, answer.under, answer.final) == ("msg_1", "claude-x", "toolu_1", False)
    assert answer.part is not None
    assert [use.id for use in answer.part.uses] == ["toolu_2"]


def test_an_answer_without_an_id_still_shows_its_tool_calls() -> None:
    events = decode(assistant({"id": "toolu_2", "name": "Bash", "input": {}}, message_id=None))
    assert of(events, ModelAnswered) == []
    assert only(events, ToolCalled).use.id == "toolu_2"
    assert only(events, MessageSaid).message == ""


def test_a_prompt_has_no_flag_left_and_no_session() -> None:
    said = only(decode({"class": "UserMessage", "content": "Hello", "uuid": "u-1"}), MessageSaid)
    assert (said.hint.author, said.scope.session, said.part.texts[0].raw) == ("", "", "Hello")


@pytest.mark.parametrize(
    ("place", "session"),
    [
        (f"record/{SESSION}:7", SESSION),
        (f"{SESSION}.jsonl:7", SESSION),
        (f"{SESSION}/messages.jsonl:7", ""),
        (f"{SESSION}", ""),
        ("messages.jsonl:7", ""),
    ],
)
def test_a_session_that_was_dropped_may_stand_in_the_place(place: str, session: str) -> None:
    seen = replace(record({"class": "UserMessage", "content": "Hello"}, "sdk"), place=place)
    assert only(decode_sdk(seen), MessageSaid).scope.session == session


def test_a_result_in_the_background_names_its_agent() -> None:
    block = {"tool_use_id": "toolu_1", "content": "Async agent launched", "is_error": None}
    value = {"status": "async_launched", "agentId": AGENT, "prompt": "Go."}
    events = decode({"class": "UserMessage", "content": [block], "tool_use_result": value})
    assert only(events, ToolReturned).result.id == "toolu_1"
    assert only(events, TaskReferred).scope.agent == AGENT


def test_a_system_message_of_any_class_is_what_it_was_made_from() -> None:
    data = {"type": "system", "subtype": "task_started", "task_id": AGENT, "task_type": "local_agent", "prompt": "Go."}
    events = decode({"class": "TaskStartedMessage", "subtype": "task_started", "data": data, "task_id": AGENT})
    assert only(events, TaskOpened).prompt == "Go."


def test_a_result_has_only_the_total() -> None:
    usage = {"claude-x": {"inputTokens": 1, "costUSD": 0.5}}
    line = {"class": "ResultMessage", "subtype": "success", "is_error": False, "session_id": SESSION}
    events = decode(
        {**line, "model_usage": usage, "origin": {"kind": "task-notification"}, "terminal_reason": "completed"}
    )
    assert (only(events, UsageReported).since_last, only(events, UsageReported).models[0][2]) == (False, 500_000_000)
    assert only(events, TaskMoved).wakes


@pytest.mark.parametrize("line", [{}, {"class": "RateLimitEvent"}, {"class": "Unheard", "data": []}, {"class": 7}])
def test_unknown_classes_tell_nothing(line: dict[str, Any]) -> None:
    assert decode(line) == ()
