"""What was said, used and tried, in the ways in which frameworks write it down where they write no list of messages."""

from typing import Any

import pytest

from tests.spans import CLIENT, SERVER, TRACE, Told, agent, chat, span, told, tool

REQUEST = """{"config": {"system_instruction": "Be kind."}, "contents": [{"role": "user", "parts": [{"text": "Weather?"}]}]}"""
RESPONSE = """{"content": {"role": "model", "parts": [{"functionCall": {"id": "f1", "name": "look", "args": {"at": "Rome"}}}]},
  "usage_metadata": {"prompt_token_count": 77, "candidates_token_count": 8, "cached_content_token_count": 7, "thoughts_token_count": 2}}"""


def said(world: Told) -> list[tuple[str, Any]]:
    rows = world.questions.messages(f"otel:trace:{TRACE}")["items"]
    return [(row["role"], block.get("text") or block.get("name")) for row in rows for block in row["blocks"]]


@pytest.mark.parametrize(
    "attributes",
    [
        {"openinference.span.kind": "LLM", "input.value": "Hi", "output.value": "Yes"},
        {"openinference.span.kind": "LLM", "input.value": {"messages": [{"role": "user", "content": "Hi"}]},
         "output.value": {"choices": [{"message": {"role": "assistant", "content": "Yes"}}]}},
        {"openinference.span.kind": "LLM", "input.value": [{"role": "user", "content": "Hi"}], "output.value": {"role": "assistant", "content": "Yes"}},
        {"llm.request.type": "chat", "traceloop.entity.input": "Hi", "traceloop.entity.output": "Yes"},
        {"lmnr.span.type": "LLM", "lmnr.span.input": [{"role": "user", "content": "Hi"}], "lmnr.span.output": "Yes"},
        {"ai.operationId": "ai.generateText.doGenerate", "ai.prompt": {"messages": [{"role": "user", "content": "Hi"}]}, "ai.response.text": "Yes"},
    ],
)  # fmt: skip
def test_what_a_call_was_given_and_gave_back_is_what_was_said(attributes: dict[str, Any]) -> None:
    assert said(told(agent("a"), span("call", "a", attributes=attributes))) == [("user", "Hi"), ("assistant", "Yes")]


def test_a_whole_request_and_answer_of_the_development_kit() -> None:
    call = {"gcp.vertex.agent.llm_request": REQUEST, "gcp.vertex.agent.llm_response": RESPONSE, "gen_ai.request.model": "gemini"}
    run = {"gcp.vertex.agent.tool_call_args": {"at": "Rome"}, "gcp.vertex.agent.tool_response": {"is": "warm"}}
    root = {"gcp.vertex.agent.invocation_id": "i"}
    world = told(
        span("invoke_agent helper", id="a", attributes=root), span("call_llm", "a", id="m", attributes=call),
        span("execute_tool look", "m", id="t", attributes=run),
    )  # fmt: skip
    assert said(world) == [("system", "Be kind."), ("user", "Weather?"), ("assistant", "look")]
    assert world.drawn() == ["helper - calls=1 in=70 out=10 tools=1 completed"]
    assert world.tree()["usage"]["cache_read"] == 7


@pytest.mark.parametrize("tokens", ["gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"])
def test_tokens_of_a_thought_without_words_are_a_thought_that_is_withheld(tokens: str) -> None:
    world = told(agent("a"), chat("c", "a", attributes={tokens: 55, "gen_ai.output.messages": [{"role": "assistant", "content": "Yes"}]}))
    assert [(one["text"], one["withheld"]) for one in world.questions.reasoning(f"otel:trace:{TRACE}")["items"]] == [("", True)]
    none = told(agent("a"), chat("c", "a", attributes={tokens: 0}))
    assert none.questions.reasoning(f"otel:trace:{TRACE}")["items"] == []


@pytest.mark.parametrize(("more", "attempt"), [({"http.request.resend_count": 2}, 3), ({"attempt": "4"}, 4), ({}, 1)])
def test_how_many_attempts_a_call_took(more: dict[str, Any], attempt: int) -> None:
    [call] = told(agent("a"), chat("c", "a", attributes=more)).questions.calls(limit=0)["items"]
    assert call["attempt"] == attempt


def test_a_tool_that_failed_where_it_ran_has_failed_although_its_caller_does_not_say_so() -> None:
    name = {"mcp.method.name": "tools/call"}
    server = {**name, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "error.type": "tool_error"}
    world = told(
        agent("a"), tool("run", "a", "look"), span("tools/call look", "run", id="out", kind=CLIENT, attributes=name),
        span("tools/call look", "out", id="in", kind=SERVER, attributes=server, code=2, flags=769),
    )  # fmt: skip
    [one] = world.questions.tools(f"otel:trace:{TRACE}")["items"]
    assert (one["status"], world.tree()["status"]) == ("error", "completed")


def test_a_call_without_figures_has_an_unknown_cost_unless_it_states_one() -> None:
    assert told(agent("a"), chat("c", "a", tokens=None)).tree()["usage"]["cost_usd"] is None
    assert told(agent("a"), chat("c", "a", tokens=None, attributes={"llm.cost.total": 0.5})).tree()["usage"]["cost_usd"] == 0.5


@pytest.mark.parametrize("value", [{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": "Plan"}]}]}, {"input": "Plan"}, "Plan"])
def test_what_an_agent_was_asked_in_whatever_it_was_given(value: Any) -> None:
    asked = {"openinference.span.kind": "AGENT", "input.value": value}
    assert told(span("a", attributes=asked)).tree()["prompt"] == "Plan"


def test_ids_that_are_numbers() -> None:
    world = told(agent("a", attributes={"gen_ai.conversation.id": 42}), tool("t", "a", attributes={"gen_ai.tool.call.id": 7}))
    assert {"protocol": "otel", "kind": "context", "value": "42"} in world.tree()["refs"]
    assert world.questions.tool("7")["name"] == "t"
