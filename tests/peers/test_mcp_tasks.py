"""Tasks of MCP's own, by the real SDK on both sides: told as open work, however the caller takes the answer, and asked about later."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

import ramify
from ramify.emit import Emitter, ServerSink
from tests.peers.log import Log, states
from tests.peers.served import serve
from tests.peers.started import started

pytest.importorskip("mcp")
from mcp.client.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim, UnexpectedClaimedResult
from mcp.types import CallToolResult, Result, TextContent

pytestmark = pytest.mark.peer
AGENT = Path(__file__).parent / "mcp_tasks_agent.py"
NEW = "2026-07-28"


class TaskAnswer(Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class Tasks(ClientExtension):
    """`waits`: seconds until it gives up waiting; then the call ends without an answer."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, waits: float) -> None:
        self._waits = waits

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=TaskAnswer, resolve=self.resolve)]

    async def resolve(self, answer: TaskAnswer, context: ClaimContext) -> CallToolResult:
        await asyncio.sleep(self._waits)
        if self._waits:
            raise TimeoutError("it takes too long")
        return CallToolResult(content=[TextContent(type="text", text="done")], structured_content={"result": "done"})


async def order(url: str) -> None:
    """Three times: resolved by the extension, given up by it, and without anybody who could take a task for an answer."""
    async with Client(url, extensions=[Tasks(0)]) as client:
        assert (await client.call_tool("sync_creatives", {"number": 1})).content
    async with Client(url, extensions=[Tasks(0.2)]) as client:
        with pytest.raises(TimeoutError):
            await client.call_tool("sync_creatives", {"number": 2})
        with pytest.raises(UnexpectedClaimedResult):
            await client.session.call_tool("sync_creatives", {"number": 3})
        claimed = await client.session.call_tool("sync_creatives", {"number": 4}, allow_claimed=True)
    assert isinstance(claimed, TaskAnswer)


async def advance(url: str, task: str, status: str) -> None:
    async with Client(url) as client:
        await client.call_tool("advance", {"task_id": task, "status": status})


@pytest.mark.parametrize("version", [(), (NEW,)], ids=["any", "new"])
async def test_a_task_is_open_until_its_agent_says_otherwise(version: tuple[str, ...], tmp_path: Path) -> None:
    with started(AGENT, "mcp_alpha", *version) as url:
        await check(url, tmp_path)


async def check(url: str, folder: Path) -> None:
    async with serve("http://127.0.0.1:9", folder, RAMIFY_AGENT=f"mcp_alpha={url}") as server:
        log = await Log.open(server)
        with Emitter() as emitter:
            emitter.subscribe(ServerSink(server.url, session=log.key))
            with ramify.instrument(emitter=emitter), ramify.operation(id="op_1"):
                await order(url)
            assert await emitter.aflush(30)
        found = await log.operation("op_1")
        assert states(found) == ["completed", "working", "working", "working"]
        assert [task["native"]["transportTaskId"] for task in found["tasks"]] == [f"task_{number:04}" for number in range(1, 5)]
        await advance(url, "task_0002", "completed")
        await advance(url, "task_0003", "cancelled")
        await advance(url, "task_0004", "forgotten")
        report = await log.reconcile()
        assert (report["checked"], report["corrected"], report["missing"], report["errors"]) == (3, 2, 1, [])
        assert states(await log.operation("op_1")) == ["completed", "completed", "canceled", "working"]
        for status in ("working", "unknown"):
            await log.reconcile()
            assert states(await log.operation("op_1"))[3] == status
