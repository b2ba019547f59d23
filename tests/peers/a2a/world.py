"""Real agents and real clients as processes on this machine, and what the clients saw."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bench.ports import free_port
from tests.born import Born, born, brood
from tests.peers.a2a.environments import HERE, python_of

SECONDS = 60.0
Line = dict[str, Any]
IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIMES = re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)")


@dataclass
class Agent:
    url: str
    version: str
    process: Born

    def kill(self) -> None:
        self.process.kill()


@asynccontextmanager
async def agent(version: str, *options: str, port: int = 0) -> AsyncIterator[Agent]:
    port = port or free_port()
    process = await started(version, "agent", str(port), *options, heard=False)
    try:
        await listens(port, process)
        yield Agent(f"http://127.0.0.1:{port}", version, process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def brood_of(version: str) -> str:
    return brood(str(python_of(version)), str(HERE), f"agent_{version}", f"client_{version}")


async def started(version: str, part: str, *arguments: str, heard: bool) -> Born:
    return await born(brood_of(version), str(HERE / f"{part}_{version}.py"), arguments, environment(), heard)


def environment() -> dict[str, str]:
    """No proxy of the person who runs the tests, and none of our own packages."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "NO_PROXY": "*"}


async def listens(port: int, process: asyncio.subprocess.Process | Born) -> None:
    for _ in range(600):
        assert process.returncode is None, "the agent ended"
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            await asyncio.sleep(0.05)
    raise AssertionError("the agent does not listen")


@asynccontextmanager
async def client(version: str, url: str, verb: str, *more: str) -> AsyncIterator[AsyncIterator[Line]]:
    """A client that runs: its lines as they come. It is ended when nobody reads on."""
    process = await started(version, "client", url, verb, *more, heard=True)
    assert process.stdout is not None
    output = process.stdout

    async def lines() -> AsyncIterator[Line]:
        while line := await asyncio.wait_for(output.readline(), SECONDS):
            yield json.loads(line)

    try:
        yield lines()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def ask(version: str, url: str, verb: str, *more: str) -> list[Line]:
    """Everything that a client got."""
    async with client(version, url, verb, *more) as lines:
        return [line async for line in lines]


def alike(lines: Iterable[Line], url: str = "http://nowhere") -> list[Any]:
    """Without what differs from run to run: ids by the order in which they first stood there, no times, no address."""
    text = json.dumps([{name: line[name] for name in line if name not in ("at", "number")} for line in lines], sort_keys=True)
    text = text.replace(url, "agent")
    names: dict[str, str] = {}
    text = IDS.sub(lambda found: names.setdefault(found[0], f"id-{len(names)}"), text)
    plain: list[Any] = json.loads(TIMES.sub("time", text))
    return plain


def states(lines: Iterable[Line]) -> list[str]:
    """The states that were told, in either version's words."""
    found = re.findall(r'"state": "(?:TASK_STATE_)?([\w-]+)"', json.dumps([line.get("event") for line in lines]))
    return [state.lower().replace("_", "-") for state in found]


def task_of(lines: Iterable[Line]) -> str:
    """The task that the first event speaks of."""
    event = next(line["event"] for line in lines if "event" in line)
    found: str = event["task"]["id"] if "task" in event else event.get("id") or event.get("taskId", "")
    return found
