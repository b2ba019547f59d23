import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramify.capture import transcript_reading
from ramify.capture.importer import Imported
from ramify.capture.mark import Mark
from ramify.capture.transcript_reading import TranscriptReading
from ramify.model.moment import micros
from ramify.model.observation import Record
from tests.capture.transcripts import SESSION, START, agent, append, line, session

CASES = Path(__file__).parents[1] / "cases" / "claude"
FILES = sorted(path for path in CASES.glob("*/transcripts/projects/**/*") if path.is_file())


def read(path: Path, mark: Mark | None = None, settled: bool = True) -> tuple[list[Imported], Mark]:
    reading = TranscriptReading(path, "default", mark, settled)
    return list(reading), reading.mark


def records(found: list[Imported]) -> list[Record]:
    return [seen for each in found for seen in each.observations if isinstance(seen, Record)]


def bodies(found: list[Imported]) -> list[bytes]:
    return [record.body for record in records(found)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-6]}-{path.name}"[-60:])
def test_every_case_is_read_whole(path: Path) -> None:
    found, mark = read(path)
    assert [each.problem for each in found] == [None] * len(found)
    assert b"\n".join(bodies(found)) == path.read_bytes().rstrip(b"\n")
    assert mark.fits(path.stat())
    for record in records(found):
        assert (record.format, record.source) == ("claude", "transcript")
        assert record.place.startswith("-home-dev-project/")


def test_a_record_tells_where_and_when(tmp_path: Path) -> None:
    path = agent(tmp_path, line(0), b"\n", line(1, timestamp=None), line(2, timestamp="soon"), line(3))
    found, _ = read(path)
    assert [record.at - micros(START) for record in records(found)] == [0, 0, 0, 3_000_000]
    place = f"-home-dev-project/{SESSION}/subagents/agent-a1.jsonl"
    assert [record.place for record in records(found)] == [f"{place}:{number}" for number in (1, 3, 4, 5)]


def test_lines_before_the_first_time_have_none(tmp_path: Path) -> None:
    found, _ = read(session(tmp_path, line(1, timestamp=None), line(2)))
    assert [record.at > 0 for record in records(found)] == [False, True]


def test_a_copy_of_a_folder_holds_the_same_observations_and_another_project_others(tmp_path: Path) -> None:
    one, other = (session(tmp_path / name, line(1), line(2)) for name in ("a", "b"))
    ids = [record.id for record in records(read(one)[0])]
    assert ids == [record.id for record in records(read(other)[0])]
    assert not set(ids) & {record.id for record in records(list(TranscriptReading(one, "another")))}


def test_the_same_line_in_another_file_is_another_observation(tmp_path: Path) -> None:
    ids = {records(read(make(tmp_path, line(1)))[0])[0].id for make in (session, agent)}
    assert len(ids) == 2


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    path = session(tmp_path, line(1), line(2))
    _, mark = read(path)
    assert read(path, mark)[0] == []
    append(path, line(3, timestamp=None))
    found, mark = read(path, mark)
    assert bodies(found) == [line(3, timestamp=None)[:-1]]
    assert (records(found)[0].place[-2:], records(found)[0].at) == (":3", micros(START) + 2_000_000)
    assert mark.fits(path.stat())


@pytest.mark.parametrize("settled", [True, False])
def test_a_half_written_line_is_read_whole_when_it_is_whole(tmp_path: Path, settled: bool) -> None:
    half = line(2)[:-20]
    path = session(tmp_path, line(1), half)
    found, mark = read(path, settled=settled)
    assert bodies(found) == ([line(1)[:-1], half] if settled else [line(1)[:-1]])
    assert [each.problem is None for each in found] == [True, False][: len(found)]
    assert mark.fits(path.stat()) is settled
    append(path, line(2)[-20:] + line(3))
    found, _ = read(path, mark, settled)
    assert bodies(found) == [line(2)[:-1], line(3)[:-1]]
    assert [each.line for each in found] == [2, 3]


def test_a_last_line_that_only_lacks_its_end_is_read_and_stays_the_same_observation(tmp_path: Path) -> None:
    path = session(tmp_path, line(1), line(2)[:-1])
    first, mark = read(path, settled=False)
    append(path, b"\n" + line(3))
    second, _ = read(path, mark, settled=False)
    assert [each.line for each in second] == [2, 3]
    assert records(first)[1] == records(second)[0]


def test_a_file_that_was_cut_is_read_from_its_start(tmp_path: Path) -> None:
    path = session(tmp_path, line(1), line(2), line(3))
    _, mark = read(path)
    path.write_bytes(line(4))
    assert bodies(read(path, mark)[0]) == [line(4)[:-1]]


def test_a_file_that_was_cut_and_grew_beyond_is_read_from_its_start(tmp_path: Path) -> None:
    path = session(tmp_path, line(1), line(2))
    _, mark = read(path)
    path.write_bytes(b"".join(line(number) for number in range(5, 9)))
    assert len(read(path, mark)[0]) == 4


def test_a_file_that_was_replaced_is_read_from_its_start(tmp_path: Path) -> None:
    path = session(tmp_path, line(1), line(2))
    _, mark = read(path)
    other = path.with_name("new")
    other.write_bytes(line(7) + line(2) + line(3))
    os.replace(other, path)
    assert bodies(read(path, mark)[0])[0] == line(7)[:-1]


def test_a_mark_in_the_middle_is_no_end(tmp_path: Path) -> None:
    path = session(tmp_path, line(1), line(2), line(3))
    reading = TranscriptReading(path, "default")
    lines = iter(reading)
    first = next(lines)
    mark = reading.mark
    assert not mark.fits(path.stat())
    rest, _ = read(path, mark)
    assert [each.line for each in (first, *rest)] == [1, 2, 3]


def test_a_sidecar_is_one_record_and_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = agent(tmp_path, b'{\n "agentType": "Explore"\n}\n', name="agent-a1.meta.json")
    found, mark = read(path)
    assert bodies(found) == [b'{\n "agentType": "Explore"\n}']
    assert records(found)[0].place.endswith("subagents/agent-a1.meta.json:1")
    path.write_bytes(b'{"agentType": "Explore", "finished": true}')
    assert bodies(read(path, mark)[0]) == [b'{"agentType": "Explore", "finished": true}']


def test_a_half_written_sidecar_waits(tmp_path: Path) -> None:
    path = agent(tmp_path, b'{"agentType": "Exp', name="agent-a1.meta.json")
    found, mark = read(path, settled=False)
    assert (found, mark.fits(path.stat())) == ([], False)
    assert read(path)[0][0].problem is not None


def test_of_a_line_that_is_too_long_the_beginning_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_reading, "LONGEST_LINE", 2000)
    monkeypatch.setattr(transcript_reading, "KEPT_OF_LONGER", 600)
    path = session(tmp_path, line(1), line(2, text="x" * 5000), line(3))
    found, mark = read(path)
    assert [each.line for each in found] == [1, 2, 3]
    assert [each.problem is None for each in found] == [True, False, True]
    assert len(bodies(found)[1]) == 600
    append(path, line(4) + line(5, text="x" * 5000)[:-1])
    found, mark = read(path, mark, settled=False)
    assert [each.line for each in found] == [4]
    append(path, b"\n" + line(6))
    assert [each.line for each in read(path, mark)[0]] == [5, 6]


def test_secrets_are_cut_out_and_tell_nothing_through_marks_and_ids(tmp_path: Path) -> None:
    secrets = ["gh" + "p_" + letter * 36 for letter in "ab"]
    one, other = (read(session(tmp_path, line(1, text=secret)))[0] for secret in secrets)
    assert secrets[0] not in repr(one)
    assert records(one) == records(other)
    marks = [read(session(tmp_path, line(1, password=secret)))[1].tail for secret in secrets]
    assert marks[0] == marks[1]


@pytest.mark.parametrize(
    "bad", [b"text", b"[1]", b"7", b'{"a": ', b'{"a":' * 50_000, b"\x00\x00\x00", b'{"a": "\x01"}', b"\xff\xfe{}", b"{} {}", b'{"a": "\xff"}', b"\xef\xbb\xbf{}"]
)
def test_a_line_that_cannot_be_read_is_kept_and_the_rest_goes_on(tmp_path: Path, bad: bytes) -> None:
    found, _ = read(session(tmp_path, line(1), bad + b"\n", line(2)))
    assert [each.problem is None for each in found] == [True, False, True]
    assert (found[1].line, bodies(found)[1]) == (2, bad)


@pytest.mark.parametrize("odd", [b'{"text": "\\ud83d", "timestamp": "2026-03-02T08:00:00Z"}', b'{"a": 1e999}'])
def test_odd_lines_that_clients_do_write_are_read(tmp_path: Path, odd: bytes) -> None:
    found, _ = read(session(tmp_path, odd + b"\n"))
    assert found[0].problem is None


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.lists(st.integers(0, 900), max_size=6), st.booleans())
def test_however_a_file_grows_the_same_lines_are_read_in_the_end(
    tmp_path: Path, noise: bytes, cuts: list[int], settled: bool
) -> None:
    whole = line(1) + noise + b"\n" + line(2, timestamp=None) + noise[:7] + line(3) + line(4)
    at_once, _ = read(session(tmp_path, whole))
    path = session(tmp_path)
    mark: Mark | None = None
    seen: dict[str, bytes] = {}
    done = 0
    for cut in [*sorted(cut for cut in cuts if cut < len(whole)), len(whole)]:
        append(path, whole[done:cut])
        done = cut
        found, mark = read(path, mark, settled)
        seen |= {record.id: record.body for record in records(found)}
    expected = {record.id: record.body for record in records(at_once)}
    assert expected.items() <= seen.items()
    assert settled or seen == expected  # read as settled, halves are kept as well


def test_a_number_for_a_time_is_none(tmp_path: Path) -> None:
    found, _ = read(session(tmp_path, json.dumps({"timestamp": 5}).encode() + b"\n"))
    assert (found[0].problem, records(found)[0].at) == (None, 0)
