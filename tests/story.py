"""Cases as data: what was seen, and the tree as a person would draw it."""

import json
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from ramify.ingest import Ingest
from ramify.model.entity import TABLES
from ramify.model.ids import observation_id
from ramify.model.moment import micros
from ramify.model.observation import Observation, Record, Request, Response
from ramify.protocols.otel.request import read_json
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite, open_sqlite

UNDATED = 1_900_000_000_000_000  # old streams have no times: whoever reads such a file knows only that it is over
CASES = Path(__file__).parent / "cases"


def anthropic_cases() -> list[str]:
    return sorted(path.name for path in (CASES / "anthropic").iterdir() if path.is_dir())


def claude_cases() -> list[str]:
    return sorted(path.name for path in (CASES / "claude").iterdir() if path.is_dir())


def expected(protocol: str, case: str) -> dict[str, Any]:
    return json.loads((CASES / protocol / case / "expected.json").read_text())


def exchanges(protocol: str, case: str) -> list[tuple[Observation, ...]]:
    lines = (CASES / protocol / case / "exchanges.jsonl").read_text().splitlines()
    return [tuple(observe(json.loads(line))) for line in lines]


def observe(line: dict[str, Any]) -> Iterable[Observation]:
    asked, answered = line["request"], line["response"]
    started = micros(line["started"])
    id = observation_id("exchange", line["id"], line["started"])
    body = json.dumps(asked.get("body")).encode()
    yield Request(id, "default", started, "exchanges", line["id"], asked["method"], asked["path"], tuple(asked["headers"].items()), body)
    end = micros(line["ended"]) if line.get("ended") else started
    if answered is None:
        yield Response(observation_id(id), "default", end, "exchanges", id, asked["path"], 0, (), b"", "lost")
        return
    raw = answered["sse"].encode() if "sse" in answered else json.dumps(answered.get("body")).encode()
    outcome = "aborted" if answered.get("aborted") else "complete"
    yield Response(observation_id(id), "default", end, "exchanges", id, asked["path"], answered["status"], tuple(answered["headers"].items()), raw, outcome)


def told(stories: list[tuple[Observation, ...]], size: int = 7) -> tuple[Sqlite, Questions]:
    store = open_sqlite("memory:")
    ingest = Ingest(store)
    flat = [seen for story in stories for seen in story]
    for start in range(0, len(flat), size):
        ingest.step(flat[start : start + size])
    return store, Questions(store)


def shuffled(stories: list[tuple[Observation, ...]], seed: int) -> list[tuple[Observation, ...]]:
    mixed = list(stories)
    random.Random(seed).shuffle(mixed)
    return mixed


def calls_by_exchange(questions: Questions) -> dict[str, dict[str, Any]]:
    found = {}
    for call in questions.calls(limit=0)["items"]:
        exchange = next(ref["value"] for ref in call["refs"] if ref["kind"] == "exchange")
        found[exchange] = call
    return found


def fits(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else value == wanted


def rows(store: Sqlite) -> dict[str, dict[str, Any]]:
    """Every derived row, for comparing two stores."""
    found: dict[str, dict[str, Any]] = {}
    for table in ("calls", "tasks", "tools", "lines", "conversations", "corrections", "messages", "reports", "notes", "artifacts", "agents", "tallies"):
        for (doc,) in store._read(f"SELECT doc FROM {table}"):
            row = msgspec.convert(msgspec.msgpack.decode(doc), TABLES[table])
            if getattr(row, "kind", "") == "none" or (table == "calls" and row.relation == "seen" and row.twin):
                continue  # what nobody is shown
            found[f"{table}/{row.id}"] = {name: getattr(row, name) for name in row.__struct_fields__}
    return found


def row_differences(one: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]]) -> list[str]:
    found = [f"only in one: {key}" for key in sorted(set(one) ^ set(other))]
    for key in sorted(set(one) & set(other)):
        for name, value in one[key].items():
            if value != other[key][name]:
                found.append(f"{key}.{name}: {value!r} / {other[key][name]!r}")
    return found


# -- sources that report ------------------------------------------------------------------------------------------------


def reports(folder: Path, source: str) -> list[tuple[Observation, ...]]:
    """What a case's folder holds for one source, a record each."""
    match source:
        case "exchanges":
            lines = (folder / "exchanges.jsonl").read_text().splitlines()
            return [tuple(observe(json.loads(line))) for line in lines]
        case "transcripts":
            base = folder / "transcripts" / "projects"
            files = sorted(path for path in base.rglob("*") if path.suffix in (".jsonl", ".json"))
            return [one for path in files for one in _records(path, "claude", "transcript", str(path.relative_to(base)))]
        case "stream-json":
            return _records(folder / "stream.jsonl", "stream-json", "stream", "stream.jsonl")
        case "sdk":
            return _records(folder / "sdk_messages.jsonl", "sdk", "stream", "sdk_messages.jsonl")
        case "otlp":
            lines = (folder / "otlp.jsonl").read_bytes().splitlines()
            return [(record,) for line in lines for record in read_json(line, "default", "otlp.jsonl").records]
        case "hooks":
            return _records(folder / "hooks.jsonl", "claude-hook", "hook", "hooks.jsonl")
        case _:
            raise ValueError(source)


def _records(path: Path, format: str, source: str, place: str) -> list[tuple[Observation, ...]]:
    whole = path.suffix == ".json"
    lines = [path.read_bytes()] if whole else path.read_bytes().splitlines()
    times = [_time(line) for line in lines]
    at = next((time for time in times if time), UNDATED)
    found: list[tuple[Observation, ...]] = []
    for number, (line, time) in enumerate(zip(lines, times, strict=True), 1):
        at = (time or at) if source == "transcript" else max(time, at + 1)
        id = observation_id("record", format, place, number, line)
        found.append((Record(id, "default", at, source, format, f"{place}:{number}", line),))
    return found


def _time(line: bytes) -> int:
    found = re.search(rb'"timestamp":\s?"(\d{4}-[^"]+)"(?!.*"timestamp":\s?"\d)', line)
    return micros(found.group(1).decode()) if found else 0
