"""Events into a store: records of the log, written as they were told, once each."""

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from bench.ports import free_port
from ramify.app import Ramify
from ramify.emit import Emitter, operation, session
from ramify.model.ids import session_name
from ramify.model.mistake import UserMistake
from ramify.recording import StoreSink
from tests.cli.test_main import environment
from tests.peers.served import serve
from tests.test_recording import stored, stored_soon

PROGRAM = """
import ramify
from ramify.emit import ending
ending.EXIT_SECONDS = 40  # others may use the machine as well
ramify.emitter.subscribe(ramify.StoreSink({arguments}))
with ramify.operation("Sync", id="op_1"), ramify.emitter.call("seller", "sync", params={{"n": 5}}) as call:
    call.answer({{"status": "submitted", "task_id": "t1"}})
"""


def run(home: Path, arguments: str = "", **variables: str) -> None:
    world = environment(home, **({"RAMIFY_PORT": str(free_port())} | variables))
    told = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM.format(arguments=arguments)], env=world, capture_output=True, text=True, timeout=60
    )
    assert (told.returncode, told.stderr) == (0, "")


def test_a_program_that_ends_has_its_events_in_the_store(tmp_path: Path) -> None:
    run(tmp_path, 'project="ads"')
    request, response = stored(tmp_path / "ramify" / "ramify.db")
    assert {(seen.project, seen.source, seen.format) for seen in (request, response)} == {("ads", "emitter", "adcp")}
    first, second = json.loads(request.body), json.loads(response.body)
    assert (first["eventType"], first["operationId"], first["payload"]) == ("protocol_request", "op_1", {"params": {"n": 5}})
    assert (second["eventType"], second["status"], second["agentTaskId"]) == ("protocol_response", "submitted", "t1")
    assert (request.place, response.place) == (first["eventId"], second["eventId"])


async def test_a_server_that_runs_on_the_store_gets_them(tmp_path: Path) -> None:
    async with serve("http://127.0.0.1:9", tmp_path) as server:
        run(tmp_path, f'server="{server.url}"')
        assert len(stored_soon(tmp_path / "ramify.db", 2)) == 2


def test_an_event_that_is_told_twice_is_stored_once(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with Emitter() as emitter:
        emitter.subscribe(StoreSink(f"sqlite:{path}"))
        for _ in range(2):
            emitter.emit({"eventType": "status_update", "operationId": "o", "agentId": "a", "taskType": "t", "status": "working", "eventId": "e1", "timestamp": "x"})
        assert emitter.flush(30)
        assert [seen.place for seen in stored(path)] == ["e1"]
        emitter.status("a", "t", "completed")  # a writer that was waited for has ended, and another begins
        assert emitter.flush(30)
        assert len(stored(path)) == 2


def test_settings_that_are_wrong_are_said_at_once() -> None:
    with pytest.raises(UserMistake, match="cannot record into 'memory:'"):
        StoreSink("memory:")


def test_secrets_are_not_in_the_store(tmp_path: Path) -> None:
    with Emitter() as emitter:
        emitter.subscribe(StoreSink(f"sqlite:{tmp_path}/events.db"))
        config = {"url": "https://me.test", "token": "seventeen-chars-17", "authentication": {"credentials": "twenty-two-characters-2"}}
        emitter.request("seller", "sync", params={"push_notification_config": config}, headers={"Authorization": "Bearer abcdefghijklm"})
        assert emitter.flush(30)
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"push_notification_config" in stored(tmp_path / "events.db")[0].body
    for secret in (b"seventeen-chars-17", b"twenty-two-characters-2", b"abcdefghijklm"):
        assert secret not in files + stored(tmp_path / "events.db")[0].body


def test_events_stand_in_the_session_of_their_context_and_its_key_is_nowhere(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/events.db"
    key = "a-key-that-some-server-gave"
    with Emitter() as emitter:
        emitter.subscribe(StoreSink(store))
        with session(key):
            emitter.request("seller", "sync", operation_id="op_mine")
        emitter.request("seller", "sync", operation_id="op_nobodys")
        emitter.request("seller", "sync", operation_id="op_made_up", ramify={"session": "s-of-somebody-else"})
        assert emitter.flush(30)
    opened = Ramify.open(store)
    try:
        found = {one["operationId"]: one["session"] for one in opened.questions.operations()["items"]}
    finally:
        opened.close()
    assert found == {"op_mine": session_name(key), "op_nobodys": "local", "op_made_up": "local"}
    assert key.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def left() -> Generator[int]:
    yield 1
    yield 2


def test_a_stream_that_its_caller_leaves_has_an_unknown_end(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/events.db"
    with Emitter() as emitter, operation(id="op_1"):
        emitter.subscribe(StoreSink(store))
        stream = emitter.call("seller", "sync")(left)()
        assert next(stream) == 1
        stream.close()
        assert emitter.flush(30)
    opened = Ramify.open(store)
    try:
        [found] = opened.questions.operations()["items"]
    finally:
        opened.close()
    assert (found["status"], found["statusCounts"]) == ("unknown", {"unknown": 1})
