"""Where a prompt first differs from the one before, why, and what that cost."""

import json
from typing import Any

import pytest

from ramify.model.own_prices import parse_prices
from ramify.model.prices import PRICES, Tokens, price
from ramify.query.cache import Pricer, cache_story, list_price
from tests.story import observe, told


def exchange(number: int, body: dict[str, Any], usage: dict[str, int], minute: int = 0) -> dict[str, Any]:
    answer = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"], "stop_reason": "end_turn",
        "content": [{"type": "text", "text": f"Answer {number}."}], "usage": {"output_tokens": 5, **usage},
    }  # fmt: skip
    return {
        "id": f"x{number}", "started": f"2026-05-01T10:{minute:02}:{number:02}Z", "ended": f"2026-05-01T10:{minute:02}:{number:02}.5Z",
        "request": {"method": "POST", "path": "/v1/messages", "headers": {"x-claude-code-session-id": "s1"}, "body": body},
        "response": {"status": 200, "headers": {"content-type": "application/json"}, "body": answer},
    }  # fmt: skip


def story(change: dict[str, Any], read: int, minute: int = 0, pricer: Pricer = list_price) -> dict[str, Any]:
    """Two calls of one task; the second differs by `change` and reads so many tokens from the cache."""
    first = {
        "model": "claude-sonnet-5", "max_tokens": 10, "system": "Today is 2026-05-01.",
        "tools": [{"name": "Read", "input_schema": {}}, {"name": "Bash", "input_schema": {}}],
        "messages": [{"role": "user", "content": "Count the hats."}],
    }  # fmt: skip
    said = [*first["messages"], {"role": "assistant", "content": "Answer 1."}]
    reminder = {"role": "user", "content": [{"type": "text", "text": "<system-reminder>Go on.</system-reminder>", "cache_control": {"type": "ephemeral"}}]}
    second = json.loads(json.dumps({**first, "messages": [*said, reminder], **change}))
    written = {"input_tokens": 3, "cache_creation_input_tokens": 4000, "cache_read_input_tokens": 0}
    lines = [exchange(1, first, written), exchange(2, second, {"input_tokens": 3, "cache_creation_input_tokens": 4100 - read, "cache_read_input_tokens": read}, minute)]
    store, questions = told([tuple(observe(line)) for line in lines])
    task = questions.tasks(limit=0)["items"][-1]["id"]
    entries = cache_story(store, task, 50, pricer)
    assert len(entries) == 2
    assert entries[0]["before"] is None
    return entries[1]


def test_a_prompt_that_only_grew_lost_nothing() -> None:
    entry = story({}, read=4000)
    assert (entry["same"], entry["segments"], entry["lost"], entry["difference"], entry["cause"]) == (4, 6, 0, None, None)


def test_a_date_in_the_system_prompt_is_found_to_the_character() -> None:
    entry = story({"system": "Today is 2026-05-02."}, read=0)
    assert entry["cause"] == "date or id in system"
    assert entry["difference"]["segment"] == "system 1"
    assert entry["difference"]["old"][entry["difference"]["at"] - entry["difference"]["shown_from"]] == "1"
    assert entry["lost"] == 4000
    # Sonnet 5: written again at 2.50 dollars a million instead of read at 0.20.
    assert entry["lost_usd"] == pytest.approx(4000 * (2.50 - 0.20) / 1e6)


def test_tools_in_another_order_are_told_from_other_tools() -> None:
    tools = [{"name": "Bash", "input_schema": {}}, {"name": "Read", "input_schema": {}}]
    assert story({"tools": tools}, read=0)["cause"] == "tool order"
    assert story({"tools": tools[:1]}, read=0)["cause"] == "tool changed"


def test_an_unchanged_prompt_that_was_read_anew_had_outlived_its_time() -> None:
    assert story({}, read=0, minute=9)["cause"] == "lifetime passed"
    assert story({}, read=0)["cause"] == "unknown"


def test_a_persons_own_prices_count_before_the_lists() -> None:
    own = parse_prices(b'[{"model": "claude-sonnet-*", "input": 100, "output": 1}]')

    def pricer(model: str, at: int, tokens: Tokens) -> int | None:
        return price(model, at, tokens, (*own, *PRICES))

    change = {"system": "Today is 2026-05-02."}
    assert story(change, read=0, pricer=pricer)["lost_usd"] == pytest.approx(4000 * (125 - 10) / 1e6)
    listed = story(change, read=0)["lost_usd"]
    assert listed is not None
    assert listed < 0.1
    assert story({**change, "model": "unheard-of"}, read=0)["lost_usd"] is None
