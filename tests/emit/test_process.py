"""Forks, and the end of a program: nothing is delivered twice, nothing is left behind, nobody waits for ever."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_main import SOURCE

BEGIN = """
import os, sys, threading, time, atexit, logging, multiprocessing
logging.basicConfig(format="%(message)s", stream=sys.stderr)
from ramify.emit import Emitter, Memory, Away
emitter = Emitter()
def write(event):
    with open(sys.argv[1], "a") as file:
        file.write(f"{event['taskType']}\\n")
"""


def run(tmp_path: Path, program: str, seconds: float = 20) -> tuple[list[str], subprocess.CompletedProcess[str]]:
    path = tmp_path / "told"
    words = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", BEGIN + program, str(path)]
    told = subprocess.run(words, env={"PYTHONPATH": SOURCE}, capture_output=True, text=True, timeout=seconds)
    return path.read_text().split() if path.exists() else [], told


def test_the_end_of_a_program_delivers_what_waits(tmp_path: Path) -> None:
    lines, told = run(tmp_path, """
def slow(event):
    time.sleep(0.01)
    write(event)
async def later(event):
    slow(event)
emitter.subscribe(slow)
emitter.subscribe(later)
for number in range(20):
    emitter.status("a", f"t{number}", "working")
""")
    assert (told.returncode, told.stderr) == (0, "")
    assert sorted(lines) == sorted([f"t{number}" for number in range(20)] * 2)


def test_an_emitter_that_is_gone_has_its_events_delivered_and_leaves_no_thread(tmp_path: Path) -> None:
    lines, told = run(tmp_path, """
def ask():
    own = Emitter()
    own.subscribe(lambda event: (time.sleep(0.05), write(event)))
    own.status("a", "first", "working")
    own.status("a", "second", "working")
ask()
for _ in range(200):
    time.sleep(0.02)
    if threading.active_count() == 1:
        break
assert threading.active_count() == 1
ask()
""")
    assert (told.returncode, told.stderr) == (0, "")
    assert lines == ["first", "second"] * 2


def test_what_is_told_while_the_program_ends_is_delivered(tmp_path: Path) -> None:
    lines, told = run(tmp_path, """
emitter.subscribe(write)
atexit.register(emitter.status, "a", "late", "working")
emitter.status("a", "early", "working")
""")
    assert (told.returncode, told.stderr) == (0, "")
    assert lines == ["early", "late"]


def test_a_subscriber_that_never_returns_delays_the_end_by_a_bounded_time_and_is_said(tmp_path: Path) -> None:
    _, told = run(tmp_path, """
from ramify.emit import ending
ending.EXIT_SECONDS = 0.5
emitter.subscribe(lambda event: time.sleep(100))
emitter.status("a", "t", "working")
emitter.status("a", "t", "working")
""", 10)
    assert told.returncode == 0
    assert told.stderr == "2 events could not be delivered before the program ended\n"


def test_a_child_after_a_fork_tells_its_own_events_and_none_of_its_parent(tmp_path: Path) -> None:
    lines, told = run(tmp_path, """
gate = threading.Event()
def gated(event):
    gate.wait(10)
    write(event)
memory = Memory()
emitter.subscribe(memory)
emitter.subscribe(gated)
emitter.status("a", "parent", "working")
time.sleep(0.05)
before = memory.events[0]["eventId"]
child = os.fork()
gate.set()
emitter.status("a", "child" if child == 0 else "parent", "working")
assert emitter.flush(5)
assert memory.events[-1]["eventId"].split("_")[1] != before.split("_")[1] or child
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
""")
    assert (told.returncode, told.stderr) == (0, "")
    assert sorted(lines) == ["child", "parent", "parent"]


def test_a_fork_while_threads_emit_never_hangs_the_child(tmp_path: Path) -> None:
    _, told = run(tmp_path, """
emitter.subscribe(Memory())
emitter.subscribe(lambda event: None, limit=10**6, limit_bytes=10**10)
async def later(event): pass
emitter.subscribe(later, limit=10**6, limit_bytes=10**10)
over = False
def work():
    while not over:
        emitter.status("a", "t", "working")
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(30):
    child = os.fork()
    if child == 0:
        for _ in range(20):
            emitter.status("a", "t", "working")
        os._exit(0 if emitter.flush(5) else 1)
    end = time.monotonic() + 10
    done = (0, 0)
    while done[0] == 0 and time.monotonic() < end:
        done = os.waitpid(child, os.WNOHANG)
        time.sleep(0.001)
    assert done == (child, 0), done
over = True
for thread in threads: thread.join()
emitter.flush(50)
""", 60)
    assert (told.returncode, told.stderr) == (0, "")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_of_multiprocessing_delivers_before_it_ends(tmp_path: Path, method: str) -> None:
    module = tmp_path / "work.py"
    module.write_text(BEGIN + """
emitter.subscribe(write)
def work(name):
    emitter.status("a", name, "working")
""")
    lines, told = run(tmp_path, f"""
sys.path.insert(0, {str(tmp_path)!r})
import work
work.work("before")
assert work.emitter.flush(5)
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    children = [context.Process(target=work.work, args=(f"child{{n}}",)) for n in range(3)]
    for child in children: child.start()
    for child in children: child.join(15)
    assert [child.exitcode for child in children] == [0, 0, 0]
""", 60)
    assert (told.returncode, told.stderr) == (0, "")
    assert sorted(lines) == ["before", "child0", "child1", "child2"]
