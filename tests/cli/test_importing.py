"""Transcripts through the command line."""

import json
from pathlib import Path
from typing import Any

from ramify.capture.transcript import find
from tests.capture.transcripts import append, line, session
from tests.cli.test_main import ramify

CASES = Path(__file__).parents[1] / "cases" / "claude"


def imported(home: Path, *words: str) -> dict[str, Any]:
    told = ramify(home, "import", *words, "--json")
    assert told.returncode == 0, told.stderr
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def test_a_folder_of_everything_is_read_once(tmp_path: Path) -> None:
    first = imported(tmp_path, str(CASES))
    assert first["unreadable_count"] == 0
    assert first["new"] > 500
    again = imported(tmp_path, str(CASES))
    assert again["new"] == 0
    assert again["unchanged"] == sum(1 for case in CASES.iterdir() for _ in find(case / "transcripts"))


def test_the_summary_counts_what_is_new_known_and_unreadable(tmp_path: Path) -> None:
    path = session(tmp_path, line(1), b'{"cut\n', line(2))
    told = ramify(tmp_path, "import", str(tmp_path / "projects"))
    assert told.stdout == "read 3 lines from 1 file: 3 observations new, 0 known before; 1 line could not be read\n"
    assert told.stderr.startswith(f"{path}:2: ")
    append(path, line(3))
    told = ramify(tmp_path, "import", str(path))
    assert told.stdout == "read 1 line from 1 file: 1 observations new, 0 known before\n"
    told = ramify(tmp_path, "import", str(path))
    assert told.stdout == "read 0 lines from 1 file: 0 observations new, 0 known before; 1 file unchanged\n"


def test_a_format_may_be_named(tmp_path: Path) -> None:
    hooks, messages = CASES / "hooks" / "hooks.jsonl", CASES / "background" / "sdk_messages.jsonl"
    assert imported(tmp_path, "--format", "claude-hooks", str(hooks))["new"] == 17
    assert imported(tmp_path, "--format", "sdk", str(messages))["new"] == 17
    assert imported(tmp_path, "--format", "claude", str(CASES / "simple" / "transcripts"))["files"] == 3
    told = ramify(tmp_path, "import", "--format", "claude", str(tmp_path))
    assert (told.returncode, "holds no transcripts" in told.stderr) == (2, True)


def test_a_watch_that_would_keep_nothing_is_refused(tmp_path: Path) -> None:
    told = ramify(tmp_path, "watch", "--store", "memory:")
    assert (told.returncode, "serve --watch" in told.stderr) == (2, True)


def test_a_session_that_is_named_is_read_with_its_agents(tmp_path: Path) -> None:
    name = next((CASES / "simple" / "transcripts" / "projects" / "-home-dev-project").glob("*.jsonl")).stem
    assert imported(tmp_path, str(CASES / "simple" / "transcripts" / "projects" / "-home-dev-project" / name))["files"] == 3
