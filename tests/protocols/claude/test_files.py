"""Whose a file is, by its path alone."""

import pytest

from ramify.protocols.claude.files import File, file_of


@pytest.mark.parametrize(
    ("place", "file"),
    [
        ("-p/s-1.jsonl:12", File("session", 12, "s-1")),
        ("s-1.jsonl:12", File("session", 12, "s-1")),
        ("-p/agent-0a1b2c3d.jsonl:1", File("agent", 1, "", "0a1b2c3d")),
        ("-p/s-1/subagents/agent-a1.jsonl:3", File("agent", 3, "s-1", "a1")),
        ("-p/s-1/subagents/agent-a1.meta.json:1", File("sidecar", 1, "s-1", "a1")),
        ("-p/s-1/subagents/agent-ada-1.meta.json:1", File("sidecar", 1, "s-1", "ada-1")),
        ("subagents/agent-a1.meta.json:1", File("sidecar", 1, "", "a1")),
        ("-p/s-1/subagents/workflows/wf_1/agent-a1.jsonl:3", File("agent", 3, "s-1", "a1", "wf_1")),
        ("-p/s-1/subagents/workflows/wf_1/journal.jsonl:3", File("journal", 3, "s-1", "", "wf_1")),
        ("-p/s-1/workflows/wf_1.json:1", File("workflow", 1, "s-1", "", "wf_1")),
        ("-p\\s-1\\subagents\\agent-a1.jsonl:3", File("agent", 3, "s-1", "a1")),
        ("", File("session")),
        ("-p/s-1.jsonl:x", File("session", 0, "s-1")),
    ],
)
def test_the_path_tells_session_agent_and_workflow(place: str, file: File) -> None:
    assert file_of(place) == file
