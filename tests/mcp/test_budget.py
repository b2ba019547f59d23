"""No answer is larger than its budget, and whatever it lacks it names."""

from functools import partial
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramify.mcp.budget import SMALLEST, fits, fitted, paged

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=40) | st.builds(str.__mul__, st.sampled_from(("a", "\n", "\x00", "é", "🜲")), st.integers(2_000, 6_000)),
    lambda inner: st.lists(inner, max_size=60) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=6),
    max_leaves=60,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.text("abc", min_size=1, max_size=6), VALUES, max_size=12), st.integers(SMALLEST, 20_000))
def test_an_answer_fits_or_says_what_it_lacks(answer: dict[str, Any], budget: int) -> None:
    shorter = fitted(answer, budget, "Look there.")
    assert fits(shorter, budget)
    assert shorter == answer or "Look there." in shorter["left_out"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.builds(str.__mul__, st.sampled_from(("a", "\n", "é")), st.integers(0, 3_000)), max_size=40), st.integers(SMALLEST, 9_000))
def test_pages_fit_and_leave_out_no_item(texts: list[str], budget: int) -> None:
    def ask(start: int, limit: int) -> dict[str, Any]:
        end = start + limit
        return {"items": [{"n": start + at, "text": text} for at, text in enumerate(texts[start:end])], "next": end if end < len(texts) else None}

    seen: list[int] = []
    start: int | None = 0
    while start is not None:
        page = paged(partial(ask, start), 10, budget, "Look there.")
        assert len(msgspec.json.encode(page)) <= budget
        seen += [item["n"] for item in page["items"]]
        assert all(len(item["text"]) >= len(texts[item["n"]]) or "left_out" in page for item in page["items"])
        start = page["next"]
    assert seen == list(range(len(texts)))
