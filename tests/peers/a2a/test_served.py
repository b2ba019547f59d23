"""Real agents behind `ramify serve`: who gave work to whom passes by, and lies in the store without its secrets."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.ports import free_port
from ramify.model.observation import Record
from ramify.storage.sqlite import open_sqlite
from tests.capture.world import bytes_server, read_head
from tests.peers.a2a.world import agent, ask, client, states, task_of
from tests.peers.served import Server, serve

pytestmark = pytest.mark.peer
SECRET = "a-token-of-the-hook"


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[Server, str]]:
    """A new agent that gives its work to an old one; both are reached through us only."""
    new, old, ours = free_port(), free_port(), free_port()
    a2a = f"new=http://127.0.0.1:{new},old=http://127.0.0.1:{old}"
    front = f"http://127.0.0.1:{ours}/a2a"
    async with (
        agent("1", "--children", f"{front}/old", port=new),
        agent("03", "--children", f"{front}/old", port=old),
        serve("http://127.0.0.1:9", folder, RAMIFY_A2A=a2a, port=ours) as server,
    ):
        yield server, front


def stored(server: Server) -> list[dict[str, Any]]:
    store = open_sqlite(server.store)
    try:
        return [json.loads(seen.body) for _, seen in store.observations() if isinstance(seen, Record) and seen.format == "a2a"]
    finally:
        store.close()


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def test_a_tree_over_two_agents_is_stored_frame_by_frame_and_live(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, front):
        async with client("1", f"{front}/new", "stream", "plan depth=2 fanout=2 announce=each sleep=1") as lines:
            await anext(lines)
            for _ in range(100):
                if any(frame["kind"] == "sse" for frame in stored(server)):
                    break
                await asyncio.sleep(0.02)
            else:
                raise AssertionError("nothing is stored while the stream runs")
            rest = [line async for line in lines]
        assert states(rest)[-1] == "completed"
        await server.settled(0)
        frames = stored(server)
    made = [frame for frame in frames if frame["kind"] == "request" and frame.get("body", {}).get("method", "").lower().endswith(("stream", "streamingmessage"))]
    assert sorted(frame["agent"] for frame in made) == ["new", *["old"] * 6]
    assert len({(frame["agent"], frame["connection"], frame["seq"]) for frame in frames}) == len(frames)
    ends = [frame for frame in frames if frame["kind"] in ("end", "abort")]
    assert [frame["kind"] for frame in ends] == ["end"] * 7


@pytest.mark.parametrize("announce", ["together", "each", "twice", "late", "last", "never"])
async def test_who_gave_work_to_whom_is_known_however_it_is_announced(tmp_path: Path, announce: str) -> None:
    async with served(tmp_path) as (server, front):
        done = await ask("1", f"{front}/new", "stream", f"plan depth=2 fanout=2 context=own announce={announce}")
        await server.settled(0)
        tree = await server.ask(f"tasks/{task_of(done)}/tree")
        tasks = await server.all("tasks")
    assert len(tasks) == 7
    assert {task["status"] for task in tasks} == {"completed"}
    assert shape(tree) == (("new", []) if announce == "never" else ("new", [("old", [("old", []), ("old", [])])] * 2))


def shape(tree: dict[str, Any]) -> tuple[str, list[Any]]:
    return tree["agent"], [shape(child) for child in tree["children"]]


async def test_tokens_of_push_notifications_never_reach_the_disk(tmp_path: Path) -> None:
    posted: list[bytes] = []

    async def hook(reader: Any, writer: Any) -> None:
        posted.append(await read_head(reader))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async with bytes_server(hook) as url, served(tmp_path) as (server, front):
        for version, name in (("1", "new"), ("03", "old")):
            options = ("--push", f"{url}/hook?token={SECRET}", "--token", SECRET, "--header", f"x-api-key={SECRET}")
            done = await ask(version, f"{front}/{name}", "stream", "plan", *options)
            assert states(done)[-1] == "completed"
            await ask(version, f"{front}/{name}", "get", "--task", task_of(done))
        await server.settled(0)
        bodies = json.dumps(stored(server))
    assert any(SECRET.encode() in head for head in posted)  # it was used
    assert "[redacted]" in bodies
    assert SECRET not in bodies
    assert SECRET.encode() not in everything_in(tmp_path)
