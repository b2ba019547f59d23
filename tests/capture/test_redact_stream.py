"""Secrets in event streams and in compressed bodies."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.capture.redact import redact_body, redact_json, redact_sse
from tests.capture.corpus import FIELDS, SELF_EVIDENT, cut, event, noise, said, stream
from tests.capture.secret_formats import planted


def test_a_secret_cut_over_events_is_found_and_the_first_event_carries_the_rest() -> None:
    secret = SELF_EVIDENT["anthropic-key"]
    redacted = redact_sse(stream("text_delta", ["use ", secret[:5], secret[5:30], secret[30:] + " now"]))
    assert said(redacted) == ["use [redacted:anthropic-key] now", "", "", ""]
    assert redacted.count(b"event: ping") == 2


def test_a_stream_without_secrets_comes_back_untouched() -> None:
    raw = stream(
        "text_delta", ["ta", "sk-0123456789abcdef0123456789abcdef", ' "pass', 'word" \u00e9\U0001f600']
    )
    assert redact_sse(raw) == raw
    assert redact_sse(raw.replace(b"\n", b"\r\n")) == raw.replace(b"\n", b"\r\n")


def test_signatures_pass_and_other_events_are_looked_at() -> None:
    secret = SELF_EVIDENT["github-token"]
    signature = event(
        "content_block_delta", index=0, delta={"type": "signature_delta", "signature": noise(300)}
    )
    error = event("error", error={"message": f"no access with {secret}"})
    redacted = redact_sse((signature + error).encode()).decode()
    assert redacted.startswith(signature)
    assert redacted == (signature + error).replace(secret, "[redacted:github-token]")


@pytest.mark.parametrize("delta", FIELDS)
@pytest.mark.parametrize("kind", SELF_EVIDENT)
@settings(max_examples=15)
@given(
    before=st.text('ab é\n"\\x.', max_size=20),
    after=st.text('ab é\n"\\x.', max_size=20),
    places=st.lists(st.integers(0, 500), max_size=12),
    end=st.integers(0, 10_000),
)
def test_no_cut_hides_a_secret(
    delta: str, kind: str, before: str, after: str, places: list[int], end: int
) -> None:
    secret = SELF_EVIDENT[kind]
    text = before + secret + after
    raw = stream(delta, cut(json.dumps({"command": text}) if delta == "input_json_delta" else text, places))
    for seen in (raw, raw[: end % (len(raw) + 1)]):
        redacted = redact_sse(seen)
        assert redact_sse(redacted) == redacted
        whole_lines = redacted.rpartition(b"\n")[0]
        joined = "".join(said(whole_lines))
        assert secret not in joined
        assert secret not in joined.replace("\\n", "\n")
        assert secret.encode() not in redacted


@settings(max_examples=60)
@given(
    st.sampled_from(
        [
            *SELF_EVIDENT.values(),
            '{"password": "hunter2", "x": 1}',
            "DB_PASSWORD=hunter22 ",
            "Bearer " + noise(30),
        ]
    ),
    st.text('ab \n"\\{}:é', max_size=12),
    st.text('ab \n"\\{}:é', max_size=12),
    st.lists(st.integers(0, 500), max_size=6),
)
def test_a_prompt_reads_the_same_in_a_streamed_tool_call_and_in_the_request_it_causes(
    secret: str, before: str, after: str, places: list[int]
) -> None:
    prompt = before + secret + after
    call = stream("input_json_delta", cut(json.dumps({"description": "d", "prompt": prompt}), places))
    request = json.dumps(
        {"messages": [{"role": "user", "content": prompt}]}, ensure_ascii=False, separators=(",", ":")
    )
    answer = stream("text_delta", cut(prompt, places))
    claimed = json.loads(redact_json(request.encode()))["messages"][0]["content"]
    assert json.loads("".join(said(redact_sse(call))))["prompt"] == claimed
    assert "".join(said(redact_sse(answer))) == claimed


KEY = SELF_EVIDENT["anthropic-key"]
PIECES = cut(f"use {KEY} now", [6, 17, 40])


def chunk(*choices: dict[str, Any]) -> bytes:
    return f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'choices': choices, 'usage': None})}\n\n".encode()


def strings(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for each in value.values():
                yield from strings(each)
        case list():
            for each in value:
                yield from strings(each)
        case str():
            yield value


def joined(raw: bytes) -> str:
    return "".join(text for line in raw.splitlines() if line.startswith(b"data: {") for text in strings(json.loads(line[6:])))


def call(index: int, piece: str) -> dict[str, Any]:
    return {"index": index, "function": {"arguments": piece}}


CHUNKS: dict[str, Callable[[str], bytes]] = {
    "reasoning beside no content": lambda piece: chunk({"index": 0, "delta": {"content": "", "reasoning": piece}}),
    "reasoning beside content": lambda piece: chunk({"index": 0, "delta": {"content": "word ", "reasoning": piece, "reasoning_details": [{"index": 0, "text": piece}]}}),
    "completion": lambda piece: chunk({"index": 0, "text": piece, "logprobs": None}),
    "completions": lambda piece: chunk({"text": piece, "index": 0}, {"text": "other ", "index": 1}),
    "choices, numbered behind": lambda piece: chunk({"delta": {"content": "a b "}, "index": 0}, {"delta": {"content": piece}, "index": 1}),
    "one choice, numbered behind": lambda piece: chunk({"delta": {"content": piece}, "index": 3}),
    "tool calls": lambda piece: chunk({"index": 0, "delta": {"tool_calls": [call(0, "1 2 "), call(1, piece)]}}),
    "the same of both": lambda piece: chunk({"index": 0, "delta": {"content": piece}}, {"index": 1, "delta": {"content": piece}}),
    "citations": lambda piece: event("content_block_delta", index=0, delta={"type": "citations_delta", "citation": {"cited_text": piece}}).encode(),
}


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("name", CHUNKS)
def test_every_text_that_a_line_adds_to_is_judged_as_one(name: str, ending: bytes) -> None:
    raw = b"".join(CHUNKS[name](piece) for piece in PIECES).replace(b"\n", ending)
    clean = redact_sse(raw)
    assert "use [redacted:anthropic-key]" in joined(clean)
    assert not any(KEY[at : at + 10].encode() in clean for at in range(len(KEY) - 10))
    assert redact_sse(clean) == clean
    harmless = b"".join(CHUNKS[name](piece) for piece in ("use ", "no ke", "y at ", "all")).replace(b"\n", ending)
    assert redact_sse(harmless) == harmless


def test_lines_of_two_choices_in_turn_are_two_texts() -> None:
    raw = b"".join(chunk({"delta": {"content": piece}, "index": at}) for piece in PIECES for at in (0, 1))
    assert joined(redact_sse(raw)).count("use [redacted:anthropic-key] now") == 2


def test_what_stands_beside_a_piece_is_searched_too() -> None:
    raw = b"".join(chunk({"index": 0, "delta": {"content": f"word {at} ", "note": KEY}, "api_key": "hunter2"}) for at in range(3))
    clean = redact_sse(raw)
    assert clean == raw.replace(KEY.encode(), b"[redacted:anthropic-key]").replace(b"hunter2", b"[redacted:secret]")


SECRET_JSON = json.dumps({"text": SELF_EVIDENT["github-token"]}).encode()
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("encoding", PACKED)
def test_a_compressed_body_is_decoded_only_when_it_holds_a_secret(encoding: str) -> None:
    clean = PACKED[encoding](b'{"text": "hello"}')
    assert redact_body(clean, "application/json", encoding) == (clean, False)
    redacted, decoded = redact_body(PACKED[encoding](SECRET_JSON), "application/json", encoding)
    assert decoded
    assert json.loads(redacted) == {"text": "[redacted:github-token]"}


def test_every_member_of_a_packed_body_and_the_beginning_of_a_cut_one_are_looked_at() -> None:
    two = gzip.compress(b'{"text": "hello"}\n') + gzip.compress(SECRET_JSON)
    assert redact_body(two, "application/json", "gzip") == (
        b'{"text": "hello"}\n{"text": "[redacted:github-token]"}',
        True,
    )
    for encoding, pack in PACKED.items():
        packed = pack(SECRET_JSON + bytes(range(256)) * 1000)
        redacted, decoded = redact_body(packed[:-9], "application/json", encoding)
        assert decoded
        assert redacted.startswith(b'{"text": "[redacted:github-token]"}')


@pytest.mark.parametrize(("sign", "coding"), [(b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")])
def test_a_body_of_wide_letters_is_read(sign: bytes, coding: str) -> None:
    key = planted("github-personal", 3).text
    for body, left in ((f'{{"a": "{key}", "b": "ü"}}', '{"a": "[redacted:github-token]", "b": "ü"}'), ('{"a": "b"}', '{"a": "b"}')):
        assert redact_body(sign + body.encode(coding), "application/json", "") == (sign + left.encode(coding), False)
    for broken in (sign + b"a", sign + b"\xd8\xd8\xd8\xd8", sign):
        assert redact_body(broken, "application/json", "") == (broken, False)


def test_a_body_that_cannot_be_decoded_stays_as_it_is() -> None:
    assert redact_body(b"\x00nonsense", "application/json", "gzip") == (b"\x00nonsense", False)
    assert redact_body(b"\x00nonsense", "application/json", "snappy") == (b"\x00nonsense", False)
    assert redact_body(b"", "application/json", "gzip, identity") == (b"", False)


def test_the_kind_of_body_decides_how_it_is_read() -> None:
    secret = SELF_EVIDENT["npm-token"]
    raw = stream("text_delta", [secret[:9], secret[9:]])
    assert said(redact_body(raw, "text/event-stream; charset=utf-8", "")[0]) == ["[redacted:npm-token]", ""]
    assert redact_body(b'{"password":"x"}', "application/json", "identity") == (
        b'{"password":"[redacted:secret]"}',
        False,
    )
    assert redact_body(f"<{secret}>".encode(), "text/html", "") == (b"<[redacted:npm-token]>", False)
