"""One SQL query: as a table, JSON, CSV or Parquet."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.text import Text

from ramify.cli.draw_list import Column, draw_list
from ramify.cli.main import WRONG_USE, refuse
from ramify.cli.parser import Parser, add_reading, limit, one_of
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session
from ramify.cli.sheets import write_sheet
from ramify.model.mistake import UserMistake
from ramify.query.direct import sql, views
from ramify.setting_readers import read_duration
from ramify.storage.base import Bounds
from ramify.storage.direct import GRACE, too_long

FORMATS = ("table", "json", "csv", "parquet")
EVERYTHING = Bounds(1 << 40, 0, 1 << 40)


def options(parser: Parser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="?", help="a SELECT over the views; without it, they are listed")
    add_reading(parser)
    parser.add_argument("--format", type=one_of(*FORMATS), default="table", metavar="WORD", help=", ".join(FORMATS))
    parser.add_argument("--to", metavar="FILE", help="into this file instead of standard output")
    parser.add_argument("--limit", type=limit, default=1000, metavar="N", help="at most N rows (default 1000; 0 = all)")
    parser.add_argument("--timeout", default="30s", metavar="TIME", help="how long it may take (default: 30s)")


def query(session: Session) -> int:
    asked = session.arguments
    with session.opened() as store:
        if not asked.query:
            return show_views(session, views(store.questions.store))
        bounds = Bounds(asked.limit or EVERYTHING.rows, seconds(asked.timeout), EVERYTHING.bytes if asked.limit == 0 else Bounds().bytes)
        try:
            with ended_after(bounds):
                answer = sql(store.questions.store, asked.query, bounds)
        except UserMistake:
            session.note_reading(store, "sql", "", {"sql": asked.query, "failed": "yes"})
            raise
        session.note_reading(store, "sql", "", {"sql": asked.query})
    written = write(session, answer, "json" if session.output.json else asked.format, asked.to)
    if answer["more"]:
        session.output.say(f"{len(answer['rows'])} rows {written}, there are more: --limit 0 for all")
    return 0


@contextmanager
def ended_after(bounds: Bounds) -> Iterator[None]:
    """SQLite does not look at the clock inside one function: this process, which does nothing else, ends then."""

    def end() -> None:
        os._exit(refuse(str(too_long(bounds)), WRONG_USE))

    timer = threading.Timer(bounds.seconds + GRACE, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def seconds(text: str) -> float:
    try:
        return float(read_duration(text))
    except ValueError:
        raise UserMistake(f"--timeout is {text!r}", "write a time such as 30s or 5m") from None


def show_views(session: Session, found: dict[str, list[str]]) -> int:
    if session.output.json:
        session.output.document(found)
    else:
        session.output.lines(Text(f"{name}  ", "bold").append(", ".join(columns), "dim") for name, columns in found.items())
    return 0


def write(session: Session, answer: dict[str, Any], format: str, to: str | None) -> str:
    match format:
        case "parquet":
            write_parquet(answer, to)
        case "csv":
            with open(to, "w", newline="", encoding="utf-8") if to else standard_output() as file:
                write_sheet(file, [answer["columns"], *answer["rows"]])
        case "json" if to:
            from ramify.cli.safe_text import as_json

            Path(to).write_text(as_json(answer) + "\n", "utf-8")
        case "json":
            session.output.document(answer)
        case _ if to:
            raise UserMistake("a table is for the eye, not for a file", "add --format csv, json or parquet")
        case _:
            session.output.lines(draw_rows(answer, session))
    return "written" if to else "shown"


class standard_output:
    """Stays open when a file would be closed."""

    def __enter__(self) -> Any:
        return sys.stdout

    def __exit__(self, *problem: object) -> None:
        sys.stdout.flush()


def draw_rows(answer: dict[str, Any], session: Session) -> list[Text]:
    records = [dict(enumerate(row)) for row in answer["rows"]]
    columns = [
        Column(one_line(name), lambda record, _, at=at: "" if record[at] is None else one_line(record[at]), at, grows=at == 0)  # type: ignore[misc]
        for at, name in enumerate(answer["columns"])
    ]
    return draw_list(columns, records, session.output.width, session.output.now)  # type: ignore[arg-type]


def write_parquet(answer: dict[str, Any], to: str | None) -> None:
    if not to:
        raise UserMistake("Parquet is written into a file", "say which with --to FILE")
    try:
        import pyarrow  # type: ignore[import-not-found, unused-ignore]
        from pyarrow import parquet  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise UserMistake("Parquet needs the package pyarrow, which is not installed", "pip install 'ramify[parquet]', or use --format csv") from None
    columns = {name: [row[at] for row in answer["rows"]] for at, name in enumerate(answer["columns"])}
    try:
        parquet.write_table(pyarrow.table(columns), to)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as problem:
        raise UserMistake(f"a column holds values of several types: {problem}", "bring them to one with CAST(… AS TEXT)") from None


FAMILY = {"sql": Part(options, query)}
