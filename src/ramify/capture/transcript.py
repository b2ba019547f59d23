"""Claude Code's transcripts: where the files are, and what each is called by what reads it."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

FORMAT = "claude"
NAME = re.compile(r"(?:agent-[\w-]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl")
SIDECAR, WORKFLOWS, AGENTS = ".meta.json", "workflows", "subagents"


def usual_folder(environment: Mapping[str, str]) -> Path:
    """Where the client keeps its transcripts, unless it was told otherwise."""
    return Path(environment.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def is_config(folder: Path) -> bool:
    """Whether it is a client's own folder, of which only the transcripts are our business."""
    logs = {path.name for path in folder.glob("*.jsonl")}
    return (folder / "projects").is_dir() and logs <= {"history.jsonl"}


def is_project(folder: Path) -> bool:
    logs = [path.name for path in folder.glob("*.jsonl")]
    return bool(logs) and all(map(NAME.fullmatch, logs))


def is_session(folder: Path) -> bool:
    return folder.with_name(folder.name + ".jsonl").is_file() and any(
        (folder / name).is_dir() for name in (AGENTS, WORKFLOWS)
    )


def is_whole(path: Path) -> bool:
    """A file that is one thing, not a list of lines."""
    return path.suffix == ".json"


def is_transcript(name: str, folder: str) -> bool:
    return (
        name.endswith(".jsonl")
        or (name.startswith("agent-") and name.endswith(SIDECAR))
        or (name.endswith(".json") and os.path.basename(folder) == WORKFLOWS)
    )


Found = tuple[str, os.stat_result]


def find(path: Path) -> Iterator[Found]:
    """A file; or all transcripts of a session, of a project, of all projects or of a client's folder, in a fixed order.

    What cannot be looked into now (it may just be gone) is left out.
    """
    try:
        status = path.stat()
    except OSError:
        return
    if not stat.S_ISDIR(status.st_mode):
        yield str(path), status
        return
    if is_session(path):
        yield from find(path.with_name(path.name + ".jsonl"))
    yield from walk(str(path / "projects" if is_config(path) else path), set())


def walk(folder: str, been: set[tuple[int, int]]) -> Iterator[Found]:
    """Folders that are links are followed, each once."""
    try:
        own = os.stat(folder)
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: session_first(entry.name))
    except OSError:
        return
    if (own.st_dev, own.st_ino) in been:
        return
    been.add((own.st_dev, own.st_ino))
    for entry in entries:
        if not entry.name.startswith("."):
            yield from looked_at(entry, folder, been)


def session_first(name: str) -> tuple[str, bool]:
    """A session's own lines before those of its folder."""
    stem = name.removesuffix(".jsonl")
    return stem, stem == name


def looked_at(entry: os.DirEntry[str], folder: str, been: set[tuple[int, int]]) -> Iterator[Found]:
    try:
        if entry.is_dir():
            yield from walk(entry.path, been)
        elif is_transcript(entry.name, folder) and entry.is_file():
            yield entry.path, entry.stat()
    except OSError:
        return


def named(path: Path) -> tuple[str, str]:
    """Its path from the project on, which tells session and agent, and from the session on, which a copy shares."""
    parts = path.absolute().parts
    session = len(parts) - depth_in_session(parts)
    return written(parts[max(1, session - 1) :]), written(parts[session:])


def depth_in_session(parts: tuple[str, ...]) -> int:
    """1: the session's own file, or an agent's beside it. More: in its folder, flat whatever the agents' depth."""
    if parts[-4:-2] == (AGENTS, WORKFLOWS):
        return 5
    return 3 if parts[-2] in (AGENTS, WORKFLOWS) and len(parts) > 3 else 1


def written(parts: tuple[str, ...]) -> str:
    """Names on disk are any bytes; what is stored must be text."""
    return "/".join(parts).encode("utf-8", "backslashreplace").decode()
