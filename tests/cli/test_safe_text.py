"""Whatever an agent says, the terminal only ever shows it."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.cli.safe_text import as_json, cut, one_line, paragraphs, safe

ANY_TEXT = st.text(st.characters(exclude_categories=()))
HOSTILE = (
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil\x1b\\link",
    "\x9b2J",
    "\x9d52;c;x\x9c",
    "\x7f",
    "\x00",
    "a\rb",
    "\u202eevil\u202c",
    "\u2066x\u2069",
    "\u200fx",
    "\u061cx",
    "\u2028x",
    "\ud800",
    "\U000e0041",
    "\ufeffx",
    "\x08\x08",
)


def steers(text: str) -> bool:
    """By Unicode's own words for control, bidi and unpaired characters; joiners in emoji are harmless."""
    return any(
        unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(letter) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        for letter in text
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_steers_a_terminal_survives(text: str) -> None:
    for shown in (one_line(text), paragraphs(text), safe(text).plain, as_json({"said": text})):
        assert not steers(shown)


@given(ANY_TEXT)
def test_any_text_becomes_harmless(text: str) -> None:
    assert not steers(one_line(text))
    assert not steers(paragraphs(text).replace("\n", ""))
    assert not steers(as_json([text]))
    one_line(text).encode()


@given(ANY_TEXT)
def test_json_says_the_same_after_escaping(text: str) -> None:
    assert json.loads(as_json({text: [text]}, 2)) == {text: [text]}


def test_what_was_there_can_still_be_seen() -> None:
    assert one_line("\x1b[31mred\x7f\x9b") == "␛[31mred␡\\x9b"
    assert one_line("a\u202eb") == "a\\u{202e}b"


def test_lines_and_tabs_keep_their_meaning_in_paragraphs() -> None:
    assert paragraphs("a\r\n\tb\rc") == "a\n    b␍c"


def test_one_line_is_one_line() -> None:
    assert one_line("  a \n\n\tb  ") == "a b"


def test_markup_is_only_text() -> None:
    assert safe("[bold]x[/bold] :smile:").plain == "[bold]x[/bold] :smile:"


def test_a_cut_counts_columns_not_letters() -> None:
    assert cut("日本語のテキスト", 7) == "日本語…"
    assert cut("short", 7) == "short"
    assert cut("none", 0) == ""
