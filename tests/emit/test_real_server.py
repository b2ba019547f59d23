"""Events to `ramify serve` as a process: killed and started again, dead from the start, held up, with too much to keep."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bench.soaked import Server
from ramify.emit import Emitter, ServerSink, session
from tests.capture.world import until
from tests.cli.test_main import SOURCE

NOWHERE = "http://127.0.0.1:9"


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Server]:
    server = Server(folder, NOWHERE)
    try:
        await server.start()
        yield server
    finally:
        server.kill()
        server.log.close()


def tell(emitter: Emitter, numbers: range) -> float:
    """The longest that a caller was held up, in seconds."""
    longest = 0.0
    for number in numbers:
        began = time.perf_counter()
        emitter.request("seller", "sync", params=number, operation_id="op")
        longest = max(longest, time.perf_counter() - began)
    return longest


async def stored(server: Server, key: str | None) -> list[dict[str, Any]]:
    """Oldest first, page by page, as a reader of the session gets them."""
    found: list[dict[str, Any]] = []
    async with aiohttp.ClientSession() as http:
        while True:
            after = found[-1]["seq"] if found else 0
            url = f"{server.address}/api/events?limit=1000&after_seq={after}"
            async with http.get(url, headers={"X-Ramify-Session": key or ""}) as answer:
                page = (await answer.json())["data"]["events"]
            if not page:
                return found
            found += page


def numbers(events: list[dict[str, Any]]) -> list[int]:
    return [event["payload"]["params"] for event in events]


def row(emitter: Emitter) -> dict[str, Any]:
    found: dict[str, Any] = emitter.stats()["subscribers"][0]
    return found


async def test_everything_arrives_in_order_in_the_session_that_the_server_gave(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        with Emitter() as emitter:
            sink = ServerSink(server.address)
            emitter.subscribe(sink)
            tell(emitter, range(1500))
            with session("a name that the server never gave"):
                emitter.request("seller", "sync", params=-1)
            emitter.request("", "sync")  # names no agent
            assert await emitter.aflush(60)
            assert (row(emitter)["stored"], row(emitter)["rejected"], row(emitter)["dropped"]) == (1501, 1, 0)
        events = await stored(server, sink.session)
        assert numbers(events) == list(range(1500))
        assert await stored(server, "a name that the server never gave") == []


async def test_a_server_that_is_killed_and_started_again_has_each_event_once_and_in_order(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        with Emitter() as emitter:
            sink = ServerSink(server.address, seconds=5)
            emitter.subscribe(sink)
            for blow in range(3):
                longest = tell(emitter, range(blow * 500, blow * 500 + 500))
                await until(lambda sent=blow * 500: row(emitter)["delivered"] > sent)
                server.kill()
                longest = max(longest, tell(emitter, range(10_000 + blow, 10_001 + blow)))
                assert longest < 0.5
                await server.start()
            assert await emitter.aflush(60)
            assert (row(emitter)["waiting"], row(emitter)["dropped"], row(emitter)["failed"]) == (0, 0, 0)
        told = numbers(await stored(server, sink.session))
    expected = [number for blow in range(3) for number in (*range(blow * 500, blow * 500 + 500), 10_000 + blow)]
    assert told == expected


async def test_a_server_that_is_dead_from_the_start_gets_everything_when_it_comes(tmp_path: Path) -> None:
    server = Server(tmp_path, NOWHERE)
    emitter = Emitter()
    sink = ServerSink(server.address)
    emitter.subscribe(sink)
    assert tell(emitter, range(500)) < 0.5
    assert emitter.flush(0.3) is False
    assert (row(emitter)["waiting"], row(emitter)["dropped"]) == (500, 0)
    assert "no server answers" in row(emitter)["problem"]
    try:
        await server.start()
        assert await emitter.aflush(60)
        assert numbers(await stored(server, sink.session)) == list(range(500))
        assert row(emitter)["problem"] is None
    finally:
        emitter.close()
        server.kill()
        server.log.close()


async def test_a_server_that_is_held_up_holds_up_nobody_and_what_does_not_fit_is_counted(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        with Emitter() as emitter:
            sink = ServerSink(server.address, seconds=0.5)
            emitter.subscribe(sink, limit=100)
            tell(emitter, range(1))
            assert await emitter.aflush(30)
            hold(server, signal.SIGSTOP)
            try:
                assert tell(emitter, range(1, 1000)) < 0.5
                await asyncio.sleep(1.2)  # a batch was given up, and is sent again
                assert "no server answers" in row(emitter)["problem"]
            finally:
                hold(server, signal.SIGCONT)
            assert await emitter.aflush(60)
            counts = row(emitter)
        told = numbers(await stored(server, sink.session))
    assert told[0] == 0
    assert told[-100:] == list(range(900, 1000))
    assert told == sorted(set(told))
    assert counts["dropped"] > 0
    assert len(told) + counts["dropped"] == counts["taken"] == 1000
    assert counts["stored"] + counts["duplicates"] == counts["delivered"] == len(told)


def hold(server: Server, number: signal.Signals) -> None:
    assert server._child is not None
    os.kill(server._child.pid, number)


@pytest.mark.parametrize("limit", [10, 1000])
def test_what_a_program_could_not_deliver_is_said_when_it_ends(limit: int) -> None:
    program = (
        f"import ramify; ramify.emitter.subscribe(ramify.ServerSink('{NOWHERE}'), limit={limit})\n"
        "for number in range(300): ramify.emitter.request('seller', 'sync', params=number)"
    )
    told = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": SOURCE}, capture_output=True, text=True, timeout=20)
    assert told.returncode == 0
    lost = [int(line.split(" ")[0]) for line in told.stderr.splitlines() if line.split(" ")[0].isdigit()]
    assert sum(lost) == 300
    assert ("events were lost" in told.stderr) == (limit == 10)
