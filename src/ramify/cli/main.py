"""The command `ramify`: finds the command, and turns every ending into an exit status."""

import os
import sys
from collections.abc import Sequence

from ramify import __version__

DONE, NOT_FOUND, WRONG_USE, INTERRUPTED = 0, 1, 2, 130


def main(words: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    if list(words) == ["--version"]:
        print(f"ramify {__version__}")  # before anything is imported: scripts ask this often
        return DONE
    try:
        if words and words[0] == "hook":
            from ramify.cli.quiet_hook import report

            return report(words[1:], carry_out)
        status = carry_out(words)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough (`| head`). Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def carry_out(words: Sequence[str]) -> int:
    from ramify.model.mistake import UserMistake
    from ramify.storage.base import StoreDown

    try:
        return dispatch(words)
    except StoreDown as problem:
        return refuse(f"the store cannot be read: {problem} — see ramify doctor", WRONG_USE)
    except UserMistake as mistake:
        return refuse(str(mistake), WRONG_USE)
    except LookupError as problem:
        return tell_lookup(problem)
    except ValueError as problem:
        from ramify.query.service import BadQuestion

        if not isinstance(problem, BadQuestion):
            raise
        return refuse(str(problem), WRONG_USE)


def dispatch(words: Sequence[str]) -> int:
    from ramify.cli.commands import BY_NAME, overview

    if not words or words[0] in ("-h", "--help", "help"):
        print(overview(), end="")
        return DONE
    name = words[0]
    if name not in BY_NAME:
        return refuse_command(name, list(BY_NAME))
    from importlib import import_module

    from ramify.cli.parser import Parser
    from ramify.cli.session import Part, Session

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 gets question marks, no traceback
    part: Part = import_module(f"ramify.cli.{BY_NAME[name].family}").FAMILY[name]
    parser = Parser(name, BY_NAME[name].summary)
    part.options(parser)
    return part.act(Session(parser.read(words[1:])))


def refuse_command(name: str, known: list[str]) -> int:
    from ramify.cli.parser import nearest
    from ramify.storage.address import quoted

    if name.startswith("-"):
        hint = "options come after the command: ramify COMMAND [OPTIONS]"
        return refuse(f"ramify has no option {name.partition('=')[0]!r} — {hint}", WRONG_USE)
    return refuse(f"there is no command {quoted(name)!r} — {nearest(name, known, 'ramify --help')}", WRONG_USE)


def tell_lookup(problem: LookupError) -> int:
    from ramify.query.service import Ambiguous, NotFound

    if isinstance(problem, NotFound):
        return refuse(f"{problem} — {problem.hint or 'ramify tasks and ramify calls list what there is'}", NOT_FOUND)
    if not isinstance(problem, Ambiguous):
        raise problem
    refuse(str(problem), WRONG_USE)
    for candidate in problem.candidates:
        parts = [candidate.get(name) for name in ("id", "kind", "title", "ref")]
        refuse("  ".join(str(part) for part in parts if part), WRONG_USE, "  ")
    return WRONG_USE


def refuse(text: str, status: int, lead: str = "ramify: ") -> int:
    """One line, whatever the text holds: an id may be hostile too."""
    from ramify.cli.safe_text import one_line

    lead = "" if text.startswith("ramify ") else lead
    sys.stderr.write(lead + one_line(text) + "\n")
    return status
