"""The writer's process: nothing is lost when it dies, nor when the server does."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ramify import writer
from ramify.hub import Hub
from ramify.ingest import Ingest
from ramify.settings import Settings
from ramify.storage.sqlite import open_sqlite
from ramify.writer import RemotePipeline, Rows, send_frame
from tests import story


def started(folder: Path, **more: Any) -> tuple[RemotePipeline, list[tuple[int, Rows]]]:
    published: list[tuple[int, Rows]] = []
    (folder / "store.db.spool").mkdir(exist_ok=True)
    settings = {"settings": msgspec.to_builtins(Settings(store=f"sqlite:{folder}/store.db", **more)), "run": "test"}
    remote = RemotePipeline(settings, lambda seq, rows, after=None: published.append((seq, rows or {})), 1000, 2**26)
    remote.start()
    return remote, published


def stored(folder: Path) -> int:
    store = open_sqlite(f"sqlite:{folder}/store.db")
    count = store.seq()
    store.close()
    return count


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def kill_the_writer(remote: RemotePipeline) -> None:
    """The one that runs now: another may just be taking its place."""
    end = time.monotonic() + 20
    while True:
        assert time.monotonic() < end
        time.sleep(0.3)
        child = remote._child
        if child is not None and child.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
                return


def test_what_is_put_is_stored_linked_and_published(tmp_path: Path) -> None:
    remote, published = started(tmp_path)
    seen = [one for line in story.exchanges("anthropic", "subtask-task") for one in line]
    for one in seen:
        remote.put(one)
    assert remote.flush()
    remote.close()
    assert stored(tmp_path) == len(seen)
    tables = {table for _, rows in published for table, _ in rows}
    assert {"calls", "tasks", "tools", "conversations"} <= tables


def test_an_acknowledgement_that_is_quicker_than_the_sender_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is stopped just after it has sent something: the writer has stored it long before the server goes on."""

    def then_stopped(wire: socket.socket, head: bytes, body: bytes = b"") -> None:
        send_frame(wire, head, body)
        time.sleep(0.4)

    monkeypatch.setattr(writer, "send_frame", then_stopped)
    remote, _ = started(tmp_path)
    seen = [one for line in story.exchanges("anthropic", "linear") for one in line][:2]
    for one in seen:
        assert remote.wait(remote.put(one), 20)
    assert remote.state()["waiting"] == 0
    remote.close()


def test_what_cannot_be_written_down_is_lost_alone(tmp_path: Path) -> None:
    """A moment that no number of 64 bits can tell, a name that is no Unicode: one of them must not end all capture."""
    remote, _ = started(tmp_path)
    seen = [one for line in story.exchanges("anthropic", "linear") for one in line]
    remote.put(seen[0])
    remote.put(msgspec.structs.replace(seen[0], id="obs_late", at=1 << 70))
    remote.put(msgspec.structs.replace(seen[0], id="obs_\ud800"))
    last = [remote.put(one) for one in seen[1:]][-1]
    assert remote.wait(last, 30)
    assert remote.flush()
    assert (remote.lost, remote.state()["waiting"], remote.state()["waiting_bytes"]) == (2, 0, 0)
    remote.close()
    assert stored(tmp_path) == len(seen)


def test_a_writer_that_is_killed_is_started_again_and_misses_nothing(tmp_path: Path) -> None:
    remote, _ = started(tmp_path)
    seen = [one for case in story.anthropic_cases() for line in story.exchanges("anthropic", case) for one in line]
    for number, one in enumerate(seen):
        remote.put(one)
        if number in (3, len(seen) // 2):
            kill_the_writer(remote)
    assert remote.flush(60)
    remote.close()
    assert stored(tmp_path) == len(seen)
    assert remote.lost == 0


def test_figures_go_on_where_the_writer_before_left_them(tmp_path: Path) -> None:
    """Whoever draws them from /metrics takes a smaller one for a server that was started again."""
    remote, _ = started(tmp_path)
    one, two = list(story.exchanges("anthropic", story.anthropic_cases()[0]))[:2]
    for number, line in enumerate((one, two)):
        for seen in line:
            remote.put(seen)
        assert remote.flush(60)
        if number == 0:
            kill_the_writer(remote)
    remote.close()
    state = remote.state()
    assert (state["stored"], int(str(state["commits"])) >= 2) == (len(one) + len(two), True)


def test_what_a_writer_has_given_up_stays_counted_when_it_is_gone(tmp_path: Path) -> None:
    """What the spool refused is counted there, for all writers to come."""
    remote, _ = started(tmp_path)
    remote._take({"state": {"lost": 7, "given_up": 3, "stored": 5, "unlinked": 1, "commits": 2, "commit_seconds": 0.5}}, b"")
    assert (remote.lost, "given_up" in remote.state()) == (7, False)
    remote._note_gone("gone")
    assert remote.lost == 7
    remote._take({"state": {"lost": 4, "given_up": 0, "stored": 1}}, b"")
    state = remote.state()
    assert (state["lost"], state["stored"], state["unlinked"], state["commits"], state["commit_seconds"]) == (7, 6, 1, 2, 0.5)
    remote.close()


def test_a_writer_that_cannot_begin_is_told_until_one_can(tmp_path: Path) -> None:
    """It may be for ever: then nothing is stored, and health must not say that all is well."""
    prices = tmp_path / "prices.json"
    remote, _ = started(tmp_path, prices=str(prices))
    for seen in next(iter(story.exchanges("anthropic", story.anthropic_cases()[0]))):
        remote.put(seen)
    until(lambda: "no writer runs" in str(remote.state()["problem"]))
    prices.write_text("[]")
    assert remote.flush(60)
    until(lambda: remote.state()["problem"] == "")
    remote.close()


def test_a_writer_whose_spool_cannot_be_used_stores_all_the_same(tmp_path: Path) -> None:
    """As on a disk that turned read-only."""
    (tmp_path / "store.db.spool" / "lock").mkdir(parents=True)
    remote, _ = started(tmp_path)
    line = next(iter(story.exchanges("anthropic", story.anthropic_cases()[0])))
    for seen in line:
        remote.put(seen)
    assert remote.flush(60)
    remote.close()
    assert stored(tmp_path) == len(line)


SERVER = """
import sys, time, msgspec
from ramify.settings import Settings
from ramify.writer import RemotePipeline
from tests import story
import pathlib
pathlib.Path(sys.argv[1].removeprefix("sqlite:") + ".spool").mkdir(exist_ok=True)
remote = RemotePipeline({"settings": msgspec.to_builtins(Settings(store=sys.argv[1])), "run": "test"}, lambda seq, rows, after=None: None, 1000, 2**26)
remote.start()
for case in story.anthropic_cases():
    for line in story.exchanges("anthropic", case):
        for one in line:
            remote.put(one)
while remote._unsent or not remote._child:
    time.sleep(0.01)
print("sent", flush=True)
time.sleep(60)
"""


def test_what_a_killed_writer_did_not_come_to_tell_is_told_by_the_next_one(tmp_path: Path) -> None:
    """It dies behind its commit: what it stored is known to the next one, which has nothing to store. A reader loads anew then."""
    hub = Hub()
    (tmp_path / "store.db.spool").mkdir()
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    hub.start_at(store.seq())
    Ingest(store).step([one for line in story.exchanges("anthropic", "linear") for one in line])
    assert not hub.has_reached(store.seq())
    settings = {"settings": msgspec.to_builtins(Settings(store=f"sqlite:{tmp_path}/store.db")), "run": "test"}
    remote = RemotePipeline(settings, hub.publish, 1000, 2**26)
    remote.start()
    end = time.monotonic() + 30
    while not hub.has_reached(store.seq()) and time.monotonic() < end:
        time.sleep(0.05)
    assert hub.has_reached(store.seq())
    remote.close()
    store.close()


def test_a_writer_whose_server_is_killed_stores_what_it_was_given(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, f"sqlite:{tmp_path}/store.db"], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "sent\n"
    server.kill()
    server.wait()
    server.stdout.close()
    wanted = sum(len(line) for case in story.anthropic_cases() for line in story.exchanges("anthropic", case))
    end = time.monotonic() + 30
    while time.monotonic() < end and stored(tmp_path) < wanted:
        time.sleep(0.2)
    assert stored(tmp_path) == wanted
