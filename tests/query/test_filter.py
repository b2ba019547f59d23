"""Reading filters: what is understood, and how a wrong one is pointed at."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.query.filter import KNOWN, LONGEST, MOST_TERMS, BadFilter, Figure, Moment, Named, Said, read_filter


def read(text: str) -> list[object]:
    """The terms, without their places."""
    found: list[object] = []
    for term in read_filter(text).terms:
        match term:
            case Named(name, values, negated):
                found.append((name, values, negated))
            case Figure(name, sign, value, negated):
                found.append((name, sign, value, negated))
            case Moment(name, at, ago, negated):
                found.append((name, at, ago, negated))
            case Said(text, negated):
                found.append((text, negated))
    return found


def test_every_kind_of_term_is_read() -> None:
    text = 'tool:Bash status:failed,Canceled agent:HR* cost>0.5 tokens>=10k duration<5m since:2h is:root "garden  leave" pay -draft -status:working'
    assert read(text) == [
        ("tool", ("Bash",), False),
        ("status", ("failed", "canceled"), False),
        ("agent", ("HR*",), False),
        ("cost", ">", 500_000_000, False),
        ("tokens", ">=", 10_000, False),
        ("duration", "<", 300_000_000, False),
        ("since", 7_200_000_000, True, False),
        ("is", ("root",), False),
        ("garden leave", False),
        ("pay", False),
        ("draft", True),
        ("status", ("working",), True),
    ]


def test_values_may_be_quoted_and_names_written_in_capitals() -> None:
    assert read('Agent:"the writer",Plan PROJECT="a,b"') == [("agent", ("the writer", "Plan"), False), ("project", ("a,b",), False)]


def test_a_day_ends_at_its_end_and_a_time_is_exact() -> None:
    assert read("since:2026-11-16 until:2026-11-16 until:2026-11-16T00:00:01Z") == [
        ("since", 1_794_787_200_000_000, False, False),
        ("until", 1_794_873_599_999_999, False, False),
        ("until", 1_794_787_201_000_000, False, False),
    ]


def test_what_is_no_name_and_a_sign_is_a_word() -> None:
    assert read("12:30 C++ a-b ü:x 3>2") == [(word, False) for word in ("12:30", "C++", "a-b", "ü:x", "3>2")]


@pytest.mark.parametrize(
    ("text", "word", "start", "hint"),
    [
        ("is:root statsu:failed", "statsu:failed", 8, "did you mean status:?"),
        ("status:fialed", "status:fialed", 0, "did you mean failed?"),
        ("has:subtask x", "has:subtask", 0, "did you mean subtasks?"),
        ("cost:5", "cost:5", 0, "cost>0.5"),
        ("tokens>many", "tokens>many", 0, "tokens>10k"),
        ("duration>5x", "duration>5x", 0, "ms, s, m, h, d"),
        ("agent>5", "agent>5", 0, "agent:NAME"),
        ("a since:soon", "since:soon", 2, "since:2h"),
        ("tool:", "tool:", 0, "tool:NAME"),
        ("tool:,", "tool:,", 0, "tool:NAME"),
        ('x "open', '"open', 2, "around the words"),
        ('tool:"open', 'tool:"open', 0, "around the words"),
        ("a - b", "-", 2, "leave it out"),
        ("http://example.org", "http://example.org", 0, "put it in quotes"),
    ],
)  # fmt: skip
def test_a_wrong_filter_is_pointed_at(text: str, word: str, start: int, hint: str) -> None:
    with pytest.raises(BadFilter) as wrong:
        read_filter(text)
    assert (wrong.value.word, wrong.value.start) == (word, start)
    assert text[wrong.value.start : wrong.value.end] == word
    assert hint in wrong.value.hint
    assert word in str(wrong.value)


@pytest.mark.parametrize("text", ["x" * (LONGEST + 1), "a " * (MOST_TERMS + 1), "tool:" + ",".join("abcdefghijklmnopqrstuvwxyz")])
def test_a_filter_has_bounds(text: str) -> None:
    with pytest.raises(BadFilter, match="too"):
        read_filter(text)


PIECES = st.sampled_from([*KNOWN, ":", ">", "<=", "=", '"', " ", "-", ",", "*", "2h", "0.5", "9" * 30, "2026-11-16", "root", "\\", "%", "é", "\0"])


@given(st.lists(PIECES | st.text(max_size=4), max_size=30).map("".join))
def test_any_text_is_read_or_refused_with_a_place_in_it(text: str) -> None:
    try:
        places = [(term.place.start, term.place.end) for term in read_filter(text).terms]
    except BadFilter as problem:
        places = [(problem.start, problem.end)] if problem.hint else []
        assert places
    flat = [0, *(place for pair in places for place in pair), len(text)]
    assert flat == sorted(flat)
    assert all(start < end for start, end in places)


@given(st.lists(st.text(alphabet=st.characters(exclude_characters='"', exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=9), min_size=1, max_size=9))
def test_quoted_words_come_back_as_they_are(words: list[str]) -> None:
    assert read('"' + " ".join(words) + '"') == [(" ".join(words), False)]


@pytest.mark.parametrize("piece", ['"', 'a"', ":", "-", ",", "a:", '""', "tool:\"a\",", "((", "é" * 3])
def test_reading_takes_time_in_proportion_to_the_length(piece: str) -> None:
    text = (piece * LONGEST)[:LONGEST]
    start = time.process_time()
    for _ in range(20):
        try:
            read_filter(text)
        except BadFilter:
            pass
    assert time.process_time() - start < 1
