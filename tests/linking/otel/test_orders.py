"""Spans in any order, cut into any requests, some of them twice: the same rows, and never an orphan on the way."""

import random
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.ingest import Ingest
from ramify.model.observation import Correction, Observation
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import story
from tests.linking.otel.test_stories import exchange
from tests.spans import CLIENT, INTERNAL, SERVER, TRACE, Span, agent, chat, id_of, one_by_one, records, span, tool
from tests.test_forgetting import seen_in

OTHER = "1bf7651916cd43dd8448eb211c80319d"


def rows_after(batches: list[list[Observation]]) -> tuple[Sqlite, dict[str, dict[str, Any]]]:
    store = open_sqlite("memory:")
    ingest = Ingest(store)
    for batch in batches:
        ingest.step(batch)
    return store, story.rows(store)


def cut(seen: list[Observation], seed: int) -> list[list[Observation]]:
    chance = random.Random(seed)
    mixed = [*seen, *chance.sample(seen, len(seen) // 3)]
    chance.shuffle(mixed)
    found: list[list[Observation]] = []
    while mixed:
        size = chance.choice((1, 1, 2, 5, 20))
        found.append(mixed[:size])
        mixed = mixed[size:]
    return found


@st.composite
def traces(draw: st.DrawFn) -> list[Span]:
    """Any tree of any spans, with holes, second roots and parents in other processes."""
    spans: list[Span] = []
    for number in range(draw(st.integers(1, 14))):
        name = f"s{number}"
        parent = draw(st.sampled_from(["", "gone", *(one["name"] for one in spans)])) if spans else draw(st.sampled_from(["", "gone"]))
        kind = draw(st.sampled_from((INTERNAL, INTERNAL, SERVER, CLIENT)))
        flags = draw(st.sampled_from((257, 257, 769)))
        more: dict[str, Any] = {"start": number, "end": 100 + number, "kind": kind, "flags": flags}
        match draw(st.sampled_from(("agent", "chat", "chat", "tool", "plain", "workflow", "claim"))):
            case "agent":
                spans.append(agent(name, parent, **more))
            case "claim":
                spans.append(agent(name, parent, attributes={"gen_ai.usage.input_tokens": draw(st.sampled_from((7, 30)))}, **more))
            case "chat":
                asked = [{"role": "user", "parts": [{"type": "text", "content": f"words {number}"}]}]
                calls = [{"role": "assistant", "parts": [{"type": "tool_call", "id": f"call{number % 3}", "name": "look", "arguments": {}}]}]
                said = {"gen_ai.input.messages": asked, "gen_ai.output.messages": calls}
                named = draw(st.sampled_from(({}, {}, {"gen_ai.response.id": "answer"}, {"anthropic.request.id": f"req_{number % 2}"})))
                more["trace"] = draw(st.sampled_from((TRACE, TRACE, TRACE, OTHER)))
                spans.append(chat(name, parent, attributes={**(said if draw(st.booleans()) else {}), **named}, **more))
            case "tool":
                called = draw(st.sampled_from(("look", "go")))
                native = {"gen_ai.tool.call.id": f"call{number % 3}"} if draw(st.booleans()) else {}
                spans.append(tool(name, parent, called, attributes=native, **more))
            case "workflow":
                spans.append(span(name, parent, attributes={"openinference.span.kind": "CHAIN"}, **more))
            case _:
                spans.append(span(name, parent, **more))
        if draw(st.integers(0, 9)) == 0:  # sent again, with more to say
            last = spans[-1]
            spans.append({**last, "endTimeUnixNano": str(int(last["endTimeUnixNano"]) + 1000), "status": {"code": 2}})
    return spans


@settings(max_examples=60, deadline=None)
@given(traces(), st.integers(0, 1000))
def test_any_order_any_cut_and_twice(spans: list[Span], seed: int) -> None:
    seen = [record for one in spans for record in records([one])]
    _, whole = rows_after([seen])
    _, pieces = rows_after(cut(seen, seed))
    assert story.row_differences(whole, pieces) == []


@settings(max_examples=30, deadline=None)
@given(traces(), st.integers(0, 1000))
def test_whoever_goes_on_from_the_store_comes_to_the_same(spans: list[Span], seed: int) -> None:
    """What is remembered from batch to batch only saves reading."""
    seen = [record for one in spans for record in records([one])]
    _, whole = rows_after([seen])
    store = open_sqlite("memory:")
    for batch in cut(seen, seed):
        Ingest(store).step(batch)
    assert story.row_differences(whole, story.rows(store)) == []


@settings(max_examples=30, deadline=None)
@given(traces(), st.integers(0, 1000))
def test_no_orphan_on_any_first_paint_and_nothing_counted_twice(spans: list[Span], seed: int) -> None:
    seen = [record for one in spans for record in records([one])]
    store = open_sqlite("memory:")
    ingest, questions = Ingest(store), Questions(store)
    for batch in cut(seen, seed):
        ingest.step(batch)
        for task in questions.tasks(limit=0)["items"]:
            assert "orphan" not in task["flags"]
            assert task["link"] is None or questions.task(task["link"]["parent"])
        for row in questions.conversations(limit=0)["items"]:
            tree = questions.tree(row["id"])
            assert tree["unattached"] == []
            assert sum(root["tree_usage"]["input"] for root in tree["roots"]) == row["usage"]["input"]
    calls = questions.calls(limit=0)["items"]
    assert {call["task"] for call in calls} <= {task["id"] for task in questions.tasks(limit=0)["items"]}


STORY = [
    agent("planner", end=1000, attributes={"gen_ai.conversation.id": "c1"}),
    chat("chat1", "planner", start=10, end=100),
    tool("deleg", "planner", start=110, end=900, attributes={"gen_ai.tool.call.id": "call_1"}),
    agent("worker", "deleg", start=120, end=800),
    chat("chat2", "worker", start=130, end=200),
    tool("bash", "worker", start=210, end=300),
    chat("chat3", "planner", start=910, end=990),
]


@pytest.mark.parametrize("at", range(len(STORY) + 1))
def test_a_request_split_at_every_span(at: int) -> None:
    seen = [record for one in STORY for record in records([one])]
    _, whole = rows_after([seen])
    _, split = rows_after([batch for batch in (seen[:at], seen[at:]) if batch])
    assert story.row_differences(whole, split) == []


def test_two_traces_of_one_conversation() -> None:
    other = [agent("second", trace=OTHER, attributes={"gen_ai.conversation.id": "c1"}), chat("more", "second", trace=OTHER)]
    seen = [record for one in [*STORY, *other] for record in records([one])]
    store, _ = rows_after(cut(seen, 3))
    conversations = Questions(store).conversations(limit=0)["items"]
    assert [(row["roots"], row["tasks"]) for row in conversations] == [(2, 3)]


def test_an_agent_that_its_spans_and_its_own_request_name_is_settled_in_any_order() -> None:
    """Its answer, then the spans that say whose it was, then its request with the agent's header."""
    wanted = ("obs_0185301b480e979c4136499f", "obs_916963160f94a9c580da216a", "obs_a3c2a9d08dce34184dc78648")
    seen = {one.id: one for one in seen_in("claude/otel") if one.id in wanted}
    _, rows = rows_after([[seen[id]] for id in sorted(wanted, reverse=True)])
    for order in permutations(wanted):
        assert story.row_differences(rows, rows_after([[seen[id]] for id in order])[1]) == []


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_a_client_seen_from_every_side_is_the_same_in_any_order(seed: int) -> None:
    seen = list(seen_in("claude/otel"))
    _, rows = rows_after([seen])
    assert story.row_differences(rows, rows_after(cut(seen, seed))[1]) == []


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_both_halves_of_a_call_that_name_one_task_are_that_task_in_any_order(order: tuple[int, ...]) -> None:
    said = {"a2a.method.name": "SendMessage", "a2a.task.id": "t1"}
    spans = [
        agent("planner"), span("SendMessage", "planner", id="out", kind=CLIENT, attributes=said),
        span("SendMessage", "out", id="in", kind=SERVER, attributes=said, start=1, end=300, flags=769), chat("c", "in", start=5, end=9),
    ]  # fmt: skip
    world = one_by_one([spans[at] for at in order])
    assert world.drawn() == [
        "planner - calls=0 in=0 out=0 tools=0 completed",
        "  SendMessage traceparent calls=1 in=10 out=5 tools=0 completed",
    ]


SAID = {"gen_ai.conversation.id": "c1"}
ASKED = {"gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "tool_call", "id": "toolu_1", "name": "look", "arguments": {}}]}]}
NAMED_LATE = {
    "by the root": [agent("root", end=900, attributes=SAID), agent("worker", "root", start=1)],
    "by a call": [agent("root", end=900), chat("call", "root", start=1, attributes=SAID), agent("worker", "root", start=2)],
    "by what has lost its parent": [agent("root", end=900), agent("worker", "gone", start=1, attributes=SAID)],
}


@pytest.mark.parametrize("spans", NAMED_LATE.values(), ids=NAMED_LATE)
def test_a_conversation_that_one_span_names_is_that_of_all_its_trace_in_any_order(spans: list[Span]) -> None:
    for order in permutations(spans):
        questions = one_by_one(list(order)).questions
        assert [row["refs"] for row in questions.conversations(limit=0)["items"]] == [[{"protocol": "otel", "kind": "context", "value": "c1"}]]
        for task in questions.tasks(limit=0)["items"]:
            assert {ref["value"] for ref in task["refs"] if ref["kind"] == "context"} == {"c1"}


@pytest.mark.parametrize("target", [tool("run", "gone", start=1), span("step", "gone", start=1)], ids=["a tool", "a step"])
def test_a_link_leads_to_whatever_task_its_trace_has_in_any_order(target: Span) -> None:
    link = {"traceId": TRACE, "spanId": target["spanId"]}
    spans = [target, agent("root", end=900), agent("other", trace=OTHER, links=[link])]
    for order in permutations(spans):
        world = one_by_one(list(order))
        [told] = world.questions.why(world.tree(f"otel:trace:{OTHER}")["id"])["links"]
        assert (told["rule"], told["parent"]) == ("span-link", world.tree()["id"])


LATE = [agent("planner", end=900, attributes=SAID), agent("worker", "planner", start=1)]
WITH_THE_WIRE = {
    "a call of an agent below a late root": ([*LATE, chat("call", "worker", start=2, attributes={"gen_ai.response.id": "msg_1"})], ""),
    "sent in a span of such an agent": ([*LATE, span("http", "worker", start=2)], "http"),
    "a call without any agent": ([chat("call", attributes={"gen_ai.response.id": "msg_1"})], ""),
    "sent where no agent is above": ([span("http", "gone"), agent("root", start=1)], "http"),
    "more than the wire shows": ([chat("first", "worker", attributes={"gen_ai.response.id": "msg_1"}), chat("next", "worker", start=1, tokens=(0, 0)), *LATE], ""),
    "a trace whose conversation is named late": ([tool("one", start=1), tool("two", "gone", start=2, attributes=SAID)], "one"),
}  # fmt: skip


@pytest.mark.parametrize(("spans", "sent_in"), WITH_THE_WIRE.values(), ids=WITH_THE_WIRE)
def test_spans_and_a_request_on_the_wire_are_one_run_in_any_order(spans: list[Span], sent_in: str) -> None:
    headers = (("traceparent", f"00-{TRACE}-{id_of(sent_in)}-01"),) if sent_in else ()
    seen: list[Observation] = [*(record for one in spans for record in records([one])), *exchange(1, "msg_1", headers)]
    store, rows = rows_after([seen])
    questions = Questions(store)
    [conversation] = questions.conversations(limit=0)["items"]
    tree = questions.tree(conversation["id"])
    assert tree["unattached"] == []
    assert sum(root["tree_usage"]["input"] for root in tree["roots"]) == 1000
    assert {call["conversation"] for call in questions.calls(limit=0)["items"]} == {conversation["id"]}
    for order in permutations(seen) if len(seen) < 6 else [random.Random(seed).sample(seen, len(seen)) for seed in range(60)]:
        assert story.row_differences(rows, rows_after([[one] for one in order])[1]) == []


@pytest.mark.parametrize("spans", [[tool("look", "gone", attributes={"gen_ai.tool.call.id": "toolu_1"})], [chat("call", "gone", attributes=ASKED)]], ids=["run", "asked for"])
def test_a_tool_call_that_the_wire_shows_is_there_once_in_any_order(spans: list[Span]) -> None:
    seen: list[Observation] = [*records(spans), *exchange(1, "msg_1", (), ["toolu_1"])]
    for order in permutations(seen):
        store, _ = rows_after([[one] for one in order])
        assert Questions(store).stats()["tool_calls"] == 1


def test_words_that_the_wire_shows_too_are_shown_once_in_any_order() -> None:
    said = {"gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": "Ask 1"}]}]}
    spans = [chat("call", "gone", attributes=said), span("http", "call", kind=CLIENT)]
    seen: list[Observation] = [*(record for one in spans for record in records([one])), *exchange(1, "msg_1", (("traceparent", f"00-{TRACE}-{id_of('http')}-01"),))]
    for order in permutations(seen):
        store, _ = rows_after([[one] for one in order])
        questions = Questions(store)
        [task] = questions.tasks(limit=0)["items"]
        said_in = [block["text"] for message in questions.messages(task["id"])["items"] for block in message["blocks"]]
        assert sorted(said_in) == ["Ask 1", "ok"]


def test_a_sub_agent_names_the_wires_tool_call_in_any_order() -> None:
    run = tool("look", "root", attributes={"gen_ai.tool.call.id": "toolu_1"})
    seen: list[Observation] = [*(record for one in (agent("root", end=900), run, agent("sub", "look")) for record in records([one])), *exchange(1, "msg_1", (), ["toolu_1"])]
    _, rows = rows_after([seen])
    for order in permutations(seen):
        assert story.row_differences(rows, rows_after([[one] for one in order])[1]) == []


def test_calls_go_where_a_person_puts_their_task() -> None:
    def said(name: str) -> dict[str, str]:
        return {"gen_ai.conversation.id": name}

    spans = [agent("one", attributes=said("c1")), agent("two", trace=OTHER, attributes=said("c2")), chat("call", "two", trace=OTHER)]
    seen: list[Observation] = [record for one in spans for record in records([one])]
    store, _ = rows_after([seen])
    tasks = {task["agent"]: task["id"] for task in Questions(store).tasks(limit=0)["items"]}
    seen.append(Correction("obs_said", "default", 1_790_000_001_000_000, "cli", "link", tasks["two"], tasks["one"]))
    for order in permutations(seen):
        store, _ = rows_after([[one] for one in order])
        questions = Questions(store)
        assert [call["conversation"] for call in questions.calls(limit=0)["items"]] == [questions.task(tasks["one"])["conversation"]]
