"""Columns of figures at the right of a line: chosen by what fits and what there is to say."""

from collections.abc import Callable, Sequence
from datetime import datetime

from rich.cells import cell_len
from rich.text import Text

from ramify.cli import words
from ramify.cli.words import Record

GAP = 2


class Figure:
    """One column; `rank` 1 is the last to go when there is no room."""

    def __init__(self, title: str, rank: int, read: Callable[[Record, datetime], str], style: str = "") -> None:
        self.title = title
        self.rank = rank
        self.read = read
        self.style = style


def number(value: object) -> str:
    return words.count(value) if isinstance(value, int) and value else ""


def tree_cost(task: Record, now: datetime) -> str:
    """Only where it says more than the task's own."""
    whole = words.cost(task.get("tree_usage"))
    return "" if whole == words.cost(task.get("usage")) and not task.get("subtasks") else whole


TASK_FIGURES = (
    Figure("time", 1, words.elapsed),
    Figure("calls", 4, lambda task, _: number((task.get("usage") or {}).get("calls")), "dim"),
    Figure("tools", 5, lambda task, _: number(task.get("tool_calls")), "dim"),
    Figure("tokens", 3, lambda task, _: words.count(words.tokens(task.get("usage")))),
    Figure("cost", 2, lambda task, _: words.cost(task.get("usage")), "green"),
    Figure("in all", 2, tree_cost, "bold green"),
)


class Columns:
    """The figures of many records, aligned; dropped by rank until at most `room` columns are taken."""

    def __init__(self, figures: Sequence[Figure], records: Sequence[Record], now: datetime, room: int) -> None:
        cells = {figure: [figure.read(record, now) for record in records] for figure in figures}
        self.cells = {figure: texts for figure, texts in cells.items() if any(texts)}
        # Once, not for every row: a tree may have tens of thousands.
        self.spans = {figure: span(figure, texts) for figure, texts in self.cells.items()}
        while self.width > room and self.cells:
            worst = max(figure.rank for figure in self.cells)
            self.cells = {figure: texts for figure, texts in self.cells.items() if figure.rank != worst}

    @property
    def width(self) -> int:
        return sum(GAP + self.spans[figure] for figure in self.cells)

    def titles(self) -> Text:
        line = Text(no_wrap=True, end="")
        for figure in self.cells:
            line.append(" " * GAP + figure.title.rjust(self.spans[figure]), "dim")
        return line

    def row(self, index: int) -> Text:
        line = Text(no_wrap=True, end="")
        for figure, texts in self.cells.items():
            text = texts[index]
            line.append(" " * (GAP + self.spans[figure] - cell_len(text)) + text, figure.style)
        return line


def span(figure: Figure, texts: Sequence[str]) -> int:
    return max(cell_len(text) for text in [figure.title, *texts])
