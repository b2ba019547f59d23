"""Real MCP clients against a real agent in a process of its own: each call is told once, and works as without us."""

import asyncio
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import ramify
from bench.ports import free_port
from ramify.capture.instruments.carrier import Carrier, carrier
from ramify.emit import Emitter, Memory
from tests.cli.test_main import environment
from tests.test_recording import stored

mcp = pytest.importorskip("mcp")
from mcp.client.client import Client  # noqa: E402
from mcp.client.session import ClientSession  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

pytestmark = pytest.mark.peer
AGENT = Path(__file__).parent / "mcp_agent.py"


def started(name: str) -> tuple[subprocess.Popen[bytes], str]:
    port = free_port()
    process = subprocess.Popen([sys.executable, str(AGENT), name, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/mcp"
    for _ in range(300):
        try:
            urllib.request.urlopen(url, timeout=1)
        except urllib.error.HTTPError:
            return process, url
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise AssertionError("the agent never answered")


@pytest.fixture(scope="module")
def agent() -> Iterator[str]:
    process, url = started("seller_agent")
    yield url
    process.kill()
    process.wait()


@pytest.fixture
def memory() -> Iterator[Memory]:
    emitter, found = Emitter(), Memory()
    emitter.subscribe(found)
    with ramify.instrument(emitter=emitter):
        yield found
    assert emitter.stats()["unencodable"] == 0


@asynccontextmanager
async def session(url: str) -> AsyncIterator[ClientSession]:
    async with streamable_http_client(url) as streams, ClientSession(streams[0], streams[1]) as found:
        await found.initialize()
        yield found


CLIENTS = [Client, session]


@pytest.mark.parametrize("connect", CLIENTS, ids=["Client", "ClientSession"])
async def test_a_call_is_a_request_and_its_answer(agent: str, memory: Memory, connect: Any) -> None:
    async with connect(agent) as client:
        with ramify.operation("Sync", id="op_1"):
            result = await client.call_tool("sync_creatives", {"count": 5})
    assert result.structured_content == {"status": "submitted", "task_id": "task_0005"}
    request, response = memory.events
    assert request.items() >= {
        "eventType": "protocol_request", "operationId": "op_1", "operationName": "Sync", "agentId": "seller_agent",
        "taskType": "sync_creatives", "protocol": "mcp", "method": "tools/call", "payload": {"params": {"count": 5}},
    }.items()
    assert response.items() >= {
        "eventType": "protocol_response", "operationId": "op_1", "status": "submitted", "agentTaskId": "task_0005",
        "callId": request["callId"], "agentId": "seller_agent",
    }.items()
    assert response["payload"]["structuredContent"] == result.structured_content
    assert 0 < response["durationMs"] < 30_000
    assert request.get("agentUri") == (agent if connect is Client else None)


@pytest.mark.parametrize("connect", CLIENTS, ids=["Client", "ClientSession"])
async def test_progress_is_told_where_the_caller_does_not_listen(agent: str, memory: Memory, connect: Any) -> None:
    theirs: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        theirs.append(progress)

    async with connect(agent) as client:
        await client.call_tool("steps", {})
        told = memory.events
        await client.call_tool("steps", {}, progress_callback=listen)
    progress = [event for event in told if event["eventType"] == "progress"]
    assert [(event["progress"], event["total"]) for event in progress] == [(0, 3), (1, 3), (2, 3)]
    assert progress[0]["message"] == '{"subtask": "part_0", "state": "working"}'
    assert {event["callId"] for event in told} == {told[0]["callId"]}
    assert theirs == [0, 1, 2]
    assert [event["eventType"] for event in memory.events[len(told) :]] == ["protocol_request", "protocol_response"]


@pytest.mark.parametrize("connect", CLIENTS, ids=["Client", "ClientSession"])
async def test_a_trace_goes_along_and_is_told(agent: str, memory: Memory, connect: Any) -> None:
    own = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    async with connect(agent) as client:
        with ramify.operation():
            first = await client.call_tool("echo_meta", {})
            second = await client.call_tool("echo_meta", {})
            third = await client.call_tool("echo_meta", {}, meta={"traceparent": own})
    sent = [result.structured_content["traceparent"] for result in (first, second, third)]
    assert sent == [event["traceparent"] for event in memory.events if event["eventType"] == "protocol_request"]
    assert sent[0][:36] == sent[1][:36]  # one operation is one trace
    assert sent[0] != sent[1]
    assert sent[2] == own


async def test_a_tool_that_fails_has_failed_and_the_caller_gets_its_answer(agent: str, memory: Memory) -> None:
    async with Client(agent) as client:
        result = await client.call_tool("fails", {})
    assert result.is_error
    assert memory.events[1].items() >= {"eventType": "protocol_response", "status": "failed"}.items()


async def test_a_deadline_is_an_error_of_which_nobody_knows_the_end(agent: str, memory: Memory) -> None:
    async with Client(agent) as client:
        with pytest.raises(Exception, match="timed out") as seen:
            await client.call_tool("sleeps", {"seconds": 5}, read_timeout_seconds=0.2)
    assert memory.events[1].items() >= {
        "eventType": "protocol_error", "raised": f"{type(seen.value).__name__}.RequestTimeout", "status": "unknown",
    }.items()


async def test_a_cancelled_call_is_told_and_stays_cancelled(agent: str, memory: Memory) -> None:
    async with Client(agent) as client:
        task = asyncio.create_task(client.call_tool("sleeps", {"seconds": 5}))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [event["eventType"] for event in memory.events] == ["protocol_request", "protocol_error"]
    assert memory.events[1]["raised"] == "CancelledError"


async def test_many_calls_at_once_are_kept_apart(agent: str, memory: Memory) -> None:
    async def ask(client: Client, number: int) -> None:
        async with ramify.operation(id=f"op_{number}"):
            await client.call_tool("sync_creatives", {"count": number})

    async with Client(agent) as client:
        await asyncio.gather(*(ask(client, number) for number in range(15)))
    answers = [event for event in memory.events if event["eventType"] == "protocol_response"]
    assert sorted((event["operationId"], event["agentTaskId"]) for event in answers) == sorted(
        (f"op_{number}", f"task_{number:04}") for number in range(15)
    )


async def test_an_agent_that_dies_during_a_call_is_an_error(memory: Memory) -> None:
    process, url = started("mortal")
    try:
        with pytest.raises(BaseException):  # noqa: B017, PT011 - which one is the SDK's affair
            async with Client(url, mode="legacy") as client:
                task = asyncio.create_task(client.call_tool("sleeps", {"seconds": 20}, read_timeout_seconds=5))
                await asyncio.sleep(0.5)
                process.kill()
                await task
    finally:
        process.kill()
        process.wait()
    assert [event["eventType"] for event in memory.events] == ["protocol_request", "protocol_error"]
    assert any(word in memory.events[1]["raised"] for word in ("Timeout", "Cancel", "ConnectionReset", "ReadError", "RemoteProtocol"))


async def test_what_the_caller_gets_is_the_same_without_us(agent: str, memory: Memory) -> None:
    async with Client(agent) as client:
        ours = await client.call_tool("get_products", {"brief": "tea"})
        ramify.uninstrument()
        theirs = await client.call_tool("get_products", {"brief": "tea"})
        with pytest.raises(TypeError):
            await client.call_tool()  # type: ignore[call-arg]
    assert ours == theirs
    assert len(memory) == 2


async def test_without_a_listener_nothing_is_added_to_a_request(agent: str) -> None:
    with ramify.instrument(emitter=Emitter()):
        async with Client(agent) as client:
            result = await client.call_tool("echo_meta", {})
    assert result.structured_content == {"traceparent": None, "header": None}


async def test_a_call_that_only_carries_one_of_another_library_is_told_by_that_one(agent: str, memory: Memory) -> None:
    emitter = Emitter()
    emitter.subscribe(memory)
    upper = emitter.call("seller", "sync", protocol="mcp")
    async with Client(agent) as client:
        for call in (upper, None):
            token = carrier.set(Carrier(object(), call))
            try:
                await client.call_tool("steps", {})
                meta = await client.call_tool("echo_meta", {})
            finally:
                carrier.reset(token)
            assert meta.structured_content["traceparent"] == (call.traceparent() if call else None)
    assert [(event["eventType"], event["callId"]) for event in memory.events] == [("progress", upper.id)] * 3


PROGRAM = """
import asyncio, sys, ramify
from ramify.emit import ending
ending.EXIT_SECONDS = 40  # others may use the machine as well
ramify.instrument(project="ads")
from mcp.client.client import Client
async def main():
    async with Client(sys.argv[1]) as client:
        with ramify.operation("Sync", id="op_1"):
            await client.call_tool("sync_creatives", {"count": 5})
asyncio.run(main())
"""


def test_one_line_in_a_program_and_its_calls_are_in_the_store_when_it_has_ended(agent: str, tmp_path: Path) -> None:
    world = environment(tmp_path, RAMIFY_PORT=str(free_port()))
    told = subprocess.run([sys.executable, "-c", PROGRAM, agent], env=world, capture_output=True, text=True, timeout=60)
    assert (told.returncode, told.stderr) == (0, "")
    events = [json.loads(seen.body) for seen in stored(tmp_path / "ramify" / "ramify.db")]
    assert [(event["eventType"], event["operationId"], event["agentId"]) for event in events] == [
        ("protocol_request", "op_1", "seller_agent"), ("protocol_response", "op_1", "seller_agent"),
    ]
