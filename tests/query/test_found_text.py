"""The words around a hit."""

from ramify.query.found_text import BEFORE, LENGTH, snippet

LONG = "a report, at length, about " + "this and that " * 40


def test_words_in_a_row_are_shown_near_the_beginning() -> None:
    shown = snippet(LONG + "the last tree fell" + LONG, ["tree", "fell"])
    assert 0 < shown.index("tree fell") <= BEFORE + 1
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= LENGTH + 2


def test_else_the_longest_word_is_shown() -> None:
    assert "orchard" in snippet(LONG + "an orchard" + LONG, ["a", "orchard"])


def test_short_texts_are_shown_whole() -> None:
    assert snippet("a\n tree", ["tree"]) == "a tree"
