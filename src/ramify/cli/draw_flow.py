"""A flow: one line for each thing that happened, with how long after the beginning, and a line with the sums."""

from datetime import datetime
from typing import Any

from rich.text import Text

from ramify.cli import words
from ramify.cli.draw_list import Column, draw_list
from ramify.cli.marks import glyph, status_style
from ramify.cli.safe_text import one_line
from ramify.cli.words import Record

STYLES = {"request": "bold", "end": "bold", "error": "red", "thinking": "dim", "other": "dim", "subtask": "cyan", "tool_call": "magenta"}


def draw_flow(answer: dict[str, Any], width: int, now: datetime) -> list[Text]:
    start = words.moment(answer["task"].get("opened"))
    columns = (
        Column("after", lambda event, _: after(event, start), right=True, style="dim"),
        Column("", lambda event, _: glyph(event["status"]) if event.get("status") else Text()),
        Column("what", lambda event, _: Text(event["kind"].replace("_", " "), STYLES.get(event["kind"], ""))),
        Column("agent", lambda event, _: Text(one_line(event.get("agent_name") or ""), "cyan"), 3),
        Column("text", lambda event, _: Text(one_line(event.get("text") or ""), style_of(event)), grows=True),
        Column("took", lambda event, _: took(event), 2, right=True, style="dim"),
    )
    totals = answer["totals"]
    tokens = words.count(words.tokens(totals["tree"])) or "no"
    parts = [words.plural(totals["tasks"], "task"), words.plural(totals["tool_calls"], "tool call"), f"{tokens} tokens"]
    parts += [part for part in (words.cost(totals["tree"]), f"{len(answer['open'])} open" if answer["open"] else "") if part]
    return [*draw_list(columns, answer["events"], width, now), Text(" · ".join(parts), "dim")]


def after(event: Record, start: datetime | None) -> str:
    at = words.moment(event.get("timestamp"))
    return f"+{words.duration((at - start).total_seconds() * 1000)}" if at and start else ""


def took(event: Record) -> str:
    begun, over = words.moment(event.get("timestamp")), words.moment(event.get("closed"))
    return words.duration((over - begun).total_seconds() * 1000) if begun and over and over > begun else ""


def style_of(event: Record) -> str:
    return status_style(event["status"]) if event.get("status") in ("error", "failed") else STYLES.get(event["kind"], "") if event["kind"] != "tool_call" else ""
