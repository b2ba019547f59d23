"""What was said and done, in SQL: read from the log for the rows that somebody asks for."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ramify.ingest import Ingest
from ramify.query.direct import sql
from ramify.query.service import Questions
from ramify.storage.base import Bounds
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import story
from tests.test_mesh_cases import lines, observed


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Sqlite:
    store = open_sqlite(f"sqlite:{tmp_path_factory.mktemp('read')}/x.db")
    Ingest(store).step([seen for one in story.exchanges("anthropic", "subtask-three-parallel") for seen in one])
    Ingest(store).step([seen for one in story.reports(story.CASES / "claude" / "nested", "transcripts") for seen in one])
    Ingest(store).step(observed(lines("workflow")))
    return store


def test_inputs_and_results_of_tools_are_those_of_the_other_questions(store: Sqlite) -> None:
    rows = sql(store, "SELECT id, input, result FROM ramify_tool_calls", Bounds())["rows"]
    assert len(rows) > 5
    for id, given, brought in rows:
        tool = Questions(store).tool(id)
        assert (json.loads(given or "null"), json.loads(brought or "null")) == (tool["args"], tool["result"])
    assert sum(given is not None for _, given, _ in rows) == len(rows)
    assert sum(brought is not None for _, _, brought in rows) >= len(rows) // 2


def test_answers_have_their_words(store: Sqlite) -> None:
    rows = dict(sql(store, "SELECT model_call, text FROM ramify_messages WHERE role = 'assistant' AND text IS NOT NULL", Bounds())["rows"])
    protocols = {row.protocol or row.relation for call in rows if (row := store.load("calls", call))}
    assert {"sam", "seen", "opening"} <= protocols
    for call in (call for call in rows if not getattr(store.load("calls", call), "protocol", "")):
        said = [block for message in Questions(store).messages(call)["items"] if message["role"] == "assistant" for block in message["blocks"]]
        assert rows[call] == "\n".join(block["text"] for block in said if block.get("type") == "text")


def test_a_filter_is_applied_before_anything_is_read(store: Sqlite) -> None:
    read: list[str] = []
    load = store.load
    store.load = lambda table, id: (read.append(table), load(table, id))[1]  # type: ignore[method-assign]
    found = sql(store, "SELECT input FROM ramify_tool_calls WHERE name = 'Agent'", Bounds())["rows"]
    del store.load  # type: ignore[method-assign]
    assert read.count("tools") == len(found) > 0


def test_other_tools_see_the_views_without_what_is_in_bodies(store: Sqlite) -> None:
    with closing(sqlite3.connect(f"file:{Path(store.path)}?mode=ro", uri=True)) as other:
        columns = [column[0] for column in other.execute("SELECT * FROM ramify_tool_calls").description]
    assert "name" in columns
    assert "input" not in columns
