"""Colours only where they are wanted."""

import os
from io import StringIO

import pytest
from rich.text import Text

from ramify.cli.output import WIDTH_OF_A_PIPE, Output, make_console


class Terminal(StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def written(file: StringIO, color: str) -> str:
    make_console(file, color).print(Text("x", "bold red"))
    return file.getvalue()


@pytest.fixture(autouse=True)
def colour_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)


def test_a_terminal_has_colours_and_a_pipe_has_none() -> None:
    assert "\x1b[" in written(Terminal(), "auto")
    assert written(StringIO(), "auto") == "x\n"


def test_no_color_is_respected_unless_colours_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert written(Terminal(), "auto") == "x\n"
    assert "\x1b[" in written(Terminal(), "always")


def test_never_means_never_and_always_means_always() -> None:
    assert written(Terminal(), "never") == "x\n"
    assert "\x1b[" in written(StringIO(), "always")


def test_a_dumb_terminal_gets_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert written(Terminal(), "auto") == "x\n"


def test_a_pipe_is_wide_unless_columns_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_console(StringIO(), "auto").width == WIDTH_OF_A_PIPE
    monkeypatch.setenv("COLUMNS", "60")
    assert make_console(StringIO(), "auto").width == 60


def test_markup_and_emoji_codes_are_printed_as_they_are() -> None:
    file = StringIO()
    make_console(file, "auto").print("[bold]x[/bold] :smile:")
    assert file.getvalue() == "[bold]x[/bold] :smile:\n"


def test_a_document_is_one_line_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_document=True).document({"a": [1, "\x9b"]})
    assert capsys.readouterr().out == '{"a": [1, "\\u009b"]}\n'


def test_what_is_said_beside_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    Output().say("two\nlines\x1b")
    assert capsys.readouterr() == ("", "two lines␛\n")


def test_a_closed_pipe_is_left_to_main() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    file = os.fdopen(writing, "w")
    with pytest.raises(BrokenPipeError):
        make_console(file, "never").print("x")
    with pytest.raises(BrokenPipeError):
        file.close()
