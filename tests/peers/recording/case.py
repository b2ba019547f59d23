"""Writes a case folder: what was seen, cut to what may be shown, and what is true of it."""

import json
import re
import shutil
from pathlib import Path

from ramify.demo.wire import Json
from tests.peers.recording import raw
from tests.peers.recording.api import Kept
from tests.peers.recording.cutting import Cut, dashed, scrubber
from tests.peers.recording.files import Files
from tests.peers.recording.story import Story
from tests.peers.recording.tree import Tree
from tests.peers.recording.truth import Truth
from tests.peers.recording.world import World


def write(story: Story, version: str, world: World, target: Path) -> None:
    projects = world.folder / "config" / "projects"
    truth = Truth(story, version, Tree(world, Files(projects))).expected()
    scrub = scrubber(world.folder, world.api.url)
    cut = Cut(words(story, world), scrub)
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    (target / "expected.json").write_text(scrub(listed(truth)))
    save(target / "exchanges.jsonl", [exchange(kept, story.name) for kept in world.api.kept], cut)
    save(target / "stream.jsonl", world.stream, cut)
    for name in ("hooks.jsonl", "sdk_messages.jsonl", "sdk_hooks.jsonl"):
        if (world.folder / name).exists():
            save(target / name, read(world.folder / name), cut)
    folder = dashed(str(world.work))
    for path in sorted(projects.rglob("*.json*")):
        place = (
            target / "transcripts" / "projects" / str(path.relative_to(projects)).replace(folder, "-home-dev-project")
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".jsonl":
            save(place, read(path), cut)
        else:
            place.write_text(dense(cut(json.loads(path.read_text()))) + "\n")


def exchange(kept: Kept, name: str) -> Json:
    whole = raw.exchange(kept, name)
    return {**whole, "request": {**whole["request"], "headers": raw.brief(whole["request"]["headers"])}}


def listed(truth: Json) -> str:
    """One entry a line: people read it, and differences show."""
    parts = []
    for name, value in truth.items():
        entries = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in value) if isinstance(value, list) else ""
        body = (
            f"[\n  {entries}\n ]" if entries and isinstance(value[0], dict) else json.dumps(value, ensure_ascii=False)
        )
        parts.append(f' "{name}": {body}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def words(story: Story, world: World) -> set[str]:
    """All that the script says: kept wherever it stands."""
    said = {one for told in world.said for one in told.words}
    blocks = [block for kept in world.api.kept for block in kept.said]
    answers = {str(block.get("text", "")) for block in blocks}
    given = {str(value) for block in blocks for value in block.get("input", {}).values() if isinstance(value, str)}
    summaries = {re.sub(r"<[^>]+>", "", line) for summary in story.summaries for line in summary.splitlines()}
    return {one for one in (*said, *answers, *given, *summaries, *story.scenes, *story.words) if len(one) > 8}


def read(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def save(path: Path, values: list[Json], cut: Cut) -> None:
    if values:
        path.write_text("".join(dense(cut(value)) + "\n" for value in values))


def dense(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
