"""A store that an older version has written: it opens, is read, and is gone on with as if it had always been ours."""

import gzip
import logging
import sqlite3
from pathlib import Path

import pytest

from ramify.app import Ramify
from ramify.model.observation import Observation
from ramify.query.service import Questions
from ramify.storage.sqlite import open_sqlite
from tests.contracts.engines import derived, difference, told
from tests.story import exchanges

OLD = Path(__file__).with_name("schema_2.db.gz")
CASES = ("linear", "fork-three-ways", "subtask-three-parallel", "agent-id-crossed", "compact-2.0")


def seen() -> tuple[list[Observation], list[Observation]]:
    """The first half of each case, which schema 2 has kept, and the second."""
    first: list[Observation] = []
    second: list[Observation] = []
    for case in CASES:
        stories = exchanges("anthropic", case)
        for at, story in enumerate(stories):
            (first if at < len(stories) // 2 else second).extend(story)
    return first, second


@pytest.fixture
def url(tmp_path: Path) -> str:
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress(OLD.read_bytes()))
    return f"sqlite:{path}"


def test_its_log_and_its_rows_can_be_read_at_once(url: str) -> None:
    store = open_sqlite(url)
    assert [one for _, one in store.observations()] == seen()[0]
    assert store.count("calls") == len(seen()[0]) // 2
    store.close()


def test_sessions_go_on_where_the_older_version_left_them(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    older, ours = Ramify.open(url, write=True), Ramify.open(f"sqlite:{tmp_path}/ours.db", write=True)
    first, second = seen()
    ours.ingest.step(first)
    assert not caplog.text
    with caplog.at_level(logging.WARNING):
        older.ingest.step(second)
    assert "older version" in caplog.text
    ours.ingest.step(second)
    assert difference(derived(older.store), derived(ours.store)) == []
    older.close()
    ours.close()


def test_it_is_derived_again_only_once(url: str, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        opened = Ramify.open(url, write=True)
        assert opened.ingest
        opened.close()
    assert caplog.text.count("older version") == 1


def test_its_columns_are_made_when_it_is_opened_and_say_what_its_rows_say(url: str) -> None:
    store = open_sqlite(url)
    questions = Questions(store)
    every = questions.tasks(limit=0)["items"]
    assert {task["status"] for task in every} > {"completed"}
    for status in ("completed", "working"):
        wanted = [task["id"] for task in every if task["status"] == status]
        assert [task["id"] for task in questions.tasks(filter=f"status:{status}", limit=0)["items"]] == wanted
    assert store.fact("layout")
    store.close()


def test_a_column_that_a_file_lacks_is_made_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    whole = told(open_sqlite(f"sqlite:{path}"), seen()[0])
    before = derived(whole)
    whole.close()
    raw = sqlite3.connect(path)
    raw.executescript(
        "DROP INDEX tasks_agent; DROP VIEW ramify_tasks; DROP VIEW ramify_usage; CREATE VIEW theirs AS SELECT id, kind FROM tasks; "
        "ALTER TABLE tasks DROP COLUMN agent; DELETE FROM facts WHERE name = 'layout'"
    )
    raw.close()
    again = open_sqlite(f"sqlite:{path}")
    assert difference(derived(again), before) == []
    assert again._read("SELECT count(*) FROM theirs") == again._read("SELECT count(*) FROM tasks")
    assert again._read("SELECT 1 FROM sqlite_master WHERE name = 'tasks_agent'") == [(1,)]
    again.close()
