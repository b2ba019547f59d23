import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.model.mistake import UserMistake
from ramify.model.moment import micros
from ramify.model.own_prices import parse_prices
from ramify.model.prices import PRICES, Tokens, price

NOW = micros("2026-11-01")
MILLION = 1_000_000


def dollars(model: str, tokens: Tokens, at: int = NOW) -> float | None:
    nano = price(model, at, tokens, PRICES)
    return None if nano is None else nano / 1e9


@pytest.mark.parametrize(
    ("model", "input", "output"),
    [
        ("claude-opus-4-20250514", 15, 75),
        ("claude-opus-4-1-20250805", 15, 75),
        ("claude-opus-4-5-20251101", 5, 25),
        ("claude-opus-4-6", 5, 25),
        ("claude-opus-4-8", 5, 25),
        ("claude-opus-5", 5, 25),
        ("claude-opus-5-5", 4, 20),
        ("claude-sonnet-4-6", 3, 15),
        ("claude-sonnet-5-5", 2, 10),
        ("claude-3-7-sonnet-latest", 3, 15),
        ("claude-3-5-haiku-20241022", 0.8, 4),
        ("claude-haiku-4-5-20251001", 1, 5),
        ("claude-3-haiku-20240307", 0.25, 1.25),
    ],
)
def test_a_known_model_costs_its_list_price(model: str, input: float, output: float) -> None:
    assert dollars(model, Tokens(input=100_000)) == input / 10
    assert dollars(model, Tokens(output=MILLION)) == output


@pytest.mark.parametrize(
    "model",
    [
        "",
        "claude-opus-9",
        "claude-opus-4-20x",
        "claude-haiku-5-5",
        "claude-fable-5-1",
        "gpt-5",
        "claude-opus-5-6",
        "anthropic.claude-opus-4-5-20251101-v1:0",
    ],
)
def test_an_unknown_model_has_no_cost(model: str) -> None:
    assert dollars(model, Tokens(input=1)) is None


def test_the_cache_has_its_own_prices() -> None:
    tokens = Tokens(cache_read=MILLION), Tokens(write_5m=MILLION), Tokens(write_1h=MILLION)
    assert [dollars("claude-opus-5", each) for each in tokens] == [0.5, 6.25, 10]
    assert [dollars("claude-opus-5-5", each) for each in tokens] == [0.2, 5, 8]
    assert [dollars("claude-3-haiku-20240307", each) for each in tokens] == [0.03, 0.3, 0.5]


def test_a_batch_costs_half() -> None:
    assert dollars("claude-haiku-4-5", Tokens(input=MILLION, output=MILLION, service_tier="batch")) == 3


def test_the_price_is_that_of_the_day() -> None:
    tokens = Tokens(input=MILLION)
    assert dollars("claude-3-5-haiku-20241022", tokens, micros("2024-12-02T23:59:59")) == 1
    assert dollars("claude-3-5-haiku-20241022", tokens, micros("2024-12-03")) == 0.8


def test_a_prompt_beyond_the_known_price_has_no_cost() -> None:
    assert dollars("claude-sonnet-4-5", Tokens(input=1, cache_read=200_000)) is None
    assert dollars("claude-sonnet-4-5", Tokens(output=300_000)) is not None


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_sums_are_exact(input: int, output: int, read: int, written: int) -> None:
    alone = Tokens(input), Tokens(0, output), Tokens(0, 0, read), Tokens(write_5m=written)
    whole = price("claude-opus-5", NOW, Tokens(input, output, read, written), PRICES)
    assert whole == sum(price("claude-opus-5", NOW, each, PRICES) or 0 for each in alone)


def test_own_prices_come_first_and_fill_in_the_ratios() -> None:
    own = parse_prices(
        b'[{"model": ["claude-opus-*", "x?"], "from": "2026-01-01", "input": 0.001, "output": 2}]'
    )
    assert price("claude-opus-5", NOW, Tokens(input=MILLION, write_1h=MILLION), own + PRICES) == 3_000_000
    assert price("x1", NOW, Tokens(output=1), own + PRICES) == 2000
    assert price("claude-opus-4-5", micros("2025-12-31"), Tokens(output=MILLION), own + PRICES) == 25 * 10**9


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        (b'{"model": "x"}', 'holds {"model": "x"}, not a list'),
        (b"[7]", "Entry 1 of the price file is"),
        (b'[{"model": "x", "input": 1, "output": 1}, {"model": 3}]', "Entry 2 of the price file"),
        (b'[{"model": "x", "input": "5", "output": 1}]', 'has "5" as "input"'),
        (b'[{"model": "x", "input": -5, "output": 1}]', 'has -5.0 as "input"'),
        (b'[{"model": "x", "input": 5}]', 'has nothing as "output"'),
        (b'[{"model": "x", "input": NaN, "output": 1}]', 'as "input"'),
        (b'[{"model": "x", "input": 5, "output": 1, "cache": 1}]', 'unknown field "cache"'),
        (b'[{"model": "x", "input": 5, "output": 1, "from": "soon"}]', 'has "from": "soon"'),
        (
            b'[{"model": "x", "input": 5, "output": 1, "from": "2026-02-01", "to": "2020-01-01"}]',
            "before it begins",
        ),
    ],
)
def test_a_mistake_in_own_prices_names_the_entry_and_what_to_do(raw: bytes, says: str) -> None:
    with pytest.raises(UserMistake) as caught:
        parse_prices(raw)
    assert says in caught.value.message
    assert caught.value.hint
