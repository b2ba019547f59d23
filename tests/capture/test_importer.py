import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramify.capture.formats import detect
from ramify.capture.importer import paths, read_exchanges
from ramify.model.mistake import UserMistake
from ramify.model.moment import micros
from ramify.model.observation import Record, Request, Response

CASES = sorted((Path(__file__).parent.parent / "cases" / "anthropic").glob("*/exchanges.jsonl"))
START, END = "2026-03-02T08:00:00.000000Z", "2026-03-02T08:00:01.500000Z"


def line(**changes: Any) -> dict[str, Any]:
    request = {
        "method": "POST",
        "path": "/v1/messages",
        "headers": {"X-Api-Key": "k"},
        "body": {"b": 1, "a": 2.50},
    }
    response = {"status": 200, "headers": {"content-type": "application/json"}, "body": {"id": "msg_1"}}
    return {"id": "x1", "started": START, "ended": END, "request": request, "response": response} | changes


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "seen.jsonl"
    texts = (each if isinstance(each, str) else json.dumps(each) for each in lines)
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def one(folder: Path, content: Any) -> tuple[Request, Response]:
    (imported,) = read_exchanges(written(folder, content), "default")
    assert imported.problem is None
    request, response = imported.observations
    assert isinstance(request, Request)
    assert isinstance(response, Response)
    return request, response


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_every_case_is_read_whole(path: Path) -> None:
    raw = [json.loads(text) for text in path.read_text().splitlines()]
    imported = list(read_exchanges(path, "p"))
    assert [each.problem for each in imported] == [None] * len(raw)
    for content, each in zip(raw, imported, strict=True):
        request, response = each.observations
        assert isinstance(request, Request)
        assert isinstance(response, Response)
        assert request.exchange == content["id"]
        assert request.project == "p"
        assert json.loads(request.body) == content["request"]["body"]
        assert response.request == request.id
        answer = content["response"]
        if answer and "sse" in answer:
            assert response.body.decode() == answer["sse"]
    assert imported == list(read_exchanges(path, "p"))
    assert detect(path) == "exchanges"


def test_a_line_becomes_a_request_and_its_response(tmp_path: Path) -> None:
    request, response = one(tmp_path, line())
    assert (request.at, request.method, request.path) == (micros(START), "POST", "/v1/messages")
    assert request.body == b'{"b":1,"a":2.5}'
    assert request.headers == (("X-Api-Key", "[redacted]"),)
    assert request.credential == ""
    assert (response.at, response.status, response.outcome) == (micros(END), 200, "complete")


def test_a_json_body_keeps_its_order_and_numbers_and_loses_only_the_spaces_between(tmp_path: Path) -> None:
    text = json.dumps(line()).replace(
        '{"b": 1, "a": 2.5}', '{ "b" : 1.00 ,\t"a" : "x \\" : y", "b": [ 1e3 , "" ] }'
    )
    request, _ = one(tmp_path, text)
    assert request.body == b'{"b":1.00,"a":"x \\" : y","b":[1e3,""]}'


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ({"body": "plain é"}, "plain é".encode()),
        ({"body": None}, b""),
        ({}, b""),
        ({"body": [1, 2]}, b"[1,2]"),
        ({"sse": "event: ping\ndata: {}\n\n"}, b"event: ping\ndata: {}\n\n"),
        ({"body_base64": "AAH/"}, b"\x00\x01\xff"),
    ],
)
def test_a_body_may_be_given_in_several_ways(tmp_path: Path, given: dict[str, Any], body: bytes) -> None:
    _, response = one(tmp_path, line(response={"status": 200, **given}))
    assert response.body == body


def test_what_was_never_answered_is_lost_and_what_was_cut_is_aborted(tmp_path: Path) -> None:
    asked, lost = one(tmp_path, line(response=None, ended=None))
    assert (lost.outcome, lost.status, lost.at) == ("lost", 0, micros(START))
    _, aborted = one(tmp_path, line(response={"status": 200, "sse": "event: x", "aborted": True}))
    assert aborted.outcome == "aborted"
    again, found = one(tmp_path, line())
    assert again.id == asked.id
    assert found.id != lost.id


def test_other_projects_times_and_bodies_have_other_ids(tmp_path: Path) -> None:
    other = line(request=line()["request"] | {"body": {"b": 2}})
    ids = {one(tmp_path, each)[0].id for each in (line(), line(id="x2"), line(started=END), other)}
    (elsewhere,) = read_exchanges(written(tmp_path, line()), "another")
    assert len(ids | {elsewhere.observations[0].id}) == 5


def test_a_decoded_body_does_not_claim_to_be_compressed(tmp_path: Path) -> None:
    headers = {"Content-Encoding": "gzip", "set-cookie": ["a=1", "b=2"]}
    _, response = one(tmp_path, line(response={"status": 200, "headers": headers, "body": {}}))
    assert response.headers == (("set-cookie", "[redacted]"), ("set-cookie", "[redacted]"))


def test_secrets_are_cut_out_of_good_and_bad_lines(tmp_path: Path) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    good = line(request=line()["request"] | {"path": f"/v1/x?key={secret}", "body": {"text": secret}})
    path = written(tmp_path, good, json.dumps(good)[:-2])
    first, second = read_exchanges(path, "default")
    assert second.problem
    assert secret not in repr(first) + repr(second)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("not json", "malformed"),
        ("[1]", "Expected `object`"),
        ('{"id": "x"}', "missing required field `started`"),
        (line(id=7), "$.id"),
        (line(started="yesterday"), '`started` is "yesterday"'),
        (line(ended="later"), '`ended` is "later"'),
        (line(request=None), "$.request"),
        (line(request={"method": 1, "path": "/"}), "$.request.method"),
        (line(response={"status": "ok"}), "$.response.status"),
        (line(response={"body_base64": "?"}), "no base64"),
        ('{"a":' * 100_000, "recursion"),
    ],
)
def test_a_line_that_cannot_be_read_is_kept_and_the_rest_goes_on(tmp_path: Path, bad: Any, says: str) -> None:
    path = written(tmp_path, line(), "", bad, line(id="x2"))
    first, second, third = read_exchanges(path, "default")
    assert first.problem is None
    assert third.problem is None
    assert second.line == 3
    assert second.problem is not None
    assert second.problem.startswith("seen.jsonl:3: ")
    assert says in second.problem
    (record,) = second.observations
    assert isinstance(record, Record)
    assert (record.format, record.place) == ("exchanges", "seen.jsonl:3")
    text = bad if isinstance(bad, str) else json.dumps(bad)
    assert record.body.decode() == text.replace('"k"', '"[redacted:secret]"')


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2000), st.binary(max_size=6).filter(lambda raw: b"\n" not in raw), st.integers(0, 9))
def test_a_mutated_line_never_stops_the_reading(tmp_path: Path, at: int, raw: bytes, cut: int) -> None:
    text = json.dumps(line()).encode()
    mutated = text[: at % len(text)] + raw + text[at % len(text) + cut :]
    path = tmp_path / "mutated.jsonl"
    path.write_bytes(text + b"\n" + mutated + b"\n" + text)  # behind a sound one: the first bytes may say that a file is packed
    imported = list(read_exchanges(path, "default"))
    assert imported[0].problem is None
    assert imported[-1].problem is None
    assert all(each.observations for each in imported)
    assert imported == list(read_exchanges(path, "default"))


def test_packed_files_are_read_and_a_damaged_one_is_reported(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(json.dumps(line(id=f"x{at}")).encode() + b"\n" for at in range(500)))
    path = tmp_path / "seen.jsonl.gz"
    path.write_bytes(packed)
    assert detect(path) == "exchanges"
    assert len(list(read_exchanges(path, "default"))) == 500
    path.write_bytes(packed[:-20])
    *good, last = read_exchanges(path, "default")
    assert all(each.problem is None for each in good)
    assert last.problem is not None
    assert "cannot be read beyond line" in last.problem


def test_other_files_are_not_taken_for_exchanges(tmp_path: Path) -> None:
    assert detect(written(tmp_path, {"id": "x", "request": {}}, "text")) is None
    assert detect(written(tmp_path, "broken", line())) == "exchanges"
    assert detect(tmp_path / "missing") is None


def test_folders_are_opened_in_order_and_mistakes_are_named(tmp_path: Path) -> None:
    for name in ("b/two.jsonl", "a/one.jsonl", "a/.hidden/x", ".git/y"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert [path.name for path in paths([tmp_path, str(tmp_path / "b" / "two.jsonl")])] == [
        "one.jsonl",
        "two.jsonl",
        "two.jsonl",
    ]
    with pytest.raises(UserMistake, match="no file or folder"):
        paths([tmp_path, tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserMistake, match="holds no files"):
        list(paths([tmp_path / "empty"]))
