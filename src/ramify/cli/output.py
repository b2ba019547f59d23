"""Where a command writes: results to standard output, everything else to standard error."""

import json
import os
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from ramify.cli.safe_text import as_json, one_line, paragraphs
from ramify.model.mistake import UserMistake
from ramify.model.steering import BUT_BREAKS

WIDTH_OF_A_PIPE = 140  # nobody's window: wide enough to cut little, narrow enough to read in a log


class Output:
    """Colours and width are decided once; drawing functions only return what to draw."""

    def __init__(self, color: str = "auto", as_document: bool = False) -> None:
        self.json = as_document
        self.color = color
        self.console = make_console(sys.stdout, color)
        self.now = datetime.now().astimezone()

    @property
    def width(self) -> int:
        return self.console.width

    def lines(self, lines: Iterable[Text | str]) -> None:
        """What the drawing functions return: each line is as wide as it may be already."""
        for line in map(harmless, lines):
            if self.console.color_system is None:  # four times as fast, which tens of thousands of lines feel
                sys.stdout.write(f"{line.plain if isinstance(line, Text) else line}\n")
                continue
            self.console.print(line, no_wrap=True, overflow="ellipsis", crop=True)

    def items(self, answer: dict[str, Any], draw: Callable[[dict[str, Any]], Text], nothing: str) -> None:
        """A short list whole, a line for each; `nothing` is said where it is empty."""
        if self.json:
            self.document(answer)
            return
        self.lines([draw(item) for item in answer["items"]])
        if not answer["items"]:
            self.say(nothing)

    def document(self, document: Any) -> None:
        """The machine's answer; indented where a person looks on."""
        try:
            text = as_json(document, 2 if sys.stdout.isatty() else None)
        except RecursionError:
            hint = "ramify subtasks ID --tree --json has a tree of any depth, as a list"
            raise UserMistake("the answer is nested deeper than JSON can be written", hint) from None
        sys.stdout.write(text + "\n")

    def line_of_json(self, place: dict[str, Any], body: str) -> None:
        """One event of a stream, at once: whoever reads a pipe wants it now."""
        try:
            content = json.loads(body)
        except ValueError:
            content = body
        sys.stdout.write(as_json({**place, "data": content}) + "\n")
        sys.stdout.flush()

    def clock(self) -> datetime:
        """Now, for what runs on; `now` is when the command began."""
        return datetime.now().astimezone()

    def say(self, text: str) -> None:
        sys.stderr.write(one_line(text) + "\n")


def harmless(line: Text | str) -> Text | str:
    """Drawing functions make foreign words harmless, each its own; one that forgot must not cost anybody their terminal."""
    plain = line.plain if isinstance(line, Text) else line
    return Text(paragraphs(plain)) if BUT_BREAKS.search(plain) else line


class Screen(Console):
    """Rich itself would end the program, with status 1, when a reader has seen enough: `main` decides."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def make_console(file: TextIO, color: str) -> Console:
    """Text is never markup here, so an agent cannot style, link or hide anything."""
    terminal = file.isatty()
    muted = not terminal or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    plain = color == "never" or (color == "auto" and muted)
    console = Screen(
        file=file,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
        # Sixteen colours: the reader's own theme decides what they look like, light or dark.
        color_system=None if plain else "standard",
        force_terminal=True if color == "always" else None,
        no_color=plain,
        legacy_windows=False,
    )
    if not terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = WIDTH_OF_A_PIPE
    return console
