"""What the fuzzers have found, each as small as it came out."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ramify.app import Ramify
from ramify.capture.a2a.cards import rewrite
from ramify.capture.cleaner import Cleaner
from ramify.capture.log_file import HEADER
from ramify.exporting.offer import Exports
from ramify.model.mistake import UserMistake
from ramify.model.moment import FIRST, LAST, iso
from ramify.model.nested import storable
from ramify.model.observation import Observation, Record, Request, Response
from ramify.protocols.a2a.wire import comparable
from ramify.protocols.anthropic.normal import blocks_of, without_marks
from ramify.protocols.otel.request import read_json, read_protobuf
from ramify.web.app import FILTER
from ramify.web.route import read_value
from tests.test_forgetting import seen_in

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize(
    ("format", "line"),
    [
        ("adcp", {"kind": "activity", "op": "o", "activity": {"type": [], "agent_id": "a"}}),
        ("adcp", {"kind": ["activity"], "op": "o"}),
        ("ramify", {"observation": [], "id": "x"}),
        ("ramify", {"observation": "record", "id": "x", "body_base64": 7}),
    ],
)
def test_a_word_that_is_no_word_is_an_unreadable_line(format: str, line: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes((HEADER if format == "ramify" else b"") + json.dumps(line).encode() + b"\n")
    ramify = Ramify.open("memory:")
    assert ramify.import_paths([path], format, lambda done, total: None)["unreadable_count"] == 1
    ramify.close()


def test_a_date_outside_of_the_calendar_is_shown_at_its_edge() -> None:
    assert (iso(1 << 62), iso(LAST), iso(0)) == ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z", None)
    assert iso(-(1 << 62)) == iso(FIRST)


def test_half_a_character_in_a_card_stays_one() -> None:
    card = b'{"name": "\\ud83d", "url": "http://agent:1/x"}'
    body = rewrite(card, "http://agent:1", "http://127.0.0.1:8377/a2a/a").body
    assert json.loads(body) == {"name": "\ud83d", "url": "http://127.0.0.1:8377/a2a/a/x"}


def test_what_is_no_address_in_a_card_is_left_as_it_is() -> None:
    card = b'{"name": "a", "url": "http://]gent:1/x"}'
    found = rewrite(card, "http://agent:1", "http://127.0.0.1:8377/a2a/a")
    assert (found.body, len(found.warnings)) == (card, 1)


def test_a_number_where_a_message_should_be_is_passed_over() -> None:
    whole = protobuf_of("resource", "scope")
    for damage in (b"\x08\xe3\x0a", b"\x09" + b"x" * 8, b"\x0d" + b"x" * 4):
        export = read_protobuf(damage + whole, "traces", "default", "/v1/traces")
        assert [record.body for record in export.records] == [record.body for record in read_protobuf(whole, "traces", "default", "/v1/traces").records] != []


def protobuf_of(*names: str) -> bytes:
    asked = ExportTraceServiceRequest()
    scope = asked.resource_spans.add().scope_spans.add()
    for number, name in enumerate(names, 1):
        scope.spans.add(name=name, trace_id=b"t" * 16, span_id=bytes([number]) * 8, start_time_unix_nano=1_790_000_000_000_000_000, end_time_unix_nano=1_790_000_001_000_000_000)
    return bytes(asked.SerializeToString())


HUGE = (2**31 + 1, 2**52, 2**63, 2**64, 10**400)


@pytest.mark.parametrize("tokens", [2**31, *HUGE])
def test_no_number_of_tokens_makes_a_sum_that_no_store_can_hold(tokens: int) -> None:
    """On the wire, from a client's own telemetry, and from anybody's spans; a hundred times, as sums grow."""
    ramify = Ramify.open("memory:")
    usage = {"input_tokens": tokens, "output_tokens": tokens, "cache_read_input_tokens": tokens}
    said = json.dumps({"type": "message", "id": "m", "role": "assistant", "model": "claude-opus-4-1", "content": [], "usage": usage}).encode()
    body = json.dumps({"model": "claude-opus-4-1", "messages": [{"role": "user", "content": "x"}], "metadata": {"user_id": "u"}}).encode()
    for number in range(100):
        id, headers = f"r{number}", (("x-claude-code-session-id", "s"),)
        asked = Request(id, "default", number, "proxy", id, "POST", "/v1/messages", headers, body)
        answer = Response(f"{id}-end", "default", number, "proxy", id, "/v1/messages", 200, (("content-type", "application/json"),), said, "complete", number)
        ramify.ingest.take([asked, answer])
    for name in ("input_tokens", "gen_ai.usage.input_tokens", "cost_usd_micros", "cost_usd", "llm.cost.total"):
        for span in ("claude_code.llm_request", "chat"):
            value = [{"key": key, "value": {"intValue": tokens}} for key in (name, "output_tokens")]
            spans = [{"traceId": "a" * 32, "spanId": f"{hash((name, span)) % 2**64:016x}", "name": span, "startTimeUnixNano": tokens, "attributes": value}]
            document = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
            ramify.ingest.take(read_json(document, "default", "/v1/traces").records)
    assert (ramify.ingest.unlinked, ramify.ingest.lost) == (0, 0)
    assert ramify.questions.stats()["usage"]["input"] == (100 * tokens if tokens == 2**31 else 0)
    ramify.close()


def test_lines_that_name_themselves_or_each_other_as_the_one_before_come_to_an_end() -> None:
    """A line without an id of its own followed itself, for ever."""
    word = {"type": "user", "isSidechain": True, "sessionId": "s", "version": "2.0.26", "timestamp": "2026-11-16T04:03:18.154Z", "message": {"role": "user", "content": "Warmup"}}
    ring = [{**word, "uuid": one, "parentUuid": other} for one, other in (("a", "b"), ("b", "a"), ("c", "c"), ("d", "c"))]
    for lines in ([{**word, "parentUuid": None}], [{**word, "parentUuid": None}, word, *ring], ring):
        ramify = Ramify.open("memory:")
        ramify.ingest.step([Record(f"o{at}", "default", at, "test", "claude", f"x:{at}", json.dumps(line).encode()) for at, line in enumerate(lines)])
        ramify.close()


def test_a_word_with_a_nul_in_it_is_looked_for_as_two() -> None:
    ramify = Ramify.open("memory:")
    assert ramify.questions.search("a\0b")["items"] == []
    assert ramify.questions.calls(filter="a\0b")["items"] == []
    ramify.close()


def test_over_http_a_nul_is_refused_whatever_the_store() -> None:
    with pytest.raises(UserMistake, match="filter"):
        read_value(FILTER, "a\0b")


@pytest.mark.parametrize("case", sorted(path.parent.name for path in (CASES / "sam").glob("*/messages.jsonl")))
def test_a_mesh_whose_clock_is_centuries_ahead_is_linked_as_any(case: str, tmp_path: Path) -> None:
    """The requests that name parents were missed: what others say of the children tells."""
    lines = (CASES / "sam" / case / "messages.jsonl").read_text().splitlines()
    recorded = "\n".join(line for line in lines if "parentTaskId" not in line)
    found = []
    for year in ("2026-", "2326-"):
        path = tmp_path / f"{year}.jsonl"
        path.write_text(recorded.replace("2026-", year))
        ramify = Ramify.open("memory:")
        ramify.import_paths([path], "sam", lambda done, total: None)
        assert ramify.ingest.unlinked == 0
        tasks = ramify.questions.tasks(limit=0)["items"]
        found.append(sorted((task["id"], (task["link"] or {}).get("parent") or "", (task["link"] or {}).get("rule") or "") for task in tasks))
        ramify.close()
    assert found[0] == found[1]


def stored(seen: Sequence[Observation]) -> Ramify:
    ramify = Ramify.open("memory:")
    ramify.ingest.take(list(seen))
    assert ramify.ingest.unlinked == 0
    return ramify


def test_numbers_that_no_database_holds_cost_no_frame_and_no_event() -> None:
    told = 0
    for case, member in (("a2a/v1-refine", "body"), ("events/edges", "ramify")):
        for size in (2**63, 2**64, -(2**70), 2**100):
            seen = []
            for one in seen_in(case):
                line = json.loads(one.body) if isinstance(one, Record) else {}
                if isinstance(inside := line.get(member), dict):
                    told += 1
                    line[member] = {**inside, **{name: size for name in ("description", "skills", "at", "recorded") if name in inside}}
                    one = structs.replace(one, body=json.dumps(line).encode())
                seen.append(one)
            ramify = stored(seen)
            assert ramify.questions.tasks(limit=0)["items"]
            ramify.close()
    assert told


def test_blocks_whose_ids_are_no_words_are_shown_as_they_are(tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [{"type": kind, member: {"a": 1}, "thinking": ["x"]} for kind, member in (("tool_use", "id"), ("tool_result", "tool_use_id"))]
    seen = []
    for one in seen_in("anthropic/subtask-three-parallel"):
        if isinstance(one, Request):
            body = json.loads(one.body)
            body["messages"][-1]["content"] = [*blocks_of(body["messages"][-1]["content"]), *odd]
            one = structs.replace(one, body=json.dumps(body).encode())
        seen.append(one)
    ramify = stored(seen)
    for task in ramify.questions.tasks(limit=0)["items"]:
        assert any(block.get("id") == {"a": 1} for message in ramify.questions.messages(task["id"])["items"] for block in message["blocks"])
        assert ramify.questions.tools(task["id"])["items"] is not None
        assert b"".join(Exports(ramify.questions, {}).asked(task["id"], {"to": "markdown"}).pieces)
    ramify.close()


@pytest.mark.parametrize("act", [without_marks, storable, comparable])
def test_values_of_any_depth_are_rebuilt(act: Callable[[Any], Any]) -> None:
    value: Any = "x"
    for level in range(20_000):
        value = [value] if level % 2 else {"a": value}
    found = act(value)
    assert found is not value
    for level in range(20_000):
        found = found[0] if level % 2 == 0 else found["a"]
    assert found == "x"


@pytest.mark.parametrize("depth", [100, 480, 700, 950, 3000, 100_000])
def test_a_value_nested_without_end_keeps_no_secret(depth: int) -> None:
    """And its frame stays, as what no reader can open."""
    deep = '{"a":' * depth + '{"authorization": "Bearer hushhushhushhush0123456789"}' + "}" * depth
    for case, member in (("a2a/v1-refine", "body"), ("sam/simple", "payload")):
        one = next(seen for seen in seen_in(case) if isinstance(seen, Record) and isinstance(json.loads(seen.body).get(member), dict))
        line = json.loads(one.body)
        line[member] = {**line[member], "metadata": "here"}
        clean = Cleaner().observation(structs.replace(one, body=json.dumps(line).replace('"here"', deep).encode()))
        assert isinstance(clean, Record)
        assert b"hushhush" not in clean.body
        assert clean.body.count(b'{"a"') == depth
