"""Programs that record themselves: where it goes, and that nothing of it can hold them up or break them."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bench.ports import free_port
from ramify.model.observation import Record
from ramify.recording import place_of, server_of
from ramify.settings import load
from ramify.storage.sqlite import open_sqlite
from tests.cli.test_main import SOURCE, environment
from tests.peers.served import serve

CASE = Path(__file__).parent / "cases" / "claude" / "background" / "sdk_messages.jsonl"
LINES = CASE.read_text().splitlines()
SESSION = "215ec4ad-81fd-4df9-b4a1-880743ba260c"
PROGRAM = """
import asyncio, json, logging, os, signal, sys, time
import ramify
from ramify import recording
logging.basicConfig(format="%(levelname)s %(message)s")
async def messages():
    with open(sys.argv[1]) as lines:
        for line in lines:
            yield json.loads(line)
async def main():
    print(len([message async for message in ramify.record(messages(), prompt="Please.", {arguments})]))
{setting}
asyncio.run(main())
{then}
"""
HASTY = "recording.EXIT_SECONDS = 2.5"
KILLED = """
while any(outbox.waiting for outbox in recording._process._outboxes.values()):
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""
GOES_ON = "WARNING the last records are not stored yet; their writer goes on without this program\n"


def run(
    home: Path, arguments: str = "", setting: str = "", then: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    world = environment(home, **({"RAMIFY_PORT": str(free_port())} | variables))
    program = PROGRAM.format(arguments=arguments, setting=setting, then=then)
    quiet = ["-W", "ignore::ResourceWarning"] if setting else []  # a process is left behind on purpose
    words = [sys.executable, "-W", "error", *quiet, "-c", program, str(CASE)]
    return subprocess.run(words, env=world, capture_output=True, text=True, timeout=60)


def stored(path: Path) -> list[Record]:
    store = open_sqlite(f"sqlite:{path}")
    try:
        return [seen for _, seen in store.observations(0) if isinstance(seen, Record)]
    finally:
        store.close()


def stored_soon(path: Path, count: int) -> list[Record]:
    for _ in range(200):
        if path.exists() and len(found := stored(path)) >= count:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{count} records never came")


def as_recorded(line: str) -> Any:
    """Some classes have no session; the recorder knows it."""
    message = json.loads(line)
    inner = message.get("data", {}).get("session_id")
    return message if inner or message.get("session_id") else message | {"session_id": SESSION}


def test_without_a_server_everything_is_in_the_local_store_when_the_program_has_ended(tmp_path: Path) -> None:
    told = run(tmp_path)
    assert (told.returncode, told.stdout, told.stderr) == (0, f"{len(LINES)}\n", "")
    prompt, *messages = stored(tmp_path / "ramify" / "ramify.db")
    assert json.loads(prompt.body)["message"] == {"role": "user", "content": "Please."}
    assert [json.loads(seen.body) for seen in messages] == [as_recorded(line) for line in LINES]
    assert {(seen.project, seen.source, seen.format) for seen in messages} == {("default", "stream", "sdk")}
    assert [seen.at for seen in messages] == sorted(seen.at for seen in messages)


def test_recording_the_same_messages_again_adds_none(tmp_path: Path) -> None:
    for _ in range(2):
        assert run(tmp_path, 'project="billing"').returncode == 0
    messages = [seen for seen in stored(tmp_path / "ramify" / "ramify.db") if seen.format == "sdk"]
    assert len(messages) == len(LINES)
    assert {seen.project for seen in messages} == {"billing"}


async def test_a_server_that_is_named_gets_everything_and_the_local_store_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with serve("http://127.0.0.1:9", tmp_path) as server:
        told = run(home, f'server="{server.url}"')
        assert (told.returncode, told.stderr) == (0, "")
        assert len(stored_soon(tmp_path / "ramify.db", len(LINES) + 1)) == len(LINES) + 1
    assert not home.exists()


async def test_a_server_is_used_by_itself_only_where_it_has_the_same_store(tmp_path: Path) -> None:
    async with serve("http://127.0.0.1:9", tmp_path) as server:
        port = {"RAMIFY_PORT": server.url.rpartition(":")[2]}
        assert server_of(load({"store": server.store}, port)) is not None
        assert server_of(load({"store": f"sqlite:{tmp_path}/other.db"}, port)) is None
        told = run(tmp_path, f'store="{server.store}"', **port)
        assert (told.returncode, told.stderr) == (0, "")
        stored_soon(tmp_path / "ramify.db", len(LINES) + 1)
        await server.settled(0)
        assert (await server.ask("health"))["capture"]["stored"] == len(LINES) + 1
    assert server_of(load({"store": server.store}, port)) is None


def test_a_server_that_is_dead_costs_the_program_nothing_but_the_records(tmp_path: Path) -> None:
    told = run(tmp_path, setting=HASTY, RAMIFY_SERVER=f"http://127.0.0.1:{free_port()}")
    assert (told.returncode, told.stdout) == (0, f"{len(LINES)}\n")
    waits, lost = told.stderr.splitlines()
    assert waits.startswith("WARNING records wait: no server answers at http://127.0.0.1:")
    assert lost == f"WARNING {len(LINES) + 1} records could not be delivered before the program ended"


def test_a_store_that_is_held_by_somebody_holds_nobody_up_and_gets_everything_later(tmp_path: Path) -> None:
    """The store is let go only after the program has ended: if the program waited for it, this would fail."""
    path = tmp_path / "ramify" / "ramify.db"
    assert run(tmp_path).returncode == 0
    with sqlite3.connect(path, isolation_level=None) as holder:
        holder.execute("begin exclusive")
        told = run(tmp_path, 'project="later"', setting=HASTY)
        assert (told.returncode, told.stdout, told.stderr) == (0, f"{len(LINES)}\n", GOES_ON)
        holder.execute("rollback")
    holder.close()
    stored_soon(path, 2 * (len(LINES) + 1))


def test_a_program_that_is_killed_has_stored_what_was_handed_over(tmp_path: Path) -> None:
    told = run(tmp_path, then=KILLED)
    assert told.returncode == -signal.SIGKILL
    stored_soon(tmp_path / "ramify" / "ramify.db", len(LINES) + 1)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"RAMIFY_STORE": "memory:"}, "a program cannot record into 'memory:'"),
        ({"RAMIFY_SERVER": "nonsense"}, "server must be an address"),
        ({"RAMIFY_CONFIG": "/nowhere/ramify.toml"}, "there is no settings file"),
    ],
    ids=["store", "server", "file"],
)
def test_settings_that_are_wrong_are_said_and_the_program_goes_on(
    tmp_path: Path, variables: dict[str, str], words: str
) -> None:
    told = run(tmp_path, **variables)
    assert (told.returncode, told.stdout) == (0, f"{len(LINES)}\n")
    assert told.stderr.startswith("ERROR nothing is recorded: ")
    assert words in told.stderr


def test_a_store_that_can_never_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    told = run(tmp_path, setting=HASTY, RAMIFY_STORE=f"sqlite:{tmp_path}/file/ramify.db")
    assert (told.returncode, told.stdout) == (0, f"{len(LINES)}\n")
    assert told.stderr == GOES_ON


def test_importing_ramify_loads_nothing() -> None:
    words = "import sys, ramify; print({'msgspec', 'aiohttp', 'sqlite3', 'claude_agent_sdk', 'asyncio'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", words], env={"PYTHONPATH": SOURCE}, capture_output=True, text=True)
    assert told.stdout == "set()\n"


def test_recording_loads_neither_a_store_nor_a_server() -> None:
    words = "import sys, ramify; ramify.record; print({'aiohttp', 'sqlite3', 'claude_agent_sdk'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", words], env={"PYTHONPATH": SOURCE}, capture_output=True, text=True)
    assert told.stdout == "set()\n"


def test_a_store_has_a_place_only_where_that_is_the_same_in_every_folder() -> None:
    assert place_of("sqlite:/data/ramify.db") == Path("/data/ramify.db")
    assert place_of("sqlite:~/ramify.db") == Path.home() / "ramify.db"
    assert place_of("sqlite:ramify.db") is None
    assert place_of("memory:") is None
    assert place_of("") is None
