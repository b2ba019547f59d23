"""Frames from files: any order, twice, cut anywhere; nothing lost, nothing secret kept."""

import gzip
import json
from base64 import b64decode, b64encode
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramify.capture.a2a.frame import frame_id
from ramify.capture.a2a.frame_file import read_frames
from ramify.capture.a2a.secrets import redact_stream
from ramify.capture.formats import detect, sources
from ramify.capture.importer import Imported
from ramify.ingest import Ingest
from ramify.intake import Intake, import_all
from ramify.model.moment import micros
from ramify.model.observation import Record
from ramify.storage.sqlite import Sqlite, open_sqlite

SECRET = "correct-horse-battery"
TIME = "2026-11-15T17:42:52.177100Z"
EVENTS = [
    'data: {"result": {"statusUpdate": {"text": "naïve ✓"}}}\r\n\r\n',
    ": ping\n\n",
    f'data: {{"result": {{"pushNotificationConfig": {{"token": "{SECRET}", "n": 1}}}}}}\r\n\r\n',
    f'data: {{\ndata:   "credentials": "{SECRET}",\ndata:   "echo": "so {SECRET}"\ndata: }}\n\n',
    f'data: {{"text": "{{\\"password\\": \\"{SECRET}\\"}}"}}\n\n',
    'data: {"unfinished"',
]


def frame(seq: int, kind: str = "sse", connection: str = "run/c1", **more: Any) -> dict[str, Any]:
    return {"agent": "v1", "connection": connection, "seq": seq, "time": TIME, "kind": kind, **more}


def sliced(stream: bytes, cuts: list[int], connection: str = "run/c1") -> list[dict[str, Any]]:
    """A whole exchange, its stream cut anywhere: inside a character, too."""
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    frames = [frame(0, "request", connection, method="POST", path="/"), frame(1, "response", connection, status=200)]
    for start, end in pairwise(places):
        piece = stream[start:end]
        try:
            part = {"raw": piece.decode()}
        except UnicodeDecodeError:
            part = {"raw_b64": b64encode(piece).decode()}
        frames.append(frame(len(frames), "sse", connection, **part))
    return [*frames, frame(len(frames), "end", connection)]


def written(path: Path, frames: list[Any]) -> Path:
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in frames))
    return path


def records(read: list[Imported]) -> list[Record]:
    return [seen for each in read for seen in each.observations if isinstance(seen, Record)]


def stream_of(found: list[Record]) -> bytes:
    frames = sorted((json.loads(record.body) for record in found), key=lambda each: int(each["seq"]))
    return b"".join(each["raw"].encode() if "raw" in each else b64decode(each.get("raw_b64", "")) for each in frames)


@given(
    st.lists(st.sampled_from(EVENTS), max_size=6),
    st.lists(st.integers(1, 600), max_size=12),
    st.randoms(use_true_random=False),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_secret_is_found_wherever_a_stream_is_cut_and_whatever_the_order(
    tmp_path: Path, events: list[str], cuts: list[int], random: Any
) -> None:
    stream = "".join(events).encode()
    frames = sliced(stream, cuts)
    lines = [*frames, *random.sample(frames, len(frames) // 2)]
    random.shuffle(lines)
    read = list(read_frames(written(tmp_path / "f.jsonl", lines), "p"))
    found = records(read)
    assert sorted(each.line for each in read) == list(range(1, len(lines) + 1))
    assert [each.problem for each in read if each.problem] == []
    assert {record.id for record in found} == {frame_id("p", "v1", "run/c1", each["seq"]) for each in frames}
    assert len(found) == len(frames)
    assert not any(SECRET.encode() in record.body for record in found)
    assert SECRET.encode() not in stream_of(found)
    assert stream_of(found) == redact_stream(stream)


def test_what_holds_no_secret_is_kept_byte_for_byte(tmp_path: Path) -> None:
    line = f'{{ "agent":"v1", "connection":"c", "seq":2, "time":"{TIME}","kind":"sse",  "raw":"data: half an ev" }}'
    (record,) = records(list(read_frames(written(tmp_path / "f.jsonl", [line]), "p")))
    assert record.body == line.encode()
    assert (record.place, record.format, record.source, record.at) == ("v1/c#2", "a2a", "import", micros(TIME))


def test_a_stream_is_told_when_its_end_was_read_and_not_before(tmp_path: Path) -> None:
    first, second = sliced(b"data: 1\n\ndata: 2\n\n", [5], "c1"), sliced(b"data: 1\n\n", [4], "c2")
    read = list(read_frames(written(tmp_path / "f.jsonl", [*first[:3], *second[:-1], *first[3:]]), "p"))
    assert [each.line for each in read] == [1, 2, 4, 5, 9, 3, 8, 6, 7]  # nothing says that the second one is over


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"agent": "v1"', "truncated"),
        ("[]", "Expected `object`"),
        (json.dumps(frame(0, "laugh")), "Invalid enum value 'laugh'"),
        (json.dumps(frame(-1, "end")), "a number from 0 on"),
        (json.dumps(frame(0, "end", "")), "must be names"),
        (json.dumps(frame(0, "end") | {"time": "noon"}), '`time` is "noon"'),
        (json.dumps(frame(0, "sse")), "needs `raw`"),
        (json.dumps(frame(0, "sse", raw_b64="?")), "no base64"),
        (json.dumps({"token": SECRET}), "missing required field `agent`"),
    ],
)
def test_a_bad_line_is_kept_and_reported_with_its_number_and_stops_nothing(tmp_path: Path, line: str, reason: str) -> None:
    good = frame(0, "request")
    first, bad, last = read_frames(written(tmp_path / "f.jsonl", [good, line, frame(1, "end")]), "p")
    assert first.problem is last.problem is None
    assert bad.problem is not None
    assert bad.problem.startswith("f.jsonl:2: ")
    assert reason in bad.problem
    (kept,) = records([bad])
    assert SECRET.encode() not in kept.body
    assert kept.format == "a2a"


def test_a_frame_that_comes_again_with_other_content_is_kept_once_and_reported(tmp_path: Path) -> None:
    lines = [frame(0, "request", path="/a"), frame(0, "request", path="/b"), frame(0, "request", path="/a")]
    read = list(read_frames(written(tmp_path / "f.jsonl", lines), "p"))
    assert [json.loads(record.body)["path"] for record in records(read)] == ["/a"]
    assert [each.problem for each in read] == [None, "frame v1/run/c1#0 was there before with other content; the first is kept", None]


def test_keys_that_a_card_names_are_gone_even_before_the_card(tmp_path: Path) -> None:
    card = {"url": "http://h/", "securitySchemes": {"door": {"type": "apiKey", "in": "header", "name": "X-Door"}}}
    lines = [
        frame(0, "request", "c1", path="/?x=1", headers={"x-door": SECRET}),
        frame(0, "request", "c2"),
        frame(1, "response", "c2", body={"jsonrpc": "2.0", "id": 1, "result": card}),
    ]
    found = records(list(read_frames(written(tmp_path / "f.jsonl", lines), "p")))
    assert json.loads(found[0].body)["headers"] == {"x-door": "[redacted]"}


def imported(store: Sqlite, *paths: Path) -> dict[str, Any]:
    found, _ = sources(list(paths), "auto")
    return import_all(Intake(store, "default", Ingest(store).take, settled=True), found, lambda done, total: None)


def test_files_split_repeated_and_packed_give_the_same_log(tmp_path: Path) -> None:
    frames = [*sliced("".join(EVENTS).encode(), [40, 90, 200], "c1"), *sliced(b"data: 1\n\n", [], "c2")]
    one, two, three = open_sqlite("memory:"), open_sqlite("memory:"), open_sqlite("memory:")
    whole = written(tmp_path / "whole.jsonl", frames)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(whole.read_bytes()))
    first, last = written(tmp_path / "b.jsonl", frames[5:]), written(tmp_path / "a.jsonl", frames[:6])
    assert imported(one, whole)["new"] == len(frames)
    again = imported(one, packed)
    assert (again["new"], again["known"], again["unreadable_count"]) == (0, len(frames), 0)
    imported(two, packed)
    imported(three, first)
    imported(three, last)
    ids = [{seen.id for _, seen in store.observations()} for store in (one, two, three)]
    assert ids[0] == ids[1] == ids[2]
    assert {seen.body for _, seen in one.observations() if isinstance(seen, Record)} == {
        seen.body for _, seen in two.observations() if isinstance(seen, Record)
    }


def test_another_file_that_contradicts_the_store_is_reported(tmp_path: Path) -> None:
    store = open_sqlite("memory:")
    imported(store, written(tmp_path / "a.jsonl", [frame(0, "request", path="/a"), frame(1, "end")]))
    report = imported(store, written(tmp_path / "b.jsonl", [frame(0, "request", path="/b"), frame(1, "end")]))
    assert (report["new"], report["known"]) == (0, 2)
    assert report["unreadable"] == [{"place": "v1/run/c1#0", "problem": "was stored before with other content; that is kept"}]
    assert json.loads(next(seen.body for _, seen in store.observations() if isinstance(seen, Record)))["path"] == "/a"


def test_auto_knows_frames_by_their_first_readable_line(tmp_path: Path) -> None:
    assert detect(written(tmp_path / "a.jsonl", ["not this", frame(3, "sse", raw="x")])) == "a2a"
    assert detect(written(tmp_path / "b.jsonl", [frame(3, "sse", raw="x" * 2_000_000)])) == "a2a"
    assert detect(written(tmp_path / "c.jsonl", [{"agent": "v1", "seq": 1, "kind": "sse"}])) is None


def test_a_file_that_breaks_off_gives_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    packed = gzip.compress("".join(f"{json.dumps(each)}\n" for each in sliced(b"data: 1\n\n" * 9000, list(range(9, 80_000, 9)))).encode())
    path.write_bytes(packed[: len(packed) // 2])
    read = list(read_frames(path, "p"))
    assert sum(each.problem is not None for each in read) == 1
    assert len(records(read)) > 10
