"""One tool call: what went in and what came out, side by side where there is room."""

from itertools import zip_longest
from typing import Any

from rich.text import Text

from ramify.cli import words
from ramify.cli.draw_blocks import WRAPPING, Page, result_text
from ramify.cli.marks import status_word
from ramify.cli.safe_text import as_json, one_line, paragraphs
from ramify.cli.words import Record

WIDE_ENOUGH = 100
GUTTER = " │ "


def draw_tool(tool: Record, page: Page) -> list[Text]:
    lines = [*heading(tool, page), Text()]
    given = readable(tool.get("args"))
    result = readable(tool.get("result"))
    if page.width < WIDE_ENOUGH:
        stacked = Page(page.width, page.now, page.full, 2)
        given_lines, result_lines = (
            fold(given, stacked.room, page.full),
            fold(result, stacked.room, page.full),
        )
        return [
            *lines,
            Text("input", "dim"),
            *indented(given_lines),
            Text(),
            Text("result", "dim"),
            *indented(result_lines),
        ]
    half = (page.width - len(GUTTER)) // 2
    left, right = fold(given, half, page.full), fold(result, half, page.full)
    return lines + side_by_side([Text("input", "dim"), *left], [Text("result", "dim"), *right], half)


def heading(tool: Record, page: Page) -> list[Text]:
    line = Text(no_wrap=True).append(one_line(tool.get("name") or "tool"), "bold").append("  ")
    line.append_text(status_word(tool.get("status") or "unknown"))
    for part in (
        words.elapsed(tool, page.now),
        tool.get("agent_name"),
        words.clock(tool.get("timestamp"), page.now),
    ):
        if part:
            line.append(f"  {one_line(part)}", "dim")
    ids = Text(f"{one_line(tool.get('call_id') or '')}  {one_line(tool.get('id') or '')}", "dim", no_wrap=True)
    ids.append(f"  in {one_line(tool['task'])}" if tool.get("task") else "")
    spawned = [Text("╰ started ", "dim").append(one_line(child), "bold cyan") for child in tool.get("spawned") or ()]
    lines = [line, ids, *spawned]
    for each in lines:
        each.truncate(page.width, overflow="ellipsis")
    return lines


def readable(value: Any) -> str:
    """An object as `name: value`, long texts as they are: escaped line breaks help nobody."""
    if value is None:
        return ""
    if isinstance(value, dict) and value and "type" not in value:
        return "\n".join(named(name, part) for name, part in value.items())
    if isinstance(value, int | float):
        return as_json(value)
    return result_text(value)


def named(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else as_json(value, 2 if isinstance(value, dict | list) else None)
    return f"{name}:\n  " + text.replace("\n", "\n  ") if "\n" in text else f"{name}: {text}"


def fold(text: str, width: int, full: bool, most: int = 40) -> list[Text]:
    if not text.strip():
        return [Text("(nothing)", "dim italic")]
    lines = list(Text(paragraphs(text).strip("\n")).wrap(WRAPPING, width))
    if full or len(lines) <= most:
        return lines
    return [
        *lines[:most],
        Text(f"… {words.plural(len(lines) - most, 'more line')}; --full shows all", "dim italic"),
    ]


def indented(lines: list[Text]) -> list[Text]:
    return [Text("  ").append_text(line) for line in lines]


def side_by_side(left: list[Text], right: list[Text], half: int) -> list[Text]:
    lines = []
    for one, other in zip_longest(left, right):
        line = one.copy() if one is not None else Text()
        line.truncate(half, pad=True)
        line = Text(no_wrap=True).append_text(line).append(GUTTER, "bright_black")
        lines.append(line.append_text(other) if other is not None else line)
        lines[-1].rstrip()
    return lines
