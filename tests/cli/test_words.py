"""Figures as people read them."""

import pytest

from ramify.cli import words
from tests.cli.samples import NOW, usage


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, ""),
        (0, "0ms"),
        (999, "999ms"),
        (9100, "9.1s"),
        (9960, "10s"),
        (59_940, "60s"),
        (59_960, "1m 00s"),
        (134_000, "2m 14s"),
        (3_600_000, "1h 00m"),
        (200_000_000, "2d 07h"),
    ],
)
def test_a_duration_has_two_units_at_most(milliseconds: float | None, text: str) -> None:
    assert words.duration(milliseconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, ""),
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (12_345, "12.3k"),
        (99_960, "100k"),
        (348_000, "348k"),
        (999_600, "1.0M"),
        (1_200_000, "1.2M"),
        (3_000_000_000, "3.0G"),
    ],
)
def test_a_count_has_three_figures_at_most(number: int | None, text: str) -> None:
    assert words.count(number) == text


@pytest.mark.parametrize(
    ("dollars", "text"),
    [(None, ""), (0.0, "$0.00"), (0.004, "<1¢"), (0.08, "$0.08"), (1.305, "$1.30"), (1234.5, "$1,234")],
)
def test_money_is_in_dollars(dollars: float | None, text: str) -> None:
    assert words.money(dollars) == text


def test_an_unknown_price_is_a_question_and_no_call_is_nothing() -> None:
    assert words.cost(usage(2, 10)) == "?"
    assert words.cost(usage()) == ""
    assert words.cost(None) == ""


def test_tokens_include_what_the_cache_read_and_wrote() -> None:
    assert words.tokens({"calls": 1, "input": 1, "output": 2, "cache_read": 4, "cache_write": 8}) == 15


@pytest.mark.parametrize(
    ("then", "text"),
    [
        ("2026-11-15T12:29:52Z", "8s"),
        ("2026-11-15T12:00:00Z", "30m"),
        ("2026-11-14T12:00:00Z", "1d"),
        ("2026-01-01T00:00:00Z", "2026-01-01"),
        ("2027-01-01T00:00:00Z", "0s"),
        ("no time", ""),
        (None, ""),
    ],
)
def test_an_age_has_one_unit(then: str | None, text: str) -> None:
    assert words.age(then, NOW) == text


def test_the_clock_names_the_day_only_when_it_is_another() -> None:
    assert words.clock("2026-11-15T12:00:01.5Z", NOW) == "12:00:01"
    assert words.clock("2026-11-14T12:00:01Z", NOW) == "2026-11-14 12:00:01"


def test_what_still_runs_shows_how_long_so_far() -> None:
    assert words.elapsed({"status": "working", "opened": "2026-11-15T12:28:20Z"}, NOW) == "1m 40s…"
    assert words.elapsed({"status": "unknown", "opened": "2026-11-15T12:28:20Z"}, NOW) == ""
    assert words.elapsed({"opened": "2026-11-15T12:00:00Z", "closed": "2026-11-15T12:00:03Z"}, NOW) == "3.0s"
