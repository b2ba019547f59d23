"""Which of the client's files a line stands in: the path says whose it is where the line does not."""

import re

from msgspec import Struct

from ramify.protocols.claude.shape import line_of

AGENT_FILE = re.compile(r"^agent-(.+?)(\.meta\.json|\.jsonl)$")


class File(Struct, frozen=True):
    kind: str  # session, agent, sidecar, journal (of a workflow), workflow (its state)
    line: int = 0
    session: str = ""
    agent: str = ""
    run: str = ""  # the workflow that the agent worked in


def file_of(place: str) -> File:
    """`place` is `<path>:<line>`; the path begins with the project's folder, and may be cut short before it."""
    path, line = place.rpartition(":")[0], line_of(place)
    *folders, name = path.replace("\\", "/").split("/")
    session = session_above(folders)
    run = folders[-1] if folders[-2:-1] == ["workflows"] else ""
    if agent := AGENT_FILE.match(name):
        kind = "sidecar" if agent.group(2) == ".meta.json" else "agent"
        return File(kind, line, session, agent.group(1), run)
    if name == "journal.jsonl" and run:
        return File("journal", line, session, run=run)
    if name.endswith(".json") and folders[-1:] == ["workflows"]:
        return File("workflow", line, session, run=name.removesuffix(".json"))
    return File("session", line, name.removesuffix(".jsonl"))


def session_above(folders: list[str]) -> str:
    """`<session>/subagents/…` and `<session>/workflows/…`; before 2.1.30 agents' files lay beside the session's."""
    for index, folder in enumerate(folders):
        if index and folder in ("subagents", "workflows"):
            return folders[index - 1]
    return ""
