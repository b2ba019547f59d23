"""Ways to rows on ClickHouse: few entries are read however many there are, an older store gets them, and what is gone leaves none."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import clickhouse

if why := clickhouse.missing():
    assert not os.environ.get("CI"), why
    pytest.skip(why, allow_module_level=True)

from ramify.model.entity import Call, Conversation, Entity, Line, Task
from ramify.query.service import Questions
from ramify.storage.base import Ask, Changes
from ramify.storage.base import Test as Condition
from ramify.storage.clickhouse import SCHEMA, ClickHouse, open_clickhouse
from ramify.storage.clickhouse_ways import SPACES, TABLE, WAYS
from ramify.storage.columns import COLUMNS
from tests.contracts.engines import database_of
from tests.test_forgetting import going, names_of, seen_in, told

CASES = ("anthropic/subtask-three-parallel", "a2a/v1-refine")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ClickHouse]:
    made = open_clickhouse(database_of(tmp_path))
    yield made
    made.close()


def ways(store: ClickHouse) -> list[tuple[object, ...]]:
    return store.server.read(f"SELECT space, key, moment, id, toString(texts) FROM {store.server.table} FINAL WHERE space IN {SPACES} ORDER BY ALL")


def rows_read(store: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many the server looks at for each question from now on."""
    counts: list[int] = []
    for client in (store.server._client, store.server._small):

        def counted(*arguments: Any, query: Any = client.query, **settings: Any) -> Any:
            found = query(*arguments, **settings)
            counts.append(int(found.summary["read_rows"]))
            return found

        monkeypatch.setattr(client, "query", counted)
    return counts


def test_a_tree_takes_one_question_for_each_level(store: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: dict[tuple[str, str], Entity | None] = {}
    for number in range(40):  # two levels: each of the first three has some
        id, parent = f"task_{number:02}", "" if number == 0 else "task_00" if number < 4 else f"task_{number % 3 + 1:02}"
        rows["tasks", id] = Task(id, conversation="conv_a", line=id, kind="sub" if number else "root", opened=number, parent=parent)
        rows["lines", id] = Line(id, "conv_a", "subtask" if number else "root", number)
    store.append((), Changes(rows=rows))
    counts = rows_read(store, monkeypatch)
    tree = Questions(store).tree("task_00")
    assert [child["id"] for child in tree["children"]] == ["task_01", "task_02", "task_03"]
    assert sorted(len(child["children"]) for child in tree["children"]) == [12, 12, 12]
    assert tree["children"][0]["children"][0]["branch"] == "subtask_6"
    assert len(counts) == 3  # itself and its children; all lines and their children; and that there are no more


def test_every_way_goes_by_columns_that_there_are() -> None:
    for table, some in WAYS.items():
        for way in some:
            assert {way.order, *way.carried, *filter(None, [way.column])} <= set(COLUMNS[table])


def test_what_is_new_or_belongs_together_is_found_without_looking_at_all_there_is(store: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: dict[tuple[str, str], Entity | None] = {}
    for number in range(10_000):
        at, conversation = number + 1, f"conv_{number // 20:04}"
        rows["calls", f"call_{number * 7919 % 10_000:05}"] = Call(f"call_{number * 7919 % 10_000:05}", conversation=conversation, task=f"task_{number // 10}", started=at)
        rows["tasks", f"task_{number // 10}"] = Task(f"task_{number // 10}", conversation=conversation, opened=at)
        rows["conversations", conversation] = Conversation(conversation, active=at)
    store.append((), Changes(rows=rows))
    counts = rows_read(store, monkeypatch)
    assert len(store.page("calls", Ask("started", limit=10))) == 10
    assert sum(counts) < 10_000  # of the way a stretch, in each part; of the rows some 256 around each
    counts.clear()
    assert [row.started for row in store.page("calls", Ask("started", limit=50)) if isinstance(row, Call)] == list(range(10_000, 9_950, -1))
    assert len(store.page("conversations", Ask("active", limit=50))) == 50
    assert len(store.page("tasks", Ask("opened", {"conversation": "conv_0007"}, 1_000_000, ascending=True))) == 2
    assert len(list(store.sketches("conv_0300"))) == 2
    assert len(store.among("calls", "task", ["task_17", "task_900"])) == 20
    assert store.openings(["conv_0001", "conv_0002"])["conv_0001"][1:] == (2, 2)
    assert store.inside() == []
    assert counts
    assert sum(counts) < 60_000  # at least 256 rows are read wherever one is; all of them would be 200,000
    assert max(counts) < 20_000


def calls_in(store: ClickHouse, **statuses: str) -> None:
    rows: dict[tuple[str, str], Entity | None] = {("calls", id): Call(id, started=1 + int(id[5:]), status=status, model="some-model") for id, status in statuses.items()}
    store.append((), Changes(rows=rows))


def sifted(store: ClickHouse, column: str, word: str) -> list[str]:
    return [row.id for row in store.sift("calls", Ask("started"), [Condition(column, "is", (word,))], 1000).rows]


def test_a_word_that_is_nowhere_is_looked_for_nowhere(store: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    calls_in(store, **{f"call_{number:05}": "ok" for number in range(20_000)})
    counts = rows_read(store, monkeypatch)
    assert sifted(store, "status", "error") == []
    assert sifted(store, "model", "no-such-model") == []
    assert sum(counts) < 1000


def test_a_word_that_a_row_said_before_is_not_taken_for_what_it_says_now(store: ClickHouse) -> None:
    store.server.command(f"SYSTEM STOP MERGES {store.server.table}")  # each version stays in a part of its own
    calls_in(store, call_1="error", call_2="ok", call_3="error")
    calls_in(store, call_1="ok", call_2="error")
    assert sifted(store, "status", "error") == ["call_3", "call_2"]
    assert [row.id for row in store.page("calls", Ask("started", {"status": "error"}))] == ["call_3", "call_2"]


def test_a_row_that_moved_very_often_stands_once_where_it_stands_now(store: ClickHouse) -> None:
    for turn in range(1, 400, 20):
        with store.exclusive():
            for at in range(turn, min(turn + 20, 400)):
                rows: dict[tuple[str, str], Entity | None] = {("conversations", "conv_busy"): Conversation("conv_busy", active=1000 + at)}
                rows["conversations", f"conv_{at:03}"] = Conversation(f"conv_{at:03}", active=at)
                store.append((), Changes(rows=rows))
    found = [row.id for row in store.page("conversations", Ask("active", limit=30))]
    assert found == ["conv_busy", *(f"conv_{at:03}" for at in range(399, 370, -1))]


def test_a_store_that_has_none_gets_them_from_its_rows(store: ClickHouse, tmp_path: Path) -> None:
    told(store, [one for case in CASES for one in seen_in(case)])
    wanted = ways(store)
    assert len({way[0] for way in wanted}) > 8
    store.server.command(f"ALTER TABLE {store.server.table} DELETE WHERE space IN {SPACES}", {"mutations_sync": 2})
    store.set_fact("schema", 3)
    assert ways(store) == []
    again = open_clickhouse(database_of(tmp_path))
    assert again.fact("schema") == SCHEMA
    assert again.fact("outdated")  # what there is shows until it is derived again
    made = set(ways(again))
    again.close()
    assert made <= set(wanted)  # a row that has moved left another one behind
    assert {way[3] for way in made} == {way[3] for way in wanted}


def test_what_is_forgotten_leaves_no_way_behind(store: ClickHouse) -> None:
    told(store, [one for case in CASES for one in seen_in(case)])
    going(store, names_of(CASES[0]))
    left = store.server.read(f"SELECT DISTINCT {TABLE}, id FROM {store.server.table} WHERE space IN {SPACES}")
    there = store.server.read(f"SELECT DISTINCT toString(space), id FROM {store.server.table} FINAL WHERE space IN {tuple(WAYS)}")
    assert there
    assert set(left) <= set(there)
