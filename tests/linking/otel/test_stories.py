"""What spans mean together: each story is a trace as a program would export it, and the tree a person would draw."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ramify.model.observation import Record, Request, Response
from ramify.protocols.otel.request import read_json
from tests.spans import CLIENT, SERVER, TRACE, Told, agent, chat, id_of, one_by_one, pairs, span, told, tool

MINUTES = 60_000


def lines(world: Told, id: str = f"otel:trace:{TRACE}") -> list[str]:
    return world.drawn(id)


# -- roots -------------------------------------------------------------------------------------------------------------


def test_until_its_root_comes_a_trace_has_a_task_of_its_own() -> None:
    world = told(chat("chat1", "planner"), agent("worker", "deleg"), service="shop")
    assert lines(world) == ["shop - calls=1 in=10 out=5 tools=0 working", "  worker same-trace calls=0 in=0 out=0 tools=0 completed"]
    before = world.tree()["id"]
    world.send(tool("deleg", "planner"), agent("planner", end=500), service="shop")
    assert lines(world) == ["planner - calls=1 in=10 out=5 tools=1 completed", "  worker span-parent calls=0 in=0 out=0 tools=0 completed"]
    assert world.tree(before)["id"] == world.tree()["id"]  # whoever kept the old id is led to the root


def test_a_root_that_never_comes() -> None:
    world = told(agent("worker", "gone"), chat("chat1", "worker"))
    assert lines(world) == ["app - calls=0 in=0 out=0 tools=0 working", "  worker same-trace calls=1 in=10 out=5 tools=0 completed"]
    assert world.questions.why(world.tree()["children"][0]["id"])["links"][0]["certainty"] == 0.5


def test_of_two_roots_the_earlier_stands_for_the_trace() -> None:
    world = told(agent("late", start=50), agent("early", start=1), chat("chat1", "late"))
    assert lines(world) == ["early - calls=0 in=0 out=0 tools=0 completed"]
    conversation = world.tree()["conversation"]
    assert [root["agent"] for root in world.questions.tree(conversation)["roots"]] == ["early", "late"]


def test_a_call_without_any_agent_has_a_task() -> None:
    world = told(chat("chat1"), service="script")
    assert lines(world) == ["script - calls=1 in=10 out=5 tools=0 completed"]


def test_what_is_plain_at_the_root_is_walked_through() -> None:
    world = told(span("POST /chat", id="http", kind=SERVER), agent("planner", "http"), chat("chat1", "planner"))
    assert lines(world) == ["planner - calls=1 in=10 out=5 tools=0 completed"]


def test_a_workflow_at_the_root_is_the_task_and_inside_it_is_nothing() -> None:
    chain = {"openinference.span.kind": "CHAIN"}
    world = told(span("graph", attributes=chain), span("step", "graph", attributes=chain), chat("chat1", "step"))
    assert lines(world) == ["graph - calls=1 in=10 out=5 tools=0 completed"]


def test_a_parent_in_another_process() -> None:
    world = told(agent("remote", "http", flags=769))
    assert lines(world) == ["remote - calls=0 in=0 out=0 tools=0 completed"]
    world.send(span("http", "planner", kind=CLIENT), agent("planner"))
    assert lines(world) == ["planner - calls=0 in=0 out=0 tools=0 completed", "  remote traceparent calls=0 in=0 out=0 tools=0 completed"]


# -- the same thing twice ----------------------------------------------------------------------------------------------


def test_the_same_batch_twice_changes_nothing() -> None:
    spans = [agent("planner"), chat("chat1", "planner")]
    world = told(*spans)
    seq = world.store.seq()
    world.send(*spans)
    assert world.store.seq() == seq


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_versions_of_a_span_the_one_that_ends_later_counts(turned: bool) -> None:
    versions = [chat("chat1", "planner", tokens=(1, 1), end=10), chat("chat1", "planner", tokens=(2, 2), end=20)]
    world = told(agent("planner"), versions[turned]).send(versions[not turned])
    assert lines(world) == ["planner - calls=1 in=2 out=2 tools=0 completed"]
    assert len({ref["value"] for call in world.questions.calls(limit=0)["items"] for ref in call["refs"]}) == 1


def test_both_halves_of_a_remote_call_are_one_task() -> None:
    outer = agent("front", "planner", kind=CLIENT, start=1, end=90)
    world = told(agent("planner"), outer)
    assert [line.split()[0] for line in lines(world)] == ["planner", "front"]
    world.send(agent("worker", "front", kind=SERVER, flags=769, start=10 * MINUTES, end=11 * MINUTES), chat("chat1", "worker"))
    assert lines(world) == ["planner - calls=0 in=0 out=0 tools=0 completed", "  worker traceparent calls=1 in=10 out=5 tools=0 completed"]
    refs = {ref["value"] for ref in world.tree()["children"][0]["refs"] if ref["kind"] == "span"}
    assert refs == {f"{TRACE}-{id_of('front')}", f"{TRACE}-{id_of('worker')}"}


def test_a_model_call_around_a_model_call_is_one_and_the_inner_counts() -> None:
    asked = {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Hello"}]}]}
    outer = chat("chain", "planner", tokens=(11, 6), attributes=asked)
    world = told(agent("planner"), outer)
    assert lines(world) == ["planner - calls=1 in=11 out=6 tools=0 completed"]
    world.send(span("http", "chain"), chat("sdk", "http", tokens=(10, 5)))
    assert lines(world) == ["planner - calls=1 in=10 out=5 tools=0 completed"]
    said = world.questions.messages(world.tree()["id"], limit=0)["items"]
    assert [message["blocks"] for message in said] == [[{"type": "text", "text": "Hello"}]]


def test_client_and_server_inside_the_tool_that_asked_are_one_tool_call() -> None:
    mcp = {"mcp.method.name": "tools/call"}
    world = told(
        agent("planner"), tool("weather", "planner", attributes={"gen_ai.tool.call.id": "call_7"}),
        span("tools/call weather", "weather", id="client", kind=CLIENT, attributes=mcp),
        span("tools/call weather", "client", id="server", kind=SERVER, flags=769, attributes={**mcp, "gen_ai.tool.name": "weather"}),
    )  # fmt: skip
    tools = world.questions.tools(world.tree()["id"], limit=0)["items"]
    assert [(one["name"], one["call_id"]) for one in tools] == [("weather", "call_7")]
    spans = {ref["value"] for ref in tools[0]["refs"] if ref["kind"] == "span"}
    assert spans == {f"{TRACE}-{id_of(name)}" for name in ("weather", "client", "server")}


def test_a_summary_of_tool_calls_is_none() -> None:
    world = told(agent("planner"), tool("look", "planner"), tool("execute_tool (merged)", "planner", id="merged"))
    assert lines(world) == ["planner - calls=0 in=0 out=0 tools=1 completed"]


# -- usage -------------------------------------------------------------------------------------------------------------

CLAIM = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 50}


def test_usage_on_the_agent_and_on_its_calls_is_counted_once() -> None:
    world = told(agent("planner", attributes=CLAIM), chat("chat1", "planner", tokens=(60, 30)), chat("chat2", "planner", tokens=(40, 20)))
    assert lines(world) == ["planner - calls=2 in=100 out=50 tools=0 completed"]
    assert world.tree()["native"]["claim"] == {"input": 100, "output": 50, "cache_read": 0, "cache_write": 0}


def test_usage_on_the_agent_alone_counts_until_a_call_comes() -> None:
    world = told(agent("planner", attributes=CLAIM))
    assert lines(world) == ["planner - calls=0 in=100 out=50 tools=0 completed"]
    assert world.tree()["native"]["claimed"] is True
    world.send(agent("worker", "planner"), chat("chat1", "worker", tokens=(60, 30)))
    assert world.tree()["tree_usage"]["input"] == 60
    assert "claimed" not in world.tree()["native"]


def test_a_claim_of_the_last_call_only_changes_nothing() -> None:
    last = {"gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 20}
    world = told(chat("chat1", "planner", tokens=(60, 30)), chat("chat2", "planner", tokens=(40, 20)), agent("planner", attributes=last))
    assert lines(world) == ["planner - calls=2 in=100 out=50 tools=0 completed"]


def claim(given: int, answered: int) -> dict[str, int]:
    return {"gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": answered}


NESTED = [
    agent("lead", end=900, attributes=claim(100, 50)), agent("bare", "lead", end=800), span("glue", "bare", end=800),
    agent("one", "glue", start=10, end=300, attributes=claim(30, 10)), agent("deep", "one", start=20, end=200, attributes=claim(20, 5)),
    agent("two", "glue", start=310, end=700, attributes=claim(40, 30)),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_claims_of_agents_inside_others_are_parts_of_those_around_them(seed: int) -> None:
    assert one_by_one(NESTED, seed).drawn() == [
        "lead - calls=0 in=30 out=10 tools=0 completed",
        "  bare span-parent calls=0 in=0 out=0 tools=0 completed",
        "    one span-parent calls=0 in=10 out=5 tools=0 completed",
        "      deep span-parent calls=0 in=20 out=5 tools=0 completed",
        "    two span-parent calls=0 in=40 out=30 tools=0 completed",
    ]
    tree = one_by_one([*NESTED, chat("call", "deep", tokens=(7, 3), start=25, end=90)], seed).tree()
    assert {name: tree["tree_usage"][name] for name in ("calls", "input", "output")} == {"calls": 1, "input": 47, "output": 33}


@pytest.mark.parametrize("seed", range(6))
def test_a_claim_that_is_less_than_those_inside_it_is_about_something_else(seed: int) -> None:
    last_only = [agent("lead", end=900, attributes=claim(12, 4)), agent("one", "lead", start=10, end=300, attributes=claim(30, 10))]
    assert one_by_one(last_only, seed).tree()["tree_usage"]["input"] == 42


@pytest.mark.parametrize("seed", range(6))
def test_the_asking_half_of_a_remote_call_may_be_who_says_what_it_used(seed: int) -> None:
    halves = [agent("lead", end=900), agent("ask", "lead", kind=CLIENT, end=300, attributes=claim(30, 10)), agent("serve", "ask", kind=SERVER, flags=769, end=290)]
    assert one_by_one(halves, seed).drawn()[1:] == ["  serve traceparent calls=0 in=30 out=10 tools=0 completed"]
    deep = [*halves, agent("help", "serve", start=5, end=200), chat("call", "help", start=6, end=100)]
    assert one_by_one(deep, seed).tree()["tree_usage"]["input"] == 10


def test_input_excludes_the_cache_whoever_wrote_it() -> None:
    included = {"gen_ai.usage.cache_read.input_tokens": 70, "gen_ai.usage.cache_creation.input_tokens": 10}
    excluded = {"gen_ai.usage.cache_read_input_tokens": 500}
    world = told(chat("chat1", tokens=(100, 5), attributes=included), chat("chat2", "chat1x", tokens=(3, 1), attributes=excluded))
    usage = {call["usage"]["cache_read"]: call["usage"] for call in world.questions.calls(limit=0)["items"]}
    assert (usage[70]["input"], usage[70]["cache_write"], usage[500]["input"]) == (20, 10, 3)


# -- agents ------------------------------------------------------------------------------------------------------------


def test_two_sub_agents_with_the_same_prompt_hang_on_their_own_calls() -> None:
    prompt = {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Look for it"}]}]}
    world = one_by_one([
        agent("planner", end=900), tool("first", "planner", "Agent", start=1, attributes={"gen_ai.tool.call.id": "a"}),
        tool("second", "planner", "Agent", start=2, attributes={"gen_ai.tool.call.id": "b"}),
        agent("one", "first", start=3, attributes=prompt), agent("two", "second", start=4, attributes=prompt),
    ], seed=5)  # fmt: skip
    assert [(child["agent"], child["link"]["via"], child["prompt"]) for child in world.tree()["children"]] == [
        ("one", "a", "Look for it"), ("two", "b", "Look for it"),
    ]  # fmt: skip
    spawned = {one["call_id"]: one["spawned"] for one in world.questions.tools(world.tree()["id"], limit=0)["items"]}
    assert spawned == {via: [child["id"]] for via, child in zip(("a", "b"), world.tree()["children"], strict=True)}


def test_a_child_may_outlive_its_parent() -> None:
    world = told(agent("planner", end=100), agent("background", "planner", start=50, end=10 * MINUTES))
    assert [(task["status"], task["closed"]) for task in (world.tree(), world.tree()["children"][0])] == [
        ("completed", "2026-09-21T14:13:20.100000Z"), ("completed", "2026-09-21T14:23:20.000000Z"),
    ]  # fmt: skip


def test_clocks_may_disagree() -> None:
    world = told(agent("planner", start=500, end=600), agent("worker", "planner", start=100, end=90))
    assert [line.split()[0] for line in lines(world)] == ["planner", "worker"]


def test_links_lead_to_tasks_without_making_children() -> None:
    other = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    link = {"traceId": other, "spanId": id_of("enqueue"), "attributes": []}
    world = told(span("process", id="process", links=[link]), agent("worker", "process"))
    assert world.questions.why(world.tree()["id"])["links"] == []
    world.send(span("enqueue", "planner", trace=other), agent("planner", trace=other))
    links = world.questions.why(world.tree()["id"])["links"]
    assert [(one["kind"], one["rule"], one["certainty"], one["parent"]) for one in links] == [
        ("refers", "span-link", 0.8, world.tree(f"otel:trace:{other}")["id"])
    ]


@pytest.mark.parametrize(
    ("made", "status"),
    [
        ({}, "completed"), ({"code": 2}, "failed"), ({"attributes": {"error.type": "timeout"}}, "failed"), ({"code": 1}, "completed"),
        ({"attributes": {"gen_ai.task.id": "t", "gen_ai.task.status": "in_progress"}}, "working"),
        ({"attributes": {"a2a.task.id": "t", "a2a.task.state": "TASK_STATE_INPUT_REQUIRED"}}, "input-required"),
    ],
)  # fmt: skip
def test_how_a_task_ended(made: dict[str, Any], status: str) -> None:
    assert told(agent("planner", **made)).tree()["status"] == status


def test_tasks_with_ids_of_their_own_name_their_parents() -> None:
    first = span("crew", attributes={"gen_ai.task.id": "t1", "gen_ai.task.name": "all"})
    second = span("step", "elsewhere", start=5, attributes={"gen_ai.task.id": "t2", "gen_ai.task.parent.id": "t1"})
    world = one_by_one([second, first])
    (child,) = world.tree("traceloop:task:t1")["children"]
    assert (child["link"]["rule"], child["id"]) == ("parentTaskId", world.tree("traceloop:task:t2")["id"])


# -- what was said -----------------------------------------------------------------------------------------------------


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "content": words}


def test_tool_calls_that_only_messages_show() -> None:
    asks = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": "sky"}}]}
    answers = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "blue"}]}
    user = {"role": "user", "parts": [text("What colour?")]}
    final = {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, text("Blue.")]}
    world = told(
        agent("planner"),
        chat("chat1", "planner", start=1, end=2, attributes={"gen_ai.input.messages": [user], "gen_ai.output.messages": [asks]}),
        chat("chat2", "planner", start=5, end=6, attributes={"gen_ai.input.messages": [user, asks, answers], "gen_ai.output.messages": [final]}),
    )
    task = world.tree()["id"]
    shown = world.questions.tool("c1")
    assert (shown["name"], shown["args"], shown["result"], shown["status"], shown["result_source"]) == ("look", {"at": "sky"}, "blue", "ok", "history")
    said = world.questions.messages(task, limit=0)["items"]
    assert [(one["role"], one["author"], one["blocks"][0]["type"]) for one in said] == [
        ("user", "human", "text"), ("assistant", "agent", "tool_use"), ("tool", "tool", "tool_result"), ("assistant", "agent", "text"),
    ]  # fmt: skip
    assert [one["text"] for one in world.questions.reasoning(task, limit=0)["items"]] == ["hm"]
    assert (world.tree()["prompt"], world.tree()["title"]) == ("What colour?", "What colour?")


def test_messages_said_by_log_records_join_their_span() -> None:
    place = {"traceId": TRACE, "spanId": id_of("chat1"), "timeUnixNano": "1790000000001000000"}
    logs = [
        {**place, "eventName": "gen_ai.user.message", "body": {"kvlistValue": {"values": pairs({"content": "Hi"})}}},
        {**place, "attributes": pairs({"event.name": "gen_ai.choice"}), "body": {"kvlistValue": {"values": pairs({"message": {"content": "Ho"}})}}},
    ]  # fmt: skip
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]}).encode()
    world = Told().observe(*read_json(body, "default", "logs").records)
    world.send(agent("planner"), chat("chat1", "planner"))
    assert [one["blocks"][0]["text"] for one in world.questions.messages(world.tree()["id"], limit=0)["items"]] == ["Hi", "Ho"]


def test_what_was_withheld_is_no_text() -> None:
    asked = {"gen_ai.input.messages": [{"role": "user", "parts": [text("<REDACTED>")]}]}
    world = told(agent("planner", attributes=asked), chat("chat1", "planner", attributes=asked))
    assert world.tree()["prompt"] in (None, "")
    assert world.questions.messages(world.tree()["id"], limit=0)["items"][0]["blocks"] == [{"type": "text", "text": "", "withheld": True}]


# -- together with the wire --------------------------------------------------------------------------------------------


def exchange(number: int, message: str, headers: tuple[tuple[str, str], ...] = (), tools: Sequence[str] = ()) -> list[Request | Response]:
    at = 1_790_000_000_000_000 + number
    asked = {"model": "some-model", "messages": [{"role": "user", "content": f"Ask {number}"}]}
    answer = {
        "id": message, "type": "message", "role": "assistant", "model": "some-model", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "ok"}, *({"type": "tool_use", "id": id, "name": "look", "input": {}} for id in tools)], "usage": {"input_tokens": 1000, "output_tokens": 7},
    }  # fmt: skip
    request = Request(f"obs_q{number}", "default", at, "proxy", f"x{number}", "POST", "/v1/messages", headers, json.dumps(asked).encode())
    response = Response(
        f"obs_r{number}", "default", at + 50, "proxy", request.id, "/v1/messages", 200, (("request-id", f"req_{number}"),),
        json.dumps(answer).encode(), "complete",
    )  # fmt: skip
    return [request, response]


JOINS = {
    "answer": ({"gen_ai.response.id": "msg_1"}, ()),
    "request": ({"anthropic.request.id": "req_1"}, ()),
    "span": ({}, (("traceparent", f"00-{TRACE}-{id_of('chat1')}-01"),)),
    "inner span": ({}, (("traceparent", f"00-{TRACE}-{id_of('http')}-01"),)),
}


@pytest.mark.parametrize("wire_first", [True, False])
@pytest.mark.parametrize("way", JOINS)
def test_a_call_that_the_wire_shows_too_is_one_call_in_the_task_of_its_span(way: str, wire_first: bool) -> None:
    attributes, headers = JOINS[way]
    spans = [agent("planner"), chat("chat1", "planner", tokens=(10, 5), attributes=attributes), span("http", "chat1", kind=CLIENT)]
    world = Told()
    seen = exchange(1, "msg_1", headers)
    if wire_first:
        world.observe(*seen).send(*spans)
    else:
        for one in spans:
            world.send(one)
        world.observe(*seen)
    assert lines(world) == ["planner - calls=1 in=1000 out=7 tools=0 completed"]
    assert len(world.questions.tasks(limit=0)["items"]) == 1
    (call,) = world.questions.calls(limit=0)["items"]
    assert (call["task"], call["usage"]["input"]) == (world.tree()["id"], 1000)
    assert world.questions.stats()["usage"]["input"] == 1000
    assert [row["usage"]["input"] for row in world.questions.conversations(limit=0)["items"]] == [1000]


def test_an_id_that_would_join_different_models_joins_nothing() -> None:
    world = told(agent("planner"), chat("chat1", "planner", attributes={"gen_ai.response.id": "msg_1", "gen_ai.response.model": "another"}))
    world.observe(*exchange(1, "msg_1"))
    assert len(world.questions.calls(limit=0)["items"]) == 2


def test_a_record_that_is_none_is_kept_and_said_to_be_unreadable() -> None:
    world = Told().observe(Record("obs_x", "default", 5, "otel", "otlp", "/v1/traces", b"{broken"))
    assert world.store.count_unreadable() == 1
    assert world.store.observation("obs_x") is not None


@pytest.mark.parametrize("poison", [
    {"gen_ai.prompt.²2.content": "x"}, {f"gen_ai.prompt.{'9' * 5000}.content": "x"}, {"gen_ai.usage.cost": 1e308}, {"gen_ai.usage.cost": -1e308},
    {"gen_ai.response.time_to_first_chunk": 1e308}, {"ttft_ms": 1e30}, {"llm.input_messages.²².message.content": "x"},
])  # fmt: skip
def test_what_no_number_can_be_costs_no_other_span(poison: dict[str, Any]) -> None:
    world = told(agent("planner"), chat("bad", "planner", attributes=poison), chat("good", "planner"))
    assert lines(world) == ["planner - calls=2 in=20 out=10 tools=0 completed"]


@pytest.mark.parametrize("name", ["cost_usd", "duration_ms", "ttft_ms"])
@pytest.mark.parametrize("amount", [1e308, 1e30, -1e308, str(2**62)])
def test_what_nobody_can_have_paid_or_waited_for_is_not_known(name: str, amount: Any) -> None:
    session = {"session.id": "s", "request_id": "req_1", "model": "some-model", "input_tokens": 3, "output_tokens": 5, name: amount}
    record = {"timeUnixNano": "1790000000000000000", "body": {"stringValue": "claude_code.api_request"}, "attributes": pairs({"event.name": "api_request", **session})}
    logs = {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "com.anthropic.claude_code.events"}, "logRecords": [record]}]}]}
    world = Told().observe(*read_json(json.dumps(logs).encode(), "default", "logs").records)
    assert [call["usage"]["input"] for call in world.questions.calls(limit=0)["items"]] == [3]
