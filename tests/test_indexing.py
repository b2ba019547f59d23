"""Words are found soon after they were said, whatever happens on the way."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.traffic import Session
from ramify.indexing import PATIENCE, Indexer
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.query.service import Questions
from ramify.rebuild import rebuild
from ramify.storage.base import Words
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.a2a_verdicts import frames
from tests.linking.a2a_builder import records
from tests.story import exchanges
from tests.test_pipeline import turns, until


@pytest.fixture
def store(tmp_path: Path) -> Sqlite:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    Ingest(store).step([seen for story in exchanges("anthropic", "subtask-task") for seen in story])
    return store


def hits(store: Sqlite, text: str) -> list[tuple[str, str]]:
    return [(item["side"], item["kind"]) for item in Questions(store).search(text)["items"]]


def texts(store: Sqlite) -> int:
    return int(store.search._connection.execute("SELECT count(*) FROM texts").fetchone()[0])


def test_prompts_answers_inputs_and_results_are_found(store: Sqlite) -> None:
    session = Session(1)
    seen = [one for _ in range(2) for one in session.turn()]
    Ingest(store).step(seen)
    Indexer(store).catch_up()
    assert hits(store, "Task 0/1") == [("request", "text")]
    uses = [block for message in session.messages for block in message["content"]]  # type: ignore[attr-defined]
    said, used, result = uses[1]["text"], uses[2]["input"]["command"], uses[3]["content"]
    assert ("response", "text") in hits(store, f'"{said.split()[0]} {said.split()[1]}"')
    assert ("response", "input") in hits(store, " ".join(used.split()[:4]))
    assert ("request", "result") in hits(store, " ".join(result.split()[:6]))


def test_each_text_is_indexed_once_however_often_it_is_repeated(store: Sqlite) -> None:
    indexer = Indexer(store)
    assert indexer.catch_up() == store.seq()
    count = texts(store)
    assert indexer.catch_up() == 0
    assert texts(store) == count


def test_an_index_that_is_gone_or_damaged_is_made_again(store: Sqlite, tmp_path: Path) -> None:
    Indexer(store).catch_up()
    count = texts(store)
    store.close()
    for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(b"no database " * 500)):
        act: Callable[[Path], object] = damage
        act(tmp_path / "store.db.search")
        opened = open_sqlite(f"sqlite:{tmp_path}/store.db")
        Indexer(opened).catch_up()
        assert texts(opened) == count
        opened.close()


def test_an_index_of_another_store_is_not_believed(store: Sqlite, tmp_path: Path) -> None:
    Indexer(store).catch_up()
    store.close()
    for path in tmp_path.glob("store.db*"):
        if ".search" not in path.name:
            path.unlink()
    other = open_sqlite(f"sqlite:{tmp_path}/store.db")
    assert (other.search.indexed(), texts(other)) == (0, 0)
    Ingest(other).step(turns(1))
    Indexer(other).catch_up()
    assert hits(other, "Task 0/1")
    other.close()


def test_two_who_index_the_same_stretch_write_it_once(store: Sqlite) -> None:
    """A server and `ramify import` may both be at it."""
    words = [Words("call", "request", 0, 0, "text", "hello")]
    assert store.search.add(words, 0, 5)
    assert not store.search.add(words, 0, 5)
    assert store.search.add([], 5, 6)
    assert (texts(store), store.search.indexed()) == (1, 6)


def test_a_rebuild_indexes_anew(store: Sqlite) -> None:
    indexer = Indexer(store)
    indexer.catch_up()
    count = texts(store)
    rebuild(store, Rules(), Prices(), False, lambda done, total: None)
    assert texts(store) == 0
    indexer.catch_up()
    assert texts(store) == count


def test_indexing_goes_on_after_a_failure(store: Sqlite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Another program holds the index for longer than we wait."""
    monkeypatch.setattr("ramify.indexing.RETRY_SECONDS", 0.01)
    store.search._connection.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(tmp_path / "store.db.search", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    indexer = Indexer(store)
    indexer.start()
    indexer.wake()
    time.sleep(0.7)  # a look, a fifth of a second of rest, and again
    assert store.search.indexed() == 0
    assert caplog.text.count("indexing failed") == 1
    other.execute("COMMIT")
    until(lambda: store.search.indexed() == store.seq())
    indexer.close()
    store.close()


def test_indexing_rests_while_the_writer_has_work_but_never_stops(store: Sqlite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.indexing.PATIENCE", 0.3)
    indexer = Indexer(store, busy=lambda: True)
    indexer.start()
    indexer.wake()
    time.sleep(0.1)
    assert store.search.indexed() == 0
    until(lambda: store.search.indexed() == store.seq())
    indexer.close()
    store.close()


def test_a_burst_is_let_pass_and_what_it_said_is_found_right_after(store: Sqlite) -> None:
    """Between two requests the writer is idle for a moment: that is not the time to begin."""
    began, ends = time.monotonic(), time.monotonic() + 1.0
    indexer = Indexer(store, worked=lambda: 0.8 * (min(time.monotonic(), ends) - began))
    time.sleep(0.3)  # it is looked at how much was done in the last moment
    indexer.start()
    while time.monotonic() < ends - 0.1:
        indexer.wake()
        assert store.search.indexed() == 0
        time.sleep(0.02)
    until(lambda: store.search.indexed() == store.seq())
    assert time.monotonic() - began < PATIENCE
    indexer.close()
    store.close()


def test_light_traffic_is_indexed_at_once(store: Sqlite) -> None:
    """A request now and then is no burst."""
    began = time.monotonic()
    indexer = Indexer(store, worked=lambda: 0.02 * (time.monotonic() - began))
    time.sleep(0.3)
    indexer.start()
    indexer.wake()
    until(lambda: store.search.indexed() == store.seq())
    assert time.monotonic() - began < PATIENCE
    indexer.close()
    store.close()


def test_whoever_ends_indexes_what_is_left(store: Sqlite) -> None:
    indexer = Indexer(store, busy=lambda: True)
    indexer.start()
    indexer.wake()
    indexer.close()
    assert store.search.indexed() == 0
    indexer.close(2.0)
    assert store.search.indexed() == store.seq()
    store.close()


def test_words_of_other_protocols_are_found_in_their_rows(store: Sqlite) -> None:
    Ingest(store).step(records(frames("v1-input-required")))
    Indexer(store).catch_up()
    found = Questions(store).search('"Dispatching Lending strategy"')["items"]
    assert [(item["side"], item["kind"]) for item in found] == [("message", "text")]
    assert "Lending" in found[0]["snippet"]
    assert Questions(store).task(found[0]["task"])["refs"][0]["protocol"] == "a2a"
