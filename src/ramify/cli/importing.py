"""Files into the store."""

from pathlib import Path
from time import monotonic
from typing import Any

from ramify.cli.parser import Parser, add_reading, one_of
from ramify.cli.progress import OF_BYTES, progress_bar
from ramify.cli.session import Part, Session
from ramify.cli.words import plural
from ramify.model.mistake import UserMistake

FORMATS = ("auto", "exchanges", "claude", "claude-hooks", "stream-json", "sdk", "sam", "a2a", "adcp", "otlp", "ramify")
MOST_PROBLEMS = 20


def import_options(parser: Parser) -> None:
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="files or folders; the same thing twice changes nothing"
    )
    meaning = "what the files hold: " + ", ".join(FORMATS) + " (default: auto, by looking)"
    parser.add_argument("--format", type=one_of(*FORMATS), default="auto", metavar="F", help=meaning)
    add_reading(parser, "reading")


def import_files(session: Session) -> int:
    paths = [Path(path) for path in session.arguments.paths]
    for path in paths:
        if not path.exists():
            raise UserMistake(f"there is no file or folder {str(path)!r}", "check the path")
    with (
        session.opened(write=True, create=True) as store,
        progress_bar("importing", session.arguments.color, OF_BYTES) as progress,
    ):
        began = monotonic()
        answer = store.import_paths(paths, session.arguments.format, progress, session.settings.zone)
        seconds = monotonic() - began
    if session.output.json:
        session.output.document(answer)
    else:
        session.output.lines([summary(answer, seconds)])
    report_unreadable(session, answer["unreadable"], answer["unreadable_count"])
    return 0


def summary(answer: dict[str, Any], seconds: float) -> str:
    read = f"read {plural(answer['read'], 'line')} from {plural(answer['files'], 'file')}"
    rate = f", {answer['bytes'] / 1e6:,.0f} MB at {answer['bytes'] / 1e6 / seconds:,.0f} MB/s" if seconds > 1 else ""
    counts = f"{answer['new']:,} observations new, {answer['known']:,} known before"
    others = (
        (answer["unreadable_count"], "{} could not be read", "line"),
        (answer["unchanged"], "{} unchanged", "file"),
        (len(answer["skipped"]), "{} in other formats left alone", "file"),
    )
    return f"{read}{rate}: " + "; ".join([counts, *(text.format(plural(count, noun)) for count, text, noun in others if count)])


def report_unreadable(session: Session, problems: list[dict[str, Any]], count: int) -> None:
    for problem in problems[:MOST_PROBLEMS]:
        session.output.say(f"{problem.get('place')}: {problem.get('problem')}")
    if count > MOST_PROBLEMS:
        session.output.say(f"… and {count - MOST_PROBLEMS:,} more that could not be read; --json names them")


FAMILY = {"import": Part(import_options, import_files)}
