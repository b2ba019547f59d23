"""The pieces of a message: text to read, thinking, tools with their results, and what has no better form."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from ramify.cli import words
from ramify.cli.columns import peek
from ramify.cli.marks import ORDINARY, glyph, status_style, who
from ramify.cli.safe_text import as_json, one_line, paragraphs
from ramify.cli.words import Record

READING_WIDTH = 100  # longer lines are hard to read, however wide the window
FOLDED_LINES = 6
BAR = "bright_black"
WRAPPING = Console(width=READING_WIDTH)  # Rich wraps only with a console at hand; nothing is written to it
WITHHELD = "the model's provider does not show it"


class Page:
    """How to draw: where the text begins, how wide it is, whether long things are folded."""

    def __init__(self, width: int, now: datetime, full: bool = False, indent: int = 2) -> None:
        self.width = width
        self.now = now
        self.full = full
        self.indent = indent

    @property
    def room(self) -> int:
        return max(10, self.width - self.indent)

    def deeper(self, by: int = 2) -> "Page":
        """Never beyond half the width: the words need the rest."""
        return Page(self.width, self.now, self.full, min(self.indent + by, self.width // 2))

    def prose(self, text: Text) -> list[Text]:
        wrapped = text.wrap(WRAPPING, min(self.room, READING_WIDTH))
        for line in wrapped:
            line.rstrip()
        return [Text(" " * self.indent if line.plain else "").append_text(line) for line in wrapped]

    def line(self, text: Text, right: Text | None = None) -> Text:
        """One line, cut where it must be, with something at its right end."""
        tail = right if right is not None else Text()
        room = self.room - (tail.cell_len + 2 if tail.plain else 0)
        text = text.copy()
        text.truncate(max(1, room), overflow="ellipsis", pad=bool(tail.plain))
        drawn = Text(" " * self.indent, no_wrap=True, overflow="ellipsis").append_text(text)
        return drawn.append("  ").append_text(tail) if tail.plain else drawn

    def excerpt(self, text: str, style: str) -> list[Text]:
        """The first lines of something long, each cut; and how many more there are."""
        lines = paragraphs(text).strip("\n").split("\n")
        kept = lines if self.full else lines[:FOLDED_LINES]
        drawn = [self.line(Text("│ ", BAR).append(line, style)) for line in kept]
        if len(lines) > len(kept):
            more = words.plural(len(lines) - len(kept), "more line")
            drawn.append(self.line(Text("╵ ", BAR).append(more, "dim italic")))
        return drawn


def block_type(block: Any) -> str:
    return str(block.get("type") or block.get("kind") or "") if isinstance(block, dict) else "text"


def draw_block(block: Any, page: Page) -> list[Text]:
    """Every block but tools, which `draw_tool_use` pairs with their results."""
    kind = block_type(block)
    text = block.get("text") if isinstance(block, dict) else str(block)
    if kind == "text" and isinstance(text, str):
        return page.prose(Text(paragraphs(text).strip())) if text.strip() else []
    if kind in ("thinking", "redacted_thinking"):
        return draw_thinking(block, page)
    if kind in ("image", "document"):
        return [page.line(Text(f"[{kind}: {describe_source(block)}]", "magenta"))]
    return [page.line(Text(f"[{one_line(kind) or 'block'}] ", "magenta").append(one_line(as_json(block)), "dim"))]


def draw_thinking(block: Record, page: Page) -> list[Text]:
    text = block.get("thinking") or ""
    if not text:
        return [page.line(Text("✻ thinking withheld: ", "dim").append(WITHHELD, "dim italic"))]
    if page.full:
        whole = page.deeper().prose(Text(paragraphs(text).strip(), "dim italic"))
        return [page.line(Text("✻ thinking", "dim")), *whole]
    return [page.line(Text("✻ ", "dim").append(one_line(text), "dim italic"))]


def describe_source(block: Record) -> str:
    source = block.get("source")
    if not isinstance(source, dict):
        return one_line(block.get("title") or "no source")
    size = f", {words.count(len(source['data']) * 3 // 4)} bytes" if isinstance(source.get("data"), str) else ""
    return one_line(source.get("media_type") or source.get("url") or source.get("type") or "") + size


def is_tool_use(block: Any) -> bool:
    return isinstance(block, dict) and block_type(block).endswith("tool_use")


def is_tool_result(block: Any) -> bool:
    return isinstance(block, dict) and block_type(block).endswith("tool_result") and "tool_use_id" in block


def draw_tool_use(block: Record, result: Record | None, tool: Record | None, page: Page) -> list[Text]:
    """The call on one line with its outcome at the right; the result under it."""
    status = outcome(result, tool)
    head = Text("▸ ", "magenta").append(one_line(block.get("name") or "tool"), "bold")
    head.append("  ").append(peek(block.get("input")))
    tail = glyph(status)
    if status not in ORDINARY:
        tail.append(f" {one_line(status)}", status_style(status))
    took = words.elapsed(tool, page.now) if tool else ""
    tail.append(f" {took}" if took else "", "dim")
    drawn: list[Text] = [page.line(head, tail)]
    if page.full:
        drawn += page.deeper().excerpt(as_json(block.get("input"), 2), "cyan")
    if result is not None:
        drawn += draw_result(result, page.deeper())
    return drawn


def outcome(result: Record | None, tool: Record | None) -> str:
    if tool and tool.get("status"):
        return str(tool["status"])
    if result is None:
        return "missing"
    return "error" if result.get("is_error") else "ok"


def draw_result(block: Record, page: Page) -> list[Text]:
    style = "red" if block.get("is_error") else "dim"
    text = result_text(block.get("content"))
    return page.excerpt(text, style) if text.strip() else [page.line(Text("(no output)", "dim italic"))]


def result_text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return "\n".join(result_text(part) for part in content)
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return str(content["text"])
    if isinstance(content, dict) and block_type(content) in ("image", "document"):
        return f"[{block_type(content)}: {describe_source(content)}]"
    return as_json(content, 2)


def draw_folded_task(task: Record, page: Page) -> Text:
    """A sub-task as one line: who, how it went, how much it did."""
    usage = task.get("tree_usage") or task.get("usage") or {}
    line = Text("╰ ", "bright_black").append_text(glyph(task.get("status"))).append(" ")
    line.append(who(task) or "sub-task", "bold cyan")
    parts = [
        one_line(task["status"]) if task.get("status") not in ORDINARY else "",
        words.plural(task["subtasks"], "sub-task") if task.get("subtasks") else "",
        words.plural(task["tool_calls"], "tool") if task.get("tool_calls") else "",
        words.plural(task["files"], "file") if task.get("files") else "",
        words.duration(task["duration_ms"]) if task.get("duration_ms") else "",
        f"{words.count(words.tokens(usage))} tokens" if usage.get("calls") else "",
        words.cost(usage),
    ]
    line.append("".join(f" · {part}" for part in parts if part), "dim")
    return page.line(line, Text(one_line(task.get("id") or ""), "dim"))


Tools = Mapping[str, Record]
"""Tool calls by their protocol's own call id."""
