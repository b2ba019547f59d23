"""Calls of real A2A agents as operations of a real server: told by the client, pushed by the agents, asked for where pushes got lost."""

import asyncio
import json
import sysconfig
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bench.ports import free_port
from tests.born import run
from tests.cli.test_main import SOURCE
from tests.peers.a2a.environments import HERE
from tests.peers.a2a.world import agent, brood_of, environment
from tests.peers.log import Log, states
from tests.peers.served import serve

pytestmark = pytest.mark.peer
PACKAGES = sysconfig.get_paths()["purelib"]
NOWHERE = "http://127.0.0.1:9"
NAMES = {"1": "Sample agent 1", "03": "Sample agent 0.3"}
BOTH = pytest.mark.parametrize("version", ["1", "03"])


async def operate(version: str, log: Log, operation: str, *arguments: str) -> list[dict[str, Any]]:
    """What the client got, call by call."""
    words = (SOURCE, PACKAGES, log.server.url, log.key, operation, f"client_{version}.py", *arguments)
    done = await asyncio.to_thread(run, brood_of(version), str(HERE / "operating.py"), words, environment())
    assert done.returncode == 0, done.stderr
    *lines, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert (last["stats"]["unencodable"], last["stats"]["dropped"]) == (0, 0)
    assert [line for line in lines if "error" in line] == []
    return lines


@BOTH
async def test_each_message_is_a_call_with_what_was_streamed_and_looking_is_no_work(version: str, tmp_path: Path) -> None:
    async with serve(NOWHERE, tmp_path) as server, agent(version) as only:
        log = await Log.open(server)
        await operate(version, log, "op_1", only.url, "stream", "plan", "plan fail=0")
        await operate(version, log, "op_1", only.url, "send", "plan")
        await operate(version, log, "op_1", only.url, "send", "plan bare=0")  # answered at once, without any task
        first = (await log.operation("op_1"))["tasks"][0]
        await operate(version, log, "op_1", only.url, "get", "--task", first["native"]["transportTaskId"])
        found = await log.operation("op_1")
    assert states(found) == ["completed", "failed", "completed", "completed"]
    assert (found["operation"]["agents"], found["operation"]["taskCount"]) == ([NAMES[version]], 4)
    kinds = Counter((one["eventType"], one["source"]) for one in found["events"])
    assert kinds["protocol_request", "client"] == kinds["protocol_response", "client"] == 4
    assert kinds["status_update", "stream"] >= 4
    assert kinds["status_update", "poll"] == 1
    assert found["operation"]["flags"] == []
    assert {one["protocol"] for one in found["events"]} == {"a2a"}
    answer = next(one for one in found["events"] if one["eventType"] == "protocol_response")
    assert answer["httpStatus"] == 200
    assert answer["traceparent"].startswith("00-")


@BOTH
async def test_what_an_agent_pushes_by_its_sdk_ends_the_task(version: str, tmp_path: Path) -> None:
    async with serve(NOWHERE, tmp_path) as server, agent(version) as only:
        log = await Log.open(server)
        path = f"{server.url}/webhook/message/{quote(NAMES[version])}/op_1"
        texts = ("plan sleep=1", "plan sleep=1 fail=0", "plan sleep=1 ask=0")
        await operate(version, log, "op_1", only.url, "send", *texts, "--immediately", "--push", path)
        found = await log.until("op_1", lambda detail: sorted(states(detail)) == ["completed", "failed", "input-required"])
    assert found["operation"]["taskCount"] == 3
    pushed = [one for one in found["events"] if one["source"] == "webhook"]
    assert len(pushed) >= 6
    assert {flag for one in pushed for flag in one["flags"]} <= {"unverified", "late", "reemission"}
    assert {one["task"] for one in pushed} == {task["id"] for task in found["tasks"]}


@BOTH
async def test_lost_pushes_are_found_by_asking_and_an_agent_that_is_away_or_forgot_proves_nothing(version: str, tmp_path: Path) -> None:
    port = free_port()
    async with serve(NOWHERE, tmp_path, RAMIFY_AGENT=f"{NAMES[version]}=http://127.0.0.1:{port}") as server:
        log = await Log.open(server)
        async with AsyncExitStack() as running:
            only = await running.enter_async_context(agent(version, port=port))
            await operate(version, log, "op_1", only.url, "send", "plan sleep=4", "plan sleep=4 fail=0", "plan sleep=30", "--immediately")
            assert set(states(await log.operation("op_1"))) <= {"submitted", "working"}
            await asyncio.sleep(7)
            report = await log.reconcile()
            assert (report["checked"], report["missing"], report["anomalies"], report["errors"]) == (3, 0, 0, [])
            assert report["corrected"] >= 2
            found = await log.operation("op_1")
            assert states(found) == ["completed", "failed", "working"]
            told = [one for one in found["events"] if one["source"] == "reconciler"]
            assert {(one["agentId"], one["previousStatus"] in ("submitted", "working")) for one in told} == {(NAMES[version], True)}
            again = await log.reconcile()
            assert (again["checked"], again["corrected"], again["unchanged"]) == (1, 0, 1)
        away = await log.reconcile()
        assert (away["checked"], [error["agentId"] for error in away["errors"]]) == (0, [NAMES[version]])
        assert states(await log.operation("op_1")) == ["completed", "failed", "working"]
        async with agent(version, port=port):  # which remembers nothing
            for status in ("working", "working", "unknown"):
                assert (await log.reconcile())["missing"] == 1
                assert states(await log.operation("op_1")) == ["completed", "failed", status]
