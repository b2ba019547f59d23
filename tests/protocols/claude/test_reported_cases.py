"""Real runs, whose true course is known, as the stream, the SDK and the hooks tell them."""

from collections.abc import Callable
from typing import Any

import pytest

from ramify.model.event import (
    Event,
    MessageSaid,
    ModelAnswered,
    TaskMoved,
    TaskOpened,
    TaskReferred,
    ToolCalled,
    Unreadable,
    UsageReported,
)
from ramify.model.observation import Record
from ramify.protocols.claude.hooks import decode_hook
from ramify.protocols.claude.stream import decode_sdk, decode_stream
from tests.protocols.claude.lines import expected, of, records_of

Decoder = Callable[[Record], tuple[Event, ...]]
STREAMS = ("simple", "nested", "parallel", "hooks", "otel")
TOLD: tuple[tuple[str, str, str, Decoder], ...] = (
    *((case, "stream.jsonl", "stream-json", decode_stream) for case in STREAMS),
    ("background", "sdk_messages.jsonl", "sdk", decode_sdk),
    ("background", "sdk_hooks.jsonl", "claude-hook", decode_hook),
    ("hooks", "hooks.jsonl", "claude-hook", decode_hook),
)


def events_of(case: str, name: str, form: str, decode: Decoder) -> tuple[Event, ...]:
    return tuple(event for seen in records_of(case, name, form) for event in decode(seen))


def agents(case: str) -> dict[str, dict[str, Any]]:
    return {task["key"]: task for task in expected(case)["tasks"] if task["kind"] == "sub-agent"}


@pytest.mark.parametrize("told", TOLD, ids=lambda told: f"{told[0]}/{told[1]}")
def test_each_source_names_every_agent_its_call_and_its_end(told: tuple[str, str, str, Decoder]) -> None:
    events, truth = events_of(*told), agents(told[0])
    assert of(events, Unreadable) == []
    spawned = {(tie.scope.agent, tie.tool) for tie in of(events, TaskReferred)}
    assert spawned == {(key, task["spawned_by"]) for key, task in truth.items()}
    ends = {(move.scope.agent, move.status) for move in of(events, TaskMoved) if move.status != "working"}
    assert ends == {(key, "completed") for key in (*truth, "")}


@pytest.mark.parametrize("told", TOLD, ids=lambda told: f"{told[0]}/{told[1]}")
def test_each_source_tells_who_was_above_and_what_was_asked(told: tuple[str, str, str, Decoder]) -> None:
    case, truth = told[0], agents(told[0])
    opened = of(events_of(*told), TaskOpened)
    for key, task in truth.items():
        mine = [event for event in opened if event.scope.agent == key]
        above = {event.scope.parent_agent for event in mine} - {""} or {"root1"}
        assert above == {task["parent"]}
        assert {event.prompt for event in mine} - {""} == set(task["prompt"])
        assert {event.agent_type for event in mine} - {""} == {task["agent_type"]}
        assert not any(event.from_main for event in mine if task["parent"] != "root1"), case


@pytest.mark.parametrize("case", STREAMS)
def test_the_stream_shows_the_answers_and_no_others(case: str) -> None:
    truth = {call["message"]: call for call in expected(case)["calls"] if "stream-json" in call["sources"]}
    answers = of(events_of(case, "stream.jsonl", "stream-json", decode_stream), ModelAnswered)
    assert {answer.message for answer in answers} == set(truth)
    for answer in answers:
        assert answer.scope is not None
        assert answer.tokens is not None
        call = truth[answer.message]
        assert (answer.scope.agent or "root1") == call["task"]
        assert answer.tokens.input == call["usage"]["input"]
        assert not answer.final or answer.tokens.output == call["usage"]["output"]


def test_partial_messages_bring_the_true_figures_of_the_main_line() -> None:
    answers = of(events_of("hooks", "stream.jsonl", "stream-json", decode_stream), ModelAnswered)
    final = {answer.message for answer in answers if answer.final}
    truth = {call["message"] for call in expected("hooks")["calls"] if call["kind"] == "main"}
    assert final == truth


@pytest.mark.parametrize("told", TOLD[:6], ids=lambda told: f"{told[0]}/{told[1]}")
def test_the_clients_own_sum_is_the_true_one(told: tuple[str, str, str, Decoder]) -> None:
    reports = of(events_of(*told), UsageReported)
    counted = reports if reports[0].since_last else reports[-1:]
    tokens = [tokens for report in counted for _, tokens, _ in report.models]
    total = {
        "input": sum(each.input for each in tokens),
        "output": sum(each.output for each in tokens),
        "cache_read": sum(each.cache_read for each in tokens),
        "cache_write": sum(each.write_5m + each.write_1h for each in tokens),
    }
    assert total in expected(told[0])["usage"]["all"]


@pytest.mark.parametrize("told", [TOLD[6], TOLD[7]], ids=lambda told: told[0])
def test_hooks_show_every_tool_call_with_its_agent(told: tuple[str, str, str, Decoder]) -> None:
    called = {(call.use.id, call.use.name, call.scope.agent or "root1") for call in of(events_of(*told), ToolCalled)}
    assert called == {(call["id"], call["name"], call["task"]) for call in expected(told[0])["tool_calls"]}


def test_hooks_show_the_persons_prompt_and_the_notice_apart() -> None:
    said = [event for event in of(events_of(*TOLD[6]), MessageSaid) if event.part.role == "user"]
    assert [(event.hint.author, event.hint.kind) for event in said] == [("human", ""), ("harness", "notification")]
    assert len({event.place.id for event in said}) == 2
    assert [notice.agent for notice in said[1].part.notices] == list(agents("background"))


def test_a_turn_that_a_notice_began_wakes_the_task() -> None:
    turns = [move for move in of(events_of(*TOLD[5]), TaskMoved) if not move.scope.agent]
    assert [turn.wakes for turn in turns] == [False, True]
