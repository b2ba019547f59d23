"""The Claude client's own telemetry with nothing beside it: what its spans and its log records tell together, in any order."""

import json
import random
from typing import Any

import pytest

from ramify.ingest import Prices
from ramify.linking.world import Rules
from ramify.model.observation import Observation
from ramify.protocols.otel.request import read_json
from ramify.query.service import Questions
from ramify.rebuild import rebuild
from tests import story
from tests.spans import BEGIN, Told, pairs, records, span

SESSION = "5e551011-0000-4000-8000-00000000000b"
CASE = story.CASES / "claude" / "otel"


def client(kind: str, name: str, parent: str, start: int, end: int, **attributes: Any) -> list[Observation]:
    given = {"session.id": SESSION, "span.type": kind, **attributes}
    spans = [span(f"claude_code.{kind}", parent, id=name, start=start, end=end, attributes=given)]
    return list(records(spans, scope="com.anthropic.claude_code.tracing"))


def called(name: str, parent: str, start: int, end: int, stop: str = "end_turn", **more: Any) -> list[Observation]:
    figures = {"model": "claude-opus-5-5", "input_tokens": 3, "output_tokens": 5, "success": True, "stop_reason": stop}
    return client("llm_request", name, parent, start, end, **{**figures, "request_id": f"req_{name}", **more})


def ran(name: str, start: int, end: int, tool: str = "Agent") -> list[Observation]:
    outer = client("tool", name, "turn", start, end, tool_name=tool, tool_use_id=f"toolu_{name}")
    return [*outer, *client("tool.execution", f"{name}x", name, start, end, tool_use_id=f"toolu_{name}", success=True)]


def logged(name: str, at: int, **attributes: Any) -> list[Observation]:
    record = {
        "timeUnixNano": str(BEGIN + at * 1_000_000), "body": {"stringValue": f"claude_code.{name}"},
        "attributes": pairs({"session.id": SESSION, "event.name": name, **attributes}),
    }  # fmt: skip
    document = {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "com.anthropic.claude_code.events"}, "logRecords": [record]}]}]}
    return list(read_json(json.dumps(document).encode(), "default", "logs").records)


def turn() -> list[Observation]:
    prompt = logged("user_prompt", 0, prompt="Go", **{"message.uuid": "7081dfd7-ec82-4fff-a248-0dbfd12db62e"})
    return [*prompt, *client("interaction", "turn", "", 0, 500), *called("main", "turn", 1, 20, "tool_use")]


def observed(seen: list[Observation], seed: int | None = None) -> Questions:
    order = list(seen)
    if seed is not None:
        order += order[::2]
        random.Random(seed).shuffle(order)
    world = Told()
    for one in order:
        world.observe(one)
    assert rebuild(world.store, Rules(), Prices(), True, lambda done, total: None)["moved"] == []
    return world.questions


ORDERS = pytest.mark.parametrize("seed", [None, 1, 2, 3])


def test_inputs_results_times_and_answers_of_a_recorded_run() -> None:
    _, questions = story.told(story.reports(CASE, "otlp"))
    shell = questions.tool("toolu_01J0FdkDcZl2q9j7O0ofMpzL")
    assert (shell["args"], shell["result"]) == ({"command": "echo deep", "description": "Deep"}, "deep")
    delegation = questions.tool("toolu_0182TrhgOSnj4fwflUgaw6Gs")
    assert delegation["args"]["prompt"] == "[child] Delegate."
    assert 900 < delegation["duration_ms"] < 960
    said = [block["text"] for task in questions.tasks(limit=0)["items"] for one in questions.messages(task["id"])["items"] for block in one["blocks"]]
    assert sorted(said) == ["Child report, with a grandchild's help.", "Grandchild report.", "Main is done.", "Please delegate this"]
    calls = questions.calls(limit=0)["items"]
    assert sorted(call["first_token_ms"] for call in calls) == [12, 14, 14, 19, 21, 44]
    [span] = [ref["value"] for ref in calls[0]["refs"] if (ref["protocol"], ref["kind"]) == ("otel", "span")]
    assert questions.call(f"otel:span:{span}")["id"] == calls[0]["id"]


def test_answers_that_the_wire_shows_too_are_said_once() -> None:
    _, questions = story.told([*story.reports(CASE, "otlp"), *story.reports(CASE, "exchanges")])
    said = [block.get("text") for task in questions.tasks(limit=0)["items"] for one in questions.messages(task["id"])["items"] for block in one["blocks"]]
    assert [said.count(words) for words in ("Main is done.", "Grandchild report.")] == [1, 1]


@ORDERS
@pytest.mark.parametrize("with_logs", [True, False])
def test_an_agent_in_the_background_goes_on_when_its_tool_call_came_back(with_logs: bool, seed: int | None) -> None:
    given = {"prompt": "Watch", "run_in_background": True}
    launched = {"tool_name": "Agent", "tool_use_id": "toolu_bg", "request_id": "req_main", "success": "true", "duration_ms": "10"}
    logs = logged("tool_result", 40, tool_input=json.dumps(given), **launched)
    seen = [*turn(), *ran("bg", 30, 40), *called("watch", "bgx", 35, 300, "tool_use", agent_id="a1"), *(logs if with_logs else [])]
    working = next(task for task in observed(seen, seed).tasks(limit=0)["items"] if task["agent"] == "a1")
    assert (working["status"], working["link"]["via"]) == ("working", "toolu_bg")
    over = [*seen, *logged("subagent_completed", 310, agent_id="a1", agent_type="watcher")]
    assert next(task for task in observed(over, seed).tasks(limit=0)["items"] if task["agent"] == "a1")["status"] == "completed"


@ORDERS
def test_an_agent_that_was_waited_for_is_over_when_its_tool_call_came_back(seed: int | None) -> None:
    seen = [*turn(), *ran("fg", 30, 90), *called("work", "fgx", 35, 80, "tool_use", agent_id="a1")]
    assert next(task for task in observed(seen, seed).tasks(limit=0)["items"] if task["agent"] == "a1")["status"] == "completed"


@ORDERS
def test_a_call_that_failed_says_why_and_counts_nothing(seed: int | None) -> None:
    failed = called("bad", "turn", 30, 50, success=False, error="529 overloaded", output_tokens=0)
    seen = [*turn(), *failed, *logged("api_error", 50, request_id="req_bad", error="529 overloaded", status_code="529", duration_ms="20")]
    questions = observed(seen, seed)
    [bad] = [call for call in questions.calls(limit=0)["items"] if call["status"] != "ok"]
    assert (bad["status"], bad["error"], bad["usage"]["calls"]) == ("error", "529 overloaded", 0)
    assert [task["usage"]["calls"] for task in questions.tasks(limit=0)["items"]] == [1]


@ORDERS
def test_calls_of_the_client_for_itself_are_helpers_and_an_agents_are_not(seed: int | None) -> None:
    seen = [*turn(), *called("name", "turn", 2, 9, query_source_safe="generate_session_title"), *ran("ag", 30, 60)]
    seen += logged("api_request", 300, request_id="req_sum", query_source="compact", model="claude-opus-5-5", input_tokens=3, output_tokens=5)
    seen += called("book", "agx", 35, 40, agent_id="a1", query_source_safe="agent.custom.title-writer")
    kinds = [(call["kind"], call["utility"]) for call in observed(seen, seed).calls(limit=0)["items"]]
    assert sorted(kinds, key=str) == [("main", None), ("subagent", None), ("utility", "compaction"), ("utility", "title")]


@pytest.mark.parametrize("cost", [{"cost_usd": 0.25}, {"cost_usd": "0.25"}, {"cost_usd_micros": 250_000}, {"cost_usd": 9, "cost_usd_micros": "250000"}])
def test_a_stated_cost_counts_in_whichever_unit_it_comes(cost: dict[str, Any]) -> None:
    seen = logged("api_request", 20, request_id="req_main", model="claude-opus-5-5", input_tokens=3, output_tokens=5, **cost)
    [task] = observed([*turn(), *seen]).tasks(limit=0)["items"]
    assert task["usage"]["cost_usd"] == 0.25


def spans_of(case: story.Path) -> list[Observation]:
    return [seen for told in story.reports(case, "otlp") for seen in told if b"resourceSpans" in seen.body]


@ORDERS
def test_spans_without_the_log_show_who_called_which_tool_and_what_was_asked(seed: int | None) -> None:
    questions = observed(spans_of(CASE), seed)
    root = next(task for task in questions.tasks(limit=0)["items"] if not task["agent"])
    assert (root["prompt"], root["prompt_author"], root["title"]) == ("Please delegate this", "human", "Please delegate this")
    shown = {tool["call_id"]: (tool["name"], tool["task"]) for tool in questions.tools(root["id"], tree=True)["items"]}
    agents = {task["agent"]: task["id"] for task in questions.tasks(limit=0)["items"]}
    assert shown == {
        "toolu_0182TrhgOSnj4fwflUgaw6Gs": ("Agent", root["id"]), "toolu_01lFWuxhPndpo9xc92K8s61H": ("Agent", agents["a88a8659fd535fffd"]),
        "toolu_01J0FdkDcZl2q9j7O0ofMpzL": ("Bash", agents["a2449eeaf6c4a1dcf"]),
    }  # fmt: skip
    assert [task["tool_calls"] for task in questions.tasks(limit=0)["items"]] == [1, 1, 1]
    assert questions.tool("toolu_01J0FdkDcZl2q9j7O0ofMpzL")["args"] == {"command": "echo deep"}
    assert questions.tool("toolu_01lFWuxhPndpo9xc92K8s61H")["spawned"] == [agents["a2449eeaf6c4a1dcf"]]


@ORDERS
def test_a_tool_call_belongs_to_the_newest_answer_in_its_span_until_its_answer_is_known(seed: int | None) -> None:
    asked = [*turn(), *called("next", "turn", 60, 70, "tool_use"), *called("name", "turn", 61, 62, query_source_safe="generate_session_title")]
    seen = [*asked, *ran("one", 30, 40, "Bash"), *ran("two", 71, 80, "Bash"), *ran("three", 72, 80, "Bash"), *called("last", "turn", 90, 99)]
    questions = observed(seen, seed)
    owners = {call["id"]: request for call in questions.calls(limit=0)["items"] for request in refs(call, "request")}
    askers = {name: owners[questions.tool(f"toolu_{name}")["call"]] for name in ("one", "two", "three")}
    assert askers == {"one": "req_main", "two": "req_next", "three": "req_next"}
    [task] = questions.tasks(limit=0)["items"]
    assert (task["tool_calls"], task["flags"]) == (3, [])
    known = [*seen, *logged("tool_decision", 71, tool_use_id="toolu_two", tool_name="Bash", request_id="req_main", decision="reject")]
    questions = observed(known, seed)
    assert owners[questions.tool("toolu_two")["call"]] == "req_main"
    assert questions.tasks(limit=0)["items"][0]["tool_calls"] == 3


def refs(row: dict[str, Any], kind: str) -> list[str]:
    return [ref["value"] for ref in row["refs"] if ref["kind"] == kind]
