"""Lines of the event log: what is an event, what is cut out of it, and what is left of one that is too large."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ramify.model.event import Unreadable
from ramify.model.observation import Record
from ramify.model.operation_event import Answered, OperationEvent, Pushed, Snapshots
from ramify.protocols.adcp.decode import decode
from ramify.protocols.adcp.keep import Entry, keep
from ramify.protocols.adcp.lines import BadLine, viewed
from ramify.protocols.adcp.redact import redacted
from ramify.protocols.adcp.words import status_word
from tests.event_story import CASES, expected, lines

ENTRY = Entry("default", 1_800_000_000_000_000, identity="1")
EVENT = {"eventType": "protocol_response", "operationId": "op", "agentId": "a", "taskType": "t"}


def event(**more: Any) -> OperationEvent:
    found = decode(keep({**EVENT, **more}, ENTRY))
    assert isinstance(found, OperationEvent)
    return found


@pytest.mark.parametrize(
    ("native", "ours"),
    [
        ("TASK_STATE_INPUT_REQUIRED", "input-required"), ("needs_input", "input-required"), ("cancelled", "canceled"),
        ("Auth-Required", "auth-required"), ("TASK_STATE_UNSPECIFIED", "unknown"), ("thinking", "unknown"), ("", ""), (None, ""),
    ],
)  # fmt: skip
def test_words_in_every_spelling(native: str | None, ours: str) -> None:
    assert status_word(native) == ours


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({}, "neither"),
        ({"eventType": "protocol_request"}, "operationId is missing"),
        ({**EVENT, "agentId": ""}, "agentId must be a text that is not empty"),
        ({**EVENT, "operationId": 7}, "operationId must be a text"),
        ({**EVENT, "operationId": "x" * 256}, "256 characters"),
        ({**EVENT, "agentTaskId": "x" * 256}, "256 characters"),
        ({"objectType": "creative", "operationId": "op", "status": "ok"}, "targetEntity is missing"),
        ({"kind": "result", "op": "op", "agent": "a"}, "method is missing"),
        ({"kind": "result", "op": "op", "method": "m"}, "agent is missing"),
        ({"kind": "stream", "op": "op", "agent": "a", "event": {}}, "no A2A stream response"),
        ({"kind": "nothing", "op": "op"}, "neither"),
        ({"kind": "result", "op": 7, "agent": "a", "method": "m"}, "op must be a text"),
        ({"kind": "result", "op": "op", "agent": "a", "method": "m", "call": 7}, "call must be a text"),
        ({"kind": "activity", "op": "op", "activity": {"type": "protocol_request", "operation_id": 7, "agent_id": "a"}}, "activity.operation_id must be"),
    ],
)
def test_what_is_no_event_says_why(line: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadLine, match=reason):
        keep(line, ENTRY)


def test_snake_and_camel_are_the_same_and_the_stores_fields_are_its_own() -> None:
    snake = viewed({"event_type": "progress", "operation_id": "o", "agent_id": "a", "task_type": "t", "seq": 9, "flags": ["late"]})
    assert snake == {"eventType": "progress", "operationId": "o", "agentId": "a", "taskType": "t"}
    assert viewed({**EVENT, "mine": {"kept": 1}})["mine"] == {"kept": 1}


def test_an_unknown_type_is_kept_and_means_nothing() -> None:
    assert type(event(eventType="something_new").said).__name__ == "Shown"


def test_nobody_outside_sets_what_only_the_store_may() -> None:
    record = keep({**EVENT, "ramify": {"session": "theirs", "read": {"status": "failed"}}}, ENTRY)
    found = decode(record)
    assert isinstance(found, OperationEvent)
    assert (found.heading.session, found.heading.status) == ("local", "completed")


SECRETS = {
    "push_notification_config": {"authentication": {"credentials": "hmac-secret-1", "schemes": ["HMAC-SHA256"]}},
    "headers": {"Authorization": "Bearer bearer-secret-1", "Mcp-Session-Id": "mcp-secret-1", "Content-Type": "text/plain"},
    "pairs_headers": [["Cookie", "cookie-secret-1"], {"name": "X-API-Key", "value": "api-secret-1"}],
    "apiKey": "api-secret-2", "PRIVATE-KEY": "private-secret-1", "userPasswd": ["passwd-secret-1"],
    "session_token": {"deep": "token-secret-1"}, "raw": '{"secret": "raw-secret-1", "progressToken": 7}',
    "url": "https://user:url-secret-1@host/path?access_token=url-secret-2&page=2#x",
    "history": [{"text": "echo of hmac-secret-1 and bearer-secret-1 inside"}],
    "idempotency_key": "idem-secret-1", "again": "idem-secret-1",
}  # fmt: skip


def test_secrets_go_wherever_they_stand() -> None:
    clean = redacted(SECRETS)
    assert "-secret-" not in json.dumps(clean)
    assert clean["idempotency_key"] == clean["again"] == redacted({"idempotencyKey": "idem-secret-1"})["idempotencyKey"]
    assert clean["headers"]["Content-Type"] == "text/plain"
    assert clean["url"].endswith("&page=2#x")
    assert json.loads(clean["raw"])["progressToken"] == 7
    assert redacted(clean) == clean


def test_a_password_in_an_address_may_hold_the_sign_that_ends_it() -> None:
    clean = redacted({"url": "https://user:pass@word@host/path?mail=a@b", "text": "see https://host/a@b, or not"})
    assert clean == {"url": "https://[redacted]@host/path?mail=a@b", "text": "see https://host/a@b, or not"}


@pytest.mark.parametrize(
    ("address", "clean"),
    [
        ("https://h/cb#access_token=s3cret-1&state=x", "https://h/cb#access_token=[redacted]&state=x"),
        ("/p?to%6ben=s3cret-1&page=2", "/p?to%6ben=[redacted]&page=2"),
        ("/p?token=s3;cret-1&page=2", "/p?token=[redacted]&page=2"),
        ("/p?token=s3cret-1;page=2#top", "/p?token=[redacted];page=2#top"),
        ("/p?page=2#part;one", "/p?page=2#part;one"),
    ],
)
def test_secrets_in_any_part_of_an_address_go(address: str, clean: str) -> None:
    assert redacted({"uri": address}) == {"uri": clean}
    assert redacted({"uri": clean}) == {"uri": clean}


def test_counts_of_tokens_and_cursors_are_no_secrets() -> None:
    plain = {"progressToken": 1, "pageToken": "p", "nextPageToken": "q", "max_tokens": 5, "hasToken": True, "token": None}
    assert redacted(plain) == plain


@settings(max_examples=60, deadline=None)
@given(
    some.recursive(
        some.none() | some.booleans() | some.integers(-(2**53), 2**53) | some.text(max_size=12),
        lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=9) | some.sampled_from(["token", "headers"]), inner, max_size=3),
        max_leaves=10,
    )
)  # fmt: skip
def test_redacting_twice_is_redacting_once(value: Any) -> None:
    once = redacted({"payload": value, "secret": "a-known-secret"})
    assert redacted(once) == once
    assert "a-known-secret" not in json.dumps(once)


@pytest.mark.parametrize("case", [case for case in CASES if expected(case).get("secrets")])
def test_the_secrets_of_recorded_lines_go(case: str) -> None:
    kept = b"".join(keep(line, ENTRY).body for line in lines(case))
    assert not [secret for secret in expected(case)["secrets"] if secret.encode() in kept]


BIG = ["x" * 1000] * 100


def test_a_large_event_keeps_its_meaning_and_a_note_of_what_it_was() -> None:
    record = keep({**EVENT, "payload": {"task_id": "t1", "status": "submitted", "creatives": BIG}}, ENTRY)
    assert len(record.body) < 64 * 2**10
    found = decode(record)
    assert isinstance(found, OperationEvent)
    assert isinstance(found.said, Answered)
    assert (found.said.status, found.said.work, found.heading.flags) == ("submitted", "t1", ("truncated",))
    payload = json.loads(record.body)["payload"]
    assert (payload["truncated"], payload["task_id"], payload["bytes"] > 100_000) == (True, "t1", True)


def test_a_large_push_that_came_as_text_keeps_its_short_fields() -> None:
    raw = json.dumps({"task_id": "t1", "status": "completed", "idempotency_key": "k" * 20, "result": BIG})
    kept = json.loads(keep({"kind": "webhook", "op": "op", "agent": "a", "raw": raw}, ENTRY).body)
    assert kept["raw"].items() >= {"truncated": True, "task_id": "t1", "status": "completed"}.items()
    assert kept["raw"]["idempotency_key"].startswith("sha256:")


def test_large_pushes_and_listings_keep_their_meaning() -> None:
    task = {"id": "a1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}, "history": BIG}
    pushed = decode(keep({"kind": "webhook", "op": "op", "agent": "a", "body": {"task": task}}, ENTRY))
    assert isinstance(pushed, OperationEvent)
    assert isinstance(pushed.said, Pushed)
    assert [(word.of, word.id, word.status) for word in pushed.said.words] == [("transport", "a1", "working")]
    data = {"tasks": [{"task_id": f"t{n}", "status": "working", "x": BIG[:2]} for n in range(60)]}
    listed = decode(keep({"kind": "listing", "op": "op", "agent": "a", "method": "list_tasks", "data": data}, ENTRY))
    assert isinstance(listed, OperationEvent)
    assert isinstance(listed.said, Snapshots)
    assert len(listed.said.words) == 60


def test_what_is_far_too_large_is_refused() -> None:
    with pytest.raises(BadLine, match="more than 4194304"):
        keep({**EVENT, "payload": "x" * (5 * 2**20)}, ENTRY)


@settings(max_examples=200, deadline=None)
@given(some.binary(max_size=60) | some.sampled_from([b"{}", b"[]", b"null", b'{"eventType": 3}', b'{"kind": []}', b'{"ramify": 5}']))
def test_decoding_never_raises(body: bytes) -> None:
    assert isinstance(decode(Record("obs_1", "p", 1, "s", "adcp", "x:1", body)), Unreadable)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=30, deadline=None)
@given(data=some.data())
def test_mutated_lines_are_events_or_say_why_not(case: str, data: some.DataObject) -> None:
    line = data.draw(some.sampled_from(lines(case)))
    name = data.draw(some.sampled_from(sorted(line)))
    strange = data.draw(some.sampled_from([None, 0, True, "", [], {}, "x" * 300, [1], {"status": {"state": 5}}, {"tasks": [3, {}]}]))
    try:
        decode(keep({**line, name: strange}, ENTRY))
    except BadLine:
        pass
    assert msgspec.json.encode(line)
