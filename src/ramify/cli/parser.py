"""The command line's grammar: options that several commands share, and refusals in one line."""

import argparse
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from ramify.model.mistake import UserMistake
from ramify.setting_readers import (
    read_address,
    read_agents,
    read_asked,
    read_count,
    read_duration,
    read_folders,
    read_names,
    read_port,
    read_size,
)
from ramify.settings import SETTINGS, USUAL
from ramify.storage.address import quoted

STATUSES = (
    "pending", "submitted", "working", "input-required", "auth-required",
    "completed", "failed", "canceled", "rejected", "unknown",
)  # fmt: skip


WRITTEN_AS: dict[Callable[[str], object], str] = {
    read_port: "N",
    read_count: "N",
    read_address: "URL",
    read_names: "NAMES",
    read_folders: "DIR",
    read_agents: "NAME=URL",
    read_asked: "NAME=URL",
    read_duration: "TIME",
    read_size: "SIZE",
}
REPEATED: dict[Callable[[str], object], dict[str, Any]] = {
    read_folders: {"action": "append", "nargs": "?", "const": USUAL},
    read_agents: {"action": "append"},
    read_asked: {"action": "append"},
}
SHIELD = "\0"
MANY_DIGITS = 10  # of a number that no list is as long as, and that not every engine can hold
DENIED = re.compile(r'-(?:[A-Za-z_]+(?::|[<>=])|"|[^\W\d_]{3})')
NAMED_AS = {"store": "URL", "project": "NAME", "token": "TEXT", "prices": "FILE", "zone": "ZONE"}


class Parser(argparse.ArgumentParser):
    """One command's parser. Mistakes are raised, for `main` to tell them in one line."""

    takes_filter = False

    def __init__(self, name: str, summary: str) -> None:
        super().__init__(prog=f"ramify {name}", description=summary[:1].upper() + summary[1:] + ".", allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        needed = "the following arguments are required: "
        hint = f"see {self.prog} --help"
        if message.startswith(needed):
            raise UserMistake(f"{self.prog} needs {message.removeprefix(needed)}", hint)
        raise UserMistake(message.removeprefix("argument ").replace(": must be", " must be", 1), hint)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """A word of a filter may begin with one dash, which denies it: it is no option."""
        shielded = [SHIELD + word if self.takes_filter and DENIED.match(word) else word for word in words]
        # Options may stand between an id and the words of a filter, which one pass of argparse does not see.
        arguments, unknown = (self.parse_known_intermixed_args if self.takes_filter else self.parse_known_args)(shielded)
        if self.takes_filter:
            arguments.filter = " ".join(word.removeprefix(SHIELD) for word in arguments.filter)
        if not unknown:
            return arguments
        stray = unknown[0]
        if not stray.startswith("-"):
            raise UserMistake(f"{self.prog} does not expect {quoted(stray)!r}", f"see {self.prog} --help")
        known = [option for action in self._actions for option in action.option_strings]
        raise UserMistake(
            f"{self.prog} has no option {stray.partition('=')[0]!r}",
            nearest(stray.partition("=")[0], known, f"{self.prog} --help"),
        )


def nearest(word: str, known: Sequence[str], otherwise: str) -> str:
    """Dashes do not count: they would make any two options alike."""
    bare = {one.lstrip("-"): one for one in known}
    found = get_close_matches(word.lstrip("-"), bare, 1, 0.6)  # one of three letters that is right says nothing
    return f"did you mean {bare[found[0]]}?" if found else f"see {otherwise}"


def add_settings(parser: Parser, *areas: str) -> None:
    """Flags come from the one list of settings; their values stay text until all places were asked."""
    for setting in SETTINGS:
        if setting.area in areas:
            default = f" (default: {setting.default})" if setting.default else ""
            meaning = (setting.meaning + default).replace("%", "%%")
            metavar = WRITTEN_AS.get(setting.read) or NAMED_AS.get(setting.name, setting.name.upper())
            parser.add_argument(setting.flag, dest=setting.name, metavar=metavar, help=meaning, **REPEATED.get(setting.read, {}))
    parser.add_argument("--config", metavar="FILE", help="a settings file instead of the usual ramify.toml")


def add_color(parser: Parser) -> None:
    parser.add_argument(
        "--color",
        type=one_of("auto", "always", "never"),
        default="auto",
        metavar="WHEN",
        help="auto (default: only on a terminal, and not with NO_COLOR), always or never",
    )


def add_reading(parser: Parser, *areas: str) -> None:
    """What every command that prints records has."""
    add_settings(parser, "store", *areas)
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    add_color(parser)


def add_paging(parser: Parser) -> None:
    parser.add_argument("--limit", type=limit, default=50, metavar="N", help="at most N (default 50; 0 = all)")
    parser.add_argument("--cursor", metavar="TEXT", help="where the page before this one said to go on")


def add_filter(parser: Parser, metavar: str, meaning: str, needed: bool = False) -> None:
    parser.takes_filter = True
    parser.add_argument("filter", metavar=metavar, nargs="+" if needed else "*", help=meaning)


def add_tree(parser: Parser) -> None:
    parser.add_argument("--tree", action="store_true", help="with everything under it, not only its own")


def limit(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a number, 0 for all, not {text!r}")
    return int(text) if len(text) < MANY_DIGITS else 0


def place(text: str) -> str:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a place in the log, a whole number, not {text!r}")
    return text


def one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise argparse.ArgumentTypeError(f"must be one of {', '.join(words)}, not {text!r}")
        return text

    return read
