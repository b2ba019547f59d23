"""Each check finds what it is for, and leaves alone what only looks like it."""

from typing import Any

import pytest

from ramify.ingest import Ingest, Prices
from ramify.model.entity import Entity
from ramify.model.prices import Tokens
from ramify.query.errors import BadQuestion
from ramify.query.flags import Patience
from ramify.query.lints import CHECKS
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.linking.world_builder import BEGIN, SECOND, Line, Story, agent, report, result, use


def price(model: str, at: int, tokens: Tokens) -> int:
    """A ten-thousandth of a dollar for each token; from the cache a tenth of that."""
    return (tokens.input + tokens.output + tokens.write_5m + tokens.write_1h) * 100_000 + tokens.cache_read * 10_000


def told(story: Story, silent: float = 0.0) -> Questions:
    store = open_sqlite("memory:")
    Ingest(store, prices=Prices(price)).step([one for seen in story.seen for one in seen])
    return asking(store, story, silent)


def asking(store: Sqlite, story: Story, silent: float = 0.0) -> Questions:
    return Questions(store, Patience(clock=lambda: BEGIN + int((story.now + silent) * SECOND)), price)


def found(questions: Questions, check: str) -> list[dict[str, Any]]:
    return list(questions.lint(check=check)["items"])


def delegated(story: Story, answer: Any = "7", **how: Any) -> Line:
    main = story.line(session="s")
    main.ask("a", "go", agent("toolu_1", "count", subagent_type="Explore"))
    story.line(session="s", agent="a1").ask("b", "count", answer, **how)
    return main


def test_nothing_is_found_where_all_is_well() -> None:
    story = Story()
    delegated(story).ask("c", report("toolu_1", "a1"), "seven")
    assert told(story, silent=10_000).lint()["items"] == []


def test_who_is_silent_is_stalled_and_who_waits_for_somebody_at_work_is_not() -> None:
    story = Story()
    delegated(story, use("toolu_2"))
    [one] = found(told(story, silent=600), "stalled")
    assert one["title"] == "a piece of work"
    assert one["severity"] == "error"
    assert "10 m" in one["text"]
    assert one["evidence"][0] == one["task"]
    assert found(told(story, silent=60), "stalled") == []


def test_a_stall_after_another_one_is_a_finding_of_its_own() -> None:
    story = Story()
    line = story.line(session="s").ask("a", "go", use("toolu_1"))
    [first] = found(told(story, silent=600), "stalled")
    [same] = found(told(story, silent=900), "stalled")
    line.ask("b", result("toolu_1"), use("toolu_2"))
    [second] = found(told(story, silent=600), "stalled")
    assert first["id"] == same["id"] != second["id"]


def test_the_same_tool_with_the_same_input_again_and_again() -> None:
    story = Story()
    line = story.line(session="s")
    said: object = "go"
    for at, command in enumerate(["ls", "make", "make", "make", "make", "ls"]):
        line.ask(f"c{at}", said, use(f"toolu_{at}", command=command))
        said = result(f"toolu_{at}")
    line.ask("end", said, "done")
    [one] = found(told(story), "looping")
    assert one["text"] == "asked for Bash with the same input 4 times in a row"
    assert one["figures"] == {"times": 4, "tools": ["Bash"]}
    assert len(one["evidence"]) == 4


def test_a_failed_child_that_its_parent_passed_over() -> None:
    story = Story()
    delegated(story, http=529).ask("c", result("toolu_1", "no", is_error=True), "all is well")
    [one] = found(told(story), "ignored-failure")
    assert one["title"] == "go"
    assert "Explore failed" in one["text"]


def test_a_failed_child_whose_work_was_done_again_is_fine() -> None:
    story = Story()
    main = delegated(story, http=529)
    main.ask("c", result("toolu_1", "no", is_error=True), agent("toolu_2", "count again", subagent_type="Explore"))
    story.line(session="s", agent="a2").ask("d", "count again", "7")
    main.ask("e", report("toolu_2", "a2"), "seven")
    assert found(told(story), "ignored-failure") == []


def test_the_same_words_given_three_times() -> None:
    story = Story()
    main = story.line(session="s")
    main.ask("a", "go", [agent(f"toolu_{at}", "count", subagent_type="Explore") for at in range(3)])
    for at in range(3):
        story.line(session="s", agent=f"a{at}").ask(f"b{at}", "count", "7")
    main.ask("c", [report(f"toolu_{at}", f"a{at}") for at in range(3)], "seven")
    [one] = found(told(story), "repeated-prompt")
    assert one["figures"]["times"] == 3
    assert len(one["evidence"]) == 3
    assert one["title"] == "go"


def caching(read: int) -> Story:
    story = Story()
    line = story.line(session="s")
    line.ask("a", "go", use("toolu_1"), usage={"cache_creation_input_tokens": 1000})
    line.ask("b", result("toolu_1"), "done", usage={"cache_read_input_tokens": read, "cache_creation_input_tokens": 1000 - read})
    return story


def test_tokens_that_the_cache_had_held_and_that_were_paid_for_again() -> None:
    [one] = found(told(caching(0)), "cache-miss")
    assert one["figures"]["lost_tokens"] == 1000
    assert one["figures"]["lost_usd"] == pytest.approx(0.09)
    assert found(told(caching(1000)), "cache-miss") == []
    assert found(told(caching(600)), "cache-miss") == []  # four cents: not worth a word


def test_a_sub_agent_that_was_dear_for_what_came_back() -> None:
    story = Story()
    delegated(story, "7", usage={"input_tokens": 2000, "output_tokens": 4}).ask("c", report("toolu_1", "a1"), "seven")
    [one] = found(told(story), "dear-subagent")
    assert one["text"] == "Explore cost $0.20 for a result of 4 tokens"
    cheap = Story()
    delegated(cheap, "7", usage={"input_tokens": 2000, "output_tokens": 400}).ask("c", report("toolu_1", "a1"), "seven")
    assert found(told(cheap), "dear-subagent") == []


def test_a_secret_that_was_cut_out_of_a_prompt() -> None:
    story = Story()
    story.line(session="s").ask("a", "log in with [redacted:github-token] please", "done")
    [one] = found(told(story), "secret-in-prompt")
    assert "github-token" in one["text"]
    assert one["severity"] == "error"


def test_a_sub_task_of_nobody() -> None:
    story = Story()
    story.line(session="s", agent="a1").ask("a", "count", "7")
    [one] = found(told(story), "orphan")
    assert one["task"] in one["evidence"]


def test_of_one_task_only_what_lies_under_it_is_told() -> None:
    story = Story()
    delegated(story, use("toolu_2"))
    questions = told(story, silent=600)
    tasks = {task["prompt"]: task["id"] for task in questions.tasks(limit=0)["items"]}
    assert [one["check"] for one in questions.lint(tasks["go"])["items"]] == ["stalled"]
    story.line(session="s").ask("x", "something else", "done")
    questions = told(story, silent=600)
    other = next(task["id"] for task in questions.tasks(limit=0)["items"] if task["prompt"] == "something else")
    assert questions.lint(other)["items"] == []


def test_runs_are_looked_at_page_by_page_newest_first() -> None:
    story = Story()
    for number in range(5):
        story.line(session=f"s{number}").ask(f"a{number}", f"log in with [redacted] {number}", "done")
    questions = told(story)
    first = questions.lint(limit=2)
    assert (first["looked"], len(first["items"])) == (2, 2)
    second = questions.lint(limit=2, cursor=first["next"])
    third = questions.lint(limit=2, cursor=second["next"])
    assert third["next"] is None
    titles = [one["title"][-1] for page in (first, second, third) for one in page["items"]]
    assert titles == ["4", "3", "2", "1", "0"]
    with pytest.raises(BadQuestion, match="there is no check 'all'"):
        questions.lint(check="all")


class Reading:
    """Counts what is read of a store."""

    def __init__(self, store: Sqlite) -> None:
        self.pages = 0
        self._page = store.page
        store.page = self.page  # type: ignore[method-assign]

    def page(self, table: str, ask: Any) -> list[Entity]:
        self.pages += table in ("tasks", "calls")
        return self._page(table, ask)


def test_who_is_told_of_changes_looks_only_at_what_changed() -> None:
    story = Story()
    for number in range(4):
        story.line(session=f"s{number}").ask(f"a{number}", f"log in with [redacted] {number}", "done")
    store = open_sqlite("memory:")
    questions = asking(store, story)
    questions.lints.remember()
    ingest = Ingest(store, prices=Prices(price), publish=lambda seq, rows, after=None: questions.lints.changed(rows))
    ingest.step([one for seen in story.seen for one in seen])
    assert len(questions.lint()["items"]) == 4
    reading = Reading(store)
    assert len(questions.lint()["items"]) == 4
    assert reading.pages == 0
    story.line(session="s2").ask("b", "and [redacted] too", "done")
    ingest.step(story.seen[-1])
    assert len(questions.lint()["items"]) == 5
    assert 0 < reading.pages <= 2


def test_every_check_says_what_it_looks_for_and_what_to_do() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS) == 8
    assert all(check.summary and check.advice for check in CHECKS)
