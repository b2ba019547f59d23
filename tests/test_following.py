"""Transcripts that grow while they are followed: by a thread on a real store, and by the command as a process."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.soaked import Server, locked
from ramify import following as module
from ramify.following import Following
from ramify.ingest import Ingest
from ramify.intake import Batch
from ramify.model.observation import Record
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.capture.transcripts import SESSION, agent, append, line, session

SECONDS = 20.0


def bodies(store: Sqlite) -> Counter[bytes]:
    return Counter(seen.body for _, seen in store.observations() if isinstance(seen, Record))


def numbers(*wanted: int) -> Counter[bytes]:
    return Counter(line(number)[:-1] for number in wanted)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Sqlite]:
    found = open_sqlite(f"sqlite:{tmp_path}/store.db", busy_seconds=0.05)
    yield found
    found.close()


@contextmanager
def followed(store: Sqlite, *roots: Path) -> Iterator[Following]:
    following = Following(store, "default", roots, Ingest(store).take)
    following.start()
    try:
        yield following
    finally:
        following.close()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.05)


def test_a_file_is_followed_through_growth_halves_cuts_and_replacement(store: Sqlite, tmp_path: Path) -> None:
    path = session(tmp_path, line(1))
    with followed(store, tmp_path):
        until(lambda: bodies(store) == numbers(1))
        append(path, line(2) + line(3)[:30])
        until(lambda: bodies(store) == numbers(1, 2))
        append(path, line(3)[30:])
        until(lambda: bodies(store) == numbers(1, 2, 3))
        path.write_bytes(line(4))  # cut
        until(lambda: bodies(store) == numbers(1, 2, 3, 4))
        other = path.with_suffix(".new")
        other.write_bytes(line(1) + line(5))
        os.replace(other, path)
        until(lambda: bodies(store) == numbers(1, 2, 3, 4, 5))
        append(path, line(6))
        until(lambda: bodies(store) == numbers(1, 2, 3, 4, 5, 6))


def test_folders_files_and_sidecars_that_appear_late_are_followed(store: Sqlite, tmp_path: Path) -> None:
    with followed(store, tmp_path / "config"):
        time.sleep(0.05)
        session(tmp_path / "config", line(1))
        until(lambda: bodies(store) == numbers(1))
        sidecar = agent(tmp_path / "config", b'{"toolUseId": "t1"', name="agent-a1.meta.json")
        path = agent(tmp_path / "config", line(2)[:-1])
        until(lambda: bodies(store) == numbers(1, 2))
        append(sidecar, b"}")
        until(lambda: bodies(store)[b'{"toolUseId": "t1"}'] == 1)
        append(path, b"\n" + line(3))
        until(lambda: line(3)[:-1] in bodies(store))
        assert sum(bodies(store).values()) == 4


def test_a_restart_goes_on_where_it_was(store: Sqlite, tmp_path: Path) -> None:
    path = session(tmp_path, line(1))
    read: list[int] = []

    def count(batch: Batch, fresh: int) -> None:
        read.append(sum(batch.lines.values()))

    for number in (2, 3):
        following = Following(store, "default", [tmp_path], Ingest(store).take)
        following.tell = count
        following.start()
        until(following.caught_up.is_set)
        following.close()
        append(path, line(number))
    assert read == [1, 1]


def test_bad_lines_are_said_and_what_follows_is_stored(
    store: Sqlite, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = session(tmp_path, line(1), b"\x00\x00\n", line(2))
    with followed(store, tmp_path):
        until(lambda: line(2)[:-1] in bodies(store))
    assert f"place={path}:2" in caplog.text
    assert sum(bodies(store).values()) == 3


def test_while_the_store_is_away_nothing_is_lost(store: Sqlite, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = session(tmp_path, line(1))
    with followed(store, tmp_path):
        until(lambda: bodies(store) == numbers(1))
        with locked(tmp_path / "store.db"):
            append(path, line(2))
            until(lambda: "store is away" in caplog.text)
            append(path, line(3))
        until(lambda: bodies(store) == numbers(1, 2, 3))
    assert caplog.text.count("store is away") == 1


def test_it_stops_at_once_however_much_there_is_to_read(store: Sqlite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.intake.BATCH", 2)
    session(tmp_path, *(line(number) for number in range(50)))
    following = Following(store, "default", [tmp_path], Ingest(store).take)
    following.tell = lambda batch, fresh: following.stopping.set()
    following.run()
    assert 0 < sum(bodies(store).values()) < 50
    with followed(store, tmp_path):
        until(lambda: bodies(store) == numbers(*range(50)))


def test_many_files_written_at_once_in_bits_are_all_there_in_the_end(store: Sqlite, tmp_path: Path) -> None:
    source = random.Random(7)
    files = [session(tmp_path)] + [agent(tmp_path, name=f"agent-{number}.jsonl") for number in range(6)]
    texts = [b"".join(line(100 * at + number) for number in range(20)) for at, _ in enumerate(files)]
    written = [0] * len(files)
    with followed(store, tmp_path):
        while any(written[at] < len(text) for at, text in enumerate(texts)):
            at = source.randrange(len(files))
            size = source.randint(1, 400)
            append(files[at], texts[at][written[at] : written[at] + size])
            written[at] += size
            time.sleep(0.0005)
        wanted = numbers(*(100 * at + number for at, _ in enumerate(files) for number in range(20)))
        until(lambda: bodies(store) == wanted)


# -- as processes ------------------------------------------------------------------------------------------------------


@contextmanager
def watching(path: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "ramify", "watch", str(folder), "--store", f"sqlite:{path}"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        yield child
    finally:
        child.kill()
        child.wait(timeout=SECONDS)


def stored(path: Path) -> int:
    """How many, without opening it as we would: it may not be there yet."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1) as connection:
            return int(connection.execute("SELECT count(*) FROM observations").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def quiet(number: int) -> bytes:
    """A line that is only kept."""
    return line(number, type="mode")


def test_kill_9_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    database = tmp_path / "store.db"
    path = session(tmp_path)
    for before in range(0, 3200, 800):
        with watching(database, tmp_path) as child:
            append(path, b"".join(quiet(before + number) for number in range(800)))
            until(lambda before=before: stored(database) > before)  # type: ignore[misc]
            child.kill()
    with watching(database, tmp_path) as child:
        until(lambda: stored(database) == 3200)
        assert child.stderr is not None
        assert b"following" in child.stderr.readline()  # it is ready for signals by then
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=SECONDS) == 0
    store = open_sqlite(f"sqlite:{database}")
    assert bodies(store) == Counter(quiet(number)[:-1] for number in range(3200))
    store.close()


def test_watch_says_what_it_stores_and_ends_quietly(tmp_path: Path) -> None:
    database = tmp_path / "store.db"
    with watching(database, tmp_path) as child:
        session(tmp_path, line(1), b"broken\n")
        until(lambda: stored(database) == 2)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=SECONDS)
    assert child.returncode == 0
    text = said.decode()
    assert f"following {tmp_path}" in text
    assert f"2 new lines {tmp_path}" in text
    assert f"{SESSION}.jsonl:2: JSON is malformed" in text


async def test_the_server_follows_as_well(tmp_path: Path) -> None:
    path = session(tmp_path / "config", line(1))
    server = Server(tmp_path, "http://127.0.0.1:9", "--watch", str(tmp_path / "config"))
    await server.start()
    try:
        until(lambda: stored(server.path) == 1)
        server.kill()
        append(path, line(2))
        await server.start()
        until(lambda: stored(server.path) == 2)
    finally:
        server.end(signal.SIGTERM)
    store = open_sqlite(f"sqlite:{server.path}")
    assert bodies(store) == numbers(1, 2)
    store.close()
