import os
from pathlib import Path

import pytest

from ramify.capture.transcript import find, is_config, named, usual_folder
from tests.capture.transcripts import SESSION, agent, line, project, session

RUN = "subagents/workflows/wf_1"


def world(folder: Path) -> Path:
    """Every generation, and what lies about beside transcripts."""
    session(folder, line(1))
    agent(folder, line(2))
    agent(folder, b"{}", name="agent-a1.meta.json")
    home = project(folder)
    for name in (
        "agent-5f0c2a11.jsonl", f"{SESSION}/{RUN}/agent-a2.jsonl", f"{SESSION}/{RUN}/journal.jsonl", f"{SESSION}/workflows/wf_1.json",
        f"{SESSION}/workflows/scripts/pair.js", f"{SESSION}/tool-results/b1.txt", "memory/notes.md", "sessions-index.json", ".hidden/x.jsonl",
    ):  # fmt: skip
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("{}\n")
    (folder / "history.jsonl").write_text("{}\n")
    (folder / "settings.json").write_text("{}\n")
    return folder


EVERYTHING = [
    f"{SESSION}.jsonl", f"{SESSION}/subagents/agent-a1.jsonl", f"{SESSION}/subagents/agent-a1.meta.json",
    f"{SESSION}/{RUN}/agent-a2.jsonl", f"{SESSION}/{RUN}/journal.jsonl", f"{SESSION}/workflows/wf_1.json", "agent-5f0c2a11.jsonl",
]  # fmt: skip


def names(path: Path) -> set[str]:
    return {named(Path(found))[1] for found, _ in find(path)}


@pytest.mark.parametrize("below", [".", "projects", "projects/-home-dev-project"])
def test_the_transcripts_of_a_folder_are_found_and_nothing_else(tmp_path: Path, below: str) -> None:
    assert names(world(tmp_path) / below) == set(EVERYTHING)


def test_a_session_is_its_file_and_its_folder(tmp_path: Path) -> None:
    world(tmp_path)
    assert names(project(tmp_path) / SESSION) == set(EVERYTHING[:-1])
    assert names(project(tmp_path) / f"{SESSION}.jsonl") == {EVERYTHING[0]}


def test_a_session_comes_before_its_agents(tmp_path: Path) -> None:
    found = [named(Path(path))[1] for path, _ in find(world(tmp_path))]
    assert found[:2] == EVERYTHING[:2]


def test_names_tell_project_session_and_agent_wherever_the_folder_lies() -> None:
    top = Path("/data/workflows/subagents/projects")
    for name in EVERYTHING:
        assert named(top / "-home-dev-project" / name) == (f"-home-dev-project/{name}", name)
    assert named(Path("/only.jsonl"))[1] == "only.jsonl"


def test_a_name_that_is_no_text_is_written_all_the_same(tmp_path: Path) -> None:
    path = Path(os.fsdecode(b"/p/\xff.jsonl"))
    assert named(path) == ("p/\\udcff.jsonl", "\\udcff.jsonl")


def test_folders_that_are_links_are_followed_once(tmp_path: Path) -> None:
    home = project(world(tmp_path))
    (home / "again").symlink_to(home)
    (tmp_path / "elsewhere").symlink_to(tmp_path / "projects")
    assert len(list(find(tmp_path / "elsewhere"))) == len(EVERYTHING)


def test_what_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert list(find(tmp_path / "nowhere")) == []


def test_a_folder_with_recordings_of_its_own_is_no_clients_folder(tmp_path: Path) -> None:
    assert is_config(world(tmp_path))
    (tmp_path / "exchanges.jsonl").write_text("")
    assert not is_config(tmp_path)


def test_the_clients_own_variable_says_where_its_folder_is() -> None:
    assert usual_folder({"CLAUDE_CONFIG_DIR": "/c"}) == Path("/c")
    assert usual_folder({}) == Path.home() / ".claude"
