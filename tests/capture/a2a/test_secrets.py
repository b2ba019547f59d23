"""Nothing that a name or its own form gives away stays in a frame; everything else keeps its bytes."""

import json
from base64 import b64decode, b64encode
from typing import Any

import pytest

from ramify.capture.a2a.secrets import redact_frame, redact_stream, scheme_names
from ramify.capture.a2a.values import is_secret_name
from ramify.capture.cleaner import Cleaner
from ramify.model.observation import Record

SECRET = "correct-horse-battery"


def frame(**members: Any) -> bytes:
    return json.dumps({"agent": "v1", "connection": "c", "seq": 0, "time": "t", "kind": "request", **members}).encode()


def clean(**members: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(redact_frame(frame(**members)))
    return found


@pytest.mark.parametrize(
    "name",
    ["token", "credentials", "clientSecret", "x-a2a-notification-token", "API_KEY", "apiKey", "password", "accessToken", "Authorization", "cookie"],
)
def test_names_that_give_a_secret_away(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["nextPageToken", "pageToken", "progressToken", "input_tokens", "maxTokens", "tokenUrl", "apiKeySecurityScheme", "messageId", "token_count"],
)
def test_names_that_only_look_like_it(name: str) -> None:
    assert not is_secret_name(name)


def test_headers_keep_their_names_and_lose_their_values() -> None:
    headers = {"authorization": f"Bearer {SECRET}", "x-api-key": SECRET, "cookie": SECRET, "x-a2a-notification-token": SECRET, "a2a-version": "1.0"}
    got = clean(headers=headers)["headers"]
    assert got == {name: "1.0" if name == "a2a-version" else "[redacted]" for name in headers}


@pytest.mark.parametrize(
    "config",
    [
        {"taskPushNotificationConfig": {"url": "http://hook", "token": SECRET, "authentication": {"scheme": "Bearer", "credentials": SECRET}}},
        {"pushNotificationConfig": {"url": "http://hook", "token": SECRET, "authentication": {"schemes": ["Bearer"], "credentials": SECRET}}},
        {"secrets": {"deep": [{"anything": SECRET}]}},
        {"url": f"https://user:{SECRET}@hook/x"},
        {"url": f"https://hook/x?apiKey={SECRET}"},
        {"text": json.dumps({"token": SECRET})},
        {"text": json.dumps({"inner": json.dumps({"credentials": json.dumps({"token": SECRET})})})},
        {"text": f'see {{"password": "{SECRET}"}} there'},
    ],
    ids=str,
)
def test_what_a_request_holds_in_its_body_is_gone_in_whatever_form(config: dict[str, Any]) -> None:
    for body in ({"params": {"configuration": config}}, [config], json.dumps(config)):
        got = redact_frame(frame(body=body))
        assert SECRET not in got.decode()
        assert b"[redacted" in got
    stream = b"".join(b"data: " + line.encode() + b"\r\n" for line in json.dumps({"result": config}, indent=1).splitlines())
    for event in (f"data: {json.dumps({'result': config})}\n\n".encode(), stream + b"\r\n"):
        got = redact_stream(b": ping\n\n" + event + b"data: {}\n\n")
        assert SECRET.encode() not in got
        assert got.startswith(b": ping\n\n")
        assert got.endswith(b"data: {}\n\n")
        assert SECRET not in redact_frame(frame(kind="sse", raw=event.decode())).decode()
        packed = clean(kind="sse", raw_b64=b64encode(b"\xff\n\n" + event).decode())["raw_b64"]
        assert SECRET.encode() not in b64decode(packed)


def test_a_secret_that_comes_back_elsewhere_in_the_same_event_is_gone_there_too() -> None:
    got = clean(body={"token": SECRET, "history": [{"parts": [{"text": f"I was given {SECRET}."}]}]})
    assert got["body"]["history"][0]["parts"][0]["text"] == "I was given [redacted]."


def test_what_holds_no_secret_keeps_every_byte() -> None:
    line = b'{"agent": "v1",  "kind":"sse","raw":"data: {\\"nextPageToken\\": \\"abc\\", \\"n\\": 1.0}\\n\\n","body":12345678901234567890123}'
    assert redact_frame(line) is line
    shown = b'{"headers":{"authorization":"[redacted]"},"body":{"n": 12345678901234567890123, "x":  1e3}}'
    assert redact_frame(shown) is shown


def test_an_event_without_secrets_keeps_its_bytes_beside_one_that_loses_some() -> None:
    plain = b'event:  odd\r\ndata:{ "n" : 1 }\r\n\r\n'
    got = redact_stream(plain + b'id: 4\r\ndata: {"token": "' + SECRET.encode() + b'"}\r\n\r\n' + plain)
    assert got == plain + b'id: 4\r\ndata: {"token":"[redacted]"}\r\n\r\n' + plain


def test_a_line_that_is_no_frame_is_searched_all_the_same() -> None:
    for line in (f'{{"token": "{SECRET}", broken', f'["{{\\"token\\": \\"{SECRET}\\"}}"]', f'{{"path": "/x?token={SECRET}"}}', f'"x-a2a-notification-token": "{SECRET}" and "{SECRET}', f'"token": "{SECRET}'):
        assert SECRET not in redact_frame(line.encode()).decode()


def test_a_card_says_which_headers_are_keys() -> None:
    card = {"securitySchemes": {"a": {"type": "apiKey", "in": "header", "name": "X-A"}, "b": {"apiKeySecurityScheme": {"name": "X-B"}}, "c": 1}}
    assert set(scheme_names(card)) == {"x-a", "x-b"}
    assert list(scheme_names({"securitySchemes": []})) == list(scheme_names([])) == []


def test_the_cleaner_of_the_store_knows_frames() -> None:
    seen = Record("obs_1", "p", 1, "proxy", "a2a", "v1/c#0", frame(headers={"x-a2a-notification-token": SECRET}))
    got = Cleaner().observation(seen)
    assert isinstance(got, Record)
    assert SECRET.encode() not in got.body
    assert Cleaner().observation(got) is got
