"""Totals, and sums by day, project, agent, model or tool: as tables, CSV or JSON."""

import sys
from collections.abc import Callable
from typing import Any

from rich.text import Text

from ramify.cli import words
from ramify.cli.draw_list import Column, draw_list
from ramify.cli.draw_stats import draw_stats
from ramify.cli.parser import Parser, add_reading
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session
from ramify.cli.sheets import write_sheet
from ramify.cli.words import Record
from ramify.model.mistake import UserMistake
from ramify.query.statistics import DIMENSIONS, SINCE

KINDS = {"calls": "calls", "tools": "uses", "tasks": "tasks"}
SPENT = ("input", "output", "cache_read", "cache_write", "cost_usd")
FIGURES = ("count", "ok", "failed", "canceled", "open", "success", "mean_ms", "p50_ms", "p95_ms")


def options(parser: Parser) -> None:
    add_reading(parser)
    parser.add_argument("--by", metavar="WORDS", help=f"sums by {', '.join(DIMENSIONS)}; several with commas between them; without it, totals")
    parser.add_argument("--since", metavar="TIME", help=f"from this day on: 7d, 2026-11-01 or all (default: {SINCE}); days are UTC")
    parser.add_argument("--until", metavar="TIME", help="up to this day")
    parser.add_argument("--csv", action="store_true", help="one line a row, every figure in a column of its own")


def stats(session: Session) -> int:
    asked = session.arguments
    if not asked.by and (asked.since or asked.until or asked.csv):
        raise UserMistake("--since, --until and --csv need --by", "for example ramify stats --by day --since 7d")
    with session.opened() as store:
        project = session.settings.project
        answer = store.questions.stats() if not asked.by else store.questions.statistics(asked.by, asked.since, asked.until, project=project)
    if session.output.json:
        session.output.document(answer)
    elif not asked.by:
        session.output.lines(draw_stats(answer, session.output.width, session.output.now))
    elif asked.csv:
        write_csv(answer)
    elif not answer["rows"]:
        session.output.say(f"nothing happened in this time — try --since all, or another one than {asked.since or SINCE}")
    else:
        session.output.lines(draw_sums(answer, session))
    return 0


def draw_sums(answer: Record, session: Session) -> list[Text]:
    """The last line is everything together."""
    total = {**dict.fromkeys(answer["by"], ""), **answer["total"], answer["by"][0]: "all"}
    rows = [*answer["rows"], total] if len(answer["rows"]) > 1 else answer["rows"]
    lines = draw_list(columns_of(answer["by"]), rows, session.output.width, session.output.now)
    if len(rows) > len(answer["rows"]):
        lines[-1].stylize("bold")
    return lines


def columns_of(by: list[str]) -> list[Column]:
    names = [Column(name, lambda row, _, name=name: one_line(row[name]), grows=name != "day") for name in by]  # type: ignore[misc]
    spent = [
        Column("in", lambda row, _: words.count(words.tokens_in(spent_by(row))), 5, right=True),
        Column("out", lambda row, _: words.count(words.tokens_out(spent_by(row))), 4, right=True),
        Column("cost", lambda row, _: words.cost(spent_by(row)), 1, right=True, style="green"),
    ]
    rank = 2
    for kind, title in KINDS.items():
        names.append(Column(title, figure(kind, lambda part: words.count(part["count"])), rank, right=True))
        names += [
            Column("good", figure(kind, lambda part: share(part["success"])), rank + 4, right=True),
            Column("p50", figure(kind, lambda part: words.duration(part["p50_ms"])), rank + 3, right=True, style="dim"),
            Column("p95", figure(kind, lambda part: words.duration(part["p95_ms"])), rank + 3, right=True, style="dim"),
        ]
        rank += 5
    return [*names[: len(by)], *spent, *names[len(by) :]]


def spent_by(row: Record) -> Record:
    """A tool's share of calls has tokens and no calls: it is something all the same."""
    usage = row["usage"]
    return {**usage, "calls": usage["calls"] or int(any(usage[name] for name in SPENT))}


def figure(kind: str, read: Callable[[Record], str]) -> Callable[[Record, Any], str]:
    return lambda row, _: read(row[kind]) if row[kind] and row[kind]["count"] else ""


def share(part: float | None) -> str:
    return "" if part is None else "100 %" if part == 1 else f"{part * 100:.1f} %"


def write_csv(answer: Record) -> None:
    kinds = [kind for kind in KINDS if answer["total"][kind]]
    rows: list[list[Any]] = [[*answer["by"], *SPENT, *(f"{kind}_{name}" for kind in kinds for name in FIGURES)]]
    for row in answer["rows"]:
        figures = [(row[kind] or {}).get(name) for kind in kinds for name in FIGURES]
        rows.append([*(row[name] for name in answer["by"]), *(row["usage"][name] for name in SPENT), *figures])
    write_sheet(sys.stdout, rows)


FAMILY = {"stats": Part(options, stats)}
