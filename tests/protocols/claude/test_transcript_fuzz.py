"""Nothing that a transcript may contain makes the reader raise."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ramify.model.event import Unreadable
from ramify.model.observation import Record
from ramify.protocols.claude.decode import decode
from tests.protocols.claude.test_reported_fuzz import ANYTHING, places, put, relaxed
from tests.protocols.claude.transcripts import (
    AGENT_FILE,
    MAIN,
    PROJECT,
    RUN,
    SIDECAR,
    WORKFLOW,
    attachment,
    prompted,
    record,
    records_of,
    returned,
)

STATE = {"workflowProgress": [{"type": "workflow_agent", "agentId": "a1", "state": "done", "startedAt": 1}]}
NOTE = {"status": "completed", "agentId": "a1", "prompt": "p", "runId": "r", "totalTokens": 1, "interrupted": False}
REAL = [
    *(seen for case in ("simple", "background") for seen in records_of(case)),
    record(returned(NOTE)),
    record(returned({"runId": RUN, "taskId": "w1"})),
    record(prompted("Go."), AGENT_FILE),
    record(attachment({"type": "queued_command", "prompt": "x", "commandMode": "prompt", "origin": {"kind": "peer"}})),
    record(attachment({"type": "hook_success", "content": ["x"], "blockingError": {"blockingError": "y"}})),
    record({"type": "progress", "parentToolUseID": "t", "data": {"type": "agent_progress", "agentId": "a"}}),
    record({"type": "system", "subtype": "local_command", "content": "x"}),
    record({"type": "result", "agentId": "a1"}, f"{WORKFLOW}/journal.jsonl"),
    record(STATE, f"{PROJECT}/s/workflows/{RUN}.json"),
]
PLACES = st.sampled_from(
    [MAIN, AGENT_FILE, SIDECAR, f"{WORKFLOW}/journal.jsonl", f"{PROJECT}/s/workflows/{RUN}.json", ""]
)


def again(seen: Record, body: bytes) -> Record:
    return Record(seen.id, seen.project, seen.at, seen.source, seen.format, seen.place, body)


@relaxed
@given(st.sampled_from(REAL), st.data())
def test_any_value_may_stand_in_any_place(seen: Record, data: st.DataObject) -> None:
    value = json.loads(seen.body)
    for _ in range(data.draw(st.integers(1, 3))):
        value = put(value, data.draw(st.sampled_from(places(value))), data.draw(ANYTHING))
    assert isinstance(decode(again(seen, json.dumps(value).encode())), tuple)


@relaxed
@given(st.sampled_from(REAL), st.integers(0, 50_000), st.binary(max_size=3))
def test_a_line_that_was_cut_or_damaged_is_unreadable_or_read(seen: Record, at: int, junk: bytes) -> None:
    at = at % len(seen.body.rstrip())
    (cut,) = decode(again(seen, seen.body[:at]))
    assert isinstance(cut, Unreadable)
    assert isinstance(decode(again(seen, seen.body[:at] + junk + seen.body[at + len(junk) :])), tuple)


@relaxed
@given(PLACES, st.binary(max_size=60) | ANYTHING.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_survived_in_any_file(place: str, body: bytes) -> None:
    assert isinstance(decode(record(body, place)), tuple)


@relaxed
@given(st.text(max_size=60), ANYTHING)
def test_any_place_is_survived(place: str, value: Any) -> None:
    seen = Record(
        "obs", "default", 0, "transcript", "claude", place, json.dumps({"type": "user", "message": value}).encode()
    )
    assert isinstance(decode(seen), tuple)


def test_a_deep_value_is_survived() -> None:
    for depth in (100, 300, 450, 600, 900, 2000):
        deep = '{"a":' * depth + "1" + "}" * depth
        body = (
            '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"n","input":%s}]}}'
        )
        assert decode(record((body % deep).encode()))
