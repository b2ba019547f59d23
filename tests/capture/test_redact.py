"""Secrets in text, JSON and headers."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.capture.redact import redact_headers, redact_json, redact_sse, redact_text
from tests.capture.corpus import HARMLESS, HARMLESS_NAMES, IN_CONTEXT, NAMES, PEM, SELF_EVIDENT, noise


@pytest.mark.parametrize("kind", SELF_EVIDENT)
def test_a_secret_becomes_a_mark_of_its_kind(kind: str) -> None:
    text = f"before {SELF_EVIDENT[kind]} after".encode()
    assert redact_text(text) == f"before [redacted:{kind}] after".encode()


@pytest.mark.parametrize("kind", SELF_EVIDENT)
def test_a_secret_is_found_after_an_escaped_line_end(kind: str) -> None:
    document = json.dumps({"content": f"first line\n{SELF_EVIDENT[kind]}\nlast line"})
    expected = {"content": f"first line\n[redacted:{kind}]\nlast line"}
    assert json.loads(redact_json(document.encode())) == expected
    twice = json.dumps({"inner": document})
    assert json.loads(json.loads(redact_json(twice.encode()))["inner"]) == expected


@pytest.mark.parametrize(("kind", "frame", "secret"), IN_CONTEXT)
def test_a_secret_is_known_by_the_words_around_it(kind: str, frame: str, secret: str) -> None:
    redacted = redact_text(frame.format(secret).encode()).decode()
    assert secret not in redacted
    assert f"[redacted:{kind}]" in redacted


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text.encode()) == text.encode()
    document = json.dumps({"text": text, "inner": json.dumps({"text": text})}).encode()
    assert redact_json(document) == document


def test_base64_of_images_and_signatures_stays_even_when_a_key_shows_up_in_it() -> None:
    data = noise(400) + SELF_EVIDENT["google-key"] + noise(400) + SELF_EVIDENT["aws-key-id"] + noise(300)
    document = json.dumps({"type": "base64", "data": data, "signature": data}).encode()
    assert redact_json(document) == document


def test_a_private_key_without_its_end_goes_as_far_as_it_looks_like_one() -> None:
    cut = f"     1→{PEM.splitlines()[0]}\n     2→{noise(64)}\n     3→{noise(64)}"
    assert redact_text(cut.encode()).decode() == "     1→[redacted:private-key]"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_value_with_a_secret_name_goes_at_any_depth(name: str, indent: int | None) -> None:
    inner = json.dumps({name: 'hun"ter\\2\n', "kept": "x"}, indent=indent)
    middle = json.dumps({"result": inner}, indent=indent)
    document = json.dumps({name: 'hun"ter2\\', "content": [{"text": middle}]}, indent=indent)
    redacted = json.loads(redact_json(document.encode()))
    assert redacted[name] == "[redacted:secret]"
    result = json.loads(json.loads(redacted["content"][0]["text"])["result"])
    assert result == {name: "[redacted:secret]", "kept": "x"}


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_a_value_with_another_name_stays(name: str) -> None:
    document = json.dumps({name: "hunter2", "inner": json.dumps({name: "hunter2"})}).encode()
    assert redact_json(document) == document


def test_only_strings_are_taken_and_all_other_bytes_stay() -> None:
    document = b'{"password" : {"a":"b"},\t"token":7, "secret":"", "api_key" :  "abc", "a":1e5,"a":"\\u00e9"}'
    assert redact_json(document) == document.replace(b'"abc"', b'"[redacted:secret]"')


@pytest.mark.parametrize("rest", ["", "\nnext line", '", "kept": 1}'])
def test_broken_json_loses_its_secret_and_nothing_else(rest: str) -> None:
    assert (
        redact_json(('{"password": "hunter2' + rest).encode())
        == ('{"password": "[redacted:secret]' + rest).encode()
    )


def test_json_cut_inside_a_string_ends_with_that_string() -> None:
    document = json.dumps({"text": '{"password": "hunter2'}) + ' "and more"'
    assert redact_json(document.encode()) == document.replace("hunter2", "[redacted:secret]").encode()


def test_headers_that_carry_secrets_lose_their_value() -> None:
    secret = (
        "Authorization",
        "proxy-authorization",
        "X-Api-Key",
        "cookie",
        "Set-Cookie",
        "x-goog-api-key",
        "x-auth-token",
        "x-amz-security-token",
        "client-secret",
        "x-hub-signature-256",
        "x-ramify-token",
        "api_key",
    )
    plain = (
        "anthropic-ratelimit-input-tokens-remaining",
        "x-claude-code-session-id",
        "request-id",
        "content-type",
        "x-claude-code-agent-token",
        "anthropic-version",
        "www-authenticate",
    )
    headers = tuple((name, "v") for name in secret + plain)
    assert dict(redact_headers(headers)) == dict.fromkeys(secret, "[redacted]") | dict.fromkeys(plain, "v")


FRAGMENTS = [
    *SELF_EVIDENT.values(),
    *(frame.format(secret) for _, frame, secret in IN_CONTEXT),
    *HARMLESS,
    '"password": "',
    '\\"',
    '"',
    "\\",
    "\n",
    ":",
    "data: ",
    '"token":"',
    '"type":"text_delta"',
    '"text":"',
    '"index":0',
    "[redacted:x]",
    "-----",
]


@settings(max_examples=300)
@given(
    st.lists(st.one_of(st.sampled_from(FRAGMENTS).map(str.encode), st.binary(max_size=8)), max_size=8).map(
        b"".join
    )
)
def test_redacting_never_raises_and_twice_is_the_same_as_once(raw: bytes) -> None:
    for redact in (redact_text, redact_json, redact_sse):
        once = redact(raw)
        assert redact(once) == once


@pytest.mark.parametrize(
    "hostile",
    [
        "eyJ" * 200_000,
        "-----BEGIN PRIVATE KEY-----" * 20_000,
        "://a:" * 100_000,
        '"password":"' * 50_000,
        "\\" * 300_000,
        '"token\\":' * 50_000,
        "sk-" * 200_000,
        "TOKEN=" * 80_000,
        "Bearer " * 60_000,
        "authorization:" * 40_000,
        "token=" * 80_000,
        "secret: " * 60_000,
        "password=a1" * 50_000,
        "token=" + "a1b2" * 100_000,
        "Cookie: a=" * 40_000,
        "curl -u a:" * 40_000,
        '"auth": "' * 50_000,
        "LS0tLS1CRUdJTi" * 30_000,
        "Private-Lines: 1\n" * 30_000,
        "Private-Lines: 1\n" + "A" * 300_000,
        "pat01234567890123." * 20_000,
        "M" * 23 + (".a1b2c3." + "M" * 27) * 10_000,
        "gsk_" * 80_000,
        "?code=" * 60_000,
        *(letter * 300_000 for letter in "_.-:=aA0 ~"),
    ],
)
def test_hostile_text_takes_linear_time(hostile: str) -> None:
    began = time.perf_counter()
    redact_sse(b"data: " + hostile.encode())
    assert time.perf_counter() - began < 5  # milliseconds when linear, minutes when not
