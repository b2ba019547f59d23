"""Between capture and the store: whatever happens to the store, nothing is lost and nobody waits."""

import resource
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench.traffic import Session
from ramify import pipeline
from ramify.capture.cleaner import Cleaner
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.observation import Observation, Record, Request, Response
from ramify.model.prices import Tokens
from ramify.pipeline import Pipeline
from ramify.rebuild import rebuild
from ramify.spool import Spool, SpoolDown
from ramify.storage.base import StoreDown
from ramify.storage.sqlite import Sqlite, open_sqlite
from ramify.writer import RemotePipeline, send_frame, serve_writer
from tests.contracts.engines import derived, difference

ROOM = 64 * 2**20
SECRET = "sk-ant-api03-" + "Zx9" * 20


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def turns(count: int, number: int = 1) -> list[Observation]:
    session = Session(number)
    return [seen for _ in range(count) for seen in session.turn()]


def record(number: int, size: int = 10) -> Record:
    return Record(f"obs_{number}", "default", number, "test", "lines", str(number), b"x" * size)


class World:
    """A pipeline on a file."""

    def __init__(self, folder: Path, prices: Prices | None = None, queue_limit: int = 20_000, room: int = ROOM) -> None:
        self.path = folder / "store.db"
        self.store = open_sqlite(f"sqlite:{self.path}", busy_seconds=0.05)
        cleaner = Cleaner()
        self.spool = Spool(folder / "spool", room)
        self.ingest = Ingest(self.store, prices=prices, redaction=cleaner)
        self.pipeline = Pipeline(self.ingest, cleaner.observation, self.spool, queue_limit)

    def put(self, seen: list[Observation]) -> None:
        for one in seen:
            self.pipeline.put(one)

    def stored(self) -> list[str]:
        return [seen.id for _, seen in self.store.observations()]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Another program holds the file."""
        other = sqlite3.connect(self.path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("COMMIT")
        other.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.pipeline.close()
    world.store.close()


def ids(seen: list[Observation]) -> list[str]:
    return [one.id for one in seen]


def test_what_is_put_is_stored_in_order(world: World) -> None:
    world.pipeline.start()
    world.put(turns(20))
    assert world.pipeline.flush()
    assert world.stored() == ids(turns(20))
    assert world.pipeline.state()["stored"] == 40


class Watching(Cleaner):
    """Notes whether the store was held while it searched for secrets."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.held: list[bool] = []

    def note(self) -> None:
        other = sqlite3.connect(self._path, isolation_level=None, timeout=0)
        try:
            other.execute("BEGIN IMMEDIATE")
            self.held.append(False)
        except sqlite3.OperationalError:
            self.held.append(True)
        finally:
            other.close()

    def observation(self, seen: Observation) -> Observation:
        self.note()
        return super().observation(seen)

    def piece(self, raw: bytes) -> bytes:
        self.note()
        return super().piece(raw)

    def finds_nothing(self, seen: Response, blocks: list[dict[str, Any]]) -> bool:
        self.note()
        return super().finds_nothing(seen, blocks)


def test_what_needs_no_look_at_the_store_is_done_while_others_may_write(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    watching = Watching(tmp_path / "store.db")
    Ingest(store, redaction=watching).step([*turns(3), record(1)])
    assert len(watching.held) > 6
    assert not any(watching.held)
    store.close()


def test_what_is_known_already_takes_no_turn(world: World) -> None:
    seen = turns(2)
    assert world.ingest.step(seen) == len(seen)
    other = sqlite3.connect(world.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert world.ingest.step(seen) == 0
    other.close()


def test_what_another_stores_meanwhile_is_stored_once(tmp_path: Path) -> None:
    """Between the look for what is new and the turn."""
    one, other = (open_sqlite(f"sqlite:{tmp_path}/store.db") for _ in range(2))
    seen = turns(2)

    class Faster(Cleaner):
        def finds_nothing(self, seen_: Response, blocks: list[dict[str, Any]]) -> bool:
            Ingest(other).step(seen)
            return super().finds_nothing(seen_, blocks)

    assert Ingest(one, redaction=Faster()).step(seen) == 0
    assert [stored.id for _, stored in one.observations()] == [each.id for each in seen]
    one.close()
    other.close()


def test_the_more_waits_the_more_is_stored_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    take = world.ingest.take
    monkeypatch.setattr(world.ingest, "take", lambda batch: (sizes.append(len(batch)), take(batch))[1])
    world.put([record(number) for number in range(3000)])
    world.pipeline.start()
    assert world.pipeline.flush()
    assert sizes == [256, 512, 1024, 1024, 184]
    assert len(world.stored()) == 3000


def test_a_locked_store_costs_nothing_but_time(world: World, tmp_path: Path) -> None:
    seen = turns(30)
    world.pipeline.start()
    world.put(seen[:10])
    assert world.pipeline.flush()
    with world.locked():
        world.put(seen[10:30])
        until(lambda: len(world.spool) == 20)
        world.put(seen[30:])
        until(lambda: len(world.spool) == 50)
        assert "locked" in str(world.pipeline.state()["problem"])
        assert not world.pipeline.flush(0.01)
    assert world.pipeline.flush()
    assert world.stored() == ids(seen)
    assert (world.pipeline.problem, world.pipeline.lost) == ("", 0)
    alone = World(tmp_path / "alone")
    alone.ingest.step(seen)
    assert difference(derived(world.store), derived(alone.store)) == []
    alone.store.close()


def test_a_full_disk_costs_nothing_but_time(world: World) -> None:
    """SQLite itself says that the file may not grow: the very error of a full disk, in the middle of a batch."""
    world.pipeline.start()
    world.put(turns(5))
    assert world.pipeline.flush()
    pages = world.store._read("PRAGMA page_count")[0][0]
    world.store._file.writer.execute(f"PRAGMA max_page_count = {pages + 1}")
    seen = turns(30, number=2)
    world.put(seen)
    until(lambda: len(world.spool) == 60)
    assert "full" in world.pipeline.problem
    assert world.store.check() == "ok"
    assert world.stored() == ids(turns(5))
    world.store._file.writer.execute("PRAGMA max_page_count = 1073741823")
    assert world.pipeline.flush()
    assert world.stored() == ids([*turns(5), *seen])


def test_a_file_that_may_not_grow_costs_nothing_but_time(world: World) -> None:
    """The system refuses the write, as a quota or a full disk does; the spool is small and goes on."""
    world.pipeline.start()
    world.put(turns(5))
    assert world.pipeline.flush()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    wal = world.path.with_name("store.db-wal").stat().st_size
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (wal + 1000, before[1]))
        world.put(turns(4, number=2))
        until(lambda: len(world.spool) == 8)
        assert world.pipeline.problem
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert world.pipeline.flush()
    assert world.stored() == ids([*turns(5), *turns(4, number=2)])
    assert world.pipeline.lost == 0


def test_where_neither_store_nor_spool_has_room_it_waits_in_memory(world: World) -> None:
    world.pipeline.start()
    world.put(turns(5))
    assert world.pipeline.flush()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        world.put(turns(4, number=2))
        until(lambda: "neither store nor spool" in world.pipeline.problem)
        world.put(turns(4, number=3))
        assert (len(world.spool), world.pipeline.lost) == (0, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert world.pipeline.flush()
    assert world.stored() == ids([*turns(5), *turns(4, number=2), *turns(4, number=3)])
    assert (world.pipeline.lost, world.pipeline.problem) == (0, "")


def test_closing_while_the_store_is_away_leaves_everything_in_the_spool(world: World, tmp_path: Path) -> None:
    world.pipeline.start()
    with world.locked():
        world.put(turns(10))
        world.pipeline.close()
        assert len(world.spool) == 20
        world.pipeline.put(record(1))
        assert world.pipeline.lost == 1  # too late, and counted
    world.store.close()
    later = World(tmp_path)
    later.spool = later.pipeline.spool = Spool(tmp_path / "spool", ROOM)
    later.pipeline.start()
    assert later.pipeline.flush()
    assert later.stored() == ids(turns(10))
    later.pipeline.close()
    later.store.close()


@pytest.mark.parametrize("fails", [False, True])
def test_a_store_that_hangs_holds_nothing_up_and_gets_everything_once(world: World, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    seen, going_on, safe, take = turns(6), threading.Event(), list[int](), world.ingest.take

    def hanging(batch: Sequence[Observation]) -> int:
        if not going_on.is_set():
            going_on.wait(30)
            if fails:
                raise StoreDown("the connection broke")
        return take(batch)

    monkeypatch.setattr(pipeline, "HANG_SECONDS", 0.3)
    monkeypatch.setattr(world.ingest, "take", hanging)
    world.pipeline.on_safe = safe.append
    world.pipeline.start()
    world.put(seen[:4])
    until(lambda: len(world.spool) == 4)
    world.put(seen[4:8])
    until(lambda: len(world.spool) == sum(safe) == 8)
    lag = time.time_ns() // 1_000_000 - seen[0].at // 1000
    assert abs(int(str(world.pipeline.state()["lag_ms"])) - lag) < 5000  # of the first in the spool
    assert "has not answered" in str(world.pipeline.state()["problem"])
    going_on.set()
    world.put(seen[8:])
    assert world.pipeline.flush()
    assert (world.stored(), sum(safe), world.pipeline.stored, world.pipeline.lost) == (ids(seen), len(seen), len(seen), 0)
    state = world.pipeline.state()
    assert (state["captured"], state["exchanges"], state["lag_ms"], world.pipeline.commits > 0) == (len(seen), 6, 0, True)


def test_closing_while_the_store_hangs_leaves_everything_in_the_spool(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    going_on = threading.Event()
    monkeypatch.setattr(pipeline, "HANG_SECONDS", 0.3)
    monkeypatch.setattr(world.ingest, "take", lambda batch: going_on.wait(30) and 0)
    world.pipeline.start()
    world.put(turns(3))
    began = time.monotonic()
    assert not world.pipeline.close()
    assert time.monotonic() - began < 5
    assert len(world.spool) == 6
    going_on.set()


def test_closing_waits_until_what_is_moved_to_the_spool_is_there_and_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the queue and a slow disk it stands nowhere, and the process ends when closing is done."""
    going_on, safe, append = threading.Event(), list[int](), world.spool.append

    def slow(observations: Sequence[Observation]) -> int:
        time.sleep(0.5)
        return append(observations)

    monkeypatch.setattr(pipeline, "HANG_SECONDS", 0.3)
    monkeypatch.setattr(world.ingest, "take", lambda batch: going_on.wait(30) and 0)
    monkeypatch.setattr(world.spool, "append", slow)
    world.pipeline.on_safe = lambda count: (time.sleep(0.2), safe.append(count))[1]
    world.pipeline.start()
    world.put(turns(1))
    until(lambda: world.pipeline.state()["waiting"] == 0)
    world.put(turns(3, 2))
    assert not world.pipeline.close()
    assert (len(world.spool), sum(safe)) == (8, 8)
    going_on.set()


def test_what_nobody_takes_at_the_end_is_said(world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody can ask a server that has ended how much it was."""

    def away(batch: Sequence[Observation]) -> int:
        raise StoreDown("away")

    def full(observations: Sequence[Observation]) -> int:
        raise SpoolDown("full")

    monkeypatch.setattr(pipeline, "CLOSE_SECONDS", 0.1)
    monkeypatch.setattr(pipeline, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(world.ingest, "take", away)
    monkeypatch.setattr(world.spool, "append", full)
    world.pipeline.start()
    world.put(turns(3))
    assert world.pipeline.close()
    assert (world.pipeline.lost, "lost observations=6: neither store nor spool" in caplog.text) == (6, True)


def test_put_takes_what_fits_and_counts_the_rest(tmp_path: Path) -> None:
    world = World(tmp_path, queue_limit=10)
    world.put([record(number) for number in range(50)])
    assert world.pipeline.state() | {"waiting": 20, "lost": 30} == world.pipeline.state()
    world.pipeline.start()
    assert world.pipeline.flush()
    assert world.stored() == [f"obs_{number}" for number in range(20)]
    world.pipeline.close()
    world.store.close()


def test_bytes_are_bounded_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.pipeline.queue_bytes = 10_000
    world.put([replace(turns(1)[0], id=f"obs_{number}") for number in range(9)])
    assert world.pipeline.lost > 0
    assert int(str(world.pipeline.state()["waiting_bytes"])) <= 20_000
    world.store.close()


def test_a_full_spool_counts_what_it_refuses(tmp_path: Path) -> None:
    world = World(tmp_path, room=200_000)
    world.pipeline.start()
    with world.locked():
        world.put([record(number, 10_000) for number in range(50)])
        until(lambda: len(world.spool) + world.pipeline.lost == 50)
    assert world.pipeline.lost > 0
    assert world.pipeline.flush()
    assert len(world.stored()) + world.pipeline.lost == 50
    world.pipeline.close()
    world.store.close()


def test_a_crowded_queue_is_moved_to_the_spool_and_stored_in_order(tmp_path: Path) -> None:
    world = World(tmp_path, queue_limit=300)
    seen: list[Observation] = [record(number) for number in range(550)]
    world.put(seen)
    world.pipeline.start()
    assert world.pipeline.flush()
    assert (world.stored(), world.pipeline.lost) == (ids(seen), 0)
    world.pipeline.close()
    world.store.close()


def test_a_bug_in_linking_keeps_the_observation_and_its_neighbours(tmp_path: Path) -> None:
    asked: list[int] = []

    def price(model: str, at: int, tokens: Tokens) -> int | None:
        asked.append(at)
        if at == seen[4].at:
            raise ZeroDivisionError("no such price")
        return 1

    seen = turns(6)
    bad = seen[5]
    world = World(tmp_path, Prices(price, "test"))
    world.pipeline.start()
    world.put(seen)
    assert world.pipeline.flush()
    assert seen[4].at in asked
    assert sorted(world.stored()) == sorted(ids(seen))
    assert world.pipeline.state()["unlinked"] == 1
    assert world.store.unreadable(9) == [(bad.id, bad.at, "not linked: ZeroDivisionError('no such price')")]
    assert world.store.count("calls", {"status": "ok"}) == 5
    live = derived(world.store)
    report = rebuild(world.store, Rules(), Prices(price, "test"), False, lambda done, total: None)
    assert (report["moved"], difference(live, derived(world.store))) == ([], [])
    mended = rebuild(world.store, Rules(), Prices(), False, lambda done, total: None)
    assert mended["moved"]
    assert (world.store.count("calls", {"status": "ok"}), world.store.unreadable(9)) == (6, [])
    world.pipeline.close()
    world.store.close()


def test_what_no_store_can_hold_is_counted_and_stops_nobody(world: World) -> None:
    world.pipeline.start()
    world.put([record(1), replace(record(2), at=1 << 70), record(3)])
    until(lambda: world.pipeline.lost == 1)
    assert world.pipeline.flush()
    assert world.stored() == ["obs_1", "obs_3"]


def test_no_secret_reaches_the_spool_or_the_store(world: World, tmp_path: Path) -> None:
    body = f'{{"model":"m","messages":[{{"role":"user","content":"my key is {SECRET}"}}]}}'.encode()
    told = Request("obs_s", "default", 1, "proxy", "x", "POST", "/v1/messages", (("x-api-key", SECRET),), body)
    world.pipeline.start()
    with world.locked():
        world.put([told])
        until(lambda: len(world.spool) == 1)
        assert not any(SECRET.encode() in path.read_bytes() for path in (tmp_path / "spool").iterdir())
    assert world.pipeline.flush()
    assert SECRET not in repr(world.store.observation("obs_s"))


def test_a_bug_keeps_no_secret_either(tmp_path: Path) -> None:
    """What could not be linked is stored all the same, but not as it came."""

    class Stumbling(Cleaner):
        def piece(self, raw: bytes) -> bytes:
            raise ZeroDivisionError

    store = open_sqlite("memory:")
    body = f'{{"model":"m","messages":[{{"role":"user","content":"my key is {SECRET}"}}]}}'.encode()
    told = Request("obs_s", "default", 1, "proxy", "x", "POST", "/v1/messages", (("x-api-key", SECRET),), body)
    assert Ingest(store, redaction=Stumbling()).take([told]) == 1
    assert SECRET not in repr(store.observation("obs_s"))
    assert "ZeroDivisionError" in store.unreadable(1)[0][2]


def test_a_spool_that_cannot_be_read_does_not_stand_in_the_way(world: World, tmp_path: Path) -> None:
    world.spool.append([record(1), record(2)])
    for segment in (tmp_path / "spool").glob("*.segment"):
        segment.write_bytes(b"\xff" * segment.stat().st_size)
    world.pipeline.start()
    until(lambda: world.pipeline.lost == 2)
    world.put([record(3)])
    until(lambda: world.stored() == ["obs_3"])
    assert len(world.spool) == 0


def test_a_large_spool_is_read_in_small_portions(tmp_path: Path) -> None:
    spool = Spool(tmp_path, ROOM)
    spool.append([record(number, 1_000_000) for number in range(20)])
    assert len(spool.read(200, 5_000_000)) == 4
    assert len(spool.read(200, 1)) == 1


def test_what_an_earlier_run_left_open_is_told_once_the_spool_is_empty(world: World) -> None:
    asked: list[int] = []

    def left_open() -> list[Observation]:
        asked.append(len(world.spool))
        return [record(9)]

    world.spool.append([record(1), record(2)])
    world.pipeline.left_open = left_open
    with world.locked():
        world.pipeline.start()
        until(lambda: bool(world.pipeline.problem))
        assert asked == []
    until(lambda: len(world.stored()) == 3)
    assert (world.stored(), asked) == (["obs_1", "obs_2", "obs_9"], [0])


def test_a_persons_correction_may_come_in_the_middle_of_traffic(world: World) -> None:
    """Two threads take turns at linking, and one of them fails on the way: nothing is forgotten half-way."""
    seen = turns(60)
    world.pipeline.start()
    ended = threading.Event()

    def disturb() -> None:
        number = 1000
        while not ended.is_set():
            number += 1
            with pytest.raises(OverflowError):
                world.ingest.step([replace(record(number), at=1 << 70)])

    other = threading.Thread(target=disturb)
    other.start()
    for one in seen:
        world.pipeline.put(one)
        time.sleep(0.001)
    assert world.pipeline.flush()
    ended.set()
    other.join()
    live = derived(world.store)
    assert rebuild(world.store, Rules(), Prices(), False, lambda done, total: None)["moved"] == []
    assert difference(live, derived(world.store)) == []


def test_what_is_remembered_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.protocols.anthropic.bodies.LINE_BYTES", 400_000)
    ingest = Ingest(Sqlite("memory:", ""))
    for number in range(300):
        ingest.step(turns(1, number))
    bodies = ingest.reader.bodies["messages"]
    held = sum(len(reading.layout.body) for reading in bodies._lines.values())
    assert (bodies._line_bytes, held < 500_000) == (held, True)
    ingest.world.trim(rows=50, chains=10)
    assert len(ingest.world._rows) <= 50
    assert len(ingest.world._chains) <= 10


def test_who_waits_for_what_was_put_does_not_wait_for_more_to_come(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "GATHER_SECONDS", 60.0)
    world.pipeline.start()
    assert world.pipeline.wait(world.pipeline.put(record(1)), 20.0)


def test_the_writers_process_hears_that_somebody_waits(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends of the wire, here in one process."""
    monkeypatch.setattr(pipeline, "GATHER_SECONDS", 60.0)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    remote = RemotePipeline({}, lambda seq, rows, after=None: None, 100, ROOM)
    ours, theirs = socket.socketpair()
    for run in (lambda: serve_writer(theirs, lambda start, wire: (world.pipeline, lambda: None)), lambda: remote._hear(ours), lambda: remote._send(ours)):
        threading.Thread(target=run, daemon=True).start()
    send_frame(ours, b"{}")
    assert remote.wait(remote.put(record(1)), 20.0)
    ours.shutdown(socket.SHUT_RDWR)


def test_a_batch_that_is_full_is_not_gathered_any_longer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "GATHER_SECONDS", 60.0)
    world.pipeline.start()
    world.put([record(number) for number in range(pipeline.BATCH)])
    until(lambda: world.pipeline.stored == pipeline.BATCH)
