"""Rows for a spreadsheet, in which a text that begins like a formula is only a text; on a terminal it steers nothing."""

import csv
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from ramify.model.steering import STEERING, picture

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_sheet(file: TextIO, rows: Iterable[Sequence[Any]]) -> None:
    shown = file.isatty()
    writer = csv.writer(file, lineterminator="\n")
    for row in rows:
        writer.writerow([cell(value, shown) for value in row])


def cell(value: Any, shown: bool) -> Any:
    """An apostrophe before it is what spreadsheets themselves write for a text; numbers are none."""
    if not isinstance(value, str):
        return value
    text = f"'{value}" if value.startswith(FORMULA) else value
    return STEERING.sub(picture, text) if shown else text
