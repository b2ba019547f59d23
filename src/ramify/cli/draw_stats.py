"""Totals: whatever is counted, by name. The answer decides what there is; this only lays it out."""

from datetime import datetime
from typing import Any

from rich.text import Text

from ramify.cli import words
from ramify.cli.draw_list import Column, draw_list
from ramify.cli.draw_record import usage_text
from ramify.cli.safe_text import one_line
from ramify.cli.words import Record


def draw_stats(answer: Record, width: int, now: datetime) -> list[Text]:
    """Single figures first, groups and tables after them."""
    lines = draw_figures({name: value for name, value in answer.items() if not is_table(value) and value != []})
    for name, value in answer.items():
        if is_table(value):
            lines += [Text(), Text(spoken(name), "bold")]
            lines += draw_figures(value) if is_group(value) else draw_rows(rows_of(value), width, now)
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def draw_figures(figures: Record) -> list[Text]:
    longest = max((len(spoken(name)) for name in figures), default=0)
    return [Text(f"{spoken(name):<{longest}}  ", "dim").append(figure(name, value)) for name, value in figures.items()]


def is_group(value: Any) -> bool:
    return isinstance(value, dict) and not any(isinstance(part, dict | list) for part in value.values())


def spoken(name: str) -> str:
    return one_line(name).replace("_", " ")


def is_usage(value: Any) -> bool:
    return isinstance(value, dict) and "calls" in value and "input" in value


def is_table(value: Any) -> bool:
    return bool(value) and isinstance(value, dict | list) and not is_usage(value)


def rows_of(value: Any) -> list[Record]:
    """A list of objects, or an object of objects: one row each."""
    if isinstance(value, list):
        return [row if isinstance(row, dict) else {"": row} for row in value]
    return [{"": name, **part} if isinstance(part, dict) else {"": name, "count": part} for name, part in value.items()]


def figure(name: str, value: Any) -> str:
    if is_usage(value):
        return usage_text(value)
    if value is None:
        return "–"
    if name.endswith("_ms") and isinstance(value, int | float):
        return words.duration(value)
    if name.endswith("_usd") and isinstance(value, int | float):
        return words.money(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(value)


def draw_rows(rows: list[Record], width: int, now: datetime) -> list[Text]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return draw_list([stat_column(name, rank) for rank, name in enumerate(names)], rows, width, now)


def stat_column(name: str, rank: int) -> Column:
    def read(row: Record, now: datetime) -> str:
        return figure(name, row[name]) if name in row else ""

    return Column(spoken(name), read, rank, right=rank > 0)
