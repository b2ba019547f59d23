"""Under which attributes each meaning stands, oldest names included; the first that is there counts."""

from collections.abc import Mapping
from typing import Any

PROVIDER = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system")
CONVERSATION = ("gen_ai.conversation.id", "session.id", "gcp.vertex.agent.session_id", "traceloop.association.properties.session_id")
AGENT = ("gen_ai.agent.name", "agent.name", "graph.node.name", "graph.node.id", "traceloop.entity.name", "lmnr.span.path")
AGENT_ID = ("gen_ai.agent.id",)
MODEL = (
    "gen_ai.response.model", "gen_ai.request.model", "model", "llm.response.model_name", "llm.model_name",
    "llm.request.model_name", "llm.response.model", "llm.request.model", "ai.response.model", "ai.model.id",
)  # fmt: skip
RESPONSE = ("gen_ai.response.id", "llm.response.id", "ai.response.id")
REQUEST = ("anthropic.request.id", "request_id")
STOP = ("gen_ai.response.finish_reasons", "anthropic.message.stop_reason", "stop_reason", "llm.finish_reason", "ai.response.finishReason")
TOOL = ("gen_ai.tool.name", "tool_name", "tool.name", "tool_call.function.name", "ai.toolCall.name", "adcp.tool.name")
TOOL_CALL = ("gen_ai.tool.call.id", "tool_use_id", "tool_call.id", "tool.id", "ai.toolCall.id")
ARGUMENTS = (
    "gen_ai.tool.call.arguments", "tool_input", "tool.parameters", "ai.toolCall.args", "input.value",
    "gcp.vertex.agent.tool_call_args", "traceloop.entity.input", "lmnr.span.input",
)  # fmt: skip
RESULT = (
    "gen_ai.tool.call.result", "anthropic.tool_result.content", "ai.toolCall.result", "output.value",
    "gcp.vertex.agent.tool_response", "traceloop.entity.output", "lmnr.span.output",
)  # fmt: skip
INPUT = (
    "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "input_tokens", "llm.token_count.prompt",
    "llm.usage.prompt_tokens", "ai.usage.promptTokens", "ai.usage.inputTokens",
)  # fmt: skip
OUTPUT = (
    "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "output_tokens", "llm.token_count.completion",
    "llm.usage.completion_tokens", "ai.usage.completionTokens", "ai.usage.outputTokens",
)  # fmt: skip
CACHE_READ = (
    "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "cache_read_tokens",
    "llm.token_count.prompt_details.cache_read", "llm.token_count.prompt_details.cache_input", "ai.usage.cachedInputTokens",
)  # fmt: skip
CACHE_WRITE = (
    "gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens", "cache_creation_tokens", "llm.token_count.prompt_details.cache_write",
)  # fmt: skip
REASONING = ("gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens")
CACHE_WRITE_1H = ("anthropic.usage.cache_creation.ephemeral_1h_input_tokens", "cache_creation_1h_tokens")
COST = ("cost_usd", "llm.cost.total", "gen_ai.usage.cost")
FIRST_SECONDS = ("gen_ai.response.time_to_first_chunk",)
FIRST_MILLISECONDS = ("ttft_ms", "ai.response.msToFirstChunk")
ASKED_MESSAGES = ("gen_ai.input.messages", "gen_ai.prompt", "ai.prompt.messages")
ANSWERED_MESSAGES = ("gen_ai.output.messages", "gen_ai.completion")
ASKED_WORDS = ("traceloop.entity.input", "input.value", "lmnr.span.input", "ai.prompt")
ANSWERED_WORDS = ("traceloop.entity.output", "output.value", "lmnr.span.output")
RESENT = ("http.request.resend_count",)
ATTEMPT = ("attempt", "gen_ai.request.attempt")
INSTRUCTIONS = ("gen_ai.system_instructions",)
ERROR = ("error.type", "exception.type")
STATED = ("a2a.task.state", "gen_ai.a2a.task.state", "adcp.task.status", "gen_ai.task.status")
# Fields of our own rows hold these already; the rest of a span's own words stays with the task, unrenamed.
KEPT_NATIVE = (
    "gen_ai.provider.name", "gen_ai.system", "gen_ai.agent.id", "gen_ai.agent.version", "gen_ai.agent.description",
    "gen_ai.transfer.target.name", "gen_ai.transfer.mode", "gen_ai.caller.type", "gen_ai.caller.name", "graph.node.id",
    "graph.node.name", "graph.node.parent_id", "traceloop.workflow.name", "metadata", "tag.tags", "run.id", "adcp.protocol",
    "adcp.agent.id", "a2a.protocol.version", "mcp.session.id", "anthropic.session.id", "anthropic.session.thread.id",
)  # fmt: skip

keeps = frozenset(KEPT_NATIVE).intersection
"""Which of an attribute's names are among them."""
Names = tuple[str, ...]
MEANINGS: tuple[Names, ...] = (
    PROVIDER, CONVERSATION, AGENT, AGENT_ID, MODEL, RESPONSE, REQUEST, STOP, TOOL, TOOL_CALL, ARGUMENTS, RESULT, INPUT, OUTPUT, CACHE_READ,
    CACHE_WRITE, CACHE_WRITE_1H, REASONING, RESENT, ATTEMPT, COST, FIRST_SECONDS, FIRST_MILLISECONDS, ASKED_MESSAGES, ANSWERED_MESSAGES, INSTRUCTIONS, ERROR, STATED,
)  # fmt: skip
NOWHERE = 1000


def ranked() -> dict[str, list[tuple[str, int]]]:
    """By attribute: what it means, and how many names of that go before it. A meaning is called by its first name, which no other has."""
    found: dict[str, list[tuple[str, int]]] = {}
    for names in MEANINGS:
        for rank, name in enumerate(names):
            found.setdefault(name, []).append((names[0], rank))
    return found


RANKED = ranked()


def meant(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each meaning that is there. A span has few attributes, and most meanings have many names."""
    found: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    for name, value in attributes.items():
        if value is None or name not in RANKED:
            continue
        for meaning, rank in RANKED[name]:
            if rank < ranks.get(meaning, NOWHERE):
                found[meaning], ranks[meaning] = value, rank
    return found
