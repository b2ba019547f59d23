"""What a command is given: its arguments, the settings, where to write, and the store when it asks for it."""

import getpass
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import environ
from pathlib import Path
from typing import Any, NamedTuple

from ramify.cli.contract import Opened, application
from ramify.cli.output import Output
from ramify.cli.parser import Parser
from ramify.model.audit import Noted
from ramify.model.mistake import UserMistake
from ramify.query.audit import project_of
from ramify.settings import SETTINGS, Settings, as_text, load

PAGE = 1000


class Session:
    def __init__(self, arguments: Namespace) -> None:
        self.arguments = arguments
        self.settings = load_settings(arguments)
        color = getattr(arguments, "color", "auto")
        self.output = Output(color, getattr(arguments, "json", False))

    @contextmanager
    def opened(self, write: bool = False, create: bool = False) -> Iterator[Opened]:
        project = self.settings.project
        store = application().Ramify.open(self.settings.store, project=project, create=create, write=write)
        try:
            if not write and store.notice:
                print(f"ramify: {store.notice}", file=sys.stderr)
            yield store
        finally:
            store.close()


    def note(self, store: Opened, act: str, what: str = "", more: dict[str, str] | None = None, way: str = "command") -> None:
        """Who is at this machine's keyboard did this."""
        project = project_of(store.questions.store, what) or self.settings.project or ""
        store.note(Noted(user(), act, what, way, "", more or {}), project)

    def note_reading(self, store: Opened, act: str, what: str = "", more: dict[str, str] | None = None, way: str = "command") -> None:
        """A file that cannot be written can still be read by who can read it: then the command says that it left no trace."""
        try:
            self.note(store, act, what, more, way)
        except UserMistake as problem:
            self.output.say(f"this is not in the audit: {problem.message}")


def user() -> str:
    """By the number that the system knows: a variable could say anything."""
    try:
        from os import getuid
        from pwd import getpwuid

        return getpwuid(getuid()).pw_name
    except ImportError:
        return getpass.getuser()
    except KeyError:
        return f"uid {getuid()}"


class Part(NamedTuple):
    """One command of a family: the options it has and what it does."""

    options: Callable[[Parser], None]
    act: Callable[[Session], int]


def load_settings(arguments: Namespace) -> Settings:
    flags = {setting.name: as_text(getattr(arguments, setting.name, None)) for setting in SETTINGS}
    named = getattr(arguments, "config", None)
    return load(flags, environ, Path(named) if named else None)


def gather(ask: Callable[[int, str | None], dict[str, Any]], limit: int, cursor: str | None) -> dict[str, Any]:
    """One page, or with limit 0 all of them, asked page by page. A page that a filter left short is filled up."""
    items: list[Any] = []
    looked = 0
    while True:
        answer = ask(limit - len(items) if limit else PAGE, cursor)
        items += answer["items"]
        looked += answer.get("looked", 0)
        cursor = answer.get("next")
        if not cursor or (limit and ("looked" not in answer or len(items) >= limit)):
            return {**answer, "items": items} | ({"looked": looked} if "looked" in answer else {})


def show_page(session: Session, answer: dict[str, Any], lines: Sequence[Any], empty: str) -> int:
    """A list on standard output; on standard error what to do when it is empty or goes on."""
    if session.output.json:
        session.output.document(answer)
        return 0
    if not answer["items"]:
        session.output.say(empty)
        return 0
    session.output.lines(lines)
    if answer.get("next"):
        looked = f" of {answer['looked']:,} looked at" if "looked" in answer else ""
        session.output.say(
            f"{len(answer['items'])} shown{looked}, there are more: --limit 0 for all, or --cursor {answer['next']}"
        )
    return 0
