"""Writes what a run left behind, as it was: exchanges, transcripts, stream, hooks."""

import json
import shutil
from datetime import datetime
from pathlib import Path

from ramify.demo.wire import Json
from tests.peers.recording.api import Kept
from tests.peers.recording.world import World


def write(world: World, name: str, target: Path) -> None:
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    lines(target / "exchanges.jsonl", [exchange(kept, name) for kept in world.api.kept])
    if world.lines:
        lines(target / "stream.jsonl", world.lines)
    projects = world.folder / "config" / "projects"
    if projects.exists():
        shutil.copytree(projects, target / "transcripts" / "projects")
    for file in ("hooks.jsonl", "sdk_messages.jsonl", "sdk_hooks.jsonl", "screen.txt"):
        if (world.folder / file).exists():
            shutil.copy(world.folder / file, target / file)


def exchange(kept: Kept, name: str) -> Json:
    headers = {key: "(redacted)" if key.lower() == "x-api-key" else value for key, value in kept.headers.items()}
    headers = {
        key: value for key, value in headers.items() if key.lower() not in ("host", "connection", "content-length")
    }
    return {
        "id": f"{name}-{kept.number}",
        "started": stamp(kept.started),
        "ended": stamp(kept.ended),
        "request": {"method": kept.method, "path": kept.path, "headers": headers, "body": kept.body},
        "response": response(kept),
    }


def brief(headers: dict[str, str]) -> dict[str, str]:
    """Without what every request of every client repeats."""
    dull = ("x-stainless-", "anthropic-beta", "anthropic-dangerous", "accept")
    keep = ("x-stainless-retry-count",)
    return {name: value for name, value in headers.items() if name.lower() in keep or not name.lower().startswith(dull)}


def response(kept: Kept) -> Json | None:
    if not kept.status:
        return None
    answer: Json = {"status": kept.status, "headers": kept.answer_headers}
    if "event-stream" in kept.answer_headers.get("Content-Type", ""):
        answer["sse"] = kept.answer
    elif kept.answer:
        answer["body"] = json.loads(kept.answer)
    if kept.aborted:
        answer["aborted"] = True
    return answer


def stamp(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else None


def lines(path: Path, values: list[Json]) -> None:
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))
