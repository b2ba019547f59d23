"""Stores that every earlier schema has left behind, written by the program of that time: each opens, is read, and becomes one of ours."""

import lzma
import sqlite3
from pathlib import Path

import pytest

from ramify.app import Ramify
from ramify.capture.importer import read_exchanges
from ramify.model.entity import TABLES
from ramify.model.mistake import UserMistake
from ramify.model.observation import Correction, Observation
from ramify.storage.schema import STEPS
from ramify.storage.sqlite import open_sqlite
from tests.contracts.engines import derived, difference
from tests.story import exchanges

KEPT = sorted((Path(__file__).parents[1] / "cases" / "stores").glob("v*.db.xz"))
STORIES = Path(__file__).parents[1] / "cases" / "anthropic"
CASES = ("subtask-three-parallel", "retry-after-529")


def version_of(kept: Path) -> int:
    return int(kept.name[1:3])


@pytest.fixture(params=KEPT, ids=lambda kept: kept.name.partition(".")[0])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"{request.param.name[:3]}.db"
    path.write_bytes(lzma.decompress(request.param.read_bytes()))
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (version_of(request.param),)
    return path


def bodies(seen: Observation) -> tuple[str, bytes]:
    return type(seen).__name__, getattr(seen, "body", b"")


def fresh(log: list[Observation]) -> "Ramify":
    ramify = Ramify.open("memory:", write=True)
    ramify.ingest.step(log)
    return ramify


def answers(ramify: Ramify) -> list[object]:
    """What people ask for, without what only the moment of asking decides."""
    found: list[object] = [ramify.questions.conversations(limit=0)["items"], ramify.questions.tasks(limit=0)["items"]]
    found += [ramify.questions.tree(task["id"]) for task in ramify.questions.tasks(limit=0)["items"]]
    return [*found, ramify.questions.calls(limit=0)["items"], ramify.questions.stats()["tasks"]]


def test_there_is_one_of_every_schema() -> None:
    assert {version_of(kept) for kept in KEPT} == set(range(1, len(STEPS) + 1))


def test_its_log_is_what_was_seen_and_its_rows_are_read_at_once(old: Path) -> None:
    store = open_sqlite(f"sqlite:{old}")
    log = [seen for _, seen in store.observations()]
    wanted = [seen for case in CASES for read in read_exchanges(STORIES / case / "exchanges.jsonl", "default") for seen in read.observations]
    assert [bodies(seen) for seen in log[: len(wanted)]] == [bodies(seen) for seen in wanted]
    assert isinstance(log[-1], Correction)
    rows = [row for table in TABLES for row in store.docs(table)]
    assert len(rows) > 20 or version_of(old) in (1, 5)  # whose rows mean something else by now
    store.close()
    with sqlite3.connect(old) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (len(STEPS),)


def test_brought_up_it_is_what_a_new_store_would_be(old: Path) -> None:
    ramify = Ramify.open(f"sqlite:{old}", write=True)
    log = [seen for _, seen in ramify.store.observations()]
    assert ramify.ingest.store is ramify.store  # whoever writes brings it up
    assert not ramify.store.fact("outdated")
    ours = fresh(log)
    assert difference(derived(ramify.store), derived(ours.store)) == []
    assert answers(ramify) == answers(ours)
    assert ramify.rebuild(True, lambda done, total: None)["moved"] == []
    assert ramify.questions.search("the")["items"] == ours.questions.search("the")["items"] or ramify.store.search.indexed() == 0
    ramify.close()
    ours.close()


def test_what_comes_later_goes_on_from_it(old: Path) -> None:
    more = [seen for story in exchanges("anthropic", "linear") for seen in story]
    ramify = Ramify.open(f"sqlite:{old}", write=True)
    log = [seen for _, seen in ramify.store.observations()]
    ramify.ingest.step(more)
    ours = fresh([*log, *more])
    assert difference(derived(ramify.store), derived(ours.store)) == []
    ramify.close()
    ours.close()


def test_one_of_a_newer_version_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    open_sqlite(f"sqlite:{path}").close()
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(UserMistake, match="newer Ramify"):
        open_sqlite(f"sqlite:{path}")
    assert path.read_bytes() == before
