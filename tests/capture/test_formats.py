import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ramify.capture.formats import detect, sources
from ramify.model.mistake import UserMistake
from tests.capture.transcripts import SESSION, agent, line, project, session

CASES = Path(__file__).parents[1] / "cases"


def test_every_recording_of_the_cases_is_recognised() -> None:
    found, unknown = sources([CASES / "claude"], "auto")
    count = Counter(source.format for source in found)
    assert count == {"exchanges": 6, "claude": 26, "stream-json": 5, "sdk": 1, "claude-hook": 2, "otlp": 1}
    assert {Path(path).name for path in unknown} == {"expected.json"}
    assert all(source.size == source.path.stat().st_size for source in found)


@pytest.mark.parametrize(
    ("first", "format"),
    [
        ({"type": "summary", "summary": "s", "leafUuid": "u"}, "claude"),
        ({"type": "mode", "sessionId": "s"}, "claude"),
        ({"type": "user", "uuid": "u", "session_id": "s"}, "stream-json"),
        ({"class": "UserMessage", "content": "c"}, "sdk"),
        ({"hook_event_name": "Stop", "session_id": "s"}, "claude-hook"),
        ({"input": {"hook_event_name": "Stop"}, "tool_use_id": None}, "claude-hook"),
        ({"type": 5, "sessionId": "s"}, None),
        ({"type": "user"}, None),
        ({"sessionId": "s", "text": "x" * 2_000_000, "type": "user"}, None),
        ({"type": "user", "sessionId": "s", "text": "x" * 2_000_000}, "claude"),
        ({"type": "user", "session_id": "s", "text": "x" * 2_000_000}, "stream-json"),
        ([1], None),
        ("text", None),
    ],
)
def test_a_line_gives_its_format_away(tmp_path: Path, first: Any, format: str | None) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text("noise\n" + json.dumps(first) + "\n")
    assert detect(path) == format


def test_a_transcript_is_known_by_its_place_even_if_it_is_empty_or_odd(tmp_path: Path) -> None:
    paths = [session(tmp_path), agent(tmp_path, b"{}\n"), agent(tmp_path, b"{", name="agent-a1.meta.json")]
    paths.append(agent(tmp_path, b'{"type":"launched"}', name="workflows/wf_1/journal.jsonl"))
    assert [detect(path) for path in paths] == ["claude"] * 4
    assert detect(agent(tmp_path, b"{}", name="notes.json")) is None


@pytest.mark.parametrize("below", ["", "projects", "projects/-home-dev-project", f"projects/-home-dev-project/{SESSION}"])
@pytest.mark.parametrize("format", ["auto", "claude"])
def test_a_folder_of_transcripts_may_be_given_at_any_height(tmp_path: Path, below: str, format: str) -> None:
    session(tmp_path, line(1))
    agent(tmp_path, line(1))
    found, unknown = sources([tmp_path / below], format)
    assert [source.path.name for source in found] == [f"{SESSION}.jsonl", "agent-a1.jsonl"]
    assert unknown == []


def test_a_file_that_was_named_twice_is_read_once(tmp_path: Path) -> None:
    path = session(tmp_path, line(1))
    assert len(sources([path, project(tmp_path), path], "auto")[0]) == 1


def test_mistakes_are_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    with pytest.raises(UserMistake, match="in no format that Ramify knows"):
        sources([tmp_path / "notes.txt"], "auto")
    with pytest.raises(UserMistake, match="holds no transcripts"):
        sources([tmp_path], "claude")
    with pytest.raises(UserMistake, match="no format 'none'"):
        sources([tmp_path], "none")
    assert sources([tmp_path], "auto") == ([], [str(tmp_path / "notes.txt")])
