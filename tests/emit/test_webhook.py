"""Pushes that a program received itself, told as they came."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import ramify
from ramify.emit import Emitter, Memory


def told(raw: bytes | str, headers: Any = None, path: str = "", **named: Any) -> dict[str, Any]:
    emitter, memory = Emitter(), Memory()
    emitter.subscribe(memory)
    ramify.webhook(raw, headers, path, emitter=emitter, **named)
    (event,) = memory.events
    assert event.pop("at")
    assert event.pop("eventId")
    return event


def test_body_path_and_agent_are_told_and_secret_headers_are_not() -> None:
    headers = {"Content-Type": "application/json", "X-ADCP-Signature": "sha256=abc", "authorization": "Bearer abc"}
    assert told(b'{"task_id": "t1", "status": "working"}', headers, "/hooks/sync/seller%20one/op_1?key=abc") == {
        "kind": "webhook", "op": None, "agent": "seller one", "path": "/hooks/sync/seller%20one/op_1",
        "body": {"task_id": "t1", "status": "working"},
        "headers": {"Content-Type": "application/json", "X-ADCP-Signature": "[redacted]", "authorization": "[redacted]"},
    }


def test_what_is_no_json_is_told_as_text() -> None:
    assert told(b"\xffno json", agent="a", operation="op") == {
        "kind": "webhook", "op": "op", "agent": "a", "path": "", "raw": "\ufffdno json", "headers": {},
    }


def test_what_cannot_be_told_is_counted_and_not_raised() -> None:
    emitter = Emitter()
    emitter.subscribe(Memory())
    ramify.webhook(None, 3, None, emitter=emitter)  # type: ignore[arg-type]
    assert emitter.stats()["unencodable"] == 1


@given(st.binary() | st.text(), st.dictionaries(st.text(), st.text()), st.text())
def test_whatever_comes_is_told(raw: bytes | str, headers: dict[str, str], path: str) -> None:
    assert told(raw, headers, path)["kind"] == "webhook"


def test_the_emitter_of_the_process_is_the_default() -> None:
    memory = Memory()
    ramify.emitter.subscribe(memory)
    try:
        ramify.webhook(b"{}", {}, "/sync/seller/op")
    finally:
        ramify.emitter.unsubscribe(memory)
    assert memory.events[0]["agent"] == "seller"
