"""Files into the store."""

from pathlib import Path
from typing import Any

from ramify.cli.parser import Parser, add_reading, one_of
from ramify.cli.progress import progress_bar
from ramify.cli.session import Part, Session
from ramify.cli.words import plural
from ramify.model.mistake import UserMistake

FORMATS = ("auto", "exchanges", "claude", "claude-hooks", "stream-json", "sam", "a2a", "adcp", "otlp")
MOST_PROBLEMS = 20


def import_options(parser: Parser) -> None:
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="files or folders; the same thing twice changes nothing"
    )
    meaning = "what the files hold: " + ", ".join(FORMATS) + " (default: auto, by looking)"
    parser.add_argument("--format", type=one_of(*FORMATS), default="auto", metavar="F", help=meaning)
    add_reading(parser)


def import_files(session: Session) -> int:
    paths = [Path(path) for path in session.arguments.paths]
    for path in paths:
        if not path.exists():
            raise UserMistake(f"there is no file or folder {str(path)!r}", "check the path")
    with (
        session.opened(write=True, create=True) as store,
        progress_bar("importing", session.arguments.color) as progress,
    ):
        answer = store.import_paths(paths, session.arguments.format, progress)
    if session.output.json:
        session.output.document(answer)
    else:
        session.output.lines([summary(answer)])
    report_unreadable(session, answer.get("unreadable") or [])
    return 0


def summary(answer: dict[str, Any]) -> str:
    files = answer.get("files")
    where = f" from {plural(files if isinstance(files, int) else len(files), 'file')}" if files else ""
    line = f"read {plural(answer.get('read') or 0, 'exchange')}{where}: {answer.get('new') or 0:,} observations new"
    skipped = answer.get("skipped") or []
    rest = f"; {plural(len(skipped), 'file')} in other formats left alone" if skipped else ""
    return f"{line}, {answer.get('known') or 0:,} known before{rest}"


def report_unreadable(session: Session, problems: list[dict[str, Any]]) -> None:
    for problem in problems[:MOST_PROBLEMS]:
        session.output.say(f"{problem.get('place')}: {problem.get('problem')}")
    if len(problems) > MOST_PROBLEMS:
        session.output.say(
            f"… and {len(problems) - MOST_PROBLEMS:,} more that could not be read; --json lists them all"
        )


FAMILY = {"import": Part(import_options, import_files)}
