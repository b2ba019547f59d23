"""Real runs, whose true course is known, as their transcripts tell them."""

from typing import Any

import pytest

from ramify.model.event import (
    Event,
    MessageSaid,
    ModelAnswered,
    TaskOpened,
    TaskReferred,
    ToolReturned,
    Unreadable,
    UsageReported,
)
from ramify.protocols.claude.decode import decode
from tests.protocols.claude.lines import expected, of
from tests.protocols.claude.transcripts import records_of

SOURCE = "transcripts"
CASES = ("simple", "nested", "parallel", "background", "hooks", "otel")
FIGURES = ("input", "output", "cache_read", "cache_write")


@pytest.fixture(params=CASES)
def told(request: pytest.FixtureRequest) -> tuple[tuple[Event, ...], dict[str, Any]]:
    events = tuple(event for seen in records_of(request.param) for event in decode(seen))
    return events, expected(request.param)


def agents(truth: dict[str, Any]) -> list[dict[str, Any]]:
    return [task for task in truth["tasks"] if task["kind"] == "sub-agent"]


def test_nothing_is_unreadable(told: tuple[tuple[Event, ...], dict[str, Any]]) -> None:
    assert of(told[0], Unreadable) == []


def test_agents_and_their_calls_are_named(told: tuple[tuple[Event, ...], dict[str, Any]]) -> None:
    events, truth = told
    assert {event.scope.agent for event in of(events, TaskOpened)} == {task["agent"] for task in agents(truth)}
    for task in agents(truth):
        opened = [event for event in of(events, TaskOpened) if event.scope.agent == task["agent"]]
        ties = [event for event in of(events, TaskReferred) if event.scope.agent == task["agent"]]
        assert {event.tool for event in ties} == {task["spawned_by"]}
        assert "sidecar" in {event.rule for event in ties}
        assert {event.prompt for event in opened} - {""} == set(task["prompt"])
        assert {event.agent_type for event in opened} - {""} == {task["agent_type"]}
        assert {event.background for event in opened} - {None} == {task["background"]}
        above = {event.scope.parent_agent for event in opened} - {""}
        from_main = any(event.from_main for event in opened)
        assert (above, from_main) == ((set(), True) if task["parent"] == "root1" else ({task["parent"]}, False))


def test_every_answer_is_seen_once_with_its_true_figures(told: tuple[tuple[Event, ...], dict[str, Any]]) -> None:
    events, truth = told
    seen = {event.message: event for event in of(events, ModelAnswered)}
    calls = {call["message"]: call for call in truth["calls"] if SOURCE in call["sources"]}
    assert seen.keys() == calls.keys()
    for message, call in calls.items():
        event = seen[message]
        assert event.tokens is not None
        assert event.scope is not None
        written = event.tokens.write_5m + event.tokens.write_1h
        figures = (event.tokens.input, event.tokens.output, event.tokens.cache_read, written)
        assert dict(zip(FIGURES, figures, strict=True)) == {name: call["usage"][name] for name in FIGURES}
        assert (event.request_id, event.scope.agent, event.final) == (call["request"], agent_of(call["task"]), True)


def agent_of(task: str) -> str:
    return "" if task.startswith("root") else task


def test_the_clients_own_sum_is_the_true_total(told: tuple[tuple[Event, ...], dict[str, Any]]) -> None:
    events, truth = told
    for reported in of(events, UsageReported)[-1:]:
        sums = [
            (each.input, each.output, each.cache_read, each.write_5m + each.write_1h) for _, each, _ in reported.models
        ]
        total = dict(zip(FIGURES, map(sum, zip(*sums, strict=True)), strict=True))
        assert total in truth["usage"][SOURCE]


def test_every_message_is_told_and_no_flag_contradicts_its_author(
    told: tuple[tuple[Event, ...], dict[str, Any]],
) -> None:
    events, truth = told
    messages = [
        (event, block) for event in of(events, MessageSaid) for block in event.blocks if event.hint.kind != "reminder"
    ]
    for entry in truth["messages"]:
        if SOURCE not in entry["sources"]:
            continue
        found = [(event, block) for event, block in messages if is_it(entry, event, block)]
        assert len(found) == 1, entry
        ((event, _),) = found
        assert event.scope.agent in {agent_of(task) for task in entry["task"]}
        assert event.hint.author in ("", *entry["author"])
        assert not event.hint.kind or event.hint.kind in entry["kind"]


def is_it(entry: dict[str, Any], event: MessageSaid, block: dict[str, Any]) -> bool:
    key = block.get("id") or block.get("tool_use_id") or block.get("text") or ""
    same = key == entry["key"] if entry["match"] == "equals" else entry["key"] in key
    return same and (event.part.role, block.get("type")) == (entry["role"], entry["type"])


def test_every_tool_returns_where_it_was_called(told: tuple[tuple[Event, ...], dict[str, Any]]) -> None:
    events, truth = told
    called = {tool["id"]: agent_of(tool["task"]) for tool in truth["tool_calls"]}
    assert {event.result.id: event.scope.agent for event in of(events, ToolReturned)} == called
