"""A store can move to another engine, in pieces, and nothing is lost on the way."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from ramify.app import copy_store
from ramify.capture.chosen import chosen
from ramify.cli.main import main
from ramify.cli.upkeep import draw_copy
from ramify.copying import copy
from ramify.forgetting import Note as Gone
from ramify.forgetting import Wish, forget
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import Conversation
from ramify.model.mistake import Unreachable, UserMistake
from ramify.model.observation import Observation
from ramify.redacting import Order, redact
from ramify.settings import load
from ramify.spool import Spool
from ramify.spools import held, spool_folder
from ramify.storage.base import Store, StoreDown
from ramify.storage.postgres import Postgres
from ramify.storage.sqlite import Sqlite
from ramify.wiring import open_store
from tests.contracts.engines import ENGINES, derived, difference, log_of, seen_stories, stories_for, to_be_had, told
from tests.test_forgetting import secret

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
    answer = moved(one, other)  # as the command says
    assert (answer["verified"], answer["copied"]) == (True, 20)


@pytest.mark.parametrize("target", ["sqlite", "postgres", "clickhouse"])
def test_what_the_target_has_forgotten_since_does_not_come_back(target: str, tmp_path: Path) -> None:
    """Nor does what the source has seen of it before that, and is no loss; what comes later does."""
    with closing(opened("sqlite", tmp_path / "one")) as one, closing(opened(target, tmp_path / "other")) as other:
        seen = secret("marzipan")
        told(one, [*secret("xylophonic"), *seen[:8]])
        assert moved(one, other)["verified"]
        [row] = [row for row in other.docs("conversations") if isinstance(row, Conversation) and row.session == "marzipan-session"]
        forget(other, Rules(), Prices(), Wish(frozenset({row.id})), Gone(seen[12].at, "test"), lambda done, total: None)
        told(one, seen[8:])
        answer = moved(one, other)
        assert (answer["verified"], answer["left_out"], answer["missing"], answer["still_there"]) == (True, 12, [], [])
        assert log_of(other) == [*secret("xylophonic"), *seen[12:]]
        assert moved(one, other)["verified"]


def test_what_the_source_has_forgotten_since_is_told_of(tmp_path: Path) -> None:
    """A copy is its owner's to delete; also where both have forgotten something else."""
    one, other = opened("sqlite", tmp_path / "one"), opened("sqlite", tmp_path / "other")
    told(one, [*secret("xylophonic"), *secret("marzipan")])
    assert moved(one, other)["still_there"] == []
    [row] = [row for row in one.docs("conversations") if isinstance(row, Conversation) and row.session == "marzipan-session"]
    for store in (one, other):
        forget(store, Rules(), Prices(), Wish(frozenset({row.id})), Gone(1 << 60, "test"), lambda done, total: None)
        answer = moved(one, other)
        assert (answer["verified"], answer["still_there"]) == (True, [row.id] if store is one else [])


def test_what_was_redacted_in_one_of_the_two_is_no_loss_and_is_told_of(tmp_path: Path) -> None:
    one, other = opened("sqlite", tmp_path / "one"), opened("sqlite", tmp_path / "other")
    told(one, secret("marzipan"))
    assert moved(one, other)["verified"]
    redact(one, Rules(), Prices(), Order(chosen((), (), ("marzipan question",)), 1, "test"), lambda done, total: None)
    answer = moved(one, other)
    assert (answer["verified"], answer["missing"], answer["changed"]) == (False, [], 8)
    assert "ramify redact" in "\n".join(line.plain for line in draw_copy(answer))
    redact(other, Rules(), Prices(), Order(chosen((), (), ("marzipan question",)), 1, "test"), lambda done, total: None)
    assert moved(one, other)["verified"]


def test_how_far_files_were_read_is_copied_only_as_far_as_what_was_read(tmp_path: Path) -> None:
    """A server that follows them goes on meanwhile; whoever starts on the copy reads the rest itself."""
    one, other = opened("sqlite", tmp_path / "one"), opened("sqlite", tmp_path / "other")
    told(one, secret("marzipan"))

    class Read(Sqlite):
        def seq(self) -> int:
            found = super().seq()
            self.set_fact("mark:default:/a/file", found + 1)  # as soon as it was said how far the log goes
            return found

    source = Read(one.url, one.path)
    assert moved(source, other)["verified"]
    assert other.fact("mark:default:/a/file") is None


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "clickhouse"])
def test_a_store_is_not_copied_onto_itself_however_it_is_written(engine: str, tmp_path: Path) -> None:
    told(opened(engine, tmp_path / "one"), seen_stories()[:5]).close()
    address = ENGINES[engine].address(tmp_path / "one")
    same = {"sqlite": address.replace("/one/", "/one/../one/"), "postgres": address.replace("postgresql:", "postgres:"), "clickhouse": address.replace("127.0.0.1", "localhost")}[engine]
    with pytest.raises(UserMistake, match="is the store that is to be copied"):
        copy_store(address, same, lambda done, total: None)


@pytest.mark.parametrize("engine", ["postgres", "clickhouse"])
def test_a_source_that_holds_nothing_is_a_mistake(engine: str, tmp_path: Path) -> None:
    """Its address may be wrong: on a server an empty store is made there."""
    address = ENGINES[to_be_had(engine)].address(tmp_path / "none")
    with pytest.raises(UserMistake, match="holds nothing; nothing was copied"):
        copy_store(address, f"sqlite:{tmp_path}/new.db", lambda done, total: None)
    assert open_store(f"sqlite:{tmp_path}/new.db").seq() == 0


def test_what_is_gone_with_the_program_is_no_copy(tmp_path: Path) -> None:
    told(opened("sqlite", tmp_path / "one"), seen_stories()[:5]).close()
    for source, target in ((f"sqlite:{tmp_path}/one/store.db", "memory:"), ("memory:", f"sqlite:{tmp_path}/one/store.db")):
        with pytest.raises(UserMistake, match="gone with its program"):
            copy_store(source, target, lambda done, total: None)


def test_who_interrupts_a_copy_is_told_how_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    told(opened("sqlite", tmp_path / "one"), seen_stories()[:5]).close()

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ramify.app.copy", interrupted)
    assert main(["copy", f"sqlite:{tmp_path}/one/store.db", f"sqlite:{tmp_path}/new.db"]) == 130
    assert "the same command goes on where it stopped" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_the_store_that_went_away_is_the_one_that_is_named(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told(opened("sqlite", tmp_path / "one"), seen_stories()[:50]).close()
    address = ENGINES[engine].address(tmp_path / "other")
    (tmp_path / "other").mkdir()

    def away(*given: object) -> None:
        raise StoreDown("gone")

    ways = [("observations", "one/store.db cannot be read: gone"), ("append", "did not take it: gone"), *[("set_facts", "did not take it: gone")] * (engine == "postgres")]
    for method, named in ways:
        with monkeypatch.context() as patch:
            patch.setattr(Sqlite if method == "observations" or engine == "sqlite" else Postgres, method, away)
            with pytest.raises(Unreachable, match=named) as told_of:
                copy_store(f"sqlite:{tmp_path}/one/store.db", address, lambda done, total: None)
            assert method == "observations" or "/one/" not in str(told_of.value)
    assert copy_store(f"sqlite:{tmp_path}/one/store.db", address, lambda done, total: None)["verified"]


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
