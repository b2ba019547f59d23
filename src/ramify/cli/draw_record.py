"""One thing in full: a heading, its facts by name, and its longer texts."""

from typing import Any

from rich.text import Text

from ramify.cli import words
from ramify.cli.draw_blocks import Page
from ramify.cli.draw_tool import draw_tool
from ramify.cli.draw_tree import title_of
from ramify.cli.marks import glyph, link_mark, who
from ramify.cli.safe_text import as_json, one_line, paragraphs
from ramify.cli.words import Record

LONG = ("prompt", "artifacts", "native", "blocks", "children", "models", "agent_types")
USAGES = ("usage", "tree_usage")
TIMES = ("opened", "closed", "timestamp")


def draw_record(answer: Record, page: Page) -> list[Text]:
    """Whatever the id named; a tool call has a drawing of its own."""
    kind = str(answer.get("entity") or "")
    record = answer
    if kind == "tool":
        return draw_tool(record, page)
    lines = [heading(kind, record, page.width)]
    for name, value in record.items():
        if name in LONG or value in (None, [], {}) or name == "entity":
            continue
        lines.append(fact(name, value, page))
    for name in ("models", "agent_types"):
        if len(record.get(name) or {}) > 1:  # one of them is the whole tree's, which stands above
            lines += [Text(), Text(name.replace("_", " "), "dim")]
            lines += [fact(one, Text(usage_text(usage)), page) for one, usage in record[name].items()]
    if record.get("prompt"):
        lines += [Text(), Text("prompt", "dim"), *page.prose(Text(paragraphs(str(record["prompt"])).strip()))]
    for artifact in record.get("artifacts") or ():
        lines += [Text(), *draw_artifact(artifact, page)]
    if record.get("native"):
        lines += [Text(), Text("native", "dim"), *page.excerpt(as_json(record["native"], 2), "dim")]
    return lines


def heading(kind: str, record: Record, width: int) -> Text:
    line = Text(no_wrap=True)
    if record.get("status"):
        line.append_text(glyph(record["status"])).append(" ")
    line.append(f"{one_line(kind)} ", "dim").append(who(record), "bold cyan")
    title = title_of(record)
    line.append(("  " if who(record) else "") + title, "bold")
    line.truncate(width, overflow="ellipsis")
    return line


def fact(name: str, value: Any, page: Page) -> Text:
    return page.line(Text(f"{one_line(name):<14} ", "dim").append_text(value_text(name, value, page)))


def value_text(name: str, value: Any, page: Page) -> Text:
    if isinstance(value, Text):
        return value
    if name in USAGES and isinstance(value, dict):
        return Text(usage_text(value))
    if name == "link" and isinstance(value, dict):
        mark = link_mark(value)
        line = Text(f"{one_line(value.get('kind'))} by {one_line(value.get('parent'))}")
        line.append(f"  {one_line(value.get('rule'))} {value.get('certainty')}", "dim" if mark is None else "yellow")
        return line.append(f"  via {one_line(value['via'])}" if value.get("via") else "", "dim")
    if name == "refs" and isinstance(value, list):
        return Text("  ".join(ref_text(ref) for ref in value))
    if name in TIMES:
        return Text(one_line(value)).append(f"  {words.age(value, page.now)} ago", "dim")
    if name.endswith("_ms") and isinstance(value, int | float):
        return Text(words.duration(value))
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return Text(", ".join(map(one_line, value)))
    return Text(one_line(as_json(value) if isinstance(value, dict | list) else value))


def usage_text(usage: Record) -> str:
    parts = [words.plural(usage.get("calls") or 0, "call")]
    for name, word in (
        ("input", "in"),
        ("cache_read", "cached"),
        ("cache_write", "written to cache"),
        ("output", "out"),
    ):
        if usage.get(name):
            parts.append(f"{words.count(usage[name])} {word}")
    price = usage.get("cost_usd")
    if price is not None:
        parts.append(f"${price:.4f}" if price < 1 else words.money(price))
    elif usage.get("calls"):
        parts.append("cost not known: the model has no price")
    return " · ".join(parts)


def ref_text(ref: Any) -> str:
    if not isinstance(ref, dict):
        return one_line(ref)
    return one_line(f"{ref.get('protocol')}:{ref.get('kind')}:{ref.get('value')}")


def draw_artifact(artifact: Record, page: Page) -> list[Text]:
    name = one_line(artifact.get("name") or artifact.get("artifactId") or "artifact")
    head = (
        Text("artifact ", "dim").append(name, "bold").append("  partial" if artifact.get("partial") else "", "yellow")
    )
    texts = [
        part.get("text") or as_json(part) if isinstance(part, dict) else str(part)
        for part in artifact.get("parts") or ()
    ]
    return [head, *page.excerpt("\n".join(texts), "")]
