"""The table, row by row."""

import pytest

from ramify.reconciling.deciding import Answered, Known, decide


def known(status: str, misses: int = 0) -> Known:
    return Known("task_1", "s", "op", "a", "t", "t1", "work", "mcp", status, 1, misses)


@pytest.mark.parametrize(
    ("have", "said", "verdict"),
    [
        ("submitted", "completed", "corrected"), ("working", "input-required", "corrected"), ("working", "working", "unchanged"),
        ("completed", "working", "anomaly"), ("completed", "failed", "corrected"), ("completed", "completed", "unchanged"),
        ("submitted", "unknown", "unchanged"), ("submitted", "", "missing"), ("completed", "", "unchanged"),
    ],
)  # fmt: skip
def test_what_the_agent_says_against_what_we_have(have: str, said: str, verdict: str) -> None:
    assert decide(known(have), Answered("t1", said, said)).kind == verdict


def test_the_third_miss_makes_a_task_unknown_and_not_failed() -> None:
    assert [decide(known("working", misses), Answered("t1")).kind for misses in (0, 1, 2)] == ["missing", "missing", "gone"]
    assert decide(known("working", 2), Answered("t1")).status == "unknown"
    assert decide(known("unknown", 3), Answered("t1")).kind == "missing"
