"""The receiver of OTLP on a real socket: what exporters send, what they are told, and what is stored when they are."""

import gzip
import json
import zlib
from typing import Any

import pytest
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from ramify.model.observation import Record
from ramify.storage.base import StoreDown
from ramify.web import otlp
from tests.spans import agent, chat, document, span
from tests.web.served import Client, Small, serving

JSON = {"content-type": "application/json"}
PROTOBUF = {"content-type": "application/x-protobuf"}
SPANS = [agent("planner"), chat("chat1", "planner")]


def as_json(spans: list[dict[str, Any]]) -> bytes:
    return json.dumps(document(spans)).encode()


def as_protobuf() -> bytes:
    request = ExportTraceServiceRequest()
    scoped = request.resource_spans.add().scope_spans.add()
    scoped.scope.name = "test"
    one = scoped.spans.add()
    one.trace_id, one.span_id, one.name = bytes(range(1, 17)), bytes(range(1, 9)), "invoke_agent planner"
    one.start_time_unix_nano, one.end_time_unix_nano, one.flags = 1_790_000_000_000_000_000, 1_790_000_000_100_000_000, 0x101
    attribute = one.attributes.add()
    attribute.key, attribute.value.string_value = "gen_ai.operation.name", "invoke_agent"
    return request.SerializeToString()


async def posted(client: Client, body: bytes, headers: dict[str, str], signal: str = "traces") -> tuple[int, bytes, str]:
    async with client.post(f"/v1/{signal}", data=body, headers=headers) as response:
        return response.status, await response.read(), response.content_type


def stored(small: Small) -> list[Record]:
    return [seen for seen in small.observed if isinstance(seen, Record)]


@pytest.mark.parametrize("pack", ["", "gzip", "deflate", "raw deflate"])
async def test_json_and_protobuf_are_answered_in_their_own_encoding(pack: str) -> None:
    small = Small()
    packed = {"gzip": gzip.compress, "deflate": zlib.compress, "raw deflate": lambda body: zlib.compress(body)[2:-4], "": bytes}[pack]
    header = {"content-encoding": pack.rpartition(" ")[2]} if pack else {}
    async with serving(small) as client:
        assert await posted(client, packed(as_json(SPANS)), {**JSON, **header}) == (200, b"{}", "application/json")
        assert await posted(client, packed(as_protobuf()), {**PROTOBUF, **header}) == (200, b"", "application/x-protobuf")
    assert [json.loads(record.body)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"] for record in stored(small)] == [
        "planner", "invoke_agent planner",
    ]  # fmt: skip


async def test_protobuf_is_kept_as_the_same_document_that_json_would_be() -> None:
    small = Small()
    async with serving(small) as client:
        await posted(client, as_protobuf(), PROTOBUF)
    kept = json.loads(stored(small)[0].body)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert kept == {
        "traceId": bytes(range(1, 17)).hex(), "spanId": bytes(range(1, 9)).hex(), "name": "invoke_agent planner",
        "startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000000100000000", "flags": 257,
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}}],
    }  # fmt: skip


async def test_unknown_fields_of_protobuf_are_passed_over() -> None:
    small = Small()
    request = as_protobuf()
    unknown = b"\xfa\x7f\x03abc" + b"\xf0\x7f\x05" + b"\xf9\x7f" + b"\x00" * 8 + b"\xfd\x7f" + b"\x00" * 4
    async with serving(small) as client:
        assert (await posted(client, request + unknown, PROTOBUF))[0] == 200
    assert len(stored(small)) == 1


async def test_one_bad_span_among_500_is_kept_and_counted_and_loses_no_other() -> None:
    small = Small()
    spans = [span(f"s{number}") for number in range(500)]
    spans[250] = {**spans[250], "traceId": "00000000000000000000000000000000"}
    async with serving(small) as client:
        status, body, _ = await posted(client, as_json(spans), JSON)
    assert status == 200
    partial = json.loads(body)["partialSuccess"]
    assert partial["rejectedSpans"] == "1"
    assert "1 of 500" in partial["errorMessage"]
    kept = [one for record in stored(small) for one in json.loads(record.body)["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    assert sorted(one["name"] for one in kept) == sorted(one["name"] for one in spans)


async def test_partial_success_in_protobuf() -> None:
    request = ExportTraceServiceRequest.FromString(as_protobuf())
    request.resource_spans[0].scope_spans[0].spans.add().name = "no ids"
    async with serving(Small()) as client:
        status, body, _ = await posted(client, request.SerializeToString(), PROTOBUF)
    answer = ExportTraceServiceResponse.FromString(body)
    assert (status, answer.partial_success.rejected_spans) == (200, 1)


async def test_logs_are_taken_and_metrics_left_aside() -> None:
    small = Small()
    logs = ExportLogsServiceRequest()
    record = logs.resource_logs.add().scope_logs.add().log_records.add()
    record.time_unix_nano, record.event_name, record.body.string_value = 1_790_000_000_000_000_000, "gen_ai.user.message", "hello"
    async with serving(small) as client:
        assert (await posted(client, logs.SerializeToString(), PROTOBUF, "logs"))[:2] == (200, b"")
        assert (await posted(client, b'{"resourceMetrics": []}', JSON, "metrics"))[:2] == (200, b"{}")
        assert (await posted(client, b"\x0a\x00", PROTOBUF, "metrics"))[:2] == (200, b"")
    assert [json.loads(record.body)["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["eventName"] for record in stored(small)] == [
        "gen_ai.user.message"
    ]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"resourceMetrics": []}', b'{"resourceSpans": 5}', b"\xff\xfe"])
async def test_bad_json_is_refused_for_good(body: bytes) -> None:
    small = Small()
    async with serving(small) as client:
        status, answer, kind = await posted(client, body, JSON)
    assert (status, kind, json.loads(answer)["code"]) == (400, "application/json", 3)
    assert small.observed == []


@pytest.mark.parametrize("body", [b"\x0a\xff", b"\x0b\x01", b"\x0a\x02\x12\x09", b"<html>"])
async def test_bad_protobuf_is_refused_with_a_status_of_its_own(body: bytes) -> None:
    async with serving(Small()) as client:
        status, answer, kind = await posted(client, body, PROTOBUF)
    told = Status.FromString(answer)
    assert (status, kind, told.code) == (400, "application/x-protobuf", 3)
    assert "OTLP" in told.message


async def test_what_is_neither_is_refused() -> None:
    async with serving(Small()) as client:
        assert (await posted(client, b"{}", {"content-type": "text/plain"}))[0] == 415
        assert (await posted(client, b"{}", {**JSON, "content-encoding": "br"}))[0] == 415
        assert (await posted(client, b"no gzip", {**JSON, "content-encoding": "gzip"}))[0] == 400
        assert (await posted(client, gzip.compress(b"{}" * 99)[:-9], {**JSON, "content-encoding": "gzip"}))[0] == 400


async def test_a_bomb_is_not_inflated() -> None:
    bomb = gzip.compress(b" " * (otlp.LARGEST + 1), 9)
    assert len(bomb) < 100_000
    async with serving(Small()) as client:
        status, answer, _ = await posted(client, bomb, {**JSON, "content-encoding": "gzip"})
    assert status == 413
    assert "smaller batches" in json.loads(answer)["message"]


async def test_one_byte_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "LARGEST", 1000)
    async with serving(Small()) as client:
        assert (await posted(client, b"{}" + b" " * 999, JSON))[0] == 413
        assert (await posted(client, b"{}" + b" " * 998, JSON))[0] == 200


async def test_a_store_that_is_away_asks_the_exporter_to_come_again() -> None:
    small = Small()
    small.problem = StoreDown("gone fishing")
    async with serving(small) as client, client.post("/v1/traces", data=as_json(SPANS), headers=JSON) as response:
        assert (response.status, response.headers["retry-after"]) == (503, "5")
        assert "gone fishing" in (await response.json())["message"]


async def test_hand_written_json_is_read() -> None:
    """Numbers for numbers, capitals, empty parents, protobuf's own names, names for enums."""
    sent = {
        "resource_spans": [{"scope_spans": [{"scope": {"name": "x"}, "spans": [{
            "trace_id": "0AF7651916CD43DD8448EB211C80319C", "span_id": "00000000000000AB", "parent_span_id": "", "name": "invoke_agent a",
            "kind": "SPAN_KIND_CLIENT", "start_time_unix_nano": 1_790_000_000_000_000_000, "end_time_unix_nano": 1_790_000_000_500_000_000,
            "attributes": [{"key": "gen_ai.operation.name", "value": {"string_value": "invoke_agent"}},
                           {"key": "gen_ai.usage.input_tokens", "value": {"int_value": 7}}],
            "status": {"code": "STATUS_CODE_ERROR", "message": "broke"}, "made_up": {"deep": [1]},
        }]}]}]
    }  # fmt: skip
    small = Small()
    async with serving(small) as client:
        assert (await posted(client, json.dumps(sent).encode(), JSON))[:2] == (200, b"{}")
    assert len(stored(small)) == 1
