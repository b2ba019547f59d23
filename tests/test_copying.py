"""A store can move to another engine, in pieces, and nothing is lost on the way."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from ramify.copying import copy
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.observation import Observation
from ramify.settings import load
from ramify.spool import Spool
from ramify.spools import held, spool_folder
from ramify.storage.base import Store
from ramify.wiring import open_store
from tests.contracts.engines import ENGINES, derived, difference, log_of, seen_stories, stories_for, to_be_had, told

WAYS = [("sqlite", "postgres"), ("postgres", "sqlite"), ("sqlite", "sqlite"), ("sqlite", "clickhouse"), ("clickhouse", "sqlite")]


def opened(engine: str, folder: Path) -> Store:
    to_be_had(engine)
    folder.mkdir(exist_ok=True)
    return ENGINES[engine].open(folder)


def moved(source: Store, target: Store) -> dict[str, object]:
    return copy(source, target, Rules(), Prices(), lambda done, total: None)


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_a_copy_holds_the_same_and_is_complete_after_a_second_run(source: str, target: str, tmp_path: Path) -> None:
    one, other = opened(source, tmp_path / "one"), opened(target, tmp_path / "other")
    seen = stories_for(max(one.url, other.url, key=lambda url: url.startswith("clickhouse:")))
    told(one, seen[:100])
    assert moved(one, other)["verified"]
    Ingest(one).step(seen[100:])
    answer = moved(one, other)
    assert (answer["verified"], answer["moved"], answer["copied"]) == (True, [], len(seen) - 100)
    assert difference(derived(one), derived(other)) == []
    assert moved(one, other)["copied"] == 0
    one.close()
    other.close()


def test_what_the_target_saw_itself_stays(tmp_path: Path) -> None:
    one, other = opened("sqlite", tmp_path / "one"), opened("sqlite", tmp_path / "other")
    seen = seen_stories()
    told(one, seen[:150])
    told(other, seen[150:])  # the server has moved already
    assert moved(one, other)["verified"]
    alone = told(open_store("memory:"), seen)
    assert difference(derived(other), derived(alone)) == []


def test_a_loss_is_found(tmp_path: Path) -> None:
    one, other = opened("sqlite", tmp_path / "one"), opened("sqlite", tmp_path / "other")
    told(one, seen_stories()[:50])
    other.set_fact(f"copied:{one.fact('identity')}", 20)  # as if the first twenty had been copied
    answer = moved(one, other)
    assert not answer["verified"]
    assert len(answer["missing"]) == 20  # type: ignore[arg-type]


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    told(opened("sqlite", tmp_path / "one"), seen_stories()[:50]).close()
    command = [sys.executable, "-m", "ramify", "copy", f"sqlite:{tmp_path}/one/store.db", f"sqlite:{tmp_path}/new.db"]
    assert json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True).stdout)["verified"]
    again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "1 copied" in again.stdout  # the line of the audit
    assert "verified" in again.stdout
    for path in ("one/store.db", "new.db"):
        audit = json.loads(subprocess.run([*command[:3], "audit", "--json", "--store", f"sqlite:{tmp_path}/{path}"], check=True, capture_output=True).stdout)
        assert [(line["act"], line["more"]) for line in audit["items"]] == [("copy", {"to": f"sqlite:{tmp_path}/new.db"})] * 2
    nowhere = subprocess.run([*command[:4], f"sqlite:{tmp_path}/none.db", command[5]], check=False, capture_output=True, text=True)
    assert (nowhere.returncode, "there is no store" in nowhere.stderr) == (2, True)


def test_a_search_of_a_store_that_nobody_indexed_does_not_say_that_nothing_holds_the_word(tmp_path: Path) -> None:
    told(opened("sqlite", tmp_path / "one"), seen_stories()).close()
    command = [sys.executable, "-m", "ramify", "search", "word", "--store", f"sqlite:{tmp_path}/one/store.db"]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "observations cannot be searched yet — a server that runs goes on; without one: ramify serve" in found.stderr


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_what_waits_for_the_source_is_copied_as_well(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    told(opened(engine, tmp_path / "one"), seen_stories()[:50]).close()
    address = ENGINES[engine].address(tmp_path / "one")
    folder = spool_folder(load({"store": address, "port": "18111"}, {}))
    assert folder is not None
    Spool(folder, 2**24).append(seen_stories()[50:60])
    command = [sys.executable, "-m", "ramify", "copy", address, f"sqlite:{tmp_path}/new.db"]
    with held(folder):  # a server that runs, and cannot store it
        cut = subprocess.run(command, check=False, capture_output=True, text=True)
        assert (cut.returncode, "10 observations wait in a spool of the source" in cut.stdout, "verified" in cut.stdout) == (1, True, False)
    answer = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True).stdout)
    assert (answer["verified"], answer["waiting"], answer["missing"]) == (True, 0, [])
    assert {seen.id for seen in seen_stories()[:60]} <= {seen.id for seen in log_of(open_store(f"sqlite:{tmp_path}/new.db"))}


def test_a_source_that_takes_nothing_is_not_said_to_be_copied_whole(tmp_path: Path) -> None:
    told(opened("sqlite", tmp_path / "one"), seen_stories()[:50]).close()
    Spool(tmp_path / "one" / "store.db.spool", 2**24).append(seen_stories()[50:60])
    command = [sys.executable, "-m", "ramify", "copy", f"sqlite:{tmp_path}/one/store.db", f"sqlite:{tmp_path}/new.db"]
    with closing(sqlite3.connect(tmp_path / "one" / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        cut = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (cut.returncode, "10 observations wait" in cut.stdout) == (1, True)
    assert "verified" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_copy_is_checked_many_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the target is far away, each question is a journey."""
    one, other = opened("sqlite", tmp_path / "one"), opened("sqlite", tmp_path / "other")
    told(one, seen_stories()[:150])
    asked: list[int] = []
    seen = other.seen

    def counted(ids: Sequence[str]) -> dict[str, Observation]:
        asked.append(len(ids))
        return seen(ids)

    monkeypatch.setattr(other, "seen", counted)
    told_of: list[tuple[int, int]] = []
    answer = copy(one, other, Rules(), Prices(), lambda done, total: told_of.append((done, total)))
    assert (answer["verified"], sum(asked), len(asked)) == (True, 150, 1)
    assert told_of == [(150, 150)] * 2
