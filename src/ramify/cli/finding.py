"""Findings: what people should look at, in one run or in the newest ones."""

from rich.text import Text

from ramify.cli import words
from ramify.cli.draw_list import Column, draw_list
from ramify.cli.parser import Parser, add_paging, add_reading, one_of
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session, show_page
from ramify.query.lints import BY_NAME, CHECKS

STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}
COLUMNS = (
    Column("", lambda found, _: Text(one_line(found["severity"]), STYLES.get(found["severity"], ""))),
    Column("check", lambda found, _: one_line(found["check"]), style="bold"),
    Column("finding", lambda found, _: one_line(found["text"]), grows=True),
    Column("task", lambda found, _: one_line(found["title"] or "")[:40], 3, style="dim"),
    Column("age", lambda found, now: words.age(found["since"], now), 1, right=True),
    Column("id", lambda found, _: one_line(found["task"]), 2, style="dim"),
)


def options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="only this task with everything under it, or this conversation")
    parser.add_argument("--check", type=one_of(*BY_NAME), metavar="WORD", help=", ".join(BY_NAME))
    parser.add_argument("--checks", action="store_true", help="what is looked for, and what to do about it")
    add_reading(parser)
    add_paging(parser)


def lint(session: Session) -> int:
    asked = session.arguments
    if asked.checks:
        return show_checks(session)
    with session.opened() as store:
        project = None if asked.id else session.settings.project
        answer = store.questions.lint(asked.id, check=asked.check, limit=asked.limit, cursor=asked.cursor, project=project)
    lines = draw_list(COLUMNS, answer["items"], session.output.width, session.output.now)
    runs = words.plural(answer["looked"], "run")
    if not session.output.json and answer["items"] and answer["next"]:
        session.output.lines(lines)
        session.output.say(f"{len(answer['items'])} found in {runs}; older ones: --cursor {answer['next']}")
        return 0
    return show_page(session, answer, lines, f"nothing to look at in {runs}" + (f"; older ones: --cursor {answer['next']}" if answer["next"] else ""))


def show_checks(session: Session) -> int:
    if session.output.json:
        session.output.document([check.shape() for check in CHECKS])
        return 0
    for check in CHECKS:
        head = Text(check.name, "bold").append(f"  {check.severity}", STYLES[check.severity])
        session.output.lines([head, Text(f"  {check.summary}"), Text(f"  {check.advice}", "dim")])
    return 0


FAMILY = {"lint": Part(options, lint)}
