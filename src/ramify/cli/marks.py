"""Status as shape and colour and, where it is not the ordinary one, word: never colour alone."""

from rich.text import Text

from ramify.cli.safe_text import one_line
from ramify.cli.words import Record

GLYPHS = {
    "pending": ("○", "dim"),
    "submitted": ("◔", "cyan"),
    "working": ("◐", "cyan"),
    "running": ("◐", "cyan"),
    "input-required": ("◇", "yellow"),
    "auth-required": ("◆", "yellow"),
    "completed": ("✓", "green"),
    "ok": ("✓", "green"),
    "failed": ("✗", "red"),
    "error": ("✗", "red"),
    "fail": ("✗", "red"),
    "timed_out": ("✗", "red"),
    "canceled": ("⊘", "magenta"),
    "aborted": ("⊘", "magenta"),
    "rejected": ("⊗", "red"),
    "missing": ("?", "yellow"),
    "unknown": ("?", "yellow"),
    "warn": ("!", "yellow"),
}
ORDINARY = frozenset({"completed", "ok"})
FLAG_STYLES = {"looping": "bold red", "orphan": "yellow", "stalled": "yellow", "late": "dim"}


def status_style(status: object) -> str:
    return GLYPHS.get(str(status), ("·", "dim"))[1]


def glyph(status: object) -> Text:
    shape, style = GLYPHS.get(str(status), ("·", "dim"))
    return Text(shape, style=style, end="")


def status_word(status: object) -> Text:
    """Glyph and word, for columns and headings."""
    return glyph(status).append(f" {one_line(status)}", status_style(status))


def link_mark(link: Record | None, brief: bool = False) -> Text | None:
    """Only what was inferred is marked; what a protocol or a person stated needs no word."""
    if not link:
        return None
    certainty = link.get("certainty")
    if link.get("rule") == "manual":
        return Text("by hand", "blue")
    if certainty is None or certainty >= 1:
        return None
    return Text(f"~{certainty:.2g}" if brief else f"~{one_line(link.get('rule'))} {certainty:.2g}", "yellow")


def task_marks(task: Record, room: int) -> list[Text]:
    """What is out of the ordinary about a task, in at most `room` columns. The status gives way first:
    its glyph has said it already."""
    status = task.get("status")
    flags = [Text(one_line(flag), FLAG_STYLES.get(flag, "yellow")) for flag in task.get("flags") or ()]
    word = [] if status in ORDINARY else [Text(one_line(status), status_style(status))]
    exact, brief = (link_mark(task.get("link"), short) for short in (False, True))
    link, short = ([exact] if exact else [], [brief] if brief else [])
    for marks in (word + flags + link, flags + link, word + flags + short, flags + short, flags, short):
        if marks and sum(2 + mark.cell_len for mark in marks) <= room:
            return marks
    return []


def who(task: Record) -> str:
    """The agent as people call it: its type, else its name."""
    name = task.get("agent_type") or task.get("agent")
    return one_line(name) if name else ""
