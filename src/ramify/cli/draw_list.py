"""Lists: aligned columns that fit the width. One column grows; those of the highest rank go first."""

from collections.abc import Callable, Sequence
from datetime import datetime

from rich.text import Text

from ramify.cli.safe_text import one_line
from ramify.cli.words import Record

GAP = 2
SMALLEST_GROWING = 20


class Column:
    """`rank` 0 stays at any width. A column in which no record has anything to say is not drawn."""

    def __init__(
        self,
        title: str,
        read: Callable[[Record, datetime], Text | str],
        rank: int = 0,
        *,
        style: str = "",
        right: bool = False,
        grows: bool = False,
    ) -> None:
        self.title = title
        self.read = read
        self.rank = rank
        self.style = style
        self.right = right
        self.grows = grows

    def cell(self, record: Record, now: datetime) -> Text:
        found = self.read(record, now)
        return found if isinstance(found, Text) else Text(one_line(found), self.style, no_wrap=True)


def draw_list(columns: Sequence[Column], records: Sequence[Record], width: int, now: datetime) -> list[Text]:
    """The first line names the columns."""
    cells = {column: [column.cell(record, now) for record in records] for column in columns}
    shown = [column for column in columns if any(cell.plain for cell in cells[column])]
    spans = {column: span(column, cells[column]) for column in shown}
    while (
        shown
        and needed(shown, spans, max(SMALLEST_GROWING, width // 4)) > width
        and max(column.rank for column in shown) > 0
    ):
        worst = max(column.rank for column in shown)
        shown = [column for column in shown if column.rank != worst]
    for column in shown:
        if column.grows:
            others = sum(GAP + spans[other] for other in shown if other is not column)
            spans[column] = min(spans[column], max(SMALLEST_GROWING, width - others))
    heading = line([(Text(column.title, "dim"), spans[column], column.right) for column in shown], width)
    rows = [
        line([(cells[column][place], spans[column], column.right) for column in shown], width)
        for place in range(len(records))
    ]
    return [heading, *rows]


def span(column: Column, cells: Sequence[Text]) -> int:
    return max(cell.cell_len for cell in [Text(column.title), *cells])


def needed(shown: Sequence[Column], spans: dict[Column, int], growing: int) -> int:
    """What must fit before a column may stay: the growing one is content with little."""
    least = [min(spans[column], growing) if column.grows else spans[column] for column in shown]
    return sum(least) + GAP * (len(shown) - 1)


def line(cells: Sequence[tuple[Text, int, bool]], width: int) -> Text:
    drawn = Text(no_wrap=True, overflow="ellipsis")
    for place, (cell, room, right) in enumerate(cells):
        if place:
            drawn.append(" " * GAP)
        fitted = cell.copy()
        fitted.truncate(room, overflow="ellipsis")
        blank = " " * (room - fitted.cell_len)
        drawn.append(blank if right else "").append_text(fitted).append("" if right else blank)
    drawn.rstrip()
    drawn.truncate(width, overflow="ellipsis")
    return drawn
