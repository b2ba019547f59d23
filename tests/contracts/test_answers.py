"""The cases of every protocol, read into each engine: the same rows, and the same answers to every question."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ramify.app import Ramify
from ramify.copying import BATCH, copy
from ramify.ingest import Ingest
from ramify.model.observation import Observation
from tests.contracts.engines import ENGINES, derived, difference, folder_of_the_run, to_be_had

CASES = Path(__file__).parent.parent / "cases"
KINDS = ("anthropic", "claude", "a2a", "sam", "events")
OTHERS = [name for name in ENGINES if name != "memory"]


@cache
def first() -> Ramify:
    """Once: nobody writes to it afterwards."""
    ramify = Ramify.open("memory:")
    folders = [folder for kind in KINDS for folder in sorted((CASES / kind).iterdir()) if folder.is_dir()]
    for folder in folders:  # what is in no known format is passed over
        ramify.import_paths([folder], "auto", lambda done, total: None)
    return ramify


@cache
def told(engine: str) -> Ramify:
    """The same observations: events know when they were recorded."""
    ramify = Ramify.open(ENGINES[engine].address(folder_of_the_run("ramify-answers-")))
    if engine == "clickhouse":  # a copy looks for each observation at the end, which takes it minutes
        take(ramify, [seen for _, seen in first().store.observations()])
    else:
        copy(first().store, ramify.store, ramify.rules, ramify.prices, lambda done, total: None)
    ramify._index()
    return ramify


def take(ramify: Ramify, seen: list[Observation]) -> None:
    ingest = Ingest(ramify.store, ramify.rules, ramify.prices)
    for start in range(0, len(seen), BATCH):
        ingest.take(seen[start : start + BATCH])


@pytest.fixture(params=OTHERS)
def other(request: pytest.FixtureRequest) -> Ramify:
    return told(to_be_had(request.param))


def test_the_same_rows_follow_on_every_engine(other: Ramify) -> None:
    found = difference(derived(first().store), derived(other.store))
    # What a fold remembers may be written in another order; names of what was there for a moment lead nowhere.
    assert [row for table, row in found if table != "sheets" and (table != "refs" or other.store.load(row[2], row[3]))] == []


def test_every_question_has_the_same_answer(other: Ramify) -> None:
    every = 30 if other.store.url.startswith("clickhouse:") else 1  # each root takes it a second
    assert answers(other, every) == answers(first(), every)


def answers(ramify: Ramify, every: int) -> dict[str, Any]:
    ask = ramify.questions
    roots = [task["id"] for task in ask.tasks(roots=True, limit=0)["items"]][::every]
    found: dict[str, Any] = {
        "conversations": ask.conversations(limit=0),
        "tasks": ask.tasks(limit=0),
        "page": ask.tasks(limit=7, cursor=ask.tasks(limit=7)["next"]),
        "calls": ask.calls(limit=0),
        "lint": sorted(one["id"] for one in ask.lint(limit=0)["items"]),
        "compare": ask.compare(roots[0], roots[1]),
        **{f"stats {by}": ask.statistics(by, "all") for by in ("day", "day,model", "project,agent", "agent,tool")},
        "a week": ask.statistics("day,agent", "2026-11-10", "2026-11-16"),
    }
    for id in roots:
        found[id] = [ask.tree(id), ask.tools(id, tree=True, limit=0), ask.messages(id, tree=True, limit=0), ask.reasoning(id, tree=True, limit=0), ask.why(id), ask.task(id)]
    for words in ("report", "Lending strategy", '"garden"', "naïve", "error"):
        found[f"search {words}"] = ask.search(words, limit=100)
    return found
