"""One connection as events: shapes of both versions, streams cut anywhere, what is missing, what is no A2A."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.model.a2a_event import (
    AgentShown,
    ChunkCame,
    MessageAdded,
    MessageReplied,
    StatusSaid,
    StreamBroke,
    TaskMade,
    TaskShown,
)
from ramify.model.event import Unreadable
from ramify.model.observation import Record
from ramify.protocols.a2a.decode import Found, Reader
from ramify.protocols.a2a.frame import Frame, read_frame
from ramify.protocols.a2a.methods import asked_of
from ramify.protocols.a2a.stream import Stream
from ramify.protocols.a2a.wire import nanoseconds, piece_of, recognise, span_of, state_of
from tests.linking.a2a_builder import Wire, artifact, message, record, task

CASES = Path(__file__).parents[2] / "cases" / "a2a"


def frame_of(body: dict[str, Any]) -> Frame:
    frame = read_frame(record(body))
    assert isinstance(frame, Frame), frame
    return frame


def read(frames: list[dict[str, Any]], saving: bool = False) -> Found:
    readers: dict[str, Reader] = {}
    found: Found = []
    for body in frames:
        frame = frame_of(body)
        reader = readers.get(frame.connection) or Reader(frame.connection)
        found += reader.feed(frame, f"obs-{frame.connection}-{frame.seq}")
        readers[frame.connection] = Reader(frame.connection, reader.save()) if saving else reader
    return found


def names(found: Found) -> list[str]:
    return [type(event).__name__ for event in found]


# -- the shapes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("TASK_STATE_INPUT_REQUIRED", "input-required"), ("auth-required", "auth-required"), ("cancelled", "canceled"),
        ("TASK_STATE_CANCELLED", "canceled"), ("completed", "completed"), ("TASK_STATE_UNSPECIFIED", "unknown"), ("resting", "unknown"),
    ],
)  # fmt: skip
def test_states_of_both_versions_are_one(word: str, state: str) -> None:
    assert state_of(word) == state


def test_times_have_up_to_nine_digits_and_any_zone() -> None:
    assert nanoseconds("2026-11-15T17:42:52.177100123Z") - nanoseconds("2026-11-15T17:42:52.1771+00:00") == 123
    assert nanoseconds("2026-11-15T18:42:52+01:00") == nanoseconds("2026-11-15T17:42:52Z")
    assert nanoseconds("9999-01-01T00:00:00Z") == nanoseconds("1066-01-01T00:00:00Z") == 0
    assert nanoseconds("yesterday") == nanoseconds(None) == nanoseconds("2026-13-40T99:00:00Z") == 0


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"code": -32001}}, "error"),
        ({"jsonrpc": "2.0", "result": {"kind": "status-update", "taskId": "t"}}, "statusUpdate"),
        ({"jsonrpc": "2.0", "result": {"task": {"id": "t"}}}, "task"),
        ({"artifactUpdate": {}}, "artifactUpdate"),
        ({"tasks": [], "nextPageToken": ""}, "tasks"),
        ({"jsonrpc": "2.0", "result": {"id": "t", "status": {"state": "working"}}}, "task"),
        ({"id": "t", "taskId": "t", "url": "http://x"}, ""),
        ({"message": "Not Found"}, ""),
        ({"jsonrpc": "2.0", "result": None}, ""),
        ([1], ""),
    ],
)
def test_a_body_is_recognised_by_its_shape(body: Any, kind: str) -> None:
    assert recognise(body)[0] == kind


@pytest.mark.parametrize(
    ("part", "plain", "old"),
    [
        ({"kind": "text", "text": "a"}, {"text": "a"}, False),
        ({"kind": "data", "data": {"data": {"a": 1}}}, {"data": {"data": {"a": 1}}}, False),
        ({"data": {"data": {"a": 1}}}, {"data": {"a": 1}}, True),
        ({"kind": "file", "file": {"bytes": "AA==", "name": "x", "mimeType": "m"}}, {"raw": "AA==", "filename": "x", "mediaType": "m"}, False),
        ({"file": {"fileWithUri": "http://x", "mimeType": ""}}, {"url": "http://x"}, True),
        ({"text": "", "filename": "", "mediaType": "", "metadata": {}}, {"text": ""}, False),
        ({"strange": 1}, {"strange": 1}, False),
    ],
)
def test_parts_of_all_versions_are_one(part: dict[str, Any], plain: dict[str, Any], old: bool) -> None:
    assert msgspec.json.decode(piece_of(part, old).json) == plain


def test_a_task_that_stands_alone_shows_by_its_messages_which_binding_wrote_it() -> None:
    wire = Wire()
    body = {
        "id": "t",
        "status": {"state": "TASK_STATE_CANCELLED", "message": {"messageId": "m", "role": "ROLE_AGENT", "content": [{"text": "bye"}]}},
        "artifacts": [{"artifactId": "r", "parts": [{"data": {"data": {"n": 1}}}]}],
    }
    wire.connect("a").frame("response", status=200, headers={"content-type": "application/json"}, body=body)
    (shown,) = read(wire.frames)
    assert isinstance(shown, TaskShown)
    assert [msgspec.json.decode(part.json) for part in shown.artifacts[0].parts] == [{"data": {"n": 1}}]


def test_the_order_of_keys_and_the_kind_of_number_make_no_other_content() -> None:
    assert piece_of({"data": {"a": 1, "b": [0]}}).digest == piece_of({"data": {"b": [0.0], "a": 1.0}}).digest
    assert piece_of({"data": {"a": 1}}).digest != piece_of({"data": {"a": "1"}}).digest


@pytest.mark.parametrize(
    ("path", "body", "method", "task"),
    [
        ("/", {"method": "tasks/resubscribe", "params": {"id": "t"}}, "subscribe", "t"),
        ("/rest/message:stream", {"message": {"taskId": "t", "parts": []}}, "stream", "t"),
        ("/v1/tasks/a%2Fb:cancel?x=1", None, "cancel", "a/b"),
        ("/tenant/tasks/t", None, "get", "t"),
        ("/tasks", None, "list", ""),
        ("/tasks/t/pushNotificationConfigs", {"url": "http://x"}, "", ""),
        ("/.well-known/agent-card.json", None, "card", ""),
        ("/", {"jsonrpc": "2.0", "id": 1, "method": "agent/getAuthenticatedExtendedCard"}, "card", ""),
        ("/", {"method": "tasks/pushNotificationConfig/set", "params": {"taskId": "t"}}, "", ""),
    ],
)
def test_a_request_is_known_by_its_method_or_its_path(path: str, body: Any, method: str, task: str) -> None:
    asked = asked_of(path, body)
    assert (asked.method, asked.task) == (method, task)


def test_a_traceparent_of_zeros_is_none() -> None:
    assert span_of("00-" + "a" * 32 + "-" + "b" * 16 + "-01") == "a" * 32 + "-" + "b" * 16
    assert span_of("00-" + "0" * 32 + "-" + "b" * 16 + "-01") == span_of("nonsense") == span_of(7) == ""


# -- streams -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_stream_reads_the_same_however_it_is_cut(end: str) -> None:
    raw = "\ufeffdata: näïve ✓\ndata:two\n\n: ping - now\n\nid: 7\nevent: error\ndata: x\nretry: 1\ndata\n\ndata: cut off\n"
    whole = raw.replace("\n", end).encode()
    expected = [("", "näïve ✓\ntwo".encode()), ("error", b"x\n")]
    for size in range(1, len(whole) + 1):
        stream, found = Stream(), []
        for start in range(0, len(whole), size):
            found += stream.feed(whole[start : start + size])
        assert [(sent.kind, sent.data) for sent in found] == expected, size


def test_pretty_printed_events_of_the_old_http_binding_are_read() -> None:
    wire = Wire()
    line = wire.connect("old").frame("request", method="POST", path="/v1/message:stream", headers={}, body={
        "message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "go"}]}}).open()
    shape = {"statusUpdate": {"taskId": "t", "contextId": "c", "final": True, "status": {
        "state": "TASK_STATE_CANCELLED", "update": 1, "message": {"messageId": "n", "role": "ROLE_AGENT", "content": [{"data": {"data": {"a": 1}}}]}}}}
    line.frame("sse", raw="".join(f"data: {row}\r\n" for row in json.dumps(shape, indent=2).split("\n")) + "\r\n")
    line.frame("sse", raw='data: {"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "x", "parts": [{"data": {"data": {"b": 2}}}]}}}\n\n')
    made, moved, grew = read(wire.frames)
    assert isinstance(made, TaskMade)
    assert (made.task, made.message.text) == ("t", "go")
    assert isinstance(moved, StatusSaid)
    assert moved.status.state == "canceled"
    assert moved.status.message is not None
    assert moved.status.message.parts[0].json == b'{"data":{"a":1}}'
    assert isinstance(grew, ChunkCame)
    assert grew.artifact.parts[0].json == b'{"data":{"b":2}}'
    assert grew.late


def test_an_event_that_is_no_json_is_said_to_be_so_and_the_stream_goes_on() -> None:
    wire = Wire()
    wire.connect("a").send(message("go", "m", "user")).open().frame("sse", raw="data: {oops\n\n").task("t")
    found = read(wire.frames)
    assert names(found) == ["Unreadable", "TaskMade", "TaskShown"]


@pytest.mark.parametrize("data", ['{"code": -1}', "boom", "null"])
def test_an_event_that_is_called_an_error_is_one_whatever_it_holds(data: str) -> None:
    wire = Wire()
    wire.connect("a").send(message("go", "m", "user")).open().task("t").frame("sse", raw=f"event: error\ndata: {data}\n\n")
    assert names(read(wire.frames))[-1] == "StreamBroke"


# -- requests and their answers ----------------------------------------------------------------------------------------


def test_a_refused_message_makes_no_task_and_is_none() -> None:
    wire = Wire()
    wire.connect("a").send(message("go", "m", "user"), "SendMessage").refuse(-32602)
    wire.connect("a").send(message("more", "n", "user", taskId="t")).refuse(-32004)
    wire.connect("a").ask("GetTask", {"id": "x"}).refuse(-32001)
    wire.connect("a").send(message("go", "o", "user")).open().fail()
    assert read(wire.frames) == []


def test_a_message_that_goes_on_with_a_task_counts_when_it_is_answered() -> None:
    wire = Wire()
    line = wire.connect("a").send(message("12", "n", "user", taskId="t", contextId="c")).open()
    assert read(wire.frames) == []
    line.status("t", "WORKING")
    added, moved = read(wire.frames)
    assert isinstance(added, MessageAdded)
    assert (added.task, added.message.id, added.sign.ref) == ("t", "n", "run/a-1#00000000.00000000")
    assert isinstance(moved, StatusSaid)


def test_a_message_answered_by_a_message_is_neither_task_nor_update() -> None:
    wire = Wire()
    wire.connect("a").send(message("hi", "m", "user"), "SendMessage").answer({"message": message("ho", "r", taskId="made-up", contextId="c")})
    wire.connect("a").send(message("hi", "n", "user"), "message/stream").open().event({**message("ho", "s"), "kind": "message"})
    found = read(wire.frames)
    assert names(found) == ["MessageReplied", "MessageReplied"]
    first = found[0]
    assert isinstance(first, MessageReplied)
    assert first.message is not None
    assert (first.message.id, first.reply.id, first.context) == ("m", "r", "c")


def test_a_message_in_the_stream_of_a_task_is_the_tasks() -> None:
    wire = Wire()
    wire.connect("a").send(message("go", "m", "user")).open().task("t").event({"message": message("by the way", "w")})
    wire.connect("a").ask("SubscribeToTask", {"id": "t"}).open().event({"message": message("by the way", "w")})
    found = read(wire.frames)
    assert names(found) == ["TaskMade", "TaskShown", "MessageAdded", "MessageAdded"]
    assert {event.task for event in found if isinstance(event, MessageAdded)} == {"t"}


def test_lists_push_notifications_and_cards_show_what_they_hold() -> None:
    wire = Wire()
    wire.connect("a").ask("ListTasks", {}).answer({"tasks": [task("t"), task("u"), {"no": "id"}], "nextPageToken": ""})
    wire.connect("a").push({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}})
    wire.connect("a").push({**task("t", state="WORKING"), "kind": "task"})
    wire.connect("a").frame("request", method="GET", path="/.well-known/agent.json", headers={}).frame(
        "response", status=200, headers={}, body={"name": "Planner", "url": "http://x", "preferredTransport": "JSONRPC"})
    found = read(wire.frames)
    assert names(found) == ["TaskShown", "TaskShown", "StatusSaid", "TaskShown", "AgentShown"]
    assert [event.sign.pushed for event in found if not isinstance(event, Unreadable)] == [False, False, True, True, False]
    assert len({event.sign.ref for event in found if isinstance(event, TaskShown)}) == 3
    assert isinstance(found[-1], AgentShown)


@pytest.mark.parametrize("wrong", [{"seq": -1}, {"seq": 1 << 40}, {"kind": "odd"}, {"agent": 7}, {"connection": None}])
def test_a_frame_without_an_identity_is_none(wrong: dict[str, Any]) -> None:
    wire = Wire()
    wire.connect("a").frame("end")
    body = json.dumps({**wire.frames[0], **wrong}).encode()
    assert isinstance(read_frame(Record("o", "p", 1, "import", "a2a", "x", body)), str)


def test_our_own_questions_are_marked() -> None:
    wire = Wire()
    wire.connect("a").ask("GetTask", {"id": "t"}, {"x-ramify-follow": "1"}).answer(task("t"))
    (shown,) = read(wire.frames)
    assert isinstance(shown, TaskShown)
    assert shown.sign.own


def test_stamps_of_the_sender_are_read() -> None:
    wire = Wire()
    span = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    wire.connect("a").send(message("go", "m", "user", metadata={"parentTaskId": "p"}), headers={"traceparent": span}).open().task("t")
    made = read(wire.frames)[0]
    assert isinstance(made, TaskMade)
    assert (made.parent, made.span) == ("p", "a" * 32 + "-" + "b" * 16)


# -- ends --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "end", "broke"),
    [
        ("WORKING", "end", True), ("WORKING", "agent", True), ("WORKING", "client", False), ("WORKING", "error", True),
        ("INPUT_REQUIRED", "end", False), ("COMPLETED", "end", False), ("WORKING", "open", False),
    ],
)  # fmt: skip
def test_a_stream_that_ends_in_mid_work_is_broken(state: str, end: str, broke: bool) -> None:
    wire = Wire()
    line = wire.connect("a").send(message("go", "m", "user")).open().task("t").status("t", state)
    if end == "end":
        line.end()
    elif end == "error":
        line.fail()
    elif end != "open":
        line.cut(end)
    assert any(isinstance(event, StreamBroke) for event in read(wire.frames)) is broke


# -- what is missing ---------------------------------------------------------------------------------------------------


def test_what_follows_a_missing_frame_is_read_as_far_as_it_goes() -> None:
    wire = Wire()
    line = wire.connect("a").send(message("go", "m", "user")).open().task("t")
    line.chunk("t", artifact("r", "one")).status("t", "WORKING").chunk("t", artifact("r", "two"), append=True)
    for lost in range(len(wire.frames)):
        found = read([frame for frame in wire.frames if frame["seq"] != lost])
        assert not [event for event in found if isinstance(event, Unreadable)]
        assert len(found) >= 3, lost


def test_half_an_event_behind_a_gap_says_nothing() -> None:
    wire = Wire()
    line = wire.connect("a").send(message("go", "m", "user")).open().task("t")
    raw = 'data: {"statusUpdate": {"taskId": "t",\ndata: "status": {"state": "TASK_STATE_WORKING"}}}\n\n'
    line.frame("sse", raw=raw[:20]).frame("sse", raw=raw[20:60]).frame("sse", raw=raw[60:])
    line.status("t", "COMPLETED")
    found = read([frame for frame in wire.frames if frame["seq"] != 4])
    assert names(found) == ["TaskMade", "TaskShown", "StatusSaid"]


# -- cases and fuzz ----------------------------------------------------------------------------------------------------


def case_frames(case: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / case / "frames.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_a_saved_reader_goes_on_where_it_was(case: str) -> None:
    frames = case_frames(case)
    found = read(frames)
    assert found == read(frames, saving=True)
    assert not [event for event in found if isinstance(event, Unreadable)]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutated_frames_never_raise(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(sorted(path.name for path in CASES.iterdir())))
    lines = (CASES / case / "frames.jsonl").read_bytes().splitlines()
    start = data.draw(st.integers(0, len(lines) - 1))
    reader = Reader("c")
    for number, line in enumerate(lines[start : start + 6]):
        raw = bytearray(line)
        for _ in range(data.draw(st.integers(0, 6))):
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
        frame = read_frame(Record(f"o{number}", "p", 1, "import", "a2a", "x", bytes(raw)))
        if isinstance(frame, Frame):
            reader.feed(frame, f"o{number}")
            reader = Reader("c", reader.save())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "id", "taskId", "contextId", "status", "state", "message", "messageId", "parts", "content", "role", "history", "artifacts",
        "artifact", "artifactId", "kind", "task", "statusUpdate", "artifactUpdate", "tasks", "error", "result", "jsonrpc", "data",
        "file", "metadata", "referenceTaskIds", "referencedWorkflow", "timestamp", "append", "name", "params", "method"]), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@given(VALUES, VALUES, st.sampled_from(["/", "/message:send", "/v1/message:stream", "/tasks/t", "/tasks"]), st.booleans())
def test_anything_in_the_place_of_a_body_never_raises(asked: Any, said: Any, path: str, out: bool) -> None:
    wire = Wire()
    line = wire.connect("a").frame("request", method="POST", path=path, headers={}, body=asked, direction="out" if out else "in")
    line.frame("response", status=200, headers={}, body=said)
    line.frame("request", method="POST", path=path, headers={}, body={"method": "SendMessage", "params": {"message": said}})
    line.open().event(said).event(asked).end()
    read(wire.frames, saving=True)


def test_a_body_nested_without_end_is_unreadable() -> None:
    deep: Any = "x"
    for _ in range(700):
        deep = [deep]
    wire = Wire()
    wire.connect("a").send(message("go", "m", "user")).open().task("t", history=[{"messageId": "x", "parts": [{"data": deep}]}])
    raw = [record(frame) for frame in wire.frames]
    reader = Reader("c")
    found = [event for one in raw if isinstance(frame := read_frame(one), Frame) for event in reader.feed(frame, one.id)]
    assert names(found)[-1] in ("Unreadable", "TaskShown")
    assert isinstance(read_frame(Record("o", "p", 1, "i", "a2a", "x", b"[" * 100_000)), str)
