"""Sums by day, project, agent, model and tool: each adds up to the whole, and mistakes are explained."""

import time

import pytest

from ramify.ingest import Ingest, Prices
from ramify.model.tally import DAY, Tally, step_of
from ramify.model.usage import Usage
from ramify.query.errors import BadQuestion
from ramify.query.flags import Patience
from ramify.query.service import Questions
from ramify.storage.base import Changes
from ramify.storage.sqlite import open_sqlite
from tests.linking.world_builder import BEGIN, SECOND, Story, agent, report, result, use

CENT = Prices(lambda model, at, tokens: 10_000_000)  # one a call


def told(story: Story) -> Questions:
    store = open_sqlite("memory:")
    Ingest(store, prices=CENT).step([one for seen in story.seen for one in seen])
    return Questions(store, Patience(clock=lambda: BEGIN + int(story.now * SECOND)))


def worked() -> Questions:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", agent("toolu_1", "count", subagent_type="Explore"), usage={"input_tokens": 100, "output_tokens": 50})
    child = story.line(session="s", agent="a1")
    child.ask("b", "count", [use("toolu_2"), use("toolu_3", name="Read")], usage={"input_tokens": 11, "output_tokens": 7})
    child.ask("c", [result("toolu_2"), result("toolu_3", is_error=True)], "7", usage={"input_tokens": 20, "output_tokens": 3})
    main.ask("d", report("toolu_1", "a1"), "seven", usage={"input_tokens": 200, "output_tokens": 20})
    other = story.line(session="t", project="other")
    other.ask("e", "go", http=529, at=90_000.0)  # the next day
    return told(story)


def test_tokens_and_money_by_each_dimension_add_up_to_the_whole() -> None:
    questions = worked()
    totals = questions.stats()["usage"]
    for by in ("day", "project", "agent", "model", "day,project,agent,model"):
        answer = questions.statistics(by)
        for figure in ("calls", "input", "output", "cost_usd"):
            assert sum(row["usage"][figure] for row in answer["rows"] if row["usage"][figure]) == pytest.approx(totals[figure]), by
            assert answer["total"]["usage"][figure] == pytest.approx(totals[figure])


def test_each_type_of_agent_has_its_own_calls_tools_and_tasks() -> None:
    rows = {row["agent"]: row for row in worked().statistics("agent")["rows"]}
    assert set(rows) == {"main", "Explore"}
    assert rows["Explore"]["usage"]["input"] == 31
    assert rows["Explore"]["tools"]["count"] == 2
    assert rows["Explore"]["tasks"] == {**rows["Explore"]["tasks"], "count": 1, "ok": 1, "failed": 0, "success": 1.0}
    assert rows["main"]["calls"]["failed"] == 1


def test_days_are_in_order_and_a_failure_counts_where_it_happened() -> None:
    rows = worked().statistics("day")["rows"]
    assert [row["calls"]["success"] for row in rows] == [1.0, 0.0]
    assert rows[0]["day"] < rows[1]["day"]
    assert len(rows[0]["day"]) == len("2026-11-16")


def test_the_tokens_of_a_call_are_divided_among_the_tools_that_it_asked_for() -> None:
    rows = {row["tool"]: row for row in worked().statistics("tool")["rows"]}
    assert {name: row["usage"]["output"] for name, row in rows.items()} == {"Agent": 50, "Bash": 3, "Read": 4}
    assert rows["Read"]["tools"]["success"] == 0.0
    assert rows["Bash"]["tools"]["p50_ms"] == pytest.approx(1000, rel=0.07)


def test_only_what_is_asked_for_is_summed_up() -> None:
    questions = worked()
    assert [row["project"] for row in questions.statistics("project", project="other")["rows"]] == ["other"]
    assert questions.statistics("day", "1h")["rows"][0]["calls"]["failed"] == 1
    assert questions.statistics("day", until="2020-01-01")["rows"] == []
    assert questions.statistics("day", limit=1)["more"] is True


@pytest.mark.parametrize(
    ("by", "since", "words"),
    [("week", None, "nothing is summed up by 'week'"), (",", None, "say by what"), ("model,tool", None, "not by both"), ("day", "yesterday", "is no time")],
)
def test_a_mistake_is_explained(by: str, since: str | None, words: str) -> None:
    with pytest.raises(BadQuestion, match=words):
        worked().statistics(by, since)


def test_a_year_of_a_busy_team_is_summed_up_at_once() -> None:
    """As many rows as a million calls of 12 types of agents, 4 models and 25 tools leave in 90 days."""
    store = open_sqlite("memory:")
    steps = bytes(step_of(int(1.3**power) * 20) for power in range(40))
    rows: dict[tuple[str, str], Tally] = {}
    for day in range(90):
        for kind, names in (("calls", 4), ("tools", 25), ("uses", 1), ("tasks", 2)):
            for one in range(12 * names):
                row = Tally(f"{day}-{kind}-{one}", "p", day * DAY, kind, f"agent {one % 12}", f"name {one // 12}", 230, Usage(230, 1, 1), (("ok", 230),), steps, (5,) * 40, 1)
                rows["tallies", row.id] = row
    store.append((), Changes(rows=dict(rows)))
    questions = Questions(store, Patience(clock=lambda: 90 * DAY))
    assert len(questions.statistics("agent,model", "all")["rows"]) == 48
    best = min(_timed(questions, by) for by in ("day,model", "day,model", "day,model"))
    assert best < 0.2
    assert min(_timed(questions, by, "30d") for by in ("agent", "agent", "agent")) < 0.2


def _timed(questions: Questions, by: str, since: str = "all") -> float:
    """Of this thread alone: others may keep the machine busy."""
    began = time.thread_time()
    questions.statistics(by, since)
    return time.thread_time() - began
