"""A seller over MCP, streamable HTTP, that pushes: `python market_agent.py NAME PORT SKEW [SECRET]`. Its clock is wrong by SKEW seconds.

What becomes of a creative is told by `how`; ids of tasks follow from its number, so that all sellers have the same ones.
"""

import asyncio
import hashlib
import hmac
import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

from mcp.server.mcpserver import MCPServer

name, port, skew, secret, *_ = *sys.argv[1:], ""
server = MCPServer(name)
tasks: dict[str, dict[str, Any]] = {}
receipts: list[list[Any]] = []
working: set[asyncio.Task[None]] = set()


def now() -> str:
    return (datetime.now(UTC) + timedelta(seconds=float(skew))).isoformat().replace("+00:00", "Z")


def post(url: str, body: dict[str, Any]) -> list[Any]:
    raw = json.dumps(body, indent=1).encode()
    headers = {"content-type": "application/json"}
    if secret:
        stamp = str(int(time.time()))
        signed = hmac.new(secret.encode(), f"{stamp}.".encode() + raw, hashlib.sha256).hexdigest()
        headers |= {"X-ADCP-Timestamp": stamp, "X-ADCP-Signature": f"sha256={signed}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, raw, headers), timeout=30) as answer:
            return [body["status"], answer.status, json.loads(answer.read())]
    except urllib.error.HTTPError as refused:
        return [body["status"], refused.code, json.loads(refused.read())]


class Work:
    """One task, and the pushes about it."""

    def __init__(self, id: str, push: dict[str, str]) -> None:
        self.id, self.address, self.operation = id, push["url"], push["operation_id"]

    def is_now(self, status: str) -> None:
        tasks[self.id] = {"task_id": self.id, "task_type": "sync_creatives", "status": status, "updated_at": now()}

    def notice(self, status: str, number: int) -> dict[str, Any]:
        return {
            "idempotency_key": f"whk_{name}_{self.id}_{number:08}", "operation_id": self.operation, "task_id": self.id,
            "task_type": "sync_creatives", "status": status, "timestamp": now(),
        }  # fmt: skip

    async def push(self, *notices: dict[str, Any]) -> None:
        for notice in notices:
            told = await asyncio.to_thread(post, self.address, notice)
            receipts.append([self.id, *told])

    async def twice_and_late(self) -> None:
        first, done = self.notice("working", 1), self.notice("completed", 2)
        await self.push(first, done, done, self.notice("working", 3))

    async def contradicted(self) -> None:
        done = self.notice("completed", 1)
        await self.push(done, done | {"status": "failed"})


@server.tool()
async def sync_creatives(number: int, how: str, push_notification_config: dict[str, str]) -> dict[str, Any]:
    if how == "now":
        return {"creatives": [{"creative_id": f"c{number}", "action": "created"}]}
    work = Work(f"task_{number:04}", push_notification_config)
    work.is_now("failed" if how == "lost and failed" else "completed")
    match how:
        case "early":
            await work.push(work.notice("working", 1), work.notice("completed", 2))
        case "twice and late":
            go_on(work.twice_and_late())
        case "contradicted":
            go_on(work.contradicted())
    return {"status": "submitted", "task_id": work.id}


def go_on(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(after_the_answer(work))
    working.add(task)
    task.add_done_callback(working.discard)


async def after_the_answer(work: Coroutine[Any, Any, None]) -> None:
    await asyncio.sleep(0.5)
    await work


@server.tool()
async def get_task_status(task_id: str) -> dict[str, Any]:
    return tasks.get(task_id) or {"adcp_error": {"code": "TASK_NOT_FOUND", "message": f"no task {task_id}"}}


@server.tool()
async def answers_to_pushes() -> dict[str, Any]:
    if working:
        await asyncio.gather(*working)
    return {"receipts": receipts}


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(port))
