"""Recorded cases may be shown to anybody, are small, and their truth speaks of what was recorded."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.peers.recording.cutting import Cut, scrubber

CASES = Path(__file__).parent / "cases" / "claude_more"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())
LARGEST = 160_000
LONGEST = 1_600
OF_THIS_MACHINE = re.compile(r"/tmp/tmp|sk-ant-|/root\b|127\.0\.0\.1:(?!8080)")
FILES = {"exchanges": "exchanges.jsonl", "transcripts": "transcripts", "stream-json": "stream.jsonl", "sdk": "sdk_messages.jsonl"}


def strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield key, value
        case list():
            for one in value:
                yield from strings(one, key)
        case dict():
            for name, one in value.items():
                yield from strings(one, name)


def documents(case: str) -> Iterator[Any]:
    for path in (CASES / case).rglob("*.json*"):
        text = path.read_text()
        yield from map(json.loads, text.splitlines() if path.suffix == ".jsonl" else [text])


@pytest.mark.parametrize("case", NAMES)
def test_a_case_is_small_and_tells_nothing_of_the_vendor_or_the_machine(case: str) -> None:
    assert sum(path.stat().st_size for path in (CASES / case).rglob("*") if path.is_file()) < LARGEST
    for document in documents(case):
        for key, text in strings(document):
            assert key == "sse" or len(text) < LONGEST, (key, text[:100])
            assert not OF_THIS_MACHINE.search(text), (key, text[:200])


@pytest.mark.parametrize("case", NAMES)
def test_the_truth_of_a_case_names_what_was_recorded(case: str) -> None:
    truth = json.loads((CASES / case / "expected.json").read_text())
    assert truth["case"] == case
    recorded = {path.name for path in (CASES / case).iterdir()}
    assert {FILES[source] for source in truth["sources"]} <= recorded
    seen = "\n".join(path.read_text() for path in (CASES / case).rglob("*") if path.is_file() and path.name != "expected.json")
    keys = {task["key"] for task in truth["tasks"]}
    for task in truth["tasks"]:
        assert {task["parent"], task["root"]} <= keys | {None}
        assert task["session"] in seen
        assert task["agent"] is None or task["agent"] in seen
        assert (task["spawned_by"] or "") in seen
    for call in truth["calls"]:
        assert f'"{call["exchange"]}"' in seen
        assert call["task"] is None or call["task"] in keys
    for message in truth["messages"]:
        assert set(message["task"]) <= keys
        assert json.dumps(message["key"], ensure_ascii=False)[1:-1] in seen


def test_scripted_words_survive_the_cut_and_the_vendors_do_not() -> None:
    cut = Cut(["Count the trees."], lambda text: text)
    text = "Be careful.\n" + "Do this and that. " * 40 + "\n" + "More rules.\n" * 20 + "Count the trees."
    assert cut.text(text) == "Be careful.\n[21 lines cut, 940 characters]\nCount the trees."
    assert cut.text(text) == cut({"text": text})["text"]  # type: ignore[index]
    assert cut.text("Short.") == "Short."


def test_an_id_between_the_vendors_words_stays_where_it_was() -> None:
    report = "[Subagent hand-back] " + "It is model output. " * 20 + "The report follows:\n  Three.\nagentId: a1 (continue)\n"
    lines = Cut(["Three."], lambda text: text).text(report).split("\n")
    assert lines[0].endswith("characters cut] The report follows:")
    assert lines[1:] == ["  Three.", "agentId: a1 (continue)", ""]


def test_folders_and_the_port_of_the_recording_are_made_up(tmp_path: Path) -> None:
    scrub = scrubber(tmp_path, "http://127.0.0.1:4711")
    assert scrub(f"{tmp_path}/work/a at 127.0.0.1:4711") == "/home/dev/project/a at 127.0.0.1:8080"
    assert scrub('"device_id":"' + "0f" * 32 + '"') == '"device_id":"' + "7e57" * 16 + '"'
