"""A secret that an agent cuts over events is found; nothing else changes, and nothing waits for long."""

import asyncio
import json
import random
from typing import Any

import pytest

from ramify.capture.a2a.growth import MOST_HELD, MOST_TEXTS, REMEMBERED, Growth, may_go_on
from ramify.capture.a2a.pieces import spread
from ramify.capture.a2a.secrets import redact_frame, redact_stream
from ramify.capture.a2a.waiting import Waiting
from tests.capture.corpus import SELF_EVIDENT, cut, noise
from tests.capture.secret_formats import CORPUS, Planted, leaks

KEY = SELF_EVIDENT["anthropic-key"]


def old_artifact(piece: str, at: int, name: str = "a1") -> dict[str, Any]:
    artifact = {"artifactId": name, "parts": [{"kind": "text", "text": piece}]}
    return {"jsonrpc": "2.0", "id": 1, "result": {"kind": "artifact-update", "taskId": "t", "contextId": "c", "artifact": artifact, "append": at > 0}}


def new_artifact(piece: str, at: int) -> dict[str, Any]:
    return {"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a1", "parts": [{"text": piece}]}, "append": at > 0}}


def old_status(piece: str, at: int) -> dict[str, Any]:
    message = {"role": "agent", "messageId": f"m{at}", "parts": [{"kind": "text", "text": piece}]}
    return {"result": {"kind": "status-update", "taskId": "t", "status": {"state": "working", "message": message}}}


def new_message(piece: str, at: int) -> dict[str, Any]:
    return {"message": {"messageId": "m", "taskId": "t", "parts": [{"text": piece}]}}


FORMS = [old_artifact, new_artifact, old_status, new_message]


def event(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\r\n\r\n".encode()


def texts(value: Any) -> str:
    match value:
        case dict():
            return "".join(each if name == "text" else texts(each) for name, each in value.items())
        case list():
            return "".join(map(texts, value))
    return ""


def said(raw: bytes) -> str:
    return "".join(texts(json.loads(line[5:])) for line in raw.splitlines() if line.startswith(b"data:"))


def told(slices: list[bytes]) -> list[bytes]:
    growth = Growth()
    found = [each for at, one in enumerate(slices) for each in growth.add(at, one)] + growth.release()
    assert [at for at, _ in found] == list(range(len(slices)))
    return [piece for _, piece in found]


def pieces(planted: Planted) -> list[str]:
    source = random.Random(planted.name)
    return cut(f"It is this:\n{planted.text}\nand no other.", [source.randrange(400) for _ in range(9)])


@pytest.mark.parametrize("form", FORMS, ids=lambda each: each.__name__)
def test_no_secret_stays_that_is_cut_over_events(form: Any) -> None:
    leaking = []
    for each in CORPUS:
        stream = [event(form(piece, at)) for at, piece in enumerate(pieces(each))]
        for clean in (b"".join(told(stream)), redact_stream(b"".join(stream))):
            assert said(clean).startswith("It is this:")
            assert said(clean).endswith("and no other.")
            if leaks(clean + said(clean).encode(), each):
                leaking.append(each.name)
    assert leaking == []


def test_one_letter_at_a_time_is_no_way_around() -> None:
    stream = [event(new_artifact(letter, at)) for at, letter in enumerate(f"use {KEY} now")]
    assert said(b"".join(told(stream))) == "use sk[redacted:anthropic-key] now"


def test_texts_that_grow_side_by_side_are_told_apart() -> None:
    stream = [event(old_artifact(piece, at, name)) for at, piece in enumerate(cut(f"a {KEY} b ", [5, 20, 50])) for name in ("x", "y")]
    clean = b"".join(told(stream))
    assert said(clean).count("[redacted:anthropic-key]") == 2
    assert KEY[10:22] not in said(clean)


def test_an_artifact_that_begins_anew_is_another_text() -> None:
    stream = [event(old_artifact(KEY[:40], 0)), event(old_artifact(" and more", 0))]
    assert said(b"".join(told(stream))) == "[redacted:anthropic-key] and more"


def test_a_stream_without_secrets_keeps_its_bytes_and_its_moments() -> None:
    words = ["Working on item-42", " of sha256:" + "0123456789abcdef" * 4, ".\n", "Done: 100%", " é \U0001f600"]
    stream = [b": ping\n\n" + event(form(word, at)) for form in FORMS for at, word in enumerate(words)]
    assert told(stream) == stream
    assert redact_stream(b"".join(stream)) == b"".join(stream)


@pytest.mark.parametrize("text", ["", "It works", "Working on it…", "Step 3", "Done. ", "100%", "a,", f"{KEY} ", "see (x)"])
def test_plain_words_are_told_at_once(text: str) -> None:
    assert not may_go_on(text)


@pytest.mark.parametrize("text", ["sk-", "x s3", "PASSWORD=correct", KEY[:12], KEY, "-----BEGIN RSA " + "PRIVATE KEY-----\nab\n", 'say {"password": "correct horse'])
def test_half_a_secret_waits(text: str) -> None:
    assert may_go_on(text)


def test_the_rest_of_what_had_to_be_told_is_known() -> None:
    growth = Growth()
    assert growth.add(1, event(new_artifact(f"it is {KEY[:30]}", 0))) == []
    first = growth.release()
    rest = growth.add(2, event(new_artifact(f"{KEY[30:]} now", 1)))
    clean = said(b"".join(piece for _, piece in first + rest))
    assert KEY[30:42] not in clean
    assert clean == "it is [redacted:anthropic-key][redacted:anthropic-key] now"


def test_what_waits_and_what_is_remembered_is_bounded() -> None:
    growth = Growth()
    most = 0
    for at in range(400):
        growth.add(at, event(old_artifact(noise(2000), 0, f"a{at}")))
        most = max(most, growth._size)
    growth.release()
    assert most < MOST_HELD
    assert len(growth._told) == MOST_TEXTS == len(growth._begun)
    assert max(map(len, growth._told.values())) <= REMEMBERED


def test_parts_of_one_artifact_are_one_text() -> None:
    parts = [{"kind": "text", "text": piece} for piece in cut(f"use {KEY} now", [7, 30])]
    task = {"result": {"kind": "task", "id": "t", "artifacts": [{"artifactId": "a", "parts": [*parts, {"kind": "data", "data": {}}]}]}}
    for frame in ({"kind": "response", "body": task}, {"kind": "sse", "raw": event(task).decode()}, {"kind": "response", "body": json.dumps(task)}):
        clean = redact_frame(json.dumps(frame).encode())
        assert b"use [redacted:anthropic-key]" in clean
        assert KEY[8:20].encode() not in clean


def test_the_pieces_of_a_text_stay_where_they_are() -> None:
    assert spread(["ab", "cSE", "CRETd", "ef"], "abcSECRETdef", "abcXdef") == ["ab", "cX", "d", "ef"]
    assert spread(["CRETd", "ef"], "SECRETdef", "Xdef") == ["Xd", "ef"]
    assert spread(["d", "ef"], "SECRETdef", "Xdef") == ["d", "ef"]


async def test_a_slice_waits_for_a_moment_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.capture.a2a.waiting.PATIENCE", 0.02)
    found: list[int] = []
    waiting = Waiting(lambda at, piece: found.append(at))
    waiting.add(1, event(new_artifact("plain words", 0)))
    waiting.add(2, event(new_artifact(" and sk-", 1)))
    assert found == [1]
    await asyncio.sleep(0.2)
    assert found == [1, 2]
    waiting.add(3, event(new_artifact("ant-", 2)))
    waiting.let_go()
    assert found == [1, 2, 3]
