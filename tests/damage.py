"""What was recorded, and every way in which it can be damaged."""

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

CASES = Path(__file__).parent / "cases"
LINES = 12
WORDS = ["", "text", "tool_use", "tool_result", "user", "assistant", "completed", "\ud83d", "2026-01-01T00:00:00Z", "0", "[redacted]"]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(WORDS)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.sampled_from(WORDS), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def replaced(value: Any, data: st.DataObject, depth: int = 0) -> Any:
    """One value somewhere inside becomes another; which one is drawn on the way down."""
    if not isinstance(value, dict | list) or not value or (depth and data.draw(st.integers(0, 4)) == 0):
        return data.draw(ANYTHING)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = data.draw(st.sampled_from(keys))
    copy = value.copy()
    if data.draw(st.integers(0, 9)) == 0:
        del copy[key]
    else:
        copy[key] = replaced(value[key], data, depth + 1)
    return copy


def damaged(line: bytes, data: st.DataObject) -> bytes:
    match data.draw(st.integers(0, 4)):
        case 0:
            return line
        case 1:
            at = data.draw(st.integers(0, len(line)))
            return line[:at] + data.draw(st.binary(max_size=4)) + line[at + data.draw(st.integers(0, 8)) :]
        case 2:
            return line[: data.draw(st.integers(0, len(line)))]
    try:
        return json.dumps(replaced(json.loads(line), data), ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    except ValueError:
        return line


def file_of(recorded: list[list[bytes]], data: st.DataObject) -> bytes:
    """Some lines of one recording, in an order of their own, some twice, some damaged."""
    lines = data.draw(st.sampled_from(recorded))
    at = data.draw(st.integers(0, max(0, len(lines) - 2)))
    some = data.draw(st.permutations(lines[at : at + LINES])) if data.draw(st.booleans()) else lines[at : at + LINES]
    return b"\n".join(damaged(line, data) for line in some) + b"\n"


def recorded(*patterns: str, most: int = 200_000) -> list[list[bytes]]:
    paths = sorted(path for pattern in patterns for path in CASES.glob(pattern) if path.stat().st_size < most)
    return [path.read_bytes().splitlines() for path in paths]
