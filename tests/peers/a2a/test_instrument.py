"""Agents that call `ramify.instrument()`: what they ask of each other is linked exactly, though they announce nothing."""

import asyncio
import json
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.ports import free_port
from ramify.app import Ramify
from ramify.model.observation import Record
from tests.cli.test_main import SOURCE
from tests.peers.a2a.environments import HERE, python_of
from tests.peers.a2a.following import each
from tests.peers.a2a.world import ask, environment, listens, task_of
from tests.peers.served import Server, serve

pytestmark = pytest.mark.peer
PACKAGES = sysconfig.get_paths()["purelib"]


@asynccontextmanager
async def started(version: str, port: int, children: str, folder: Path) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        *(str(python_of(version)), str(HERE / "instrumented.py"), SOURCE, PACKAGES, f"agent_{version}.py", str(port)),
        *("--children", children),
        env=environment() | {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "RAMIFY_PORT": "1"},
    )
    try:
        await listens(port, process)
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def instrumented(folder: Path) -> AsyncIterator[tuple[Server, str]]:
    """Two agents that give their work to each other, both through us."""
    new, old, ours = free_port(), free_port(), free_port()
    front = f"http://127.0.0.1:{ours}/a2a"
    named = f"new=http://127.0.0.1:{new},old=http://127.0.0.1:{old}"
    async with (
        serve("http://127.0.0.1:9", folder, RAMIFY_A2A=named, port=ours) as server,
        started("1", new, f"{front}/old", folder),
        started("03", old, f"{front}/new", folder),
    ):
        yield server, front


async def tree_of(server: Server, task: str, tasks: int) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while True:
            async with server.http.get(f"{server.url}/api/tasks/{task}/tree") as response:
                tree: dict[str, Any] = await response.json()
            if response.status == 200 and len(list(each(tree))) == tasks and {one["status"] for one in each(tree)} == {"completed"}:
                return tree
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(("version", "name", "other"), [("1", "new", "old"), ("03", "old", "new")])
async def test_a_delegation_across_agents_and_versions_is_linked_by_the_stamp(version: str, name: str, other: str, tmp_path: Path) -> None:
    async with instrumented(tmp_path) as (server, front):
        task = task_of(await ask(version, f"{front}/{name}", "stream", "plan depth=3 fanout=1 announce=never"))
        tree = await tree_of(server, task, 4)
        twice = [
            task_of(lines)
            for lines in await asyncio.gather(
                *(ask(version, f"{front}/{name}", "stream", f"plan title=T{number} depth=1 announce=never") for number in range(2))
            )
        ]
        apart = [await tree_of(server, one, 2) for one in twice]
    assert [one["agent"] for one in each(tree)] == [name, other, name, other]
    assert [(one["link"]["rule"], one["link"]["certainty"]) for one in list(each(tree))[1:]] == [("parentTaskId", 1.0)] * 3
    # Two at once in one process: each call belongs to the task that was worked on, not to the other.
    assert [(one["prompt"].split()[1], one["children"][0]["prompt"].split()[1]) for one in apart] == [
        (f"title=T{number}", f"title=T{number}.0") for number in range(2)
    ]
    store = Ramify.open(server.store)
    frames = [json.loads(seen.body) for _, seen in store.store.observations() if isinstance(seen, Record)]
    store.close()
    sends = [frame for frame in frames if frame["kind"] == "request" and "message" in ((frame.get("body") or {}).get("params") or {})]
    stamps = [(frame["body"]["params"]["message"].get("metadata") or {}).get("parentTaskId") for frame in sends]
    assert sum(stamp is not None for stamp in stamps) == 5  # not on those of the clients
    assert all(("traceparent" in frame["headers"]) == (stamp is not None) for frame, stamp in zip(sends, stamps, strict=True))


@pytest.mark.parametrize("version", ["1", "03"])
async def test_a_stamp_adds_to_what_the_program_says_and_changes_nothing_of_it(version: str, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(str(python_of(version)), str(HERE / "stamps.py"), SOURCE, PACKAGES, version),
        env=environment() | {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "RAMIFY_PORT": "1"},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    sent = json.loads(output)
    metadata = [one["message"].get("metadata") or {} for one in sent]
    legacy = [{"parentTaskId": "parent"}] if version == "03" else []
    assert metadata == [{}, {"own": "kept", "parentTaskId": "parent"}, {}, {"parentTaskId": "stamped"}, *legacy, {}]
    assert sent[1]["trace"].startswith("00-")
    assert sent[0]["trace"].startswith("00-")  # a call that is told, of no task
    assert sent[-1]["trace"] is None
