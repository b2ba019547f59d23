"""Transcripts on disk for tests: lines as the client writes them, added while somebody reads."""

import json
from pathlib import Path
from typing import Any

SESSION = "0b9d8c1e-27a4-4d0f-9a57-6f1d5f0c2a11"
START = "2026-03-02T08:00:00.000Z"


def line(number: int, **changes: Any) -> bytes:
    time = f"2026-03-02T{8 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
    content = {"type": "user", "uuid": f"u{number}", "sessionId": SESSION, "timestamp": time}
    return json.dumps(content | {"message": {"role": "user", "content": f"words {number}"}} | changes).encode() + b"\n"


def project(folder: Path) -> Path:
    found = folder / "projects" / "-home-dev-project"
    found.mkdir(parents=True, exist_ok=True)
    return found


def session(folder: Path, *lines: bytes) -> Path:
    path = project(folder) / f"{SESSION}.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def agent(folder: Path, *lines: bytes, name: str = "agent-a1.jsonl") -> Path:
    path = project(folder) / SESSION / "subagents" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def append(path: Path, raw: bytes) -> None:
    with path.open("ab") as file:
        file.write(raw)
