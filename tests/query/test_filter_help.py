"""Whoever writes a filter is told what was understood, where it is wrong, and what may stand at the cursor."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.query.filter import KNOWN, BadFilter, read_filter
from ramify.query.filter_help import LISTS, filter_help, rows_of
from ramify.query.lists import clock
from ramify.query.meaning import meaning
from ramify.storage.base import Store
from ramify.storage.sqlite import open_sqlite
from tests import event_story
from tests.story import exchanges
from tests.story import told as told_exchanges
from tests.test_mesh_cases import lines, observed, told

Shape = dict[str, Any]
EMPTY = open_sqlite("memory:")


@pytest.fixture(scope="module")
def store() -> Store:
    """Three runs of a mesh."""
    return told([seen for case in ("parallel", "toolerror", "workflow") for seen in observed(lines(case))])[0]


def offered(store: Store, table: str, text: str, at: int | None = None) -> list[str]:
    """The filter, as each suggestion would make it."""
    found = filter_help(store, table, text, len(text) if at is None else at)["suggestions"]
    return [text[: one["start"]] + one["text"] + text[one["end"] :] for one in found]


def test_what_was_understood_is_told_term_by_term() -> None:
    text = 'status:failed,Canceled -agent:HR* cost>0.5 since:2h -until:2026-11-16 is:root -has:tools "garden leave" -draft'
    terms = filter_help(EMPTY, "tasks", text, 0)["terms"]
    assert [term["says"] for term in terms] == [
        "status is failed or canceled", "agent is not HR*", "cost over 0.5", "since 2h ago", "not until 2026-11-16", "is root", "has no tools",
        "with “garden leave”", "without “draft”",
    ]  # fmt: skip
    assert [text[term["start"] : term["end"]] for term in terms][:2] == ["status:failed,Canceled", "-agent:HR*"]


@pytest.mark.parametrize(
    ("table", "text", "word", "hint"),
    [
        ("tasks", "is:root statsu:failed", "statsu:failed", "did you mean status:?"),
        ("operations", "agent:a cost>1", "cost>1", "known are status"),
        ("tools", "model:x", "model:x", "known are status, agent, tool"),
        ("search", "leave is:stalled", "is:stalled", "is:root"),
        ("tasks", "conversation:nobody", "conversation:nobody", "another id"),
    ],
)
def test_a_wrong_word_is_pointed_at(table: str, text: str, word: str, hint: str) -> None:
    error = filter_help(EMPTY, table, text, 0)["error"]
    assert text[error["start"] : error["end"]] == word
    assert hint in error["hint"]


def test_names_are_offered_that_mean_something_for_the_list(store: Store) -> None:
    assert offered(store, "tasks", "st") == ["status:", "stop:"]
    assert offered(store, "operations", "is:open se") == ["is:open session:"]
    assert offered(store, "tasks", "-co") == ["-conversation:", "-cost>"]
    assert "kind:" in offered(store, "calls", "")
    assert not {"kind:", "cost>"} & set(offered(store, "tools", ""))
    assert offered(store, "tasks", "nobody") == []


def test_values_are_offered_that_are_known(store: Store) -> None:
    assert offered(store, "tasks", "status:f") == ["status:failed "]
    assert offered(store, "calls", "status:") == ["status:ok ", "status:error ", "status:aborted ", "status:running "]
    assert offered(store, "tasks", "agent:w is:root", 7) == ["agent:WeatherAgent is:root"]
    assert offered(store, "tasks", "status:failed,c") == ["status:failed,completed ", "status:failed,canceled "]
    assert "tool:get_forecast " in offered(store, "conversations", "tool:")
    assert offered(store, "tasks", "is:st") == ["is:stalled "]
    assert offered(store, "tools", "is:st") == []
    assert offered(store, "tasks", "since:") == ["since:1h ", "since:24h ", "since:7d "]


def test_values_of_calls_and_of_operations_are_known() -> None:
    store, _ = told_exchanges(exchanges("anthropic", "subtask-task"))
    assert offered(store, "calls", "model:c")
    assert offered(store, "tasks", "tool:")
    assert offered(store, "conversations", "stop:end") == ["stop:end_turn "]
    log = event_story.told(event_story.lines("async_fanout"))
    assert offered(log, "operations", "agent:mcp_a") == ["agent:mcp_alpha "]
    assert offered(log, "operations", "tool:") == ["tool:sync_creatives "]


def test_values_with_spaces_are_put_in_quotes() -> None:
    from ramify.model.entity import Task
    from ramify.storage.base import Changes

    store = open_sqlite("memory:")
    names = ("the writer", 'a "quoted" one', "plan,ner")
    store.append((), Changes(rows={("tasks", name): Task(name, "default", opened=at, agent_type=name) for at, name in enumerate(names, 1)}))
    assert sorted(offered(store, "tasks", "agent:")) == ['agent:"plan,ner" ', 'agent:"the writer" ']
    assert offered(store, "tasks", 'agent:"the w') == ['agent:"the writer" ']


PIECES = st.sampled_from([*KNOWN, ":", ">", "<=", "=", '"', " ", "-", ",", "*", "2h", "0.5", "root", "open", "\0"])


@given(st.sampled_from(LISTS), st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join), st.integers(0, 40))
def test_any_text_is_answered_as_the_list_itself_would(table: str, text: str, at: int) -> None:
    found = filter_help(EMPTY, table, text, at)
    error = found["error"]
    assert all(0 <= one["start"] <= one["end"] <= len(text) for one in found["suggestions"])
    try:
        meaning(read_filter(text), rows_of(table), clock(), lambda table, id: id, full_text=table == "search")
        refused = None
    except BadFilter as wrong:
        refused = wrong.start, wrong.end
    told = (error["start"], error["end"]) if error and "id" not in error["message"].split() else None
    assert told == refused
