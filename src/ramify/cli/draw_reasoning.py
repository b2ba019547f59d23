"""What agents thought, explained and reported, in order."""

from collections.abc import Sequence

from rich.text import Text

from ramify.cli import words
from ramify.cli.draw_blocks import WITHHELD, Page
from ramify.cli.safe_text import one_line, paragraphs
from ramify.cli.words import Record

STYLES = {"thinking": "italic", "explanation": "", "progress": "cyan", "context": "dim"}


def draw_reasoning(blocks: Sequence[Record], page: Page) -> list[Text]:
    lines: list[Text] = []
    outer = Page(page.width, page.now, page.full, 0)
    for block in blocks:
        kind = one_line(block.get("kind") or "thinking")
        head = Text("✻ ", "magenta").append(kind, "bold magenta")
        for part in (block.get("agent_name"), block.get("model")):
            head.append(f"  {one_line(part)}" if part else "", "dim")
        lines += [Text(), outer.line(head, Text(words.clock(block.get("timestamp"), page.now), "dim"))]
        text = paragraphs(str(block.get("text") or "")).strip()
        if text:
            lines += page.prose(Text(text, STYLES.get(kind, "")))
        else:
            why = f"withheld: {WITHHELD}" if block.get("withheld") else "empty"
            lines.append(page.line(Text(why, "dim italic")))
    return lines[1:]
