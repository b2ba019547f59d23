"""Files of a mesh: every shape is known by its first lines, secrets stay out, and nothing in a file can stop an import."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ramify.capture.formats import detect
from ramify.capture.mesh_file import offset_of, read_mesh
from ramify.capture.mesh_secrets import redact_message
from ramify.model.mesh_event import MeshMessage
from ramify.model.observation import Record
from ramify.protocols.sam.decode import decode
from tests import story

CASES = story.CASES / "sam"


def records(path: Path, zone: str = "UTC") -> list[Record]:
    return [seen for read in read_mesh(path, "p", zone) for seen in read.observations if isinstance(seen, Record)]


def envelopes() -> list[Any]:
    return [json.loads(line) for line in (CASES / "plain/listener.jsonl").read_bytes().splitlines()]


def test_every_file_is_known_by_its_first_lines(tmp_path: Path) -> None:
    for path in CASES.rglob("*.*"):
        assert detect(path) == (None if path.name == "expected.json" else "sam"), path
    one = tmp_path / "message.json"
    one.write_text(json.dumps(envelopes()[0], indent=2))
    assert detect(one) == "sam"
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress((CASES / "plain/messages.jsonl").read_bytes()))
    assert detect(packed) == "sam"
    odd = tmp_path / "nan.jsonl"
    odd.write_text('{"topic": "n/a2a/v1/x", "payload": {"a": NaN}, "received_at": "2026-01-01T00:00:00Z"}\n')
    assert detect(odd) == "sam"


def test_a_message_a_file_a_list_and_task_events_are_read(tmp_path: Path) -> None:
    found = envelopes()
    files = {
        "one.json": found[0],
        "list.json": found,
        "events.json": {"tasks": {"t": {"events": [{"created_time": 1794764681692, "topic": one["metadata"]["topic"], "payload": one["payload"]} for one in found]}}},
        "other.json": {"tasks": {"t": {"events": [{"timestamp": "2026-11-15T17:44:41Z", "solace_topic": "n/a2a/v1/x", "full_payload": {"id": 1}}]}}},
    }
    counts = {}
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content, indent=1))
        counts[name] = len(records(tmp_path / name))
    assert counts == {"one.json": 1, "list.json": 5, "events.json": 5, "other.json": 1}


def test_a_stamp_without_a_zone_gets_the_one_that_was_said(tmp_path: Path) -> None:
    file = tmp_path / "listener.jsonl"
    file.write_bytes((CASES / "plain/listener.jsonl").read_bytes())
    utc, east = records(file)[0], records(file, "+02:00")[0]
    assert utc.at - east.at == 2 * 3600 * 1_000_000
    assert json.loads(east.body)["assumed_zone"] == "+02:00"
    assert json.loads(east.body)["payload"] == envelopes()[0]["payload"]
    assert offset_of("Europe/Amsterdam", 1_750_000_000_000_000) == "+02:00"
    assert offset_of("Europe/Amsterdam", 1_737_000_000_000_000) == "+01:00"
    assert utc.id != east.id


def test_so_does_the_stamp_of_an_agent_whose_message_was_received_in_a_zone(tmp_path: Path) -> None:
    line = json.loads((CASES / "plain/messages.jsonl").read_bytes().splitlines()[-1])
    status = line["payload"]["result"]["status"]
    status["timestamp"] = status["timestamp"].removesuffix("+00:00")
    (tmp_path / "x.jsonl").write_text(json.dumps(line))
    (utc,), (east,) = records(tmp_path / "x.jsonl"), records(tmp_path / "x.jsonl", "+02:00")
    said, later = decode(utc), decode(east)
    assert isinstance(said, MeshMessage)
    assert isinstance(later, MeshMessage)
    assert (said.at - later.at, said.received, said.guessed) == (2 * 3600 * 1_000_000, later.received, True)
    assert utc.id != east.id


def test_reading_twice_gives_the_same_observations() -> None:
    file = CASES / "simple/messages.jsonl"
    assert [seen.id for seen in records(file)] == [seen.id for seen in records(file)]
    assert len({seen.id for seen in records(file)}) == 27


def test_equal_cards_are_kept_once_an_hour(tmp_path: Path) -> None:
    file = tmp_path / "cards.jsonl"
    card = '{"topic": "n/a2a/v1/discovery/agentcards", "payload": {"name": "A", "v": %d}, "received_at": "2026-11-15T%02d:%02d:00Z"}'
    file.write_text("\n".join(card % (version, hour, minute) for hour in (10, 11) for minute in range(0, 60, 5) for version in (1, 2)))
    assert len({seen.id for seen in records(file)}) == 4


def test_an_export_that_unfolds_into_a_billion_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="exports need PyYAML")
    bomb = tmp_path / "bomb.stim"
    layers = "\n".join(f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10))
    bomb.write_text(f"invocation_details:\n  l0: &l0 [x, x]\n{layers}\ninvocation_flow: []\n")
    (read,) = read_mesh(bomb, "p", "UTC")
    assert "more than can be read" in (read.problem or "")
    broken = tmp_path / "broken.stim"
    broken.write_text("invocation_details: {\n")
    (read,) = read_mesh(broken, "p", "UTC")
    assert "no YAML" in (read.problem or "")
    unsafe = tmp_path / "unsafe.stim"
    unsafe.write_text("invocation_flow:\n- !!python/object/apply:os.system ['true']\n")
    (read,) = read_mesh(unsafe, "p", "UTC")
    assert "no YAML" in (read.problem or "")


SECRET = "s3cr3t-value"


@pytest.mark.parametrize("key", ["authToken", "auth_token", "ACCESS-TOKEN", "sam_access_token", "Password", "client_secret", "apiKey", "api-key", "privateKey", "Cookie", "credentials", "Authorization"])
def test_secrets_go_by_name_beside_messages(key: str) -> None:
    body = {"topic": "t", "payload": {"result": {"metadata": {"deep": [{key: SECRET}]}}}, "user_properties": {"a": {key: {"nested": SECRET}}}}
    clean = json.loads(redact_message(json.dumps(body).encode()))
    assert SECRET not in json.dumps(clean)
    assert clean["user_properties"]["a"] == {key: "[redacted]"}


def test_secrets_go_by_their_shape_and_words_stay() -> None:
    said = {"text": "Bearer of news, password: hunter2", "kind": "text"}
    part = {"kind": "data", "data": {"type": "tool_result", "tool_args": {"password": "kept"}, "result_data": {"metadata": {"password": "kept"}}}}
    body = {"topic": "t", "payload": {"parts": [said, part], "metadata": {"x": "Bearer abc", "y": "eyJh.bGc.i", "z": "eyJ is no token"}}, "user_properties": {"timestamp": 1}}
    clean = json.loads(redact_message(json.dumps(body).encode()))
    assert clean["payload"]["parts"] == [said, part]
    assert clean["payload"]["metadata"] == {"x": "[redacted]", "y": "[redacted]", "z": "eyJ is no token"}


def test_what_holds_no_secret_stays_byte_for_byte_and_broken_lines_are_searched_too() -> None:
    for line in (CASES / "simple/messages.jsonl").read_bytes().splitlines():
        assert redact_message(line) is line
    odd = b'{"topic":"t", "payload":{"a":NaN,  "token_usage": 1}}'
    assert redact_message(odd) is odd
    broken = b'{"user_properties": {"authToken": "%s", "x": "Bearer %s"' % (SECRET.encode(), SECRET.encode())
    assert SECRET.encode() not in redact_message(broken)
    nan = b'{"payload":{"a":NaN},"user_properties":{"authToken":"x"}}'
    assert redact_message(nan) == b'{"payload": {"a": NaN}, "user_properties": {"authToken": "[redacted]"}}'
