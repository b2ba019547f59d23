"""Stores that were told a case, by `ramify import` itself, as a person would."""

import os
from pathlib import Path

from ramify.app import Ramify

CASES = Path(__file__).parents[1] / "cases"
SOURCES = ("exchanges.jsonl", "transcripts", "stream.jsonl", "sdk_messages.jsonl", "hooks.jsonl")
OLDEST, NAMELESS = "2.0.26-", ("background", "fork-session", "fork-twice", "nested", "sdk-fork-file", "compact", "twins")


def folders(protocol: str) -> list[Path]:
    return sorted(path for path in (CASES / protocol).iterdir() if path.is_dir())


def every_case() -> list[str]:
    """Of the recordings of many versions of one client, the oldest and some without a version: the others differ in their words."""
    found = [folder for protocol in ("anthropic", "claude", "a2a", "sam", "events") for folder in folders(protocol)]
    found += [folder for folder in folders("claude_more") if folder.name.startswith(OLDEST) or folder.name in NAMELESS]
    if os.environ.get("RAMIFY_EXAMPLES"):
        found = [folder for protocol in sorted(os.listdir(CASES)) if (CASES / protocol).is_dir() for folder in folders(protocol)]
    return [str(folder.relative_to(CASES)) for folder in dict.fromkeys(found)]


def quiet(done: int, total: int) -> None:
    pass


def told(*cases: str) -> Ramify:
    ramify = Ramify.open("memory:")
    for case in cases:
        folder = CASES / case
        given = [folder / name for name in SOURCES if (folder / name).exists()] if case.startswith("claude") else [folder]
        ramify.import_paths(given, "auto", quiet)
    return ramify


def conversations(ramify: Ramify) -> list[str]:
    return [one["id"] for one in ramify.questions.conversations(limit=0)["items"]]
