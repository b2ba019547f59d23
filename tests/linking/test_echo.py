"""Prompts that a program told as it asked: in whatever order the client's own account of them comes, each is one task."""

import json
from pathlib import Path

import pytest

from ramify.model.ids import observation_id
from ramify.model.observation import Observation, Record, Request
from tests import story
from tests.claude_verdicts import differences

FOLDERS = sorted((story.CASES / "claude").glob("*/"))
WITH_PROMPTS = ("exchanges", "transcripts")


Seen = tuple[Observation, ...]


def told_at_the_call(folder: Path) -> list[Seen]:
    """What a recorder inside the program would have told, a moment before the client wrote anything."""
    roots = [task for task in json.loads((folder / "expected.json").read_text())["tasks"] if task["kind"] == "root"]
    first = min(seen.at for one in story.reports(folder, "exchanges") for seen in one if isinstance(seen, Request))
    return [(prompt(task["session"], task["prompt"][0], first - 1000 + at, at),) for at, task in enumerate(roots)]


def prompt(session: str, words: str, at: int, number: int = 0) -> Record:
    said = {"type": "user", "message": {"role": "user", "content": words}, "session_id": session, "isReplay": True}
    body = json.dumps(said).encode()
    place = f"sdk-1:{number}"
    return Record(observation_id("record", place, body), "default", at, "stream", "stream-json", place, body)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("source", WITH_PROMPTS)
def test_a_prompt_told_at_the_call_adds_no_task_to_what_others_tell(folder: Path, source: str) -> None:
    seen = [*told_at_the_call(folder), *story.reports(folder, source)]
    _, questions = story.told(seen)
    assert differences(questions, json.loads((folder / "expected.json").read_text()), source) == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_order_in_which_it_is_told_does_not_matter(folder: Path, seed: int) -> None:
    seen = [*told_at_the_call(folder), *(one for source in WITH_PROMPTS for one in story.reports(folder, source))]
    known, _ = story.told(seen)
    mixed, _ = story.told(story.shuffled([*seen, *seen], seed))
    assert story.row_differences(story.rows(known), story.rows(mixed)) == []


LINE = "-work/s1.jsonl"


def line(uuid: str, words: str, at: int, number: int) -> Record:
    said = {"uuid": uuid, "parentUuid": None, "sessionId": "s1", "promptSource": "sdk"}
    body = json.dumps({"type": "user", **said, "message": {"role": "user", "content": words}}).encode()
    return Record(observation_id("record", LINE, body), "default", at, "transcript", "claude", f"{LINE}:{number}", body)


def ended(at: int, number: int) -> Record:
    body = json.dumps({"type": "result", "subtype": "success", "session_id": "s1", "uuid": f"r{number}"}).encode()
    return Record(observation_id("record", body), "default", at, "stream", "stream-json", f"sdk-1:{number}", body)


@pytest.mark.parametrize("seed", range(8))
def test_the_same_words_asked_three_times_are_three_tasks_also_while_the_transcript_lags(seed: int) -> None:
    asked = [one for n in range(3) for one in (prompt("s1", "Go on.", 1000 * n + 10, 2 * n), ended(1000 * n + 500, 2 * n + 1))]
    written = [line(f"u{n}", "Go on.", 1000 * n + 20, n + 1) for n in range(2)]
    _, questions = story.told(story.shuffled([(one,) for one in (*asked, *written)], seed))
    tasks = questions.tasks(roots=True)["items"]
    assert [task["prompt"] for task in tasks] == ["Go on."] * 3
    said = [message for task in tasks for message in questions.messages(task["id"])["items"]]
    assert len(said) == 3
