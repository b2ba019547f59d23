"""Secrets out of what is stored already: by today's rules, by one of them, by a pattern or a text; and what was taken out."""

import sys

from rich.text import Text

from ramify.cli.parser import Parser, add_reading
from ramify.cli.progress import progress_bar
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session
from ramify.cli.words import Record, plural
from ramify.model.mistake import UserMistake


def redact_options(parser: Parser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say how much would be taken out, by kind")
    parser.add_argument("--rule", action="append", default=[], metavar="NAME", help="by this rule alone, named as the marks are: aws-key-id")
    parser.add_argument("--pattern", action="append", default=[], metavar="REGEX", help="whatever fits; written as for Python's re, tried on each text as it reads")
    parser.add_argument("--text", action="store_true", help="these very words: read from standard input, a line for each, never from the command line")
    parser.add_argument("--list", action="store_true", dest="listed", help="what was taken out, when and by whom; no content")
    add_reading(parser)


def redact(session: Session) -> int:
    arguments = session.arguments
    if arguments.listed:
        return listed(session)
    sought = {"rules": arguments.rule, "patterns": arguments.pattern, "texts": given() if arguments.text else []}
    dry = arguments.dry_run
    with session.opened(write=not dry) as store, progress_bar("reading", arguments.color) as progress:
        answer = store.redact(sought, dry, progress)
        if not dry:
            by = {"rules": " ".join(arguments.rule), "patterns": str(len(arguments.pattern)), "texts": str(len(sought["texts"]))}
            session.note(store, "redact", "", by | {"observations": str(answer["observations"])})
    if session.output.json:
        session.output.document(answer)
    else:
        session.output.lines(draw_redacted(answer))
    return 0


def given() -> list[str]:
    if sys.stdin.isatty():
        print("what is to go, a line for each text; end with Ctrl-D:", file=sys.stderr)
    texts = [line for line in sys.stdin.buffer.read().decode("utf-8", "surrogateescape").splitlines() if line]
    if not texts:
        raise UserMistake("no text was given", "ramify redact --text < FILE, a line for each")
    return texts


def draw_redacted(answer: Record) -> list[Text]:
    verb = "would be changed" if answer["dry_run"] else "changed"
    lines = [Text(f"{plural(answer['read'], 'observation')} read, {answer['observations']:,} {verb}")]
    lines += [Text(f"  {count:>8,}  {kind}") for kind, count in answer["kinds"].items()]
    if answer.get("left"):
        lines.append(Text(f"not all of the old pages are gone: {answer['left']}; run ramify redact again", "yellow"))
    if answer.get("waiting"):
        lines.append(Text(f"{plural(answer['waiting'], 'observation')} wait in the spool of a server that runs; when it has stored them, run this again", "yellow"))
    return lines


def listed(session: Session) -> int:
    with session.opened() as store:
        answer = store.redactions()
    session.output.items(answer, draw_note, "nothing was taken out")
    return 0


def draw_note(note: Record) -> Text:
    kinds = ", ".join(f"{kind} in {count:,}" for kind, count in sorted(note["kinds"].items()))
    project = f" of {one_line(note['project'])}" if note["project"] else ""
    return Text(f"{note['at']}  by {one_line(note['by'])}, {plural(note['observations'], 'observation')}{project}: {kinds}")


FAMILY = {"redact": Part(redact_options, redact)}
