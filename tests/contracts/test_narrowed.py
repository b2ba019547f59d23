"""A store of which some projects can be seen gives what a store of these alone gives, on every engine; and nothing else at all."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ramify.indexing import Indexer
from ramify.model.entity import TABLES
from ramify.model.mistake import UserMistake
from ramify.query.narrowed import Narrowed, narrowed
from ramify.query.service import Questions
from ramify.storage.base import Ask, Bounds, Store
from ramify.storage.columns import COLUMNS
from ramify.storage.sqlite import Sqlite
from tests.contracts.engines import ENGINES, folder_of_the_run, to_be_had
from tests.two_projects import ALPHA, BRAVO, log_of, told

NEVER = {
    "exclusive", "append", "between", "fact", "facts", "set_fact", "set_facts", "drop_facts", "forget", "bodies", "blobs", "get", "drop_blobs",
    "shrink", "distrust", "keys_after", "others", "take_projections", "projected", "sign", "follow", "check", "close", "projects_of", "rewrite", "write_anew", "about",
}  # fmt: skip
"""Writing, what is the store's own, and pieces that several may share: nobody who is limited gets there."""
FEW = ("anthropic/subtask-three-parallel", "a2a/v1-refine", "sam/simple", "events/collision")


@cache
def both(engine: str) -> Store:
    store = told(log_of(ALPHA, FEW), log_of(BRAVO, FEW), store=ENGINES[engine].open(folder_of_the_run("ramify-narrowed-")), size=50)
    Indexer(store).catch_up()
    return store


@cache
def alone() -> Store:
    store = told(log_of(ALPHA, FEW), size=50)
    Indexer(store).catch_up()
    return store


@pytest.fixture(params=list(ENGINES))
def store(request: pytest.FixtureRequest) -> Store:
    return both(to_be_had(request.param))


def own(store: Store) -> Store:
    return narrowed(store, frozenset({ALPHA}))


def test_every_way_to_read_a_store_is_narrowed_or_closed() -> None:
    """A method that is added to the contract must be decided about here."""
    methods = {name for part in Store.__mro__ for name in vars(part) if not name.startswith("_")}
    there = {name for name in dir(Narrowed) if not name.startswith("_")}
    assert methods - there == NEVER
    assert NEVER & there == set()


def test_every_row_and_observation_is_that_of_a_store_of_its_own(store: Store) -> None:
    for table in set(TABLES) - {"sheets"}:
        assert sorted(map(repr, own(store).docs(table))) == sorted(map(repr, alone().docs(table))), table
    assert [seen.id for _, seen in own(store).observations()] == [seen.id for _, seen in alone().observations()]


def test_whatever_is_known_of_the_other_project_leads_nowhere(store: Store) -> None:
    mine, theirs = own(store), narrowed(store, frozenset({BRAVO}))
    for table in TABLES:
        rows = list(theirs.docs(table))
        ids = [row.id for row in rows]
        assert mine.among(table, "id", ids) == []
        assert [mine.load(table, id) for id in ids[:3]] == [None] * len(ids[:3])
        assert mine.ids_like(table, ids[0][:12], 20) == [] if ids and ids[0][5:12].isalnum() else True
        if "project" in COLUMNS[table] and rows:
            assert mine.page(table, Ask(ORDER[table], {"project": BRAVO}, 10)) == []
            assert mine.count(table, {"project": BRAVO}) == 0
    conversation = next(iter(theirs.docs("conversations"))).id
    assert list(mine.sketches(conversation)) == []
    assert mine.openings([conversation]) == {}
    assert mine.count("calls", {"conversation": conversation}) == 0
    assert mine.page("tasks", Ask("opened", {"conversation": conversation}, 10)) == []
    seen = next(seen.id for _, seen in theirs.observations())
    assert mine.observation(seen) is None
    assert mine.seen([seen]) == {}
    assert mine.missing([seen]) == {seen}
    assert {ref.id for ref in mine.refs(conversation)} == set()


ORDER = {
    "tasks": "opened", "calls": "started", "tools": "opened", "operations": "updated", "sessions": "active", "conversations": "active",
    "events": "recorded", "tallies": "at", "agents": "id",
}  # fmt: skip


def answers(questions: Questions) -> dict[str, Any]:
    return {
        "tasks": questions.tasks(limit=0), "calls": questions.calls(limit=0), "conversations": questions.conversations(limit=0),
        "pages": pages(questions), "operations": questions.operations(limit=0), "events": questions.events(limit=0),
        "filtered": [questions.tasks(limit=0, filter=text)["items"] for text in ("status:completed", "agent:* since:9000d", "root", "cost>0")],
        "totals": {name: value for name, value in questions.stats().items() if name not in ("seq", "indexed", "store")},
        "sums": questions.statistics("project,agent", "all"),
        "said": [hit["snippet"] for hit in questions.search("the", limit=20)["items"]],
    }  # fmt: skip


def pages(questions: Questions) -> list[str]:
    """A few at a time, to the end."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = questions.tasks(limit=3, cursor=cursor, filter="since:9000d")
        found += [task["id"] for task in page["items"]]
        cursor = page["next"]
        if cursor is None:
            return found


def test_every_question_has_the_answer_of_a_store_of_its_own(store: Store) -> None:
    assert answers(Questions(store).within(frozenset({ALPHA}))) == answers(Questions(alone()))


def test_whoever_sees_both_sees_what_everybody_does(store: Store) -> None:
    """Lists of several projects are put together; so they must be whole, and in order."""
    together = Questions(store).within(frozenset({ALPHA, BRAVO}))
    assert answers(together) == answers(Questions(store))
    assert answers(Questions(store).within(frozenset({"nobody"})))["tasks"]["items"] == []


def test_an_engine_that_cannot_narrow_sql_refuses_it(store: Store) -> None:
    if isinstance(store, Sqlite):
        rows = own(store).sql("SELECT DISTINCT project FROM ramify_tasks", Bounds()).rows
        assert rows == [(ALPHA,)]
        assert own(store).sql("SELECT count(*) FROM ramify_tasks", Bounds(), None, frozenset({BRAVO})).rows == [(0,)]
    else:
        with pytest.raises(UserMistake, match="every project"):
            own(store).sql("SELECT 1", Bounds())


def test_a_name_of_a_project_can_be_anything(tmp_path: Path) -> None:
    odd = "a' OR 1=1 --"
    store = told(log_of(odd, FEW[:1]), log_of(ALPHA, FEW[:1]))
    for name in (odd, "it's", "\N{SNOWMAN}", "%", "a%' --"):
        rows = narrowed(store, frozenset({name})).sql("SELECT DISTINCT project FROM ramify_tasks", Bounds()).rows
        assert rows == ([(odd,)] if name == odd else [])


def test_lists_of_one_project_are_led_there_by_an_index() -> None:
    """However much the others have."""
    store = both("sqlite")
    assert isinstance(store, Sqlite)
    read: list[str] = []
    inner = store._read
    store._read = lambda sql, parameters=(): (read.append(plan(inner, sql, parameters)), inner(sql, parameters))[1]  # type: ignore[method-assign]
    try:
        questions = Questions(store).within(frozenset({ALPHA}))
        for ask in (questions.tasks, questions.calls, questions.conversations):
            ask(limit=5)
            ask(limit=5, filter="cost>=0")
        questions.tasks(roots=True, limit=5)
        questions.events(limit=5)
    finally:
        store._read = inner  # type: ignore[method-assign]
    walked = [line for line in read if re.search(r"(SCAN|SEARCH) (tasks|calls|conversations|events)\b", line)]
    assert walked
    wrong = [line for line in walked if "_of_project" not in line and "SEARCH" not in line]
    assert wrong == []


def plan(read: Any, sql: str, parameters: Any) -> str:
    return " | ".join(row[3] for row in read(f"EXPLAIN QUERY PLAN {sql}", parameters))
