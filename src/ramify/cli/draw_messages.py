"""Messages as a conversation: who said what, tools with their results, nested work folded or inside."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from ramify.cli import words
from ramify.cli.draw_blocks import (
    Page,
    Tools,
    block_type,
    draw_block,
    draw_folded_task,
    draw_result,
    draw_tool_use,
    is_tool_result,
    is_tool_use,
)
from ramify.cli.marks import who
from ramify.cli.safe_text import cut, one_line
from ramify.cli.words import Record

LABELS = {
    "human": ("●", "bold blue"),
    "agent": ("◆", "bold cyan"),
    "tool": ("▸", "bold magenta"),
    "harness": ("·", "dim"),
    "system": ("§", "dim"),
    "unknown": ("?", "bold yellow"),
}
ONE_LINERS = frozenset({"harness", "system"})


class Transcript:
    """The messages of one answer and what is known about the tools and tasks that they name."""

    def __init__(
        self,
        messages: Sequence[Record],
        tools: Tools | None = None,
        tasks: Mapping[str, Record] | None = None,
    ) -> None:
        self.tools = tools or {}
        self.tasks = tasks or {}
        self.results = {
            block["tool_use_id"]: block for message in messages for block in blocks_of(message) if is_tool_result(block)
        }
        self.paired = {block.get("id") for message in messages for block in blocks_of(message) if is_tool_use(block)}
        self.groups: dict[Any, list[Record]] = {}
        for message in messages:
            self.groups.setdefault(message.get("task"), []).append(message)
        self.drawn: set[Any] = set()

    def spawned(self, call_id: Any) -> list[str]:
        return list((self.tools.get(call_id) or {}).get("spawned") or ())


def blocks_of(message: Record) -> list[Any]:
    blocks = message.get("blocks")
    return blocks if isinstance(blocks, list) else [] if blocks is None else [str(blocks)]


def draw_messages(transcript: Transcript, page: Page) -> list[Text]:
    """The first task's messages; those of tasks that it spawned inside, at the call that spawned them."""
    drawn: list[Text] = []
    for place, task in enumerate(transcript.groups):
        if task in transcript.drawn:
            continue
        if place:
            drawn += [Text(), page.line(task_line(transcript.tasks.get(task), task))]
        drawn += draw_group(task, transcript, page)
    return drawn[1:] if drawn and not drawn[0].plain else drawn


def task_line(task: Record | None, id: object) -> Text:
    name = who(task) if task else ""
    return Text("── ", "bright_black").append(name or one_line(id), "bold").append(" ──", "bright_black")


def draw_group(task: Any, transcript: Transcript, page: Page) -> list[Text]:
    transcript.drawn.add(task)
    drawn: list[Text] = []
    speaker = ""
    for message in transcript.groups[task]:
        body = draw_body(message, transcript, page)
        if not body:
            continue
        label = label_of(message, transcript)
        if message.get("author") in ONE_LINERS and not page.full:
            drawn.append(folded(message, label, page))
            continue
        if label.plain != speaker:
            at = Text(words.clock(message.get("timestamp"), page.now), "dim")
            outer = Page(page.width, page.now, page.full, page.indent - 2)
            drawn += [Text(), outer.line(label, at)]
        elif drawn and drawn[-1].plain and is_prose(message):
            drawn.append(Text())
        speaker = label.plain
        drawn += body
    return drawn


def is_prose(message: Record) -> bool:
    first = next(iter(blocks_of(message)), None)
    return block_type(first) == "text"


def draw_body(message: Record, transcript: Transcript, page: Page) -> list[Text]:
    drawn: list[Text] = []
    for block in blocks_of(message):
        if is_tool_use(block):
            drawn += draw_call(block, transcript, page)
        elif not is_tool_result(block):
            drawn += draw_block(block, page)
        elif block["tool_use_id"] not in transcript.paired:
            drawn.append(page.line(Text("▸ result of ", "dim").append(one_line(block["tool_use_id"]))))
            drawn += draw_result(block, page.deeper())
    return drawn


def draw_call(block: Record, transcript: Transcript, page: Page) -> list[Text]:
    call = block.get("id")
    drawn = draw_tool_use(block, transcript.results.get(call), transcript.tools.get(str(call)), page)
    inside = page.deeper()
    for child in transcript.spawned(call):
        drawn.insert(1, draw_folded_task(transcript.tasks.get(child) or {"id": child}, inside))
        if child in transcript.groups and child not in transcript.drawn:
            drawn[2:2] = [*draw_group(child, transcript, inside.deeper()), Text()]
    return drawn


def label_of(message: Record, transcript: Transcript) -> Text:
    author = str(message.get("author") or "unknown")
    mark, style = LABELS.get(author, LABELS["unknown"])
    label = Text(f"{mark} ", style)
    if author != "agent":
        label.append(one_line(author), style)
        kind = message.get("author_kind")
        return label.append(f" {one_line(kind)}", style) if kind else label
    speaker = transcript.tasks.get(str(message.get("author_id")))
    # A root's agent often has no name; a task's id in its place would only be noise.
    name = who(speaker) if speaker else one_line(message.get("author_id") or "")
    label.append(name or "agent", style)
    if message.get("role") != "user":
        return label
    # An agent that speaks as the user wrote this task's prompt: say so, and with which call.
    mine = transcript.tasks.get(str(message.get("task"))) or {}
    label.append(" asks ", "dim").append(who(mine) or "this agent", "bold cyan")
    via = (mine.get("link") or {}).get("via")
    return label.append(f"  by {one_line(via)}", "dim") if via else label


def folded(message: Record, label: Text, page: Page) -> Text:
    """What the harness put in between: there, but out of the way."""
    texts = [block.get("text") if isinstance(block, dict) else str(block) for block in blocks_of(message)]
    said = re.sub(r"</?[a-z][a-z-]*>", "", " ".join(text for text in texts if isinstance(text, str)))
    others = [block_type(block) for block in blocks_of(message) if block_type(block) != "text"]
    line = label.copy().append("  ").append(cut(one_line(said) or ", ".join(map(one_line, others)), page.room), "dim")
    return page.line(line)
