"""`ramify hook` as a client runs it: silent, quick, and never a veto, whatever is wrong."""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.ports import free_port
from ramify.cli.hooking import EVENTS
from tests.cli.test_main import environment
from tests.peers.served import serve
from tests.test_recording import stored, stored_soon

STOP = b'{"hook_event_name": "Stop", "session_id": "s1"}\n'


def hook(home: Path, *words: str, told: bytes = STOP, **variables: str) -> subprocess.CompletedProcess[bytes]:
    world = environment(home, **({"RAMIFY_PORT": str(free_port())} | variables))
    command = [sys.executable, "-m", "ramify", *words]
    return subprocess.run(command, input=told, env=world, capture_output=True, timeout=30)


def silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_without_a_server_a_hook_is_in_the_local_store(tmp_path: Path) -> None:
    before = time.time_ns() // 1000
    assert silent(hook(tmp_path, "hook", "--project", "billing"))
    (seen,) = stored_soon(tmp_path / "ramify" / "ramify.db", 1)
    assert (seen.body, seen.format, seen.source, seen.project) == (STOP, "claude-hook", "hook", "billing")
    assert before <= seen.at <= time.time_ns() // 1000


async def test_with_a_server_it_is_the_servers(tmp_path: Path) -> None:
    async with serve("http://127.0.0.1:9", tmp_path) as server:
        assert silent(hook(tmp_path / "home", "hook", "--server", server.url))
        (seen,) = stored_soon(tmp_path / "ramify.db", 1)
    assert seen.body == STOP
    assert not (tmp_path / "home").exists()


def test_a_server_that_says_nothing_holds_no_client_up(tmp_path: Path) -> None:
    """It listens and never answers; only when the command has ended does it go away."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = "http://{}:{}".format(*listener.getsockname())
        listener.settimeout(10)
        began = time.monotonic()
        assert silent(hook(tmp_path, "hook", "--server", address))
        assert time.monotonic() - began < 5  # as long as it would wait for the server; alone it takes about 50 ms
        asked, _ = listener.accept()
        asked.close()


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (["--no-such-option"], {}),
        (["stray"], {}),
        (["--port", "none"], {}),
        ([], {"RAMIFY_STORE": "nonsense:"}),
        ([], {"RAMIFY_CONFIG": "/nowhere/ramify.toml"}),
        ([], {"RAMIFY_SERVER": "http://127.0.0.1:1"}),
    ],
    ids=["option", "word", "value", "store", "file", "server"],
)
def test_whatever_is_wrong_the_client_goes_on_and_hears_nothing(
    tmp_path: Path, words: list[str], variables: dict[str, str]
) -> None:
    """Exit status 2 would be a veto, and any word on standard output could be read as an order."""
    assert silent(hook(tmp_path, "hook", *words, **variables))
    told = hook(tmp_path, "hook", "--wait", *words, **variables)
    assert told.returncode == 2
    assert told.stderr.startswith(b"ramify: ") or told.stderr.startswith(b"ramify hook ")


@pytest.mark.parametrize("told", [b"", b"no json", b"\xff\xfe"])
def test_whatever_it_is_told_is_kept(tmp_path: Path, told: bytes) -> None:
    assert silent(hook(tmp_path, "hook", "--wait", "--at", "7", told=told))
    (seen,) = stored(tmp_path / "ramify" / "ramify.db")
    assert (seen.body, seen.at) == (told, 7)


def test_the_settings_name_every_event_and_the_command(tmp_path: Path) -> None:
    told = hook(tmp_path, "hooks")
    settings = json.loads(told.stdout)["hooks"]
    assert tuple(settings) == EVENTS
    (one,) = {json.dumps(rule) for rules in settings.values() for rule in rules}
    assert json.loads(one)["hooks"][0]["command"].endswith("ramify hook || true")
    assert b"settings.json" in told.stderr


def test_the_settings_for_posting_name_the_server_and_never_the_token(tmp_path: Path) -> None:
    told = hook(tmp_path, "hooks", "--http", "--port", "9000", "--token", "a-secret")
    rule = json.loads(told.stdout)["hooks"]["Stop"][0]["hooks"][0]
    assert (rule["type"], rule["url"]) == ("http", "http://127.0.0.1:9000/api/hooks/claude")
    assert rule["headers"] == {"Authorization": "Bearer $RAMIFY_TOKEN"}
    assert b"a-secret" not in told.stdout
