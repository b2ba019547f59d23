"""Spans of a tree: nested as it is, with ids that stay, usage by the conventions, and nothing that was said unless asked for."""

import json
from collections import Counter
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ramify.app import Ramify
from ramify.exporting.offer import spans
from ramify.exporting.otlp import MOST_SPANS, batches, to_json, to_protobuf
from ramify.exporting.span import Span, span_id, trace_id
from ramify.exporting.spans import Tracing, provider_of
from ramify.exporting.stream import end_of
from ramify.exporting.wish import Wish
from ramify.model.entity import Call, NativeRef, Task, ToolCall
from ramify.query.scope import scope
from tests.exporting.world import conversations, every_case, quiet, told

OTLP = Wish("otlp")
OLD = ("gen_ai.system", "gen_ai.usage.prompt_tokens", "gen_ai.prompt", "gen_ai.usage.cache_creation.input_tokens")


def made(ramify: Ramify, id: str, wish: Wish = OTLP) -> list[Span]:
    return list(spans(ramify.questions, scope(ramify.questions, id), wish))


def by_task(found: list[Span]) -> dict[str, Span]:
    return {span.attributes["ramify.task.id"]: span for span in found if "ramify.task.id" in span.attributes}


@pytest.mark.parametrize("case", [case for case in every_case() if not case.startswith("anthropic")])
def test_every_span_hangs_where_its_task_does(case: str) -> None:
    ramify = told(case)
    for id in conversations(ramify):
        found = made(ramify, id)
        known = {span.id: span for span in found}
        assert len(known) == len(found), "ids are unique"
        tasks = by_task(found)
        for task in scope(ramify.questions, id).tasks:
            span = tasks[task["id"]]
            assert span.trace == trace_id(task["root"])
            above = known.get(span.parent)
            while above is not None and "ramify.task.id" not in above.attributes:
                above = known.get(above.parent)
            parent = (task["link"] or {}).get("parent")
            assert (above.attributes["ramify.task.id"] if above else None) == (parent if parent in tasks else None)
        assert all(span.parent in known for span in found if span.parent), "nothing hangs in the air"
        assert all(span.end >= span.start > 0 for span in found)


@pytest.mark.parametrize("case", ["claude/nested", "claude/parallel", "anthropic/retry-answered", "sam/parallel"])
def test_usage_is_on_leaves_and_adds_up(case: str) -> None:
    ramify = told(case)
    for id in conversations(ramify):
        whole = scope(ramify.questions, id)
        total: Counter[str] = Counter()
        for span in made(ramify, id):
            used = {name: value for name, value in span.attributes.items() if name.startswith("gen_ai.usage")}
            assert not used or span.attributes["gen_ai.operation.name"] == "chat"
            total.update(used)
        for name, fields in {"input_tokens": ("input", "cache_read", "cache_write"), "output_tokens": ("output",), "cache_read.input_tokens": ("cache_read",)}.items():
            assert total[f"gen_ai.usage.{name}"] == sum(task["usage"][field] for task in whole.tasks for field in fields)


def test_a_part_of_a_tree_is_a_tree_and_says_what_it_hung_under() -> None:
    ramify = told("claude/nested")
    child = next(task for task in ramify.questions.tasks(limit=0)["items"] if task["depth"] == 1)
    whole, part = made(ramify, child["root"]), made(ramify, child["id"])
    top = part[0]
    assert top.parent == b""
    assert [link.span for link in top.links] == [by_task(whole)[child["id"]].parent]
    assert top.links[0].attributes["ramify.link.kind"] == "spawned"
    assert {span.id for span in part} < {span.id for span in whole}
    assert {span.trace for span in part} == {whole[0].trace}


def test_nothing_that_was_said_leaves_unless_asked_for() -> None:
    ramify = told("claude/nested")
    (id,) = conversations(ramify)
    silent, telling = made(ramify, id), made(ramify, id, Wish("otlp", content=True))
    assert "delegate" not in to_json(silent).decode()
    messages = [span.attributes.get("gen_ai.input.messages") for span in telling]
    assert json.loads(messages[0])[0]["parts"] == [{"type": "text", "content": "Please delegate this"}]
    tool = next(span for span in telling if span.name == "execute_tool Bash")
    assert "command" in json.loads(tool.attributes["gen_ai.tool.call.arguments"])
    assert [(one.id, one.parent, one.start, one.end) for one in silent] == [(one.id, one.parent, one.start, one.end) for one in telling]


def test_only_the_newest_names_are_written_and_twice_is_the_same() -> None:
    ramify = told("claude/nested")
    (id,) = conversations(ramify)
    lines = b"".join(ramify.exports.offer(id, OTLP, quiet).pieces)
    assert lines == b"".join(ramify.exports.offer(id, OTLP, quiet).pieces)
    assert not any(f'"{name}"'.encode() in lines for name in OLD)
    assert b"gen_ai.usage.cache_write.input_tokens" in lines


def test_what_came_as_spans_keeps_its_ids() -> None:
    place = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
    task = Task("task_1", refs=(NativeRef("a2a", "task", "x"), NativeRef("otel", "span", place)))
    assert (trace_id(task).hex(), span_id(task).hex()) == tuple(place.split("-"))
    for row in (Call("call_1", details={"spans": ["no-ids", place]}), ToolCall("tool_1", "x", details={"spans": [place]})):
        assert span_id(row).hex() == "b7ad6b7169203331"
    assert span_id(Task("task_1", refs=(NativeRef("otel", "span", "no-ids"),))) == span_id("task_1")


def test_a_provider_is_named_where_it_is_known() -> None:
    calls = {"msg_1": "x", "chatcmpl-1": "gpt-5", "resp_1": "gpt-5", "": "claude-opus-5-5", "1": "llama"}
    found = [provider_of(Call("call_1", message=message, model=model)) for message, model in calls.items()]
    assert found == ["anthropic", "openai", "openai", "anthropic", None]


@pytest.mark.parametrize("case", ["claude/nested", "a2a/v1-input-required", "sam/toolerror", "events/async_fanout"])
def test_protobuf_says_what_json_says(case: str) -> None:
    ramify = told(case)
    for id in conversations(ramify):
        found = made(ramify, id, Wish("otlp", content=True))
        message = ExportTraceServiceRequest.FromString(to_protobuf(found))
        assert list(from_protobuf(message)) == list(from_json(json.loads(to_json(found))))


def from_protobuf(message: Any) -> Any:
    for group in message.resource_spans:
        for one in group.scope_spans[0].spans:
            links = [(link.trace_id.hex(), link.span_id.hex()) for link in one.links]
            yield (group.resource.attributes[0].value.string_value, one.trace_id.hex(), one.span_id.hex(), one.parent_span_id.hex(), one.name, one.kind,
                   one.start_time_unix_nano, one.end_time_unix_nano, one.status.code, links, {pair.key: plain(pair.value) for pair in one.attributes})  # fmt: skip


def plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [plain(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def from_json(document: Any) -> Any:
    for group in document["resourceSpans"]:
        for one in group["scopeSpans"][0]["spans"]:
            links = [(link["traceId"], link["spanId"]) for link in one.get("links", [])]
            yield (group["resource"]["attributes"][0]["value"]["stringValue"], one["traceId"], one["spanId"], one.get("parentSpanId", ""), one["name"], one["kind"],
                   int(one["startTimeUnixNano"]), int(one["endTimeUnixNano"]), one["status"]["code"], links, {pair["key"]: read(pair["value"]) for pair in one["attributes"]})  # fmt: skip


def read(value: dict[str, Any]) -> Any:
    (kind, content), = value.items()
    return [read(one) for one in content["values"]] if kind == "arrayValue" else int(content) if kind == "intValue" else content


def test_batches_are_bounded() -> None:
    span = Span(b"1" * 16, b"2" * 8, b"", "x", 1, 1, 2, {"words": "x" * 100_000})
    sizes = [len(batch) for batch in batches([span] * 50)]
    assert sum(sizes) == 50
    assert max(sizes) <= 21
    assert [len(batch) for batch in batches([Span(b"1" * 16, b"2" * 8, b"", "x", 1, 1, 2, {})] * 1025)] == [MOST_SPANS, MOST_SPANS, 1]


@pytest.mark.parametrize("case", ["claude/nested", "claude/background", "sam/toolerror", "a2a/v1-depth2-fanout2", "events/async_fanout"])
def test_spans_made_one_by_one_are_those_of_the_tree(case: str) -> None:
    ramify = told(case)
    whole = {span.id: span for id in conversations(ramify) for span in made(ramify, id) if not span.attributes.get("ramify.open")}
    rows = [row for table in ("tasks", "calls", "tools") for row in ramify.store.docs(table) if isinstance(row, Task | Call | ToolCall) and end_of(row)]
    assert {span.id: span for span in Tracing(ramify.store).some(rows)} == whole
