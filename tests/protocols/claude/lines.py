"""Lines as the client writes them, and the cases' own, as records."""

import json
from pathlib import Path
from typing import Any, TypeVar

from ramify.model.event import Event
from ramify.model.observation import Record

CASES = Path(__file__).parents[2] / "cases" / "claude"
SESSION = "11111111-2222-4333-8444-555555555555"
AGENT = "a0123456789abcdef"
AT = 1_700_000_000_000_000
Kind = TypeVar("Kind")


def record(line: dict[str, Any] | bytes, form: str, number: int = 7) -> Record:
    body = line if isinstance(line, bytes) else json.dumps(line).encode()
    source = "hook" if form == "claude-hook" else "stream"
    return Record(f"obs_{number}", "default", AT + number, source, form, f"run/lines.jsonl:{number}", body)


def lines_of(case: str, name: str) -> list[bytes]:
    return (CASES / case / name).read_bytes().splitlines()


def records_of(case: str, name: str, form: str) -> list[Record]:
    return [record(line, form, number) for number, line in enumerate(lines_of(case, name), 1)]


def expected(case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CASES / case / "expected.json").read_text())
    return found


def only(events: tuple[Event, ...], kind: type[Kind]) -> Kind:
    (found,) = of(events, kind)
    return found


def of(events: tuple[Event, ...], kind: type[Kind]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]
