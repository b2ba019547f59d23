"""Deleting for good: by id, by age, by size; and what was deleted."""

import argparse
from collections.abc import Callable

from rich.text import Text

from ramify.cli.parser import Parser, add_reading
from ramify.cli.progress import progress_bar
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session
from ramify.cli.words import Record, plural
from ramify.model.mistake import UserMistake
from ramify.setting_readers import read_duration, read_size

MOST_NAMED = 20
AGAIN = "a session that goes on is seen again; transcripts that are followed stay away until somebody imports them again"


def forget_options(parser: Parser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="a conversation; or a task, call, session, context or operation of it")
    parser.add_argument("--list", action="store_true", dest="listed", help="what was forgotten, when and by whom; no content")
    parser.add_argument("--dry-run", action="store_true", help="only say how much would go")
    add_reading(parser)


def prune_options(parser: Parser) -> None:
    parser.add_argument("--older-than", type=read(read_duration), metavar="TIME", help="whatever gave no sign of life for so long, such as 30d")
    parser.add_argument("--max-size", type=read(read_size), metavar="SIZE", help="the oldest, until the store is no larger, such as 20GiB")
    parser.add_argument("--dry-run", action="store_true", help="only say how much would go")
    add_reading(parser)


def read(reader: Callable[[str], int]) -> Callable[[str], int]:
    def reading(text: str) -> int:
        try:
            return reader(text)
        except ValueError as problem:
            raise argparse.ArgumentTypeError(f"{problem}, not {text!r}") from None

    return reading


def forget(session: Session) -> int:
    arguments = session.arguments
    if arguments.listed:
        return listed(session)
    if not arguments.ids:
        raise UserMistake("forget needs to know what", "ramify forget ID…; ramify conversations lists them")
    dry = arguments.dry_run
    with session.opened(write=not dry) as store, progress_bar("forgetting", arguments.color) as progress:
        answer = store.forget(arguments.ids, dry, progress)
        if not dry:
            session.note(store, "forget", " ".join(arguments.ids), {"observations": str(answer["observations"])})
    return told(session, answer)


def prune(session: Session) -> int:
    from ramify.retention import Kept

    arguments = session.arguments
    if not arguments.older_than and not arguments.max_size:
        raise UserMistake("prune needs a bound", "ramify prune --older-than 30d, or --max-size 20GiB; try it with --dry-run")
    kept = Kept(arguments.older_than or 0, arguments.max_size or 0, session.settings.project or "")
    with session.opened(write=not arguments.dry_run) as store, progress_bar("forgetting", arguments.color) as progress:
        answer = store.prune(kept, arguments.dry_run, progress)
        if not arguments.dry_run:
            bounds = {"older_than": str(kept.older_than), "max_size": str(kept.max_size), "observations": str(answer["observations"])}
            session.note(store, "prune", "", bounds)
    return told(session, answer)


def told(session: Session, answer: Record) -> int:
    if session.output.json:
        session.output.document(answer)
    else:
        session.output.lines(draw_forgotten(answer))
        if not answer["dry_run"] and answer["observations"]:
            session.output.say(AGAIN)
    return 0


def draw_forgotten(answer: Record) -> list[Text]:
    ids = answer["forgotten"]
    verb = "would go" if answer["dry_run"] else "forgotten"
    seen = plural(answer["observations"], "observation")
    lines = [Text(f"{plural(len(ids), 'conversation')} {verb}: {seen}, {answer['bytes']:,} bytes as they were seen")]
    lines += [Text(f"  {id}") for id in ids[:MOST_NAMED]]
    if len(ids) > MOST_NAMED:
        lines.append(Text(f"  … and {len(ids) - MOST_NAMED:,} more; --json lists them all", "dim"))
    if "in_use" in answer:
        lines.append(Text(f"what is stored now takes {answer['in_use']:,} of {answer['size']:,} bytes on the disk"))
    if answer.get("left"):
        lines.append(Text(f"it is gone, but for pieces and pages on the disk: {answer['left']}; the same command again takes them, too", "yellow"))
    if answer.get("waiting"):
        waiting = plural(answer["waiting"], "observation")
        lines.append(Text(f"{waiting} wait in spools of servers that run; what belongs to this is left out when they are stored", "yellow"))
    if answer["shared"]:
        lines.append(Text(f"{plural(answer['shared'], 'observation')} tell of others too, and stay", "yellow"))
    return lines


def listed(session: Session) -> int:
    with session.opened() as store:
        answer = store.notes()
    session.output.items(answer, draw_note, "nothing was forgotten")
    return 0


def draw_note(note: Record) -> Text:
    back = f", imported again {note['back']}" if note["back"] else ""
    return Text(f"{note['at']}  {note['id']}  by {one_line(note['by'])}, {plural(note['observations'], 'observation')}{back}")


FAMILY = {"forget": Part(forget_options, forget), "prune": Part(prune_options, prune)}
