"""Which dialect a span speaks, and what it stands for there. One function each; the first that fits decides."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from ramify.model.otel_event import AGENT, CLIENT_RUN, LOOP, MODEL, PLAIN, TOOL, WORKFLOW
from ramify.protocols.otel.wire import Read, text

Role = tuple[str, str]
"""The role, and of a model call that serves no task of its own (embeddings), what it is for."""
NOTHING: Role = (PLAIN, "")
OPERATIONS: dict[str, Role] = {
    "invoke_agent": (AGENT, ""), "chat": (MODEL, ""), "text_completion": (MODEL, ""), "generate_content": (MODEL, ""),
    "completion": (MODEL, ""), "embeddings": (MODEL, "embeddings"), "execute_tool": (TOOL, ""), "retrieval": (TOOL, ""),
    "invoke_workflow": (WORKFLOW, ""), "plan": NOTHING, "create_agent": NOTHING,
}  # fmt: skip
MERGED = "execute_tool (merged)"
"""ADK's summary of calls that stand beside it."""


def claude_code(read: Read) -> Role:
    return CLIENT_RUN, ""


def anthropic(read: Read) -> Role:
    name = read.span.name
    if name == "anthropic.messages.create":
        return MODEL, ""
    if name == "anthropic.messages.tool_runner":
        return AGENT, ""
    if name.startswith(("anthropic.tool_use", "anthropic.mcp_tool_use", "anthropic.custom_tool_use")):
        return TOOL, ""
    return gen_ai(read) if name != "anthropic.messages.count_tokens" else NOTHING


def mcp(read: Read) -> Role:
    return (TOOL, "") if read.attributes.get("mcp.method.name") == "tools/call" else NOTHING


def a2a(read: Read) -> Role:
    """Only sending a message invokes an agent; the other methods look at a task that is there."""
    method = text(read.first(("a2a.method.name", "gen_ai.a2a.rpc.method"))) or read.span.name
    sends = method.rpartition("/")[2].lower() in ("sendmessage", "sendstreamingmessage", "send", "stream")
    return (AGENT, "") if sends or gen_ai(read)[0] == AGENT else NOTHING


def adcp(read: Read) -> Role:
    return (WORKFLOW, "") if read.span.name == "adcp.client.workflow" else (AGENT, "") if ".call_tool" in read.span.name else NOTHING


def gen_ai(read: Read) -> Role:
    operation = text(read.attributes.get("gen_ai.operation.name"))
    if read.span.name == MERGED:
        return NOTHING
    if operation.endswith("_memory"):
        return TOOL, ""
    return OPERATIONS.get(operation, NOTHING)


def openinference(read: Read) -> Role:
    match text(read.attributes.get("openinference.span.kind")).upper():
        case "AGENT":
            return AGENT, ""
        case "LLM":
            return MODEL, ""
        case "EMBEDDING":
            return MODEL, "embeddings"
        case "TOOL" | "RETRIEVER" | "RERANKER" | "GUARDRAIL" | "EVALUATOR":
            return TOOL, ""
        case "CHAIN":
            return WORKFLOW, ""
        case _:
            return NOTHING


def traceloop(read: Read) -> Role:
    """Its `task` is a step of a function, not a task; only one with an id of its own is."""
    if read.attributes.get("gen_ai.task.id"):
        return AGENT, ""
    match text(read.attributes.get("traceloop.span.kind")):
        case "agent":
            return AGENT, ""
        case "tool":
            return TOOL, ""
        case "workflow":
            return WORKFLOW, ""
        case "task":
            return NOTHING
    match text(read.attributes.get("llm.request.type")):
        case "embedding":
            return MODEL, "embeddings"
        case "rerank":
            return NOTHING
        case _:
            return MODEL, ""


def vercel(read: Read) -> Role:
    operation = text(read.attributes.get("ai.operationId"))
    if operation.endswith((".doGenerate", ".doStream")):
        return MODEL, ""
    if operation.endswith(".doEmbed"):
        return MODEL, "embeddings"
    if operation == "ai.toolCall":
        return TOOL, ""
    return (LOOP, "") if operation in ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject") else NOTHING


def laminar(read: Read) -> Role:
    return {"LLM": (MODEL, ""), "TOOL": (TOOL, "")}.get(text(read.attributes.get("lmnr.span.type")), NOTHING)


def adk(read: Read) -> Role:
    if read.span.name == MERGED:
        return NOTHING
    first = read.span.name.partition(" ")[0]
    return {"invoke_agent": (AGENT, ""), "call_llm": (MODEL, ""), "execute_tool": (TOOL, "")}.get(first, NOTHING)


def bare(read: Read) -> Role:
    """The oldest instrumentations name the provider, and in the span's name what is done."""
    first = read.span.name.partition(" ")[0]
    if first in OPERATIONS:
        return OPERATIONS[first]
    return (MODEL, "") if read.first(("gen_ai.request.model", "gen_ai.response.model")) else NOTHING


def plain(read: Read) -> Role:
    return NOTHING


class Look(NamedTuple):
    """What gives a dialect away. Spans of one program look alike, so that each look is judged once."""

    scope: str
    name: str
    type: str
    names: tuple[str, ...]


Fits = Callable[[Look], bool]
DIALECTS: tuple[tuple[str, Fits, Callable[[Read], Role]], ...] = (
    ("claude_code", lambda look: is_claude_code(look), claude_code),
    ("anthropic", lambda look: look.scope.startswith(("com.anthropic.sdk.", "com.anthropic.claude-platform")) or look.name.startswith("anthropic."), anthropic),
    ("mcp", lambda look: "mcp.method.name" in look.names or look.scope == "mcp-python-sdk", mcp),
    ("a2a", lambda look: look.scope == "a2a-python-sdk" or has(look, ("a2a.", "gen_ai.a2a.")), a2a),
    ("adcp", lambda look: look.name.startswith("adcp.") or has(look, ("adcp.",)), adcp),
    ("gen_ai", lambda look: "gen_ai.operation.name" in look.names, gen_ai),
    ("openinference", lambda look: "openinference.span.kind" in look.names, openinference),
    ("traceloop", lambda look: is_traceloop(look), traceloop),
    ("vercel", lambda look: "ai.operationId" in look.names, vercel),
    ("laminar", lambda look: "lmnr.span.type" in look.names, laminar),
    ("adk", lambda look: has(look, ("gcp.vertex.agent.",)), adk),
    ("gen_ai", lambda look: "gen_ai.system" in look.names, bare),
    ("", lambda look: True, plain),
)  # fmt: skip
CLAUDE_WORDS = frozenset({"interaction", "llm_request", "tool", "tool.execution", "tool.blocked_on_user", "hook"})
MOST_NAMES, LONGEST_NAME = 64, 200  # of a look that is worth remembering


def is_claude_code(look: Look) -> bool:
    kind = look.type.removeprefix("claude_code.")
    return look.scope.startswith("com.anthropic.claude_code") or look.name.startswith("claude_code.") or kind in CLAUDE_WORDS


def is_traceloop(look: Look) -> bool:
    named = ("traceloop.span.kind", "llm.request.type", "gen_ai.prompt.0.role", "gen_ai.prompt.0.content", "gen_ai.task.id")
    return any(name in look.names for name in named)


def has(look: Look, leads: tuple[str, ...]) -> bool:
    return any(name.startswith(leads) for name in look.names)


def judge(read: Read) -> tuple[str, Role]:
    look = Look(read.scope, read.span.name, text(read.attributes.get("span.type")), tuple(read.attributes))
    usual = len(look.names) <= MOST_NAMES and len(look.name) + len(look.type) <= LONGEST_NAME
    name, _, role = DIALECTS[known_place(look) if usual else place(look)]
    return name, role(read)


def place(look: Look) -> int:
    return next(at for at, (_, fits, _) in enumerate(DIALECTS) if fits(look))


known_place = lru_cache(2048)(place)
