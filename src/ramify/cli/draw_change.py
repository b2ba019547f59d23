"""One line per change of the live feed."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.text import Text

from ramify.cli import words
from ramify.cli.columns import peek
from ramify.cli.draw_tree import title_of
from ramify.cli.marks import glyph, status_style, task_marks, who
from ramify.cli.safe_text import one_line
from ramify.cli.words import Record

KINDS = ("task", "call", "tool", "message", "link", "artifact", "operation", "agent", "gone")


def changes_of(body: str) -> Iterator[tuple[str, Record]]:
    """Kind and record of each change: an event holds one, or a list, or an object with a list."""
    try:
        found = json.loads(body)
    except ValueError:
        return
    if isinstance(found, dict) and isinstance(found.get("changes"), list):
        found = found["changes"]
    for change in found if isinstance(found, list) else [found]:
        if isinstance(change, dict) and change and "conversation" not in change:  # its calls tell the same
            yield named(change)


def named(change: dict[str, Any]) -> tuple[str, Record]:
    for kind in KINDS:
        if isinstance(change.get(kind), dict):
            return kind, change[kind]
    kind = one_line(change.get("type") or change.get("kind") or "")
    record = next((change[name] for name in ("record", "value", "row") if isinstance(change.get(name), dict)), change)
    return kind or guessed(record), record


def guessed(record: Record) -> str:
    """Ramify's ids begin with what they name."""
    return one_line(record.get("id") or "change").partition("_")[0]


def draw_change(kind: str, record: Record, width: int, now: datetime) -> Text:
    at = record.get("closed") or record.get("timestamp") or record.get("opened")
    line = Text(f"{words.clock(at, now) or now.strftime('%H:%M:%S')}  ", "dim", no_wrap=True)
    line.append_text(glyph(record.get("status"))).append(f" {kind:<5} ", "magenta")
    line.append_text(subject(kind, record))
    status = record.get("status")
    if status and kind != "task":
        line.append(f"  {one_line(status)}", status_style(status))
    for mark in task_marks(record, width) if kind == "task" else ():
        line.append("  ").append_text(mark)
    took = words.elapsed(record, now)
    line.append(f"  {took}" if took else "", "dim").append(f"  {one_line(record.get('id') or '')}", "dim")
    line.truncate(width, overflow="ellipsis")
    return line


def subject(kind: str, record: Record) -> Text:
    if kind in ("tool", "tool_call"):
        name = one_line(record.get("name") or "")
        return Text(name, "bold").append(f"  {peek(record.get('args'))}"[:80])
    if kind in ("call", "model_call"):
        usage = record.get("usage") or {}
        used = f"  {words.count(words.tokens(usage))} tokens" if usage.get("calls") else ""
        return Text(one_line(record.get("model") or "")).append(used, "dim")
    if kind == "link":
        return Text(f"{one_line(record.get('child') or '')} ← {one_line(record.get('parent') or '')}")
    if kind == "gone":
        return Text(one_line(record.get("kind") or ""))
    if kind == "message":
        return Text(one_line(record.get("author") or record.get("role") or ""))
    return Text(who(record), "bold cyan").append(f"{'  ' if who(record) else ''}{title_of(record)[:80]}")
