import json
import os
from pathlib import Path
from typing import Any

import pytest

from ramify.capture.stream_file import read_stream
from ramify.model.moment import micros
from ramify.model.observation import Record

CASES = Path(__file__).parents[1] / "cases" / "claude"
FILES = [("stream-json", path) for path in sorted(CASES.glob("*/stream.jsonl"))] + [
    ("sdk", CASES / "background" / "sdk_messages.jsonl"),
    ("claude-hook", CASES / "background" / "sdk_hooks.jsonl"),
    ("claude-hook", CASES / "hooks" / "hooks.jsonl"),
]
TIME = "2026-03-02T08:00:00.000000Z"


def written(folder: Path, *lines: Any, name: str = "stream.jsonl") -> Path:
    path = folder / name
    path.write_bytes(b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in lines))
    return path


def records(path: Path, format: str = "stream-json", project: str = "default") -> list[Record]:
    return [seen for each in read_stream(path, project, format) for seen in each.observations if isinstance(seen, Record)]


@pytest.mark.parametrize(("format", "path"), FILES, ids=lambda each: each.parent.name if isinstance(each, Path) else each)
def test_every_case_is_read_whole_and_in_order(format: str, path: Path) -> None:
    found = records(path, format)
    assert b"".join(record.body + b"\n" for record in found) == path.read_bytes()
    times = [record.at for record in found]
    assert times == sorted(set(times))
    assert {(record.format, record.source) for record in found} == {(format, "hook" if format == "claude-hook" else "stream")}
    assert len({record.id for record in found}) == len(found)
    for record in found:
        told = json.loads(record.body).get("timestamp")
        assert told is None or abs(record.at - micros(told)) < 1_000_000


def test_lines_without_a_time_follow_the_line_before(tmp_path: Path) -> None:
    path = written(tmp_path, {"a": 1}, {"a": 2}, {"timestamp": TIME}, {"a": 3}, {"timestamp": TIME}, {"a": 4})
    assert [record.at - micros(TIME) for record in records(path)] == [-2, -1, 0, 1, 2, 3]


def test_a_time_that_lies_before_the_lines_around_it_does_not_break_the_order(tmp_path: Path) -> None:
    path = written(tmp_path, {"timestamp": TIME}, {"timestamp": "2020-01-01T00:00:00Z"}, {"a": 1})
    assert [record.at - micros(TIME) for record in records(path)] == [0, 1, 2]


def test_where_no_line_tells_a_time_the_file_does(tmp_path: Path) -> None:
    path = written(tmp_path, {"a": 1}, {"a": 2}, {"a": 3})
    os.utime(path, (1_800_000_000, 1_800_000_000))
    times = [record.at for record in records(path, "claude-hook")]
    assert times == [1_800_000_000_000_000 - back for back in (3, 2, 1)]


def test_a_copy_is_the_same_and_equal_lines_are_not(tmp_path: Path) -> None:
    one = written(tmp_path, {"first": 1}, {"a": 1}, {"a": 1})
    other = written(tmp_path, {"first": 1}, {"a": 1}, {"a": 1}, {"a": 2}, name="copy.jsonl")
    ids = [record.id for record in records(one)]
    assert len(set(ids)) == 3
    assert [record.id for record in records(other)][:3] == ids
    third = written(tmp_path, {"first": 2}, {"a": 1}, name="third.jsonl")
    assert not set(ids) & {record.id for record in [*records(third), *records(one, project="p"), *records(one, "sdk")]}


def test_a_line_that_cannot_be_read_is_kept_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path, {"timestamp": TIME}, b"Warning: no stdin", b"", b'{"cut', {"a": 1})
    found = list(read_stream(path, "default", "stream-json"))
    assert [(each.line, each.problem is None) for each in found] == [(1, True), (2, False), (4, False), (5, True)]
    assert records(path)[1].body == b"Warning: no stdin"


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (found,) = read_stream(tmp_path / "missing", "default", "sdk")
    assert found.problem is not None
    assert "cannot be read" in found.problem


def test_secrets_are_cut_out(tmp_path: Path) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    assert secret.encode() not in records(written(tmp_path, {"text": secret}))[0].body


def test_messages_of_the_sdk_that_lost_their_session_get_that_of_their_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "sdk.jsonl"
    lines = [
        b'{"class": "UserMessage", "content": "hello"}',
        b'{"class": "ResultMessage", "session_id": "aaaaaaaa-1111"}',
        b'{"class": "UserMessage", "content": "again"}',
    ]
    path.write_bytes(b"\n".join(lines))
    places = [one.observations[0].place for one in read_stream(path, "default", "sdk")]  # type: ignore[union-attr]
    assert places == [f"sdk.jsonl/aaaaaaaa-1111:{number}" for number in (1, 2, 3)]
