"""What an answer says it used: each figure once, each model at its own price."""

from typing import Any

from ramify.model.prices import Tokens
from ramify.protocols.anthropic.answer import extra_of, served_by, tokens_of

USED: dict[str, Any] = {"input_tokens": 1000, "output_tokens": 100}
MESSAGE = {"type": "message", **USED}


def entry(kind: str, input: int, output: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "input_tokens": input, "output_tokens": output, **more}


def test_writes_to_the_cache_are_kept_apart_by_how_long_they_stay() -> None:
    split = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200}
    assert tokens_of({"cache_creation_input_tokens": 300, "cache_creation": split}) == Tokens(write_5m=100, write_1h=200)
    assert tokens_of({"cache_creation": split}) == Tokens(write_5m=100, write_1h=200)
    assert tokens_of({"cache_creation_input_tokens": 300}) == Tokens(write_5m=300)
    assert tokens_of({"cache_creation_input_tokens": 300, "cache_creation": None}) == Tokens(write_5m=300)


def test_what_the_sum_leaves_out_is_added_at_its_own_price() -> None:
    advice, summary = entry("advisor_message", 2000, 50, model="large"), entry("compaction", 3000, 300)
    used = {**USED, "iterations": [MESSAGE, advice, summary, "no entry"]}
    assert served_by(used, "small") == "small"
    assert extra_of(used, "small") == (("large", Tokens(2000, 50)), ("small", Tokens(3000, 300)))


def test_turns_of_tools_at_the_models_side_are_in_the_sum() -> None:
    used = {**USED, "iterations": [entry("message", 400, 50, model="small"), entry("message", 600, 50)]}
    assert extra_of(used, "small") == ()


def test_where_another_model_took_over_both_are_paid() -> None:
    """The sum is that of the one that answered; the first line of a stream may still name the one that was asked."""
    tried, answered = entry("message", 900, 1, model="large"), entry("fallback_message", 1000, 100, model="small")
    used = {**USED, "iterations": [tried, answered]}
    for named in ("large", "small"):
        model = served_by(used, named)
        assert model == "small"
        assert extra_of(used, model) == (("large", Tokens(900, 1)),)
