"""Real exporters against a real server: the SDK in both encodings, an instrumentor, the API client's own spans, the Claude client."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import pytest
from openinference.instrumentation.anthropic import AnthropicInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter as JsonExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as ProtobufExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter

from ramify.cli.telemetry import telemetry
from ramify.demo.upstream import serving
from tests.peers import stories
from tests.peers.claude_cli import SESSION, Metered, Script, Story, run_story
from tests.peers.served import Server, serve
from tests.spans import draw

pytestmark = pytest.mark.peer
EXPORTERS: dict[str, Callable[[str], SpanExporter]] = {
    "protobuf": lambda url: ProtobufExporter(f"{url}/v1/traces"),
    "protobuf, gzip": lambda url: ProtobufExporter(f"{url}/v1/traces", compression=Compression.Gzip),
    "protobuf, deflate": lambda url: ProtobufExporter(f"{url}/v1/traces", compression=Compression.Deflate),
    "json": lambda url: JsonExporter(endpoint=f"{url}/v1/traces"),
}


def provider_of(exporter: SpanExporter, batched: bool = True) -> TracerProvider:
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_span_processor(BatchSpanProcessor(exporter) if batched else SimpleSpanProcessor(exporter))
    return provider


def work(tracer: trace.Tracer) -> str:
    """Two agents, as an instrumented framework would write them."""
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    with tracer.start_as_current_span("invoke_agent planner", attributes=named) as root:
        with tracer.start_as_current_span("chat m", attributes=figures(10, 5)):
            pass
        called = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "delegate", "gen_ai.tool.call.id": "call_1"}
        with tracer.start_as_current_span("execute_tool delegate", attributes=called):
            inner = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "worker"}
            with (
                tracer.start_as_current_span("invoke_agent worker", attributes=inner),
                tracer.start_as_current_span("chat m", attributes=figures(20, 7)),
            ):
                pass
    return format(root.get_span_context().trace_id, "032x")


def figures(given: int, output: int) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": given,
        "gen_ai.usage.output_tokens": output,
    }  # fmt: skip


async def drawn(server: Server, id: str) -> list[str]:
    return draw(await server.ask(f"tasks/{id}/tree"))


@pytest.mark.parametrize("how", EXPORTERS)
async def test_the_sdk_exports_a_tree(how: str, tmp_path: Path) -> None:
    async with serve("http://127.0.0.1:9", tmp_path) as server:
        provider = provider_of(EXPORTERS[how](server.url))
        id = await asyncio.to_thread(work, provider.get_tracer("test"))
        await asyncio.to_thread(provider.shutdown)
        assert await drawn(server, f"otel:trace:{id}") == [
            "planner - calls=1 in=10 out=5 tools=1 completed",
            "  worker span-parent calls=1 in=20 out=7 tools=0 completed",
        ]


async def test_span_by_span_there_is_always_one_tree(tmp_path: Path) -> None:
    """Each span is exported when it ends: children before parents, the root last."""
    async with serve("http://127.0.0.1:9", tmp_path) as server:
        provider = provider_of(EXPORTERS["json"](server.url), batched=False)
        id = await asyncio.to_thread(work, provider.get_tracer("test"))
        await asyncio.to_thread(provider.shutdown)
        assert len(await drawn(server, f"otel:trace:{id}")) == 2


# -- clients of the API, through the proxy as well ---------------------------------------------------------------------


def conversation(url: str, provider: TracerProvider) -> str:
    client = anthropic.Anthropic(base_url=url, api_key="sk-ant-dummy")
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    with provider.get_tracer("app").start_as_current_span("invoke_agent helper", attributes=named) as root:
        for words in ("How many trees?", "And how many flowers?"):
            client.messages.create(model="claude-opus-5-5", max_tokens=100, messages=[{"role": "user", "content": words}])
    return format(root.get_span_context().trace_id, "032x")


@pytest.mark.parametrize("instrumented", [False, True], ids=["own spans", "own spans inside an instrumentor's"])
async def test_the_api_client_and_the_proxy_show_one_tree(
    instrumented: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story("flowers", "", {})
    metered = Metered(Script(story))
    async with serving(metered) as upstream, serve(upstream.url, tmp_path) as server:
        provider = provider_of(EXPORTERS["protobuf"](server.url))
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)  # the client asks for the program's own
        instrumentor = AnthropicInstrumentor()
        if instrumented:
            instrumentor.instrument(tracer_provider=provider)
        try:
            id = await asyncio.to_thread(conversation, server.url, provider)
        finally:
            if instrumented:
                instrumentor.uninstrument()
        await asyncio.to_thread(provider.shutdown)
        await server.settled(2)
        total = metered.total()
        tree = await server.ask(f"tasks/otel:trace:{id}/tree")
        assert draw(tree) == [f"helper - calls=2 in={total['input_tokens']} out={total['output_tokens']} tools=0 completed"]
        assert len(await server.all("tasks")) == 1
        assert len(await server.all("calls")) == 2
        assert (await server.ask("stats"))["usage"]["output"] == total["output_tokens"]


# -- the Claude client -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", [stories.NESTED, stories.TWINS, stories.BACKGROUND], ids=lambda story: story.name)
async def test_the_claude_client_with_telemetry_and_the_proxy_show_one_tree(story: Story, tmp_path: Path) -> None:
    metered = Metered(Script(story))
    async with serving(metered) as upstream, serve(upstream.url, tmp_path) as server:
        run = await run_story(story, server.url, tmp_path, variables=telemetry({}, server.url) | {"DISABLE_TELEMETRY": ""})
        assert run.exit == 0, run.errors
        await server.settled(len(metered.said))
        tasks = await server.all("tasks")
        roots = [task for task in tasks if not task["link"]]
        assert [root["prompt"] for root in roots] == [story.prompt]
        assert all(task["link"]["certainty"] == 1.0 for task in tasks if task["link"])
        total = metered.total()
        tree = await server.ask(f"tasks/{roots[0]['id']}/tree")
        assert tree["tree_usage"]["output"] == (await server.ask("stats"))["usage"]["output"] == total["output_tokens"]
        records = [call for call in await server.all("calls") if call["sources"] == ["otel"]]
        assert records == []
        assert (await server.ask(f"conversations/{SESSION}"))["usage"]["output"] == total["output_tokens"]


@pytest.mark.parametrize("story", [stories.NESTED, stories.TWINS], ids=lambda story: story.name)
async def test_the_claude_clients_telemetry_alone_shows_the_same_tree(story: Story, tmp_path: Path) -> None:
    """It talks to the API itself; only what it exports is seen here."""
    metered = Metered(Script(story))
    async with serving(metered) as upstream, serve(upstream.url, tmp_path) as server:
        variables = telemetry({}, server.url) | {"DISABLE_TELEMETRY": ""}
        run = await run_story(story, upstream.url, tmp_path, variables=variables)
        assert run.exit == 0, run.errors
        await server.settled(0)
        tasks = await server.all("tasks")
        roots = [task for task in tasks if not task["link"]]
        assert [root["prompt"] for root in roots] == [story.prompt]
        assert len(tasks) == 3
        assert {task["link"]["rule"] for task in tasks if task["link"]} == {"span-parent"}
        assert {task["status"] for task in tasks} == {"completed"}
        tree = await server.ask(f"tasks/{roots[0]['id']}/tree")
        assert tree["tree_usage"]["output"] == metered.total()["output_tokens"]
