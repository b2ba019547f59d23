"""What every engine promises, as `storage/base.py` says it in words."""

import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from msgspec import Raw

from bench.traffic import traffic
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import Conversation, Task
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation, Record, Request, Response
from ramify.model.sketch import Sketch, Tie
from ramify.rebuild import rebuild
from ramify.storage.base import Ask, Changes, Kept, Store, StoreDown, Wish
from ramify.storage.base import Test as Condition
from ramify.storage.schema import STEPS
from ramify.storage.sqlite import Sqlite, open_sqlite
from ramify.storage.totals import counted
from tests.contracts.bodies import anything
from tests.contracts.engines import (
    ENGINES,
    Engine,
    batches,
    derived,
    difference,
    log_of,
    seen_stories,
    stories_for,
    told,
)

SESSION = ("x-claude-code-session-id", "s")


class Boom(Exception):
    pass


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    found = ENGINES[request.param]
    if found.missing:
        assert not os.environ.get("CI"), found.missing
        pytest.skip(found.missing)
    return found


@pytest.fixture
def store(engine: Engine, tmp_path: Path) -> Iterator[Store]:
    opened = engine.open(tmp_path)
    yield opened
    opened.close()


def record(number: int, body: bytes = b"") -> Record:
    return Record(f"obs_{number}", "default", number, "test", "lines", str(number), body)


def asked(number: int, body: bytes, named: bool = True) -> Request:
    headers = (("content-encoding", "gzip"),) if body.startswith(b"\x1f\x8b") else ()
    return Request(
        f"obs_{number}", "default", number, "test", f"x{number}", "POST", "/v1/messages",
        (SESSION, *headers) if named else headers, body,
    )


def fail_after(store: Store, act: Callable[[], object]) -> None:
    try:
        with store.exclusive():
            act()
            raise Boom
    except Boom:
        pass


def again(store: Store) -> list[dict[str, object]]:
    moved: list[dict[str, object]] = rebuild(store, Rules(), Prices(), False, lambda done, total: None)["moved"]
    return moved


# -- appending ---------------------------------------------------------------------------------------------------------


def test_a_failure_in_the_middle_leaves_nothing(store: Store) -> None:
    told(store, seen_stories()[:20])
    before, rows, size = log_of(store), derived(store), store.size()["raw_bytes"]
    fail_after(store, lambda: store.append([Kept(record(1, b"x" * 999))], Changes()))
    assert (log_of(store), derived(store), store.size()["raw_bytes"]) == (before, rows, size)
    store.append([Kept(record(2, b"x" * 999))], Changes())
    assert log_of(store)[-1] == record(2, b"x" * 999)


def test_an_observation_is_kept_once_as_it_was_first(store: Store) -> None:
    store.append([Kept(record(1, b"first"))], Changes())
    seq = store.seq()
    assert store.append([Kept(record(1, b"second"))], Changes()) == seq
    assert (log_of(store), store.size()["raw_bytes"]) == ([record(1, b"first")], 5)
    assert store.missing(["obs_1", "obs_2"]) == {"obs_2"}


def test_facts_are_set_together_and_found_by_how_they_begin(store: Store) -> None:
    store.set_facts({"mark:a:1": b"\x00\xff", "mark:a:2": "two", "mark:b:1": 3, "mark:é": 4})
    store.set_facts({"mark:a:2": 5})
    assert store.facts("mark:a:") == {"mark:a:1": b"\x00\xff", "mark:a:2": 5}
    assert (store.facts("mark:é"), store.facts("nothing"), store.fact("mark:b:1")) == ({"mark:é": 4}, {}, 3)


def test_the_log_gives_back_the_order_in_which_it_was_told(store: Store) -> None:
    for number in (5, 1, 9, 3):
        store.append([Kept(record(number))], Changes())
    assert [seen.at for seen in log_of(store)] == [5, 1, 9, 3]
    sequence = [seq for seq, _ in store.observations()]
    assert [seen.at for _, seen in store.observations(after=sequence[1])] == [9, 3]


def test_what_was_told_twice_is_there_once(store: Store) -> None:
    seen = stories_for(store.url)
    told(store, seen)
    rows, seq = derived(store), store.seq()
    ingest = Ingest(store)
    assert sum(ingest.step(batch) for batch in batches(seen, 1)) == 0
    assert (derived(store), store.seq()) == (rows, seq)


def test_what_append_has_returned_for_is_there_after_reopening(engine: Engine, tmp_path: Path) -> None:
    if not engine.lasting:
        pytest.skip("keeps nothing by nature")
    first, second = engine.open(tmp_path), engine.open(tmp_path)
    told(first, stories_for(first.url))
    assert log_of(second) == log_of(first)
    first.close()
    second.close()
    reopened = engine.open(tmp_path)
    assert log_of(reopened) == stories_for(first.url)
    reopened.close()


# -- bodies ------------------------------------------------------------------------------------------------------------


def test_bodies_come_back_byte_for_byte(engine: Engine) -> None:
    @settings(max_examples=engine.examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(lines=some.lists(anything, min_size=1, max_size=3), named=some.booleans(), size=some.integers(1, 5), failing=some.integers(0, 12))
    def holds(lines: list[list[bytes]], named: bool, size: int, failing: int) -> None:
        mixed = [body for turn in range(max(map(len, lines))) for line in lines for body in line[turn : turn + 1]]
        comes_back(engine, [asked(number, body, named) for number, body in enumerate(mixed)], size, failing)

    holds()


def comes_back(engine: Engine, seen: list[Request], size: int, failing: int) -> None:
    """Lines of conversation are mixed; one batch fails on the way and is tried again, as when the store is away."""
    with TemporaryDirectory() as folder:
        store = engine.open(Path(folder))
        ingest = Ingest(store)
        for start in range(0, len(seen), size):
            if start == failing:
                fail_after(store, partial(ingest.step, seen[start : start + size]))
                ingest.world.forget()
            ingest.step(seen[start : start + size])
        assert log_of(store) == seen
        live = derived(store)
        assert again(store) == []
        assert difference(live, derived(store)) == []
        store.close()
        if engine.lasting:
            reopened = engine.open(Path(folder))
            assert [reopened.observation(one.id) for one in seen] == seen
            reopened.close()


def test_any_bytes_of_any_kind_come_back(engine: Engine) -> None:
    @settings(max_examples=engine.examples // 2, deadline=None)
    @given(bodies=some.lists(some.binary(max_size=2000), max_size=5))
    def holds(bodies: list[bytes]) -> None:
        with TemporaryDirectory() as folder:
            store = engine.open(Path(folder))
            seen: list[Observation] = []
            for number, body in enumerate(bodies):
                seen.append(record(2 * number, body))
                seen.append(Response(f"obs_{2 * number + 1}", "p", 1, "test", "x", "/v1/messages", 200, (), body, "cut"))
            Ingest(store).step(seen)
            assert log_of(store) == seen
            store.close()

    holds()


# -- deriving again ----------------------------------------------------------------------------------------------------


def test_several_observations_are_read_together(store: Store) -> None:
    told(store, seen_stories()[:60])
    ids = [seen.id for _, seen in store.observations()][::3]
    assert store.seen([*ids, ids[0], "obs_nowhere", ""]) == {id: store.observation(id) for id in ids}
    assert store.seen([]) == {}


def test_replay_equals_live_and_a_second_rebuild_changes_nothing(store: Store) -> None:
    told(store, stories_for(store.url))
    live = derived(store)
    assert again(store) == []
    replayed = derived(store)
    assert difference(live, replayed) == []
    assert again(store) == []
    assert derived(store) == replayed


def test_a_sketch_is_the_beginning_of_its_task(store: Store) -> None:
    """By name and by value, except for what is passed over."""
    fields = Sketch.__struct_fields__
    assert fields == Task.__struct_fields__[: len(fields)]
    Ingest(store).step(seen_stories())
    tasks = [task for task in store.docs("tasks") if isinstance(task, Task) and task.kind != "none"]
    sketches = [sketch for one in sorted({task.conversation for task in tasks}) for sketch in store.sketches(one)]
    assert [sketch.id for sketch in sketches] == [task.id for task in sorted(tasks, key=lambda task: (task.conversation, task.opened, task.id))]
    whole = {task.id: task for task in tasks}
    for sketch in sketches:
        assert {name: kept for name in fields if not isinstance(kept := getattr(sketch, name), Raw | Tie)} == {
            name: getattr(whole[sketch.id], name) for name in fields if not isinstance(getattr(sketch, name), Raw | Tie)
        }
        link = whole[sketch.id].link
        assert sketch.link == (link and Tie(link.kind, link.parent, link.rule, link.certainty))


def test_batches_of_any_size_give_the_same_rows(store: Store) -> None:
    told(store, stories_for(store.url))
    other = told(open_sqlite("memory:"), stories_for(store.url), seed=7)
    assert difference(derived(store), derived(other)) == []


def test_what_is_remembered_between_batches_changes_no_row(store: Store) -> None:
    """In the order of a few writers that take turns, which is none that a single client would cause."""
    seen = [one for part in range(3) for one in stories_for(store.url)[part::3]]
    told(store, seen)
    other = open_sqlite("memory:")
    for one in seen:
        Ingest(other).step([one])
    assert difference(derived(store), derived(other)) == []


def test_what_was_derived_again_elsewhere_is_not_remembered_wrongly(store: Store) -> None:
    """A rebuild changes rows behind the back of whoever links next."""
    seen = stories_for(store.url)
    ingest = Ingest(store)
    ingest.step(seen[:100])
    with store.exclusive():
        pass
    again(store)
    with store.exclusive() as changed:
        assert changed
    ingest.step(seen[100:])
    assert difference(derived(store), derived(told(open_sqlite("memory:"), seen))) == []


# -- readers and writers -----------------------------------------------------------------------------------------------


def test_readers_see_whole_batches_only(store: Store) -> None:
    ended = threading.Event()
    counts: set[int] = set()

    def read() -> None:
        while not ended.is_set():
            counts.add(store.count("calls") % 20)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    ingest = Ingest(store)
    for batch in traffic(200, turns=10, width=20):
        ingest.step(batch)
    ended.set()
    for reader in readers:
        reader.join()
    assert counts <= {0}


def test_a_reader_in_the_middle_holds_nobody_up(store: Store) -> None:
    store.append([Kept(record(number)) for number in range(300)], Changes())
    reading = store.observations()
    seen = [next(reading)[1] for _ in range(3)]
    store.append([Kept(record(300))], Changes())
    seen += [one for _, one in reading]
    assert seen == [record(number) for number in range(301)]


def test_a_reader_with_a_snapshot_neither_blocks_the_writer_nor_sees_its_rows(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db", busy_seconds=0.1)
    store.append([Kept(record(1))], Changes())
    reader = sqlite3.connect(tmp_path / "store.db")
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM observations").fetchone() == (1,)
    store.append([Kept(record(2))], Changes())
    assert reader.execute("SELECT count(*) FROM observations").fetchone() == (1,)
    reader.close()
    store.close()


def test_news_of_another_writer_reach_the_one_who_decides(engine: Engine, tmp_path: Path) -> None:
    """Also when somebody who does not care (a fact is noted) has come first."""
    if not engine.lasting:
        pytest.skip("is this process's alone")
    one, other = (engine.open(tmp_path) for _ in range(2))
    with one.exclusive():
        pass
    with one.exclusive() as changed:
        assert not changed
    other.append([Kept(record(1))], Changes())
    one.set_fact("anything", 1)
    with one.exclusive() as changed:
        assert changed
    with one.exclusive() as changed:
        assert not changed
    one.close()
    other.close()


def test_processes_that_write_to_one_store_give_the_rows_of_one(engine: Engine, tmp_path: Path) -> None:
    if not engine.lasting:
        pytest.skip("is this process's alone")
    engine.open(tmp_path).close()
    command = [sys.executable, "-m", "tests.contracts.writer", engine.address(tmp_path), str(tmp_path)]
    writers = [subprocess.Popen([*command, str(part), "4"]) for part in range(4)]
    assert [writer.wait(timeout=240) for writer in writers] == [0, 0, 0, 0]
    store = engine.open(tmp_path)
    assert {seen.id for seen in log_of(store)} == {seen.id for seen in stories_for(store.url)}
    alone = told(open_sqlite("memory:"), log_of(store))
    assert difference(derived(store), derived(alone)) == []
    store.close()


def test_a_store_that_is_locked_is_away_and_comes_back(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db", busy_seconds=0.05)
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreDown, match="locked"):
        store.append([Kept(record(1))], Changes())
    assert log_of(store) == []
    other.execute("COMMIT")
    store.append([Kept(record(1))], Changes())
    assert log_of(store) == [record(1)]
    store.close()
    with pytest.raises(StoreDown, match="closed"):
        store.append([Kept(record(2))], Changes())


def test_what_can_never_be_stored_is_no_store_that_is_away(store: Store) -> None:
    """Else it would be tried for ever, and all that follows would wait behind it."""
    with pytest.raises(Exception) as raised:  # noqa: PT011
        store.append([Kept(record(1 << 70))], Changes())
    assert not isinstance(raised.value, StoreDown)
    assert log_of(store) == []


# -- the file's version ------------------------------------------------------------------------------------------------

EXTRA = (*STEPS, "CREATE TABLE extra (a TEXT); INSERT INTO extra VALUES ('a;b'); ALTER TABLE facts ADD COLUMN note TEXT")


def test_an_older_file_is_brought_up_and_keeps_everything(tmp_path: Path) -> None:
    path = f"{tmp_path}/store.db"
    told(open_sqlite(f"sqlite:{path}"), seen_stories()).close()
    newer = Sqlite("newer", path, steps=EXTRA)
    assert log_of(newer) == seen_stories()
    assert newer._read("SELECT a FROM extra") == [("a;b",)]
    newer.close()
    once = Sqlite("newer", path, steps=EXTRA)
    assert once._read("SELECT count(*) FROM extra") == [(1,)]
    once.close()


def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = f"{tmp_path}/store.db"
    open_sqlite(f"sqlite:{path}").close()
    with pytest.raises(UserMistake, match="nonsense"):
        Sqlite("newer", path, steps=(*EXTRA, "ALTER TABLE nonsense ADD COLUMN a"))
    store = open_sqlite(f"sqlite:{path}")
    assert store._read("SELECT name FROM sqlite_master WHERE name = 'extra'") == []
    store.close()


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = f"{tmp_path}/store.db"
    Sqlite("newer", path, steps=EXTRA).close()
    with pytest.raises(UserMistake, match=r"newer Ramify .*upgrade"):
        open_sqlite(f"sqlite:{path}")


def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    theirs = sqlite3.connect(path)
    theirs.execute("CREATE TABLE calls (id)")
    theirs.commit()
    theirs.close()
    before = path.read_bytes()
    with pytest.raises(UserMistake, match="another program"):
        open_sqlite(f"sqlite:{path}")
    path.with_name("text.db").write_bytes(b"Dear diary, " * 100)
    with pytest.raises(UserMistake, match="no Ramify store"):
        open_sqlite(f"sqlite:{path.with_name('text.db')}")
    assert path.read_bytes() == before


def test_what_runs_is_found_without_reading_every_call(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    plan = store._read("EXPLAIN QUERY PLAN SELECT doc FROM calls WHERE status = 'running' AND source = ? ORDER BY started DESC, id DESC LIMIT ?", ("proxy", 9))
    assert "calls_running" in str(plan)
    store.close()


def test_totals_are_what_counting_gives_whatever_was_stored_changed_or_taken_away(store: Store) -> None:
    """Kept beside the rows, batch by batch; an unpriced conversation counts as one, whatever it holds."""
    assert store.totals() == counted(store)
    seen = seen_stories()
    ingest = Ingest(store)
    for batch in batches(seen, 3):
        ingest.step(batch)
    held, wanted = store.totals(), counted(store)
    assert held["calls"] > 100
    assert bool(held.pop("unpriced")) == bool(wanted.pop("unpriced"))
    assert {**held, "cost": 0} == {**wanted, "cost": 0}
    again(store)
    assert {**store.totals(), "cost": 0, "unpriced": 0} == {**counted(store), "cost": 0, "unpriced": 0}
    gone = [row.id for row in store.docs("calls")][::3]
    store.append((), Changes(rows=dict.fromkeys(("calls", id) for id in gone)))
    assert store.totals()["calls"] == counted(store)["calls"] < wanted["calls"]


def test_rows_that_move_are_found_by_what_they_belong_to_now(store: Store) -> None:
    """By conversation and by parent, in both directions, page by page and all at once."""
    source, now = random.Random(7), dict[str, Task]()
    for _ in range(6):
        moved = [f"task_{source.randrange(40):02}" for _ in range(25)]
        rows = {
            name: Task(name, "a", f"conv_{source.randrange(3)}", kind=source.choice(("root", "sub", "none")), opened=source.randrange(30), parent=source.choice(("", "task_00", "task_01")))
            for name in moved
        }  # fmt: skip
        store.append((), Changes(rows={("tasks", name): row for name, row in rows.items()}))
        now |= rows
    store.append((), Changes(rows={("tasks", name): None for name in list(now)[::7]}))
    kept = sorted((now[name] for number, name in enumerate(now) if number % 7), key=lambda row: (row.opened, row.id))
    for conversation in ("conv_0", "conv_1", "conv_2", "conv_3"):
        wanted = [row.id for row in kept if row.conversation == conversation]
        for limit in (1, 4, 1_000_000):
            for ascending in (False, True):
                assert [row.id for row in walked(store, Ask("opened", {"conversation": conversation}, limit, ascending=ascending))] == wanted[:: 1 if ascending else -1]
        shown = [row for row in kept if row.conversation == conversation and row.kind != "none"]
        assert [row.id for row in store.sketches(conversation)] == [row.id for row in shown]
        roots = [row for row in kept if row.conversation == conversation and row.kind == "root"]
        assert store.openings([conversation]).get(conversation, ("", 0, 0))[1:] == (len(wanted), len(roots))
    for parent in ("task_00", "task_01"):
        assert sorted(row.id for row in store.among("tasks", "parent", [parent])) == sorted(row.id for row in kept if row.parent == parent)
    wishes = [
        Wish("tasks", "parent", ["task_00", "task_01"]), Wish("tasks", "id", ["task_03", "task_05", "task_77"]), Wish("tasks", "kind", ["none"]),
        Wish("tasks", "conversation", ["conv_1"]), Wish("lines", "conversation", ["conv_1"]), Wish("tasks", "parent", []),
    ]  # fmt: skip
    gathered = store.gather(wishes)
    assert [sorted(row.id for row in rows) for rows in gathered] == [sorted(row.id for row in store.among(wish.table, wish.column, wish.values)) for wish in wishes]
    assert {row.id for row in gathered[3]} == {row.id for row in kept if row.conversation == "conv_1"}
    home = {row.id: row.conversation for row in kept if row.kind != "none"}
    pairs = {(home[row.parent], row.conversation) for row in kept if row.kind == "root" and row.parent in home}
    assert set(store.inside()) == {(above, below) for above, below in pairs if above != below}


def walked(store: Store, ask: Ask) -> Iterator[Task]:
    while page := [row for row in store.page("tasks", ask) if isinstance(row, Task)]:
        yield from page
        ask = msgspec.structs.replace(ask, behind=(page[-1].opened, page[-1].id))


@pytest.mark.parametrize("versions", [1, 3, 12])
def test_pages_show_rows_as_they_are_now_however_often_they_were_written(store: Store, versions: int) -> None:
    """Times that moved back, rows that came to be another's and rows that went: nothing that was once written shows through."""
    names = [f"conv_{number:02}" for number in range(30)]
    now: dict[str, Conversation] = {}
    for version in range(versions):
        last = version == versions - 1
        for at, name in enumerate(names):
            moved = (at * 7 + version) % 30 if last else 1_000 - version + at
            now[name] = Conversation(name, "a" if last and at % 3 else "b", active=moved)
        store.append((), Changes(rows={("conversations", name): row for name, row in now.items()}))
    gone = names[::5]
    store.append((), Changes(rows={("conversations", name): None for name in gone}))
    kept = sorted((row for name, row in now.items() if name not in gone), key=lambda row: (row.active, row.id), reverse=True)
    for project in ("", "a", "b", "c"):
        wanted = [row.id for row in kept if not project or row.project == project]
        for limit in (1, 4, 50):
            found: list[str] = []
            behind: tuple[int, str] | None = None
            while page := store.page("conversations", Ask("active", {"project": project} if project else {}, limit, behind)):
                found += [row.id for row in page]
                assert isinstance(page[-1], Conversation)
                behind = (page[-1].active, page[-1].id)
            assert found == wanted
    assert store.totals()["conversations"] == len(kept)
    assert [row.id for row in store.among("conversations", "id", [*gone, *names[1:4]])] == names[1:4]
    assert {row.id for row in store.among("conversations", "project", ["a"])} == {row.id for row in kept if row.project == "a"}


def test_only_a_to_z_have_a_case_in_names_and_words(store: Store) -> None:
    """Which other letters have one, and which are the same then, would be the database's own affair."""
    names = ("Ärzte", "ärzte", "REPORT", "report", "İx", "ix", "a%b", "a_b")
    store.append((), Changes(rows={("tasks", name): Task(name, "a", opened=at, agent_type=name, title=name) for at, name in enumerate(names)}))

    def found(column: str, compare: Any, value: str) -> list[str]:
        page = store.sift("tasks", Ask("opened"), [Condition(column, compare, (value,))], 1000)
        return sorted(row.id for row in page.rows)

    for column, plain in (("agent", "is"), ("agent", "like"), ("words", "has")):
        assert found(column, plain, "Report") == ["REPORT", "report"]
        assert found(column, plain, "ÄRZTE") == ["Ärzte"]
        assert found(column, plain, "äRZTE") == ["ärzte"]
        assert found(column, plain, "IX") == ["ix"]
        assert found(column, plain, "A%B") == ["a%b"]
    assert found("agent", "like", "Är*") == ["Ärzte"]
    assert found("agent", "like", "*_B") == ["a_b"]


def test_short_lists_have_one_order(store: Store) -> None:
    """Those of which only the first are wanted are the same everywhere."""
    ids = [f"task_{number:03}" for number in range(200)]
    mixed = random.Random(5).sample(ids, 200)
    for start in range(0, 200, 20):
        store.append((), Changes(rows={("tasks", id): Task(id, "a") for id in mixed[start : start + 20]}))
        store.append((), Changes(unreadable=tuple((id, 7, "no line") for id in mixed[start : start + 20])))
    assert store.ids_like("tasks", "task_", 20) == ids[:20]
    assert store.ids_like("tasks", "task_1", 3) == ids[100:103]
    assert [id for id, _, _ in store.unreadable(20)] == ids[:20]
