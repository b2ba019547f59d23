"""Messages of an agent mesh, one at a time: what each says, and that nothing on the wire can break the reading."""

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.model.event import Unreadable
from ramify.model.mesh_event import (
    MeshMessage,
    ModelAnswered,
    ModelAsked,
    Noted,
    Said,
    Signalled,
    Thought,
    ToolReturned,
    ToolStarted,
)
from ramify.model.observation import Record
from ramify.model.prices import Tokens
from ramify.protocols.sam.decode import decode, prompt_of
from ramify.protocols.sam.identity import delivery_id, identity_of
from ramify.protocols.sam.layout import Pieces, repeated
from ramify.protocols.sam.wire import Envelope, moment_of, read_envelope, topic_below
from tests import story

NAMESPACE = "demo/mesh"


def seen(topic: str, payload: Any, **beside: Any) -> Record:
    body = {"topic": f"{NAMESPACE}/{topic}", "payload": payload, "received_at": "2026-11-15T10:00:00.000001+00:00", **beside}
    return Record("obs_1", "p", 5, "sam", "sam", "x:1", json.dumps(body).encode())


def read(topic: str, payload: Any, **beside: Any) -> MeshMessage:
    found = decode(seen(topic, payload, **beside))
    assert isinstance(found, MeshMessage)
    return found


def status(*parts: Any, kind: str = "status-update", state: str = "working", **message: Any) -> dict[str, Any]:
    stamp = "2026-11-15T10:00:01.500000+00:00"
    said = {"messageId": "m1", "parts": list(parts), **message}
    result = {"kind": kind, "taskId": "t1", "contextId": "c1", "metadata": {"agent_name": "Chef"}, "status": {"state": state, "timestamp": stamp, "message": said}}
    return {"jsonrpc": "2.0", "id": "t1", "result": result}


def data(**fields: Any) -> dict[str, Any]:
    return {"kind": "data", "data": fields}


def test_a_request_is_for_the_last_level_of_its_topic_and_its_time_is_its_senders() -> None:
    message = {"messageId": "m", "contextId": "c", "role": "user", "metadata": {"agent_name": "Other"}, "parts": [{"kind": "text", "text": "Request received by gateway at: 2026"}, {"kind": "text", "text": "Do it"}]}
    found = read("a2a/v1/agent/request/Chef", {"id": "t", "method": "message/send", "params": {"message": message}}, user_properties={"timestamp": 1794764682777, "userId": "u", "callDepth": 2})
    assert (found.kind, found.agent, found.text, found.at, found.parent) == ("request", "Chef", "Do it", 1794764682777000, "")
    assert found.properties is not None
    assert (found.properties.user, found.properties.depth) == ("u", 2)
    assert found.guessed is False


def test_the_prompt_of_a_peer_follows_the_marker() -> None:
    around = {"parts": [{"kind": "text", "text": "You are part of …\n\nNow please execute this task that was given to you:\n\nCount\n  twice\n"}]}
    assert prompt_of(around, is_given=True) == "Count\n  twice"
    assert prompt_of({"parts": [{"kind": "text", "text": "no marker"}]}, is_given=True) == "no marker"
    assert prompt_of({"parts": [data(type="structured_invocation_request")]}, is_given=True) == ""


def test_the_stamp_of_a_gateway_is_no_part_of_the_prompt() -> None:
    stamp, asked = "Request received by gateway at: 2026-11-15T10:00:00+00:00", "Count\n\ntwice"
    assert prompt_of({"parts": [{"kind": "text", "text": stamp}, {"kind": "text", "text": asked}]}, is_given=False) == asked
    assert prompt_of({"parts": [{"kind": "text", "text": f"{stamp}\n{asked}"}]}, is_given=False) == asked
    assert prompt_of({"parts": [{"kind": "text", "text": stamp}]}, is_given=False) == ""


def test_every_data_part_is_understood() -> None:
    child = {"kind": "task", "id": "t2", "status": {"state": "rejected", "message": {"parts": [{"kind": "text", "text": "no"}]}}}
    history = [{"parts": [{"function_response": {"id": "c0", "name": "peer_A", "response": {"error": "timed out after 5 seconds"}}}]}]
    found = read("a2a/v1/gateway/status/gw/t1", status(
        data(type="llm_invocation", request={"model": "m/x", "contents": history}),
        data(type="llm_response", data={"content": {"parts": [{"text": "I ask."}, {"function_call": {"id": "c1", "name": "peer_A", "args": None}}]}, "usage_metadata": {"prompt_token_count": 3, "candidates_token_count": 4}}, usage={"input_tokens": None, "output_tokens": None}),
        data(type="tool_invocation_start", tool_name="peer_A", tool_args={"q": 1}, function_call_id="c1", parallel_group_id="g"),
        data(type="tool_result", tool_name="peer_A", result_data=child, function_call_id="c1", llm_usage={"input_tokens": 1, "output_tokens": 2, "model": "y"}),
        data(type="thinking_content", content="hm", is_complete=True),
        data(a2a_signal_type="tool_execution_error", error_message="no tool x", details={"code": 1}),
        data(type="workflow_node_execution_start", node_id="n", node_type="agent", sub_task_id="wf_1"),
        data(type="rag_info_update", title="t"),
        data(a2a_signal_type="something_new"),
        {"kind": "text", "text": "hello"},
        {"kind": "file", "file": {"name": "a.txt"}},
        {"kind": "video"},
        "nonsense",
    ))  # fmt: skip
    asked, answered, started, returned, thought, signal, node, other, unknown, said, *_ = found.parts
    assert isinstance(asked, ModelAsked)
    assert (asked.model, asked.results[0].call, b"timed out" in asked.results[0].response) == ("m/x", "c0", True)
    assert isinstance(answered, ModelAnswered)
    assert (answered.text, answered.tools[0].args, answered.tokens) == ("I ask.", b"{}", Tokens(3, 4))
    assert isinstance(started, ToolStarted)
    assert (started.args, started.group) == (b'{"q":1}', "g")
    assert isinstance(returned, ToolReturned)
    assert (returned.status, returned.word, returned.child, returned.error, returned.tokens) == ("error", "rejected", "t2", "no", Tokens(1, 2))
    assert thought == Thought("hm", True)
    assert signal == Signalled("no tool x", {"code": 1})
    assert isinstance(node, Noted)
    assert (node.kind, node.text, node.child) == ("workflow_node", "n", "wf_1")
    assert isinstance(other, Noted)
    assert (other.kind, other.text) == ("other", "rag_info_update")
    assert isinstance(unknown, Noted)
    assert (unknown.kind, unknown.text) == ("other", "something_new")
    assert said == Said("hello")
    assert found.at == micros_of("2026-11-15T10:00:01.500000+00:00")


def micros_of(text: str) -> int:
    return moment_of(text)[0]


@pytest.mark.parametrize("topic", ["n/a2a/v1/client/response/c/t1", "n/a2a/v1/client/status/c/t1", "n/a2a/v1/trust/agent/Chef"])
def test_what_is_handed_on_to_clients_says_nothing_of_tasks(topic: str) -> None:
    assert decode(seen(topic, status(data(type="llm_response")))) is None


def test_only_a_task_object_or_an_error_is_an_end() -> None:
    assert read("a2a/v1/gateway/response/gw/t1", status(kind="task", state="completed")).kind == "end"
    assert read("a2a/v1/gateway/status/gw/t1", status(state="completed")).kind == "status"
    error = {"id": "x", "error": {"code": 1, "message": "broken", "data": {"taskId": "t1"}}}
    assert (read("a2a/v1/gateway/response/gw/t1", error).task, read("a2a/v1/gateway/response/gw/t1", error).state) == ("t1", "failed")
    assert decode(seen("a2a/v1/gateway/response/gw/t1", {"id": "cancel-1", "error": {"code": 1}})) is None


def test_a_forwarded_copy_is_a_copy_and_says_whose() -> None:
    beside = {"forwarded_from_peer": "Cook", "original_peer_event_taskId": "t2", "function_call_id": "c1"}
    found = read("a2a/v1/gateway/status/gw/t1", status(data(type="llm_response"), metadata=beside))
    assert (found.kind, found.parts, found.details["original"]) == ("copy", (), "t2")
    twice = read("a2a/v1/gateway/status/gw/t1", status(metadata={**beside, "forwarded_from_peer": "UnknownPeer"}))
    assert (twice.kind, twice.details["original"]) == ("copy", "")


def test_a_message_is_known_by_task_and_message_id_and_else_by_what_it_says() -> None:
    def identity(payload: Any, topic: str = "t") -> str:
        found = read_envelope(json.dumps({"topic": topic, "payload": payload}).encode())
        assert isinstance(found, Envelope)
        return identity_of(found)

    one = status(data(type="x"))
    assert identity(one) == identity(status(data(type="y")), "other")
    assert identity(one) != identity({**one, "id": "t2"})
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})
    assert identity({"a": 1}) != identity({"a": 1}, "other")


def test_what_a_broker_hands_over_twice_is_one_observation_and_what_files_hold_is_told_apart_by_its_time() -> None:
    def ids(live: bool, *stamps: str) -> set[str]:
        bodies = [json.dumps({"topic": "t", "payload": status(), "received_at": stamp}).encode() for stamp in stamps]
        found = [read_envelope(body) for body in bodies]
        return {delivery_id(one, "p", live) for one in found if isinstance(one, Envelope)}

    assert len(ids(True, "2026-11-15T10:00:00+00:00", "2026-11-15T10:00:05+00:00")) == 1
    assert len(ids(False, "2026-11-15T10:00:00+00:00", "2026-11-15T10:00:05+00:00")) == 2
    assert len(ids(False, "2026-11-15T10:00:00+00:00", "2026-11-15T10:00:00Z")) == 1


@pytest.mark.parametrize(
    ("stamp", "zone", "at", "guessed"),
    [
        ("2026-11-15T10:00:00", "", 1794736800000000, True),
        ("2026-11-15T10:00:00", "+02:00", 1794729600000000, True),
        ("2026-11-15T10:00:00+00:00", "+02:00", 1794736800000000, False),
        (1794736800000, "", 1794736800000000, False),
        ("yesterday", "", 0, False),
        (float("inf"), "", 0, False),
        (10**40, "", 0, False),
        (True, "", 0, False),
        (None, "", 0, False),
    ],
)
def test_stamps_come_with_a_zone_without_one_and_as_numbers(stamp: Any, zone: str, at: int, guessed: bool) -> None:
    assert moment_of(stamp, zone) == (at, guessed)


def test_a_namespace_may_look_like_the_rest_of_a_topic() -> None:
    assert topic_below("a/a2a/v1/b/a2a/v1/agent/request/X") == ["agent", "request", "X"]
    assert topic_below("a2a/v1/discovery/agentcards") == ["discovery", "agentcards"]
    assert topic_below("sam/feedback/v1") == []


def test_nan_infinity_half_characters_and_huge_numbers_are_read_and_are_null_or_text() -> None:
    body = b'{"topic":"t/a2a/v1/x","payload":{"id":"t1","result":{"kind":"status-update","status":{"message":{"messageId":"m","parts":[{"kind":"data","data":{"type":"tool_result","tool_name":"n","function_call_id":"c","result_data":{"a":NaN,"b":-Infinity,"c":"\\ud800","d":123456789012345678901234567890}}}]}}}}}'
    found = decode(Record("o", "p", 1, "sam", "sam", "x", body))
    assert isinstance(found, MeshMessage)
    part = found.parts[0]
    assert isinstance(part, ToolReturned)
    assert msgspec.json.decode(part.result) == {"a": None, "b": None, "c": "?", "d": "123456789012345678901234567890"}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "method", "params", "message", "result", "kind", "status", "parts", "data", "type", "error", "feedback", "metadata", "text"]) | st.text(), inner, max_size=5),
    max_leaves=30,
)


@given(anything, anything, st.text())
def test_nothing_that_is_sent_breaks_the_reading(payload: Any, beside: Any, topic: str) -> None:
    body = json.dumps({"topic": topic, "payload": payload, "user_properties": beside, "received_at": beside}).encode()
    found = decode(Record("o", "p", 1, "sam", "sam", "x", body))
    if isinstance(found, MeshMessage):
        msgspec.msgpack.encode(found)


REAL = [line for path in sorted((story.CASES / "sam").glob("*/messages.jsonl")) for line in path.read_bytes().splitlines()]


@given(st.sampled_from(REAL), st.data())
def test_cut_and_changed_messages_are_read_or_said_to_be_unreadable(line: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(line)))
    changed = line[:at] + draw.draw(st.binary(max_size=3)) + line[at + draw.draw(st.integers(0, 40)) :]
    found = decode(Record("o", "p", 1, "sam", "sam", "x", changed))
    assert found is None or isinstance(found, MeshMessage | Unreadable)
    spans = repeated(changed)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_a_layout_cuts_histories_and_tools_where_they_stand() -> None:
    pieces = Pieces()
    lines = [line for line in REAL if b'"llm_invocation"' in line]
    layouts = [layout for line in lines if (layout := pieces.layout(line)) is not None]
    assert len(layouts) == len(lines)
    for layout in layouts:
        assert all(layout.body[start : start + len(piece.raw)] == piece.raw for start, piece in zip(layout.starts, layout.pieces, strict=True))
    assert len({id(piece) for layout in layouts for piece in layout.pieces}) < sum(len(layout.pieces) for layout in layouts) / 2
