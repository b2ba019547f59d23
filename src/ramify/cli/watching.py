"""`watch`: transcripts into the store, as they grow, until it is interrupted."""

import signal
import threading
from typing import Any

from ramify.cli.contract import application
from ramify.cli.parser import Parser, add_settings
from ramify.cli.session import Part, Session
from ramify.cli.words import plural
from ramify.model.mistake import UserMistake
from ramify.settings import USUAL


def watch_options(parser: Parser) -> None:
    usual = "a client's folder, a projects folder, a project or a session (default: $CLAUDE_CONFIG_DIR or ~/.claude)"
    parser.add_argument("folders", metavar="DIR", nargs="*", help=usual)
    add_settings(parser, "store")


def watch(session: Session) -> int:
    if session.settings.store == "memory:":
        raise UserMistake("the store memory: ends with this command", "use ramify serve --watch, or another --store")
    roots = application().watched(session.arguments.folders or [USUAL])
    stopping = until_interrupted()
    for root in roots:
        begin = "following" if root.exists() else "there is nothing yet, waiting for"
        session.output.say(f"ramify: {begin} {root}; Ctrl-C ends it")
    with session.opened(write=True, create=True) as store:
        store.watch(roots, lambda stored: tell(session, stored), stopping)
    return 0


def until_interrupted() -> threading.Event:
    """What is on its way is stored first; a second Ctrl-C does not wait."""
    stopping = threading.Event()

    def stop(number: int, frame: object) -> None:
        stopping.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return stopping


def tell(session: Session, stored: dict[str, Any]) -> None:
    if stored["new"]:
        files = list(stored["lines"])
        where = files[0] if len(files) == 1 else plural(len(files), "file")
        session.output.say(f"{session.output.clock():%H:%M:%S} {plural(stored['new'], 'new line')} {where}")
    for problem in stored["unreadable"]:
        session.output.say(f"{problem['place']}: {problem['problem']}")


FAMILY = {"watch": Part(watch_options, watch)}
