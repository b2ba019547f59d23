"""Secrets in text, JSON and headers."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ramify.capture.cleaner import Cleaner
from ramify.capture.redact import redact_address, redact_headers, redact_json, redact_sse, redact_text
from ramify.model.observation import Response
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


R = "[redacted:secret]"


@pytest.mark.parametrize(
    ("given", "clean"),
    [
        ({"api_keys": ["hunter2", "hunter3"], "n": [1]}, {"api_keys": [R, R], "n": [1]}),
        ({"user_access_tokens": ["hunter2"], "refreshTokens": ["a", "b"]}, {"user_access_tokens": [R], "refreshTokens": [R, R]}),
        ({"passwords": ["hunter2"], "b": ["c"]}, {"passwords": [R], "b": ["c"]}),
        ({"secret": {"value": "hunter2", "n": 1}}, {"secret": {"value": R, "n": 1}}),
        ({"password": 12345678, "n": 12345678}, {"password": R, "n": 12345678}),
        ([{"name": "API_KEY", "value": "hunter2"}, {"name": "HOME", "value": "x"}], [{"name": "API_KEY", "value": R}, {"name": "HOME", "value": "x"}]),
        ([{"key": "GITHUB_TOKEN", "value": "hunter2"}], [{"key": "GITHUB_TOKEN", "value": R}]),
        ({"name": "db_password", "value": "hunter2"}, {"name": "db_password", "value": R}),
        ([{"value": "hunter2", "name": "API_KEY"}, {"value": "x", "key": "HOME"}], [{"value": R, "name": "API_KEY"}, {"value": "x", "key": "HOME"}]),
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_lists_objects_numbers_and_settings_are_known_by_their_names(given: Any, clean: Any, indent: int | None) -> None:
    once = redact_json(json.dumps(given, indent=indent).encode())
    assert json.loads(once) == clean
    assert redact_json(once) == once
    inner = json.loads(redact_json(json.dumps({"text": json.dumps({"deep": json.dumps(given, indent=indent)})}).encode()))
    assert json.loads(json.loads(inner["text"])["deep"]) == clean


@pytest.mark.parametrize(
    "given",
    [
        {"max_tokens": 32000, "tokens": ["a", "b"], "token": 70000, "password": {"type": "string", "value": 1}, "keys": ["alpha", "beta"]},
        {"secret": {"name": "db"}, "secrets": ["DB", "API"], "password": True, "passwords": [], "api_keys": [{"id": "k1"}], "tokens": ["Hel", "lo"], "stop_tokens": ["END"], "auth_tokens": 12345, "password_length": 12345},
        [{"name": "COLOR", "value": "hunter2"}, {"name": "primary_key", "value": "id"}, {"value": "x", "name": "sort"}],
        "<secret-name>abcdef</secret-name> <x>password</x> </password>text</p> name=\"file\"\r\n\r\nvalue",
    ],
)
def test_what_only_stands_near_such_names_stays(given: Any) -> None:
    document = json.dumps({"a": given, "b": json.dumps(given)}).encode()
    assert redact_json(document) == document


@pytest.mark.parametrize("name", ["api_key", "password", "client_secret"])
@pytest.mark.parametrize("head", ["", "Content-Type: text/plain\r\n"])
def test_a_field_of_a_form_in_parts_is_known_by_its_name(name: str, head: str) -> None:
    form = f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n{head}\r\ncorrect horse\r\n--b--\r\n'
    for text in (form, json.dumps({"text": form})):
        clean = redact_json(text.encode()).decode()
        assert "horse" not in clean
        assert "--b--" in clean


@pytest.mark.parametrize("rest", ["", "\nnext line", '", "kept": 1}'])
def test_broken_json_loses_its_secret_and_nothing_else(rest: str) -> None:
    assert (
        redact_json(('{"password": "hunter2' + rest).encode())
        == ('{"password": "[redacted:secret]' + rest).encode()
    )


def test_json_cut_inside_a_string_ends_with_that_string() -> None:
    document = json.dumps({"text": '{"password": "hunter2'}) + ' "and more"'
    assert redact_json(document.encode()) == document.replace("hunter2", "[redacted:secret]").encode()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r'{"a":"sk\u002dant\u002dapi03\u002dK","b":"\u002d \/"}', r'{"a":"[redacted:anthropic-key]","b":"\u002d \/"}'),
        (r'{"a":"{\u0022password\u0022:\u0022hunter2\u0022}"}', r'{"a":"{\"password\":\"[redacted:secret]\"}"}'),
        (r'{"pass\u0077ord":"hunter2"}', '{"password":"[redacted:secret]"}'),
        (r'{"a":"https:\/\/bob:hunter2@example.org\/x"}', '{"a":"https://bob:[redacted:url-password]@example.org/x"}'),
        (r"no JSON: sk\u002dant-api03-K", "no JSON: [redacted:anthropic-key]"),
        (r'{"a":"cut sk\u002dant-api03-K', '{"a":"cut [redacted:anthropic-key]'),
        (r'{"a":"\ud83d sk\u002dant-api03-K"}', r'{"a":"\ud83d [redacted:anthropic-key]"}'),
    ],
)
def test_letters_that_are_escaped_are_judged_as_they_read(written: str, read: str) -> None:
    raw = written.replace("K", noise(40)).encode()
    assert redact_json(raw).decode() == read


@pytest.mark.parametrize("written", [r'{"a":"\u001b[1m \u00e9 \u003cb\u003e \u0027 \/usr\/bin \\/ \\u002d"}', r"\u002", r'"\u00', r"\/", r"\u005c\u0022"])
def test_escapes_that_hide_nothing_stay(written: str) -> None:
    assert redact_json(written.encode()) == written.encode()
    assert redact_text(written.encode()) == written.encode()


@pytest.mark.parametrize(
    ("address", "clean"),
    [
        ("/v1/x/sk%2Dant%2Dapi03%2DK/y%20z?a=%2F", "/v1/x/[redacted:anthropic-key]/y%20z?a=%2F"),
        ("/v1/x?q=sk%2dant%2dapi03%2dK&b=%C3%A9", "/v1/x?q=[redacted:anthropic-key]&b=%C3%A9"),
        ("/v1/x?api%5Fkey=K", "/v1/x?api_key=[redacted:key]"),
        ("/v1/x/sk%252Dant%252Dapi03%252DK/y%20z?a=%252F", "/v1/x/[redacted:anthropic-key]/y%20z?a=%252F"),
        ("/v1/x?q=100%25&p=a%2Fb%2D%5F", "/v1/x?q=100%25&p=a%2Fb%2D%5F"),
        ("/v1/%zz%", "/v1/%zz%"),
    ],
)
def test_an_address_is_judged_as_it_reads(address: str, clean: str) -> None:
    given = address.replace("K", noise(40))
    assert redact_address(given) == clean
    assert redact_address(clean) == clean
    assert redact_headers((("referer", given),)) == (("referer", clean),)


def test_what_went_wrong_is_told_without_secrets() -> None:
    error = f"cannot reach https://bob:hunter2@example.org with {SELF_EVIDENT['anthropic-key']}"
    seen = Response("a", "default", 1, "proxy", "r", "/v1/messages", 502, (), b"", "failed", 1, error)
    clean = replace(seen, error="cannot reach https://bob:[redacted:url-password]@example.org with [redacted:anthropic-key]")
    assert Cleaner().observation(seen) == Cleaner().head(seen) == clean
    assert Cleaner().observation(clean) is clean


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
        "Authentication",
        "DPoP",
        "x-acme-key",
        "X-Encryption-Key",
        "x-ramify-session",
        "x-user-pass",
        "X-OTP",
        "x-csrf",
        "x-sid",
        "X-Session",
        "pwd",
        "x-app-session-cookie",
        "x-amzn-oidc-data",
        "X-Honeycomb-Team",
    )
    plain = (
        "x-pass-through",
        "x-compass",
        "accept-cookie-policy",
        "x-residual-csrf-state-id",
        "anthropic-ratelimit-input-tokens-remaining",
        "x-claude-code-session-id",
        "request-id",
        "content-type",
        "x-claude-code-agent-token",
        "anthropic-version",
        "www-authenticate",
        "idempotency-key",
        "x-idempotency-key",
        "surrogate-key",
        "sec-websocket-key",
        "x-cache-key",
        "x-session-id",
        "monkey",
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
    "\\u002d",
    "\\u0022",
    "\\\\u0022password\\\\u0022:",
    "sk\\u002dant\\u002dapi03\\u002d0123456789",
    "\\/",
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
        "\\u0022" * 60_000,
        '"api_keys":["a",' * 20_000,
        '"api_keys":[' + '"a",' * 60_000,
        '"password":1' * 30_000,
        '"secret":{"value":"' * 20_000,
        '"name":"API_KEY","value":' * 12_000,
        '"name":"API_KEY","value":"a",' * 12_000,
        '"value":"a","name":"API_KEY",' * 12_000,
        '"value":"' * 30_000,
        "<password>" * 30_000,
        'name="password"\r\n\r\n' * 15_000,
        "\\u002d" * 60_000,
        "\\/" * 100_000,
        '"' + '\\"' * 60_000 + "\\/sk\\u002dant\\u002dapi03\\u002d01234567",
        '"\\/sk\\u002dant\\u002dapi03\\u002d01234567" ' * 2_000,
        "\\" * 300_000 + "\\/",
        "\\\\" * 60_000 + "u002d",
        *(letter * 300_000 for letter in "_.-:=aA0 ~"),
    ],
)
def test_hostile_text_takes_linear_time(hostile: str) -> None:
    began = time.thread_time()  # a busy machine makes everything wait, but nothing work more
    redact_sse(b"data: " + hostile.encode())
    assert time.thread_time() - began < 5  # milliseconds when linear, minutes when not
