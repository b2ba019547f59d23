"""The log of a run, out and in again: nothing is lost, nothing of others goes with it, no secret leaves."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.app import Ramify
from ramify.capture.log_file import HEADER, read_log, read_observation, write_line
from ramify.exporting.wish import Wish
from ramify.ingest import Ingest
from ramify.model.observation import Correction, Observation, Record, Request, Response
from tests.exporting.world import conversations, every_case, quiet, told
from tests.test_openai_cases import chat_lines

JSONL = Wish("jsonl")
WORDS = st.text(max_size=20).filter(lambda text: text.isprintable())
TIMES = st.integers(-(1 << 50), 1 << 50)
HEADERS = st.lists(st.tuples(WORDS, WORDS), max_size=3).map(tuple)
SEEN: st.SearchStrategy[Observation] = st.one_of(
    st.builds(Request, WORDS, WORDS, TIMES, WORDS, WORDS, WORDS, WORDS, HEADERS, st.binary(max_size=60), WORDS),
    st.builds(Response, WORDS, WORDS, TIMES, WORDS, WORDS, WORDS, st.integers(0, 999), HEADERS, st.binary(max_size=60),
              st.sampled_from(["complete", "aborted", "cut", "failed", "lost"]), TIMES, WORDS),
    st.builds(Record, WORDS, WORDS, TIMES, WORDS, WORDS, WORDS, st.binary(max_size=60)),
    st.builds(Correction, WORDS, WORDS, TIMES, WORDS, st.sampled_from(["link", "unlink", "withdraw"]), WORDS, WORDS),
)  # fmt: skip


def exported(ramify: Ramify, id: str) -> bytes:
    return b"".join(ramify.exports.offer(id, JSONL, quiet).pieces)


def again(content: bytes, folder: Path) -> Ramify:
    file = folder / "run.jsonl"
    file.write_bytes(content)
    ramify = Ramify.open("memory:")
    report = ramify.import_paths([file], "auto", quiet)
    assert report["unreadable"] == []
    assert report["new"] == content.count(b"\n") - 1
    return ramify


@given(SEEN)
def test_any_observation_comes_back_as_it_was(seen: Observation) -> None:
    line = write_line(seen)
    assert line.count(b"\n") == 1
    assert read_observation(line) == seen


@pytest.mark.parametrize("case", every_case())
def test_out_and_in_and_out_is_the_same(case: str, tmp_path: Path) -> None:
    first = told(case)
    for id in conversations(first):
        content = exported(first, id)
        second = again(content, tmp_path)
        assert exported(second, id) == content
        assert second.questions.tree(id) == first.questions.tree(id)


@pytest.mark.parametrize("stream", [False, True])
def test_so_is_what_an_openai_compatible_client_did(stream: bool, tmp_path: Path) -> None:
    (tmp_path / "exchanges.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in chat_lines(stream)))
    first = Ramify.open("memory:")
    first.import_paths([tmp_path / "exchanges.jsonl"], "auto", quiet)
    (id,) = conversations(first)
    content = exported(first, id)
    second = again(content, tmp_path)
    assert exported(second, id) == content
    assert second.questions.tree(id) == first.questions.tree(id)
    assert len(second.questions.tree(id)["roots"][0]["children"]) == 1


@pytest.mark.parametrize("case", ["claude/nested", "sam/parallel", "a2a/v1-input-required", "events/async_fanout"])
def test_a_task_and_an_operation_name_their_conversations(case: str, tmp_path: Path) -> None:
    first = told(case)
    ids = [task["id"] for task in first.questions.tasks(limit=0)["items"]] + [one["id"] for one in first.questions.operations(limit=2)["items"]]
    for id in ids:
        content = exported(first, id)
        second = again(content, tmp_path)
        assert exported(second, id) == content
        assert second.questions.tree(id) == first.questions.tree(id)


def test_other_conversations_stay_at_home(tmp_path: Path) -> None:
    ramify = told("claude/nested", "claude/simple", "sam/simple", "a2a/v1-refine")
    alone = {id: exported(ramify, id).splitlines()[1:] for id in conversations(ramify)}
    assert len(alone) > 3
    lines = [line for content in alone.values() for line in content]
    assert len(lines) == len(set(lines))
    for id, content in alone.items():
        assert conversations(again(HEADER + b"".join(line + b"\n" for line in content), tmp_path)) == [id]


def test_what_a_person_corrected_goes_along(tmp_path: Path) -> None:
    first = told("claude/nested")
    tasks = first.questions.tasks(limit=0)["items"]
    child = next(task for task in tasks if task["link"] and task["depth"] == 2)
    root = next(task for task in tasks if task["depth"] == 0)
    first.link(child["id"], root["id"])
    content = exported(first, root["id"])
    second = again(content, tmp_path)
    assert second.questions.tree(root["id"]) == first.questions.tree(root["id"])
    assert second.questions.task(child["id"])["link"]["rule"] == "manual"
    assert exported(second, root["id"]) == content


def test_a_secret_that_was_stored_before_its_rule_was_known_does_not_leave() -> None:
    secret = "sk-ant-api03-" + "Ab1" * 31 + "AA"
    body = msgspec.json.encode({"type": "user", "uuid": "u1", "sessionId": "0aa11b22-0000-4000-8000-000000000001", "timestamp": "2026-01-01T00:00:00Z",
                                "message": {"role": "user", "content": f"the key is {secret}"}})  # fmt: skip
    ramify = Ramify.open("memory:")
    Ingest(ramify.store).step([Record("obs_1", "default", 1_700_000_000_000_000, "transcript", "claude", "x:1", body)])
    (id,) = conversations(ramify)
    content = exported(ramify, id)
    assert secret.encode() not in content
    assert b"the key is [redacted:anthropic-key]" in content
    assert ramify.exports.preview(id, JSONL, quiet)["redacted"] == {"anthropic-key": 1}


def test_a_bad_line_is_kept_and_a_newer_version_is_refused(tmp_path: Path) -> None:
    good = write_line(Correction("obs_c", "default", 1, "person", "unlink", "task_1"))
    file = tmp_path / "run.jsonl"
    file.write_bytes(HEADER + b'{"observation":"gossip"}\n{"observation":"record","id":"x"}\n' + good)
    read = list(read_log(file, "default"))
    assert [one.problem is None for one in read] == [False, False, True]
    assert "gossip" in str(read[0].problem)
    assert "`project` is missing" in str(read[1].problem)
    file.write_bytes(HEADER.replace(b"1", b"2") + good)
    (refused,) = read_log(file, "default")
    assert "install a newer Ramify" in str(refused.problem)
