"""Several spans of one call to a model that do not stand inside each other: one call, in any order."""

import random
from typing import Any

import pytest

from ramify.model.observation import Observation
from tests import story
from tests.linking.otel.test_client import CASE, turn
from tests.spans import CLIENT, SERVER, Span, Told, agent, chat, one_by_one, records, span, tool

OTHER = "1bf7651916cd43dd8448eb211c80319d"
ANSWER = {"gen_ai.response.id": "chatcmpl-1"}
ORDERS = pytest.mark.parametrize("seed", range(6))


def totals(world: Told) -> tuple[int, int, int]:
    usage = world.questions.stats()["usage"]
    return len(world.questions.tasks(limit=0)["items"]), usage["calls"], usage["input"]


def provider(request: str, parent: str = "", trace: str = OTHER) -> list[Observation]:
    said = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-opus-5-5", "anthropic.request.id": request}
    figures = {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 5}
    spans = [span("anthropic.messages.create", parent, id="provider", trace=trace, kind=SERVER, code=1, start=3, end=19, attributes={**said, **figures})]
    return records(spans, service="claude-platform", scope="com.anthropic.claude-platform")


@ORDERS
@pytest.mark.parametrize("far", [
    chat("far", trace=OTHER, kind=SERVER, start=11, end=99, attributes=ANSWER),
    chat("far", "lead", start=11, end=99, attributes=ANSWER),
], ids=["a gateway's", "another library's"])  # fmt: skip
def test_an_answer_that_two_tell_of_is_one_call_of_the_agent(far: Span, seed: int) -> None:
    spans = [agent("lead", end=900), chat("near", "lead", start=10, end=100, kind=CLIENT, attributes=ANSWER), far]
    world = one_by_one(spans, seed)
    assert totals(world) == (1, 1, 10)
    assert world.tree()["usage"]["calls"] == 1
    [call] = world.questions.calls(limit=0)["items"]
    assert len([ref for ref in call["refs"] if ref["kind"] == "span"]) == 2


@ORDERS
@pytest.mark.parametrize("other", [
    chat("next", "lead", start=101, end=199, attributes=ANSWER),  # a server that calls every answer the same
    chat("next", "beside", start=11, end=99, attributes=ANSWER),  # likewise, of another agent at the same time
    chat("next", "lead", start=11, end=99, tokens=(10, 6), attributes=ANSWER),
    chat("next", "lead", start=11, end=99, attributes={**ANSWER, "gen_ai.request.model": "another-model"}),
    chat("next", trace=OTHER, start=11, end=99, attributes=ANSWER),
])  # fmt: skip
def test_an_id_that_several_answers_have_joins_none(other: Span, seed: int) -> None:
    spans = [agent("lead", end=900), agent("beside", "lead", start=5, end=800), chat("call", "lead", start=10, end=100, attributes=ANSWER), other]
    assert totals(one_by_one(spans, seed))[1:] == (2, 20)


@ORDERS
def test_what_nine_spans_have_is_no_id(seed: int) -> None:
    spans = [agent("lead", end=900), *(chat(f"c{number}", "lead", start=10, end=100, attributes=ANSWER) for number in range(9))]
    assert totals(one_by_one(spans, seed)) == (1, 9, 90)


@ORDERS
def test_tools_that_a_gateway_tells_of_again_are_there_once(seed: int) -> None:
    asked = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1", "name": "look", "arguments": {}}]}]
    said: dict[str, Any] = {**ANSWER, "gen_ai.output.messages": asked}
    near = chat("near", "lead", start=10, end=100, kind=CLIENT, attributes=said)
    far = chat("far", trace=OTHER, kind=SERVER, start=11, end=99, attributes=said)
    run = tool("look", "lead", start=110, end=120, attributes={"gen_ai.tool.call.id": "call_1"})
    world = one_by_one([agent("lead", end=900), near, far, run], seed)
    assert [one["call_id"] for one in world.questions.tools(world.tree()["id"], tree=True)["items"]] == ["call_1"]
    assert (totals(world)[0], world.questions.stats()["tool_calls"]) == (1, 1)


@ORDERS
@pytest.mark.parametrize("place", [{}, {"parent": "main", "trace": "0af7651916cd43dd8448eb211c80319c"}], ids=["in its own trace", "below the client's"])
def test_the_providers_span_of_a_claude_clients_call_adds_nothing(place: dict[str, str], seed: int) -> None:
    seen = [*turn(), *provider("req_main", **place)]
    random.Random(seed).shuffle(seen)
    world = Told()
    for one in seen:
        world.observe(one)
    assert totals(world) == (1, 1, 3)
    assert len(world.questions.calls(limit=0)["items"]) == 1


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("source", ["exchanges", "otlp"])
def test_the_providers_span_of_a_call_in_a_session_adds_nothing(source: str, first: bool) -> None:
    told = story.exchanges("claude", "otel") if source == "exchanges" else story.reports(CASE, source)
    seen = [one for each in told for one in each]
    span = provider("req_011lNnyF9uXpfFBBKu9xYftO")
    world = Told()
    for one in [*span, *seen] if first else [*seen, *span]:
        world.observe(one)
    assert totals(world) == (3, 6, 18)
