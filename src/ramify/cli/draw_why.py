"""Why two things are linked: the rule, how certain, on what evidence, and what else it might have been."""

from collections.abc import Sequence

from rich.text import Text

from ramify.cli.safe_text import one_line
from ramify.cli.words import Record
from ramify.model.rules import RULES

KINDS = {
    "spawned": "spawned by",
    "continued": "continues",
    "forked": "forked from",
    "compacted": "goes on after the compaction of",
    "resumed": "resumes",
    "grouped": "grouped under",
    "refers": "refers to",
}
METER = 10


def draw_why(answer: Record, width: int) -> list[Text]:
    lines = [Text(one_line(answer.get("id") or ""), "bold")]
    links = answer.get("links") or []
    for link in links:
        lines += draw_link(link, answer.get("id"), answer.get("witnesses") or [])
    if not links:
        lines.append(Text("  no link: nothing is known to have started it", "dim"))
    lines += draw_losers(answer.get("candidates") or [])
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def named(witnesses: Sequence[Record], seen: object) -> str:
    """Which source an observation is from, and what it says by itself."""
    for one in witnesses:
        if one.get("observation") == seen:
            return f"  {one_line(one.get('source') or '')}  {one_line(one.get('rule') or '')}".rstrip()
    return ""


def draw_link(link: Record, id: object, witnesses: Sequence[Record] = ()) -> list[Text]:
    away = link.get("child") not in (None, id)
    kind = one_line(link.get("kind") or "linked to")
    head = Text("  → " if away else "  ← ", "cyan").append(kind if away else KINDS.get(kind, kind), "bold")
    head.append(" ").append(one_line((link.get("child") if away else link.get("parent")) or "?"))
    if away and link.get("parent") not in (None, id):
        head.append("  by ", "dim").append(one_line(link["parent"]))
    rule = one_line(link.get("rule") or "?")
    lines = [head, row("rule", Text(rule, "bold").append(explained(rule), "dim"))]
    lines.append(row("certainty", certainty(link.get("certainty"))))
    if link.get("via") or link.get("via_id"):
        ids = [one_line(part) for part in (link.get("via"), link.get("via_id")) if part]
        lines.append(row("through", Text("  ".join(ids))))
    for place, seen in enumerate(link.get("evidence") or ()):
        lines.append(row("" if place else "evidence", Text(one_line(seen), "dim").append(named(witnesses, seen))))
    if link.get("replaced_by") or link.get("superseded"):
        lines.append(row("replaced", Text(one_line(link.get("replaced_by") or "by stronger evidence"), "yellow")))
    return lines


def explained(rule: str) -> str:
    return f"  {RULES[rule]}" if rule in RULES else ""


def row(name: str, value: Text) -> Text:
    return Text(f"    {name:<11}", "dim", no_wrap=True).append_text(value)


def certainty(value: object) -> Text:
    if not isinstance(value, int | float):
        return Text("not known", "yellow")
    full = round(max(0.0, min(1.0, value)) * METER)
    style = "green" if value >= 1 else "yellow"
    line = Text("━" * full, style).append("╌" * (METER - full), "dim").append(f" {value:.2f}", style)
    return line.append("  stated" if value >= 1 else "  inferred", "dim")


def draw_losers(candidates: Sequence[Record]) -> list[Text]:
    if not candidates:
        return []
    lines = [Text("  what else it might have been", "bold")]
    for candidate in candidates:
        line = Text("  ⊘ ", "magenta").append(one_line(candidate.get("parent") or "?"))
        line.append(f"  {one_line(candidate.get('rule') or '')}", "dim")
        value = candidate.get("certainty")
        lines.append(line.append(f" {value:.2g}" if isinstance(value, int | float) else "", "dim"))
        lines.append(
            row(
                "not, because",
                Text(" ").append(one_line(candidate.get("rejected_because") or "no reason kept")),
            )
        )
    return lines
