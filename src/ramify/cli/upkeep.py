"""Looking after a store: derive everything again, move it elsewhere, and check that all is well."""

from typing import Any

from rich.text import Text

from ramify.cli.columns import CHECKS
from ramify.cli.contract import application
from ramify.cli.draw_list import draw_list
from ramify.cli.parser import Parser, add_reading
from ramify.cli.progress import progress_bar
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session, user
from ramify.cli.words import Record, plural
from ramify.model.audit import Noted
from ramify.storage.address import shown

MOST_MOVED = 50


def rebuild_options(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would move")
    add_reading(parser)


def rebuild(session: Session) -> int:
    dry = session.arguments.dry_run
    with (
        session.opened(write=not dry) as store,
        progress_bar("rebuilding", session.arguments.color) as progress,
    ):
        answer = store.rebuild(dry, progress)
    if session.output.json:
        session.output.document(answer)
    else:
        session.output.lines(draw_rebuild(answer))
    return 0


def draw_rebuild(answer: Record) -> list[Text]:
    moved = answer.get("moved") or []
    verb = "would move" if answer.get("dry_run") else "moved"
    seen = plural(answer.get("observations") or 0, "observation")
    lines = [Text(f"{seen} read again: {len(moved):,} {verb}, {answer.get('same') or 0:,} stay as they were")]
    for move in moved[:MOST_MOVED]:
        line = Text(f"  {one_line(move.get('id'))}  ").append(described(move.get("was")), "red")
        lines.append(line.append(" → ", "dim").append(described(move.get("now")), "green"))
    if len(moved) > MOST_MOVED:
        lines.append(Text(f"  … and {len(moved) - MOST_MOVED:,} more; --json lists them all", "dim"))
    return lines


def described(place: Any) -> str:
    return "nothing" if place is None else one_line(place)


def doctor_options(parser: Parser) -> None:
    add_reading(parser, "address")


def doctor(session: Session) -> int:
    """1 when something is broken: a script can ask."""
    checks = application().doctor(session.settings)
    if session.output.json:
        session.output.document(checks)
    else:
        session.output.lines(draw_checks(checks, session))
    return 1 if any(check.get("status") == "fail" for check in checks) else 0


def draw_checks(checks: list[dict[str, Any]], session: Session) -> list[Text]:
    lines = draw_list(CHECKS, checks, session.output.width, session.output.now)[1:]
    drawn: list[Text] = []
    for check, line in zip(checks, lines, strict=True):
        drawn.append(line)
        if check.get("hint") and check.get("status") != "ok":
            drawn.append(Text(f"   → {one_line(check['hint'])}", "yellow"))
    return drawn


def copy_options(parser: Parser) -> None:
    parser.add_argument("source", metavar="FROM", help="the store that is read: sqlite:PATH, postgresql://…, clickhouse://…")
    parser.add_argument("target", metavar="TO", help="the store that is written; made if it is not there")
    parser.add_argument("--plain", action="store_true", help="leave TO unencrypted, although there is a key")
    add_reading(parser)


def copy(session: Session) -> int:
    """1 when the copy is not the same."""
    from ramify.app import copy_store

    arguments = session.arguments
    noted = Noted(user(), "copy", "", "command", "", {"to": shown(arguments.target)})
    try:
        with progress_bar("copying, then checking", arguments.color) as progress:
            answer = copy_store(arguments.source, arguments.target, progress, arguments.plain, noted)
    except KeyboardInterrupt:
        session.output.say("cut; the same command goes on where it stopped, and nothing is lost")
        raise
    if not answer["noted"]:
        session.output.say("this is not in the audit: the store that is copied takes nothing just now")
    if session.output.json:
        session.output.document(answer)
    else:
        session.output.lines(draw_copy(answer))
    return 0 if answer["verified"] else 1


def draw_copy(answer: Record) -> list[Text]:
    held = plural(answer["observations"], "observation")
    lines = [Text(f"{answer['copied']:,} copied; the source holds {held}, checksum {answer['checksum'][:16]}")]
    if answer["verified"]:
        lines.append(Text("verified: the copy holds all of them, byte for byte", "green"))
        lines += draw_forgotten(answer)
        judged = f"{len(answer['moved']):,} rows follow otherwise from them than in the source, which an older version or other prices made"
        return [*lines, Text(judged, "yellow")] if answer["moved"] else lines
    if waiting := answer.get("waiting"):
        lines.append(Text(f"not all: {plural(waiting, 'observation')} wait in a spool of the source, which could not be stored there", "red"))
        lines.append(Text("end the server that uses it, or make the source take them, and run the same command again", "dim"))
        if not answer["missing"] and not answer["changed"]:
            return lines
    lines.append(Text(f"not the same: {len(answer['missing']):,} missing, {answer['changed']:,} other", "red"))
    if answer["missing"]:
        lines.append(Text("run the same command again: it looks for all of them from the beginning", "dim"))
    if answer["changed"]:
        lines.append(Text("what is other was redacted in one of the two since: if that was FROM, run the same ramify redact with --store TO", "dim"))
    return lines


def draw_forgotten(answer: Record) -> list[Text]:
    lines: list[Text] = []
    if answer["left_out"]:
        lines.append(Text(f"{plural(answer['left_out'], 'observation')} stay away: TO has forgotten what they tell of", "yellow"))
    if there := answer["still_there"]:
        lines.append(Text(f"FROM has forgotten {plural(len(there), 'conversation')} that TO still holds; to forget them there too:", "yellow"))
        lines.append(Text(f"  ramify forget --store TO {' '.join(there)}"))
    return lines


def rekey(session: Session) -> int:
    with session.opened(write=True) as store:
        answer = store.rekey()
        session.note(store, "rekey")
    if session.output.json:
        session.output.document(answer)
    else:
        session.output.lines([Text("the store opens with the new key from now on; servers that run go on until they are started again")])
    return 0


FAMILY = {
    "rebuild": Part(rebuild_options, rebuild), "doctor": Part(doctor_options, doctor), "copy": Part(copy_options, copy), "rekey": Part(add_reading, rekey),
}  # fmt: skip
