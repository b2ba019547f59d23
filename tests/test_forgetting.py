"""What is forgotten is gone, and the rest is as if it had never been seen."""

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.traffic import traffic
from ramify.apart import Apart, Near
from ramify.belonging import Belonging, aliases
from ramify.capture.formats import sources
from ramify.cli.main import main
from ramify.diagnosis import checks
from ramify.forgetting import Note, Wish, _planned, brought_back, forget, forgotten, look, notes
from ramify.indexing import Indexer
from ramify.ingest import Ingest, Prices
from ramify.intake import Intake
from ramify.linking.world import Rules
from ramify.members import Members
from ramify.model.entity import Conversation, Task
from ramify.model.observation import Correction, Observation, Request, Response
from ramify.rebuild import BATCH
from ramify.settings import Settings
from ramify.storage.base import Store
from ramify.storage.columns import COLUMNS
from ramify.storage.sqlite import open_sqlite
from ramify.wiring import open_store
from tests import story
from tests.contracts.engines import ENGINES, derived, difference, to_be_had

CASES = (
    "anthropic/subtask-three-parallel", "anthropic/open-invocation-other-session", "anthropic/same-words-two-sessions",
    "anthropic/fork-three-ways", "anthropic/early-child", "a2a/v1-depth2-fanout2", "a2a/mixed-v1-to-v03", "a2a/v1-refine",
    "sam/cancel", "sam/workflow", "sam/parallel", "claude/nested", "claude/background", "claude_more/fork-session", "claude_more/twins",
    "claude_more/child-client",
)  # fmt: skip
NOTE = Note(1, "command")


def quiet(done: int, total: int) -> None:
    pass


@cache
def seen_in(case: str) -> tuple[Observation, ...]:
    if case.startswith("anthropic/"):
        return tuple(seen for one in story.exchanges("anthropic", case.partition("/")[2]) for seen in one)
    taken: list[Observation] = []

    def take(batch: list[Observation]) -> int:
        taken.extend(batch)
        return len(batch)

    found, _ = sources(sorted((story.CASES / case).rglob("*.jsonl")), "auto")
    for _ in Intake(open_sqlite("memory:"), "default", take, settled=True).store(found):
        pass
    return tuple(taken)


def firsts(seen: Sequence[Observation]) -> dict[str, Observation]:
    """Of two with the same id the first stays."""
    found: dict[str, Observation] = {}
    for one in seen:
        found.setdefault(one.id, one)
    return found


def told(store: Store, seen: Sequence[Observation]) -> Store:
    """In batches as deriving again has them: what a fold knows between two is told by the batch, what people see is not."""
    unique = list(firsts(seen).values())
    ingest = Ingest(store)
    for start in range(0, len(unique), BATCH):
        ingest.step(unique[start : start + BATCH])
    return store


def settled(store: Store) -> dict[str, list[Any]]:
    """Without what is told by how batches fell, as after a rebuild: what folds alone look at, and names of what was there for a while."""
    rows = derived(store)
    there = {(table, row[0]) for table in COLUMNS for row in rows[table]}
    return {**rows, "sheets": [], "refs": [ref for ref in rows["refs"] if ref[1] != "ramify:task" and (ref[2], ref[3]) in there]}


def seen_in_all(cases: Sequence[str] = CASES) -> list[Observation]:
    return [seen for case in cases for seen in seen_in(case)]


@cache
def names_of(case: str) -> frozenset[str]:
    """By the case alone: every conversation of it, under all its names."""
    store = told(open_sqlite("memory:"), seen_in(case))
    return frozenset(name for row in store.docs("conversations") for name in aliases(store, row.id))


def cases_for(store: Store) -> tuple[str, ...]:
    """Of every kind one where each takes seconds, some where each takes one."""
    engine = store.url.partition(":")[0]
    return CASES[:: {"clickhouse": 7, "postgresql": 3, "sqlite": 2}.get(engine, 1)]


def going(store: Store, ids: frozenset[str], before: int = 0) -> dict[str, Any]:
    return forget(store, Rules(), Prices(), Wish(ids, before), NOTE, quiet)


def test_forgetting_one_story_after_the_other_leaves_what_a_store_has_that_never_saw_them(store: Store) -> None:
    cases = cases_for(store)
    seen = seen_in_all(cases)
    told(store, seen)
    for number, case in enumerate(cases, 1):
        going(store, names_of(case))
        left = {one.id for _, one in store.observations()}
        assert not left & {one.id for one in seen_in(case)}, case
        if number % 4 == 0 or store.url == "memory:" or len(cases) < 4:
            never = told(open_sqlite("memory:"), [one for one in seen if one.id in left])
            assert difference(settled(store), settled(never)) == [], case
            never.close()


def test_a_parent_that_is_forgotten_leaves_its_child_alone(store: Store) -> None:
    """Two sessions of which one started the other: each may go without the other."""
    told(store, seen_in("anthropic/open-invocation-other-session"))
    inside = store.inside()
    rows = [row for row in store.docs("conversations") if isinstance(row, Conversation)]
    assert len(rows) > 1
    for row in rows:
        fresh = open_sqlite("memory:")
        told(fresh, seen_in("anthropic/open-invocation-other-session"))
        going(fresh, frozenset(aliases(fresh, row.id)))
        left = {one.id for _, one in fresh.observations()}
        never = told(open_sqlite("memory:"), [one for one in seen_in("anthropic/open-invocation-other-session") if one.id in left])
        assert len(left) > 0
        assert difference(settled(fresh), settled(never)) == []
    assert store.inside() == inside


def test_what_a_person_put_into_a_conversation_goes_with_it_and_so_does_the_word(store: Store) -> None:
    told(store, seen_in("anthropic/same-words-two-sessions"))
    tasks = sorted((row for row in store.docs("tasks") if isinstance(row, Task) and row.kind == "root"), key=lambda row: row.opened)
    one, other = next((a, b) for a in tasks for b in tasks if a.opened < b.opened and a.conversation != b.conversation)
    Ingest(store).step([Correction("obs_word", "default", other.opened + 1, "person", "link", other.id, one.id)])
    assert store.count("corrections") == 1
    going(store, frozenset(aliases(store, one.conversation)))
    assert (store.count("corrections"), store.load("tasks", one.id), store.load("tasks", other.id)) == (0, None, None)
    assert store.count("observations") == 0


def test_numbers_of_the_log_are_never_given_twice(store: Store) -> None:
    seen = seen_in("anthropic/subtask-three-parallel")
    told(store, [*seen_in("anthropic/early-child"), *seen])
    last = store.seq()
    going(store, names_of("anthropic/subtask-three-parallel"))
    assert store.seq() == last
    Ingest(store).step(seen[:1])
    assert [seq for seq, one in store.observations() if one.id == seen[0].id] == [last + 1]


def test_pieces_stay_while_anything_is_made_of_them(store: Store) -> None:
    """Every body that is left comes back byte for byte, whatever was shared; at last there is no piece any more."""
    cases = cases_for(store)
    told(store, seen_in_all(cases))
    bodies = firsts(seen_in_all(cases))
    pieces = len(store.blobs(0, 1_000_000))
    for case in cases[::-1]:
        going(store, names_of(case))
        for _, one in store.observations():
            assert one == bodies[one.id]
        fewer = len(store.blobs(0, 1_000_000))
        assert fewer <= pieces
        pieces = fewer
    assert pieces == 0


def test_a_writer_that_remembers_pieces_does_not_use_those_that_are_gone(store: Store) -> None:
    seen = seen_in("claude/nested")
    ingest = Ingest(store)
    ingest.step(list(seen))
    going(store, names_of("claude/nested"))
    assert ingest.step(list(seen)) == len({one.id for one in seen})
    assert {one.id: one for _, one in store.observations()} == firsts(seen)
    assert difference(derived(store), derived(told(open_sqlite("memory:"), seen))) == []


def test_a_note_stays_and_holds_nothing_that_was_said(store: Store) -> None:
    told(store, seen_in_all(("claude/nested", *cases_for(store)[:2])))
    names = names_of("claude/nested")
    going(store, names)
    assert {id for id, _ in notes(store)} == names == forgotten(store)
    assert all((note.by, note.back) == ("command", 0) for _, note in notes(store))
    assert sum(note.observations for _, note in notes(store)) == len({one.id for one in seen_in("claude/nested")})
    brought_back(store, sorted(names), 7)
    assert forgotten(store) == set()
    assert {note.back for _, note in notes(store)} == {7}


def test_a_look_says_what_would_go_and_changes_nothing(store: Store) -> None:
    told(store, seen_in_all(("sam/workflow", *cases_for(store)[:2])))
    before = derived(store)
    found = look(store, Wish(names_of("sam/workflow")))
    assert found["observations"] == len(seen_in("sam/workflow"))
    assert derived(store) == before
    assert going(store, names_of("sam/workflow"))["observations"] == found["observations"]


def test_what_tells_of_nobody_goes_by_its_age(store: Store) -> None:
    told(store, seen_in("anthropic/utility-between"))
    asked = [one for one in seen_in("anthropic/utility-between") if not Belonging(store).of(one)]
    assert asked
    going(store, frozenset(), before=max(one.at for one in asked) + 1)
    assert not {one.id for _, one in store.observations()} & {one.id for one in asked}


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_forgetting_beside_a_writer_misses_nothing(engine: str, tmp_path: Path) -> None:
    """Another connection goes on storing, of what is forgotten as well, while it is forgotten."""
    if ENGINES[engine].missing:
        pytest.skip(ENGINES[engine].missing)
    url = ENGINES[engine].address(tmp_path)
    writing, forgetting = open_store(url, busy_seconds=60), open_store(url, busy_seconds=60)
    goes = secret("marzipan")
    others = [one for batch in traffic(60, turns=8, width=4) for one in batch]
    ingest = Ingest(writing)
    ingest.step([*others[:20], *goes[:8]])
    [row] = [row for row in forgetting.docs("conversations") if isinstance(row, Conversation) and row.session == "marzipan-session"]

    def write() -> None:
        for at in range(20, len(others), 4):
            ingest.step([*others[at : at + 4], *goes[8 + at % 8 : 9 + at % 8]])

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        going(forgetting, frozenset({row.id}))
    thread.join()
    going(forgetting, frozenset({row.id}))
    never = told(open_sqlite("memory:"), others)
    assert difference(derived(writing), derived(never)) == []
    assert {seen.id: seen for _, seen in writing.observations()} == {seen.id: seen for seen in others}
    writing.close()
    forgetting.close()


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_two_who_forget_at_once_take_away_what_each_of_them_would(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other forgot while this one made its plan is not in the sums of days any more."""
    url = ENGINES[to_be_had(engine)].address(tmp_path)
    others = [one for batch in traffic(60, turns=8, width=5) for one in batch]
    with closing(open_store(url, busy_seconds=60)) as store, closing(open_store(url, busy_seconds=60)) as second:
        told(store, [*others, *secret("marzipan"), *secret("xylophonic")])
        names = {row.session: frozenset({row.id}) for row in store.docs("conversations") if isinstance(row, Conversation)}
        waiting = ["xylophonic-session"]

        def planned(*given: Any) -> Any:
            found = _planned(*given)
            while waiting:
                going(second, names[waiting.pop()])
            return found

        monkeypatch.setattr("ramify.apart.SMALL", 0)
        monkeypatch.setattr("ramify.forgetting._planned", planned)
        going(store, names["marzipan-session"])
        assert difference(settled(store), settled(told(open_sqlite("memory:"), others))) == []


@pytest.mark.parametrize("known", [3, 8, 13])
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_what_comes_while_it_is_planned_goes_with_the_rest(engine: str, known: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first plan derives some of it as what stays; the second has nothing of the first."""
    url = ENGINES[to_be_had(engine)].address(tmp_path)
    others = [one for batch in traffic(60, turns=8, width=5) for one in batch]
    seen = secret("marzipan")
    with closing(open_store(url, busy_seconds=60)) as store, closing(open_store(url, busy_seconds=60)) as writing:
        told(store, [*others, *seen[:known]])
        [row] = [row for row in store.docs("conversations") if isinstance(row, Conversation) and row.session == "marzipan-session"]
        late = [seen[known:]]
        derived_apart = Apart._derived

        def deriving(*given: Any) -> Any:
            while late:
                told(writing, late.pop())
            return derived_apart(*given)

        monkeypatch.setattr("ramify.apart.SMALL", 0)
        monkeypatch.setattr("ramify.apart.Apart._derived", deriving)
        assert going(store, frozenset({row.id}))["observations"] == len(seen)
        assert difference(settled(store), settled(told(open_sqlite("memory:"), others))) == []


def test_nothing_of_it_is_left_on_the_disk(tmp_path: Path) -> None:
    """Not in the file, its write-ahead log or the search index; others' words are."""
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    told(store, [*seen_in_all(("claude/nested", "sam/workflow")), *secret("xylophonic"), *secret("marzipan")])
    Indexer(store).catch_up()
    mesh = tmp_path / "store.db.mesh"  # as earlier versions wrote it
    mesh.write_text("xylophonic")
    assert words_on(tmp_path) == {"xylophonic", "marzipan"}
    [row] = [row for row in store.docs("conversations") if isinstance(row, Conversation) and row.session == "xylophonic-session"]
    size = store.size()["bytes"]
    going(store, frozenset(aliases(store, row.id)))
    assert words_on(tmp_path) == {"marzipan"}
    assert not mesh.exists()
    assert store.size()["bytes"] < size
    Indexer(store).catch_up()
    assert (len(store.search.find('"marzipan"', 9, None)) > 0, store.search.find('"xylophonic"', 9, None)) == (True, [])
    assert store.check() == "ok"
    store.close()


KILLED = """
import os, signal, sys
import ramify.forgetting as forgetting
from ramify.cli.main import main
setattr(forgetting, sys.argv[1], lambda *given: os.kill(os.getpid(), signal.SIGKILL))
main(["forget", "--store", sys.argv[2], sys.argv[3]])
"""


@pytest.mark.parametrize(("where", "cut", "status"), [("_remember", False, 0), ("clean", True, 1)])
def test_a_command_that_is_killed_is_done_again_by_the_same(where: str, cut: bool, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has done nothing, or what is left of it stands on the disk alone; doctor says so, and nobody is told that there was no such id."""
    url = f"sqlite:{tmp_path}/store.db"
    store = told(open_sqlite(url), [*secret("xylophonic"), *secret("marzipan")])
    [row] = [row for row in store.docs("conversations") if isinstance(row, Conversation) and row.session == "xylophonic-session"]
    store.close()
    ran = subprocess.run([sys.executable, "-c", KILLED, where, url, row.id], capture_output=True, timeout=120, check=False)
    assert ran.returncode == -signal.SIGKILL, ran.stderr.decode()
    store = open_sqlite(url)
    assert [check["status"] for check in checks(store, Settings(store=url)) if check["check"] == "forgotten"] == ["warn"] * cut
    store.close()
    assert main(["forget", "--store", url, row.id]) == status
    assert ("was forgotten already" in capsys.readouterr().err) == cut
    assert words_on(tmp_path) == {"marzipan"}
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def words_on(folder: Path) -> set[str]:
    raw = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return {word for word in ("xylophonic", "marzipan") if word.encode() in raw}


def secret(word: str) -> list[Observation]:
    """A session of several turns, too short to be packed: its words stand in the file as they are."""
    found: list[Observation] = []
    messages: list[dict[str, str]] = []
    for turn in range(8):
        messages.append({"role": "user", "content": f"{word} question {turn}"})
        id = f"obs_{word}{turn}"
        headers = (("x-claude-code-session-id", f"{word}-session"),)
        body = json.dumps({"model": "m", "messages": messages}).encode()
        found.append(Request(id, "default", 1_000_000 * turn + 1, "test", id, "POST", "/v1/messages", headers, body))
        answer = {"id": f"msg_{word}{turn}", "type": "message", "role": "assistant", "content": [{"type": "text", "text": f"{word} {turn}"}]}
        raw = json.dumps(answer).encode()
        found.append(Response(f"{id}a", "default", 1_000_000 * turn + 9, "test", id, "/v1/messages", 200, (), raw, "complete"))
        messages.append({"role": "assistant", "content": f"{word} {turn}"})
    return found


def test_a_file_of_an_older_version_shrinks_as_well(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = told(open_sqlite(f"sqlite:{path}"), seen_in_all())
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")
    store = open_sqlite(f"sqlite:{path}")
    size = store.size()["bytes"]
    for case in CASES[:-1]:
        going(store, names_of(case))
    assert store.size()["bytes"] < size / 2
    assert path.stat().st_size == store.size()["bytes"]
    store.close()


def test_one_of_many_conversations_is_forgotten_without_deriving_the_others(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """Its words leave the index, and those of the others are not indexed again."""
    if not isinstance(store, Near):
        pytest.skip("this engine derives the whole log")
    others = [one for batch in traffic(200, turns=8, width=5) for one in batch]
    told(store, [*others[:200], *secret("marzipan"), *others[200:]])
    Indexer(store).catch_up()
    indexed, read = store.search.indexed(), list[str]()
    [row] = [row for row in store.docs("conversations") if isinstance(row, Conversation) and row.session == "marzipan-session"]
    with pytest.MonkeyPatch.context() as patch, caplog.at_level("INFO"):
        patch.setattr("ramify.apart.SMALL", 0)
        patch.setattr("ramify.apart.Apart.take_in", noting(Apart.take_in, read))
        going(store, frozenset(aliases(store, row.id)))
    assert "whole log" not in caplog.text
    assert set(read) <= {one.id for one in secret("marzipan")}
    assert store.search.indexed() == indexed
    assert (len(store.search.find('"task"', 9, None)), store.search.find('"marzipan"', 9, None)) == (9, [])
    never = told(open_sqlite("memory:"), others)
    assert difference(settled(store), settled(never)) == []


def noting(act: Any, read: list[str]) -> Any:
    def noted(self: Any, wanted: Any) -> None:
        wanted = set(wanted)
        read.extend(wanted)
        act(self, wanted)

    return noted


def test_keys_find_every_observation_that_belongs_to_a_conversation(store: Store) -> None:
    """What is found without the log is what reading all of it would find."""
    if not isinstance(store, Near):
        pytest.skip("this engine derives the whole log")
    told(store, [*seen_in_all(), *seen_in("anthropic/utility-between"), *secret("marzipan")])
    belonging, members = Belonging(store), Members(store)
    owned: dict[str, set[str]] = {}
    for _, seen in store.observations():
        for owner in belonging.of(seen):
            owned.setdefault(owner, set()).add(seen.id)
    rows = [row.id for row in store.docs("conversations")]
    assert len(rows) > 20
    for id in rows:
        names = aliases(store, id)
        wanted = set().union(*(owned.get(name, set()) for name in names))
        assert wanted <= members.of(names), id
    nobodys = {seen.id for _, seen in store.observations() if not belonging.of(seen)}
    assert nobodys <= set(members.of_nobody(1 << 62))
