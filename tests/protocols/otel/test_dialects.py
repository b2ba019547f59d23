"""Every dialect as its writers write it: what a span stands for, and what it says."""

import json
from typing import Any

import pytest

from ramify.model.observation import Record
from ramify.model.otel_event import SpanSeen
from ramify.model.prices import Tokens
from ramify.protocols.otel import protobuf
from ramify.protocols.otel.decode import decode
from ramify.protocols.otel.request import identity
from tests.spans import document, span

Attributes = dict[str, Any]


def seen(name: str, attributes: Attributes, scope: str = "", **more: Any) -> SpanSeen:
    body = json.dumps(document([span(name, id="one", attributes=attributes, **more)], scope=scope)).encode()
    (found,) = decode(Record("obs", "default", 1, "otel", "otlp", "", body))
    assert isinstance(found, SpanSeen)
    return found


DIALECTS: list[tuple[str, Attributes, str, str, str]] = [
    # name, attributes, scope, dialect, role
    ("claude_code.interaction", {"session.id": "s"}, "com.anthropic.claude_code.tracing", "claude_code", "client-run"),
    ("tool", {"span.type": "claude_code.tool", "gen_ai.operation.name": "execute_tool"}, "", "claude_code", "client-run"),
    ("anthropic.messages.create", {"gen_ai.operation.name": "chat"}, "com.anthropic.sdk.python", "anthropic", "model"),
    ("anthropic.messages.count_tokens", {}, "com.anthropic.sdk.python", "anthropic", "plain"),
    ("anthropic.messages.tool_runner", {}, "com.anthropic.sdk.python", "anthropic", "agent"),
    ("anthropic.tool_use look", {}, "", "anthropic", "tool"),
    ("tools/call look", {"mcp.method.name": "tools/call"}, "", "mcp", "tool"),
    ("tools/list", {"mcp.method.name": "tools/list"}, "", "mcp", "plain"),
    ("on_message", {}, "a2a-python-sdk", "a2a", "plain"),
    ("SendMessage", {"a2a.method.name": "SendMessage", "a2a.task.id": "t"}, "", "a2a", "agent"),
    ("GetTask", {"a2a.method.name": "GetTask", "a2a.task.id": "t"}, "", "a2a", "plain"),
    ("adcp.mcp.call_tool", {"adcp.tool.name": "get_products"}, "", "adcp", "agent"),
    ("invoke_agent x", {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m"}, "", "gen_ai", "agent"),
    ("embeddings m", {"gen_ai.operation.name": "embeddings"}, "", "gen_ai", "model"),
    ("create_agent x", {"gen_ai.operation.name": "create_agent"}, "", "gen_ai", "plain"),
    ("search_memory", {"gen_ai.operation.name": "search_memory"}, "", "gen_ai", "tool"),
    ("LLM", {"openinference.span.kind": "LLM"}, "", "openinference", "model"),
    ("agent", {"openinference.span.kind": "AGENT"}, "", "openinference", "agent"),
    ("chain", {"openinference.span.kind": "CHAIN"}, "", "openinference", "workflow"),
    ("rank", {"openinference.span.kind": "RERANKER"}, "", "openinference", "tool"),
    ("x.workflow", {"traceloop.span.kind": "workflow"}, "", "traceloop", "workflow"),
    ("x.task", {"traceloop.span.kind": "task"}, "", "traceloop", "plain"),
    ("openai.chat", {"llm.request.type": "chat"}, "", "traceloop", "model"),
    ("ai.generateText", {"ai.operationId": "ai.generateText"}, "", "vercel", "loop"),
    ("ai.generateText.doGenerate", {"ai.operationId": "ai.generateText.doGenerate"}, "", "vercel", "model"),
    ("ai.toolCall", {"ai.operationId": "ai.toolCall"}, "", "vercel", "tool"),
    ("call_llm", {"gcp.vertex.agent.invocation_id": "i"}, "", "adk", "model"),
    ("execute_tool (merged)", {"gcp.vertex.agent.invocation_id": "i", "gen_ai.operation.name": "execute_tool"}, "", "gen_ai", "plain"),
    ("llm", {"lmnr.span.type": "LLM"}, "", "laminar", "model"),
    ("chat m", {"gen_ai.system": "openai", "gen_ai.request.model": "m"}, "", "gen_ai", "model"),
    ("GET /", {"http.request.method": "GET"}, "", "", "plain"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "attributes", "scope", "dialect", "role"), DIALECTS, ids=lambda part: str(part)[:40])
def test_the_first_dialect_that_fits_decides(name: str, attributes: Attributes, scope: str, dialect: str, role: str) -> None:
    found = seen(name, attributes, scope)
    assert (found.dialect, found.role) == (dialect, role)


USAGE = [
    ({"gen_ai.usage.prompt_tokens": 5, "gen_ai.usage.completion_tokens": "7"}, Tokens(5, 7)),
    ({"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 1, "gen_ai.usage.cache_read.input_tokens": 60}, Tokens(40, 1, 60)),
    ({"gen_ai.usage.input_tokens": 3, "gen_ai.usage.cache_read_input_tokens": 60}, Tokens(3, 0, 60)),
    ({"llm.token_count.prompt": 9, "llm.token_count.completion": 2, "llm.token_count.prompt_details.cache_read": 4}, Tokens(5, 2, 4)),
    (
        {"gen_ai.usage.input_tokens": 50, "gen_ai.usage.cache_creation.input_tokens": 30, "anthropic.usage.cache_creation.ephemeral_1h_input_tokens": 10},
        Tokens(20, 0, 0, 20, 10),
    ),
    ({}, None),
]


@pytest.mark.parametrize(("attributes", "tokens"), USAGE)
def test_tokens_by_all_their_names(attributes: Attributes, tokens: Tokens | None) -> None:
    assert seen("chat", {"gen_ai.operation.name": "chat", **attributes}).tokens == tokens


def test_lists_that_were_flattened_are_put_together() -> None:
    found = seen("llm", {
        "openinference.span.kind": "LLM", "llm.model_name": "m", "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Hi", "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.type": "text",
        "llm.output_messages.0.message.contents.0.message_content.text": "Let me see.",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "look",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"at": "sky"}',
    })  # fmt: skip
    assert [(one.role, json.loads(one.blocks)) for one in found.content.said] == [
        ("user", [{"type": "text", "text": "Hi"}]),
        ("assistant", [{"type": "text", "text": "Let me see."}, {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "sky"}}]),
    ]
    assert [(one.id, one.name) for one in found.content.asked] == [("c1", "look")]


def test_numbered_prompts_of_old() -> None:
    found = seen("openai.chat", {
        "llm.request.type": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Ho", "gen_ai.completion.0.finish_reason": "stop",
    })  # fmt: skip
    assert [json.loads(one.blocks)[0]["text"] for one in found.content.said] == ["Hi", "Ho"]


def test_unset_means_stopped_in_one_dialect_only() -> None:
    assert seen("anthropic.messages.create", {}, "com.anthropic.sdk.python").status == "canceled"
    assert seen("anthropic.messages.create", {}, "com.anthropic.sdk.python", code=1).status == "completed"
    assert seen("chat", {"gen_ai.operation.name": "chat"}).status == "completed"


def test_first_tokens_in_seconds_and_in_milliseconds() -> None:
    late = seen("chat", {"gen_ai.operation.name": "chat", "gen_ai.response.time_to_first_chunk": 0.25})
    assert late.first - late.opened == 250_000


@pytest.mark.parametrize(
    ("text", "size", "id"),
    [("AB" * 8, 8, "ab" * 8), ("0" * 16, 8, ""), ("abc", 8, ""), ("", 8, ""), ("q6urq6urq6s=", 8, "ab" * 8), ("zz" * 8, 8, "")],
)
def test_ids_are_hex_of_any_case_or_base64(text: str, size: int, id: str) -> None:
    assert identity(text, size) == id


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_cut_protobuf_never_does_worse_than_to_be_malformed(cut: int) -> None:
    whole = bytes.fromhex("0a10" + "01" * 16 + "1208" + "02" * 8 + "2a0361626339") + b"\0" * 8
    try:
        protobuf.read(whole[:-cut], "span")
    except protobuf.Malformed:
        pass
