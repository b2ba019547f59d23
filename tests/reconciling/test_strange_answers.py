"""Agents that answer what nobody expects: it is said, nothing is concluded, and the others are asked all the same."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.reconciling.test_a2a import Scripted, carried
from tests.reconciling.world import Log

TOOLS = [{"name": "list_tasks"}, {"name": "get_task_status"}]
HANDS = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}


def listing(**more: Any) -> dict[str, Any]:
    tasks = [{"task_id": f"t{number}", "status": "completed", **more} for number in range(2)]
    return {"structuredContent": {"tasks": tasks, "pagination": {"has_more": False}}}


@asynccontextmanager
async def answering(results: dict[str, Any], streams: bool = False) -> AsyncIterator[str]:
    async def answer(request: web.Request) -> web.Response:
        call = await request.json()
        if "id" not in call:
            return web.Response(status=202)
        body = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": results[call["method"]]})
        if streams:
            return web.Response(text=f"event: message\r\ndata: {body}\r\n\r\n", content_type="text/event-stream")
        return web.Response(text=body, content_type="application/json")

    app = web.Application()
    app.router.add_post("/rpc", answer)
    async with TestServer(app, host="127.0.0.1") as server:
        yield str(server.make_url("/rpc"))


@pytest.mark.parametrize(
    ("strange", "streams", "reason"),
    [
        ({"tools/call": listing(text="x" * 1_000_000)}, True, ""),
        ({"initialize": {"protocolVersion": "1\r\nx: y"}}, False, ""),
        ({"initialize": {"protocolVersion": ["1"]}}, False, ""),
        ({"tools/list": {"tools": 5}}, False, "its tools are no list"),
        ({"tools/list": {"tools": None}}, False, "it has neither get_task_status nor list_tasks"),
        ({"tools/call": listing(text="x" * 9_000_000)}, True, "the answer is larger than 16777216 bytes"),
    ],
)
async def test_one_agents_answer_costs_no_other_agent(strange: dict[str, Any], streams: bool, reason: str) -> None:
    log = Log()
    usual = {"initialize": HANDS, "tools/list": {"tools": TOOLS}, "tools/call": listing()}
    async with answering(usual) as plain, answering(usual | strange, streams) as odd:
        for name, url in (("plain", plain), ("odd", odd)):
            log.introduce(name, "mcp", url)
            for native in ("t0", "t1"):
                log.submitted(name, native)
        report = await log.reconciler.run()
    assert report.corrected == (2 if reason else 4)
    assert [one["reason"] for one in report.errors] == ([reason] if reason else [])


async def test_a_state_without_a_time_is_believed_each_time_that_a_task_comes_to_it() -> None:
    log = Log()
    working = {"structuredContent": {"task_id": "t0", "status": "working"}}
    pushed = {"operationId": "op", "agentId": "x", "taskType": "sync", "eventType": "status_update", "agentTaskId": "t0", "source": "webhook"}
    async with answering({"initialize": HANDS, "tools/list": {"tools": TOOLS}, "tools/call": working}) as url:
        log.introduce("x", "mcp", url)
        log.submitted("x", "t0")
        for _ in range(3):
            assert (await log.reconciler.run()).corrected == 1
            assert log.status("t0") == "working"
            assert (await log.reconciler.run()).unchanged == 1
            log.events.append_many("s", [{**pushed, "status": "input-required"}])
    assert len(log.told()) == 3


async def test_that_a_task_is_forgotten_is_stored_once_and_again_after_a_sign_of_life() -> None:
    log = Log()
    nothing = {"structuredContent": {"adcp_error": {"code": "TASK_NOT_FOUND"}}}
    async with answering({"initialize": HANDS, "tools/list": {"tools": TOOLS}, "tools/call": nothing}) as url:
        log.introduce("x", "mcp", url)
        log.submitted("x", "t0")
        for _ in range(6):
            assert (await log.reconciler.run()).missing == 1
        assert (log.status("t0"), len(log.told())) == ("unknown", 1)
        log.events.append_many("s", [{"operationId": "op", "agentId": "x", "taskType": "sync", "eventType": "status_update", "agentTaskId": "t0", "status": "working"}])
        assert log.status("t0") == "working"
        for _ in range(3):
            await log.reconciler.run()
    assert (log.status("t0"), len(log.told())) == ("unknown", 2)


@pytest.mark.parametrize(("tasks", "corrected"), [(None, 52), (5, 0)])
async def test_a_list_of_tasks_that_is_none(tasks: Any, corrected: int) -> None:
    agent = Scripted("1.0", {f"a{number}": "completed" for number in range(52)}, {})
    agent.listed = lambda params: {"result": {"tasks": tasks}}  # type: ignore[method-assign]
    log = Log()
    async with shown(agent, [b'{"supportedInterfaces": []}']) as url:
        log.introduce("seller", "a2a", url)
        for native in agent.tasks:
            carried(log, native)
        report = await log.reconciler.run()
    assert (report.corrected, len(report.errors)) == (corrected, not corrected)


async def test_a_card_that_comes_in_pieces_is_read_whole() -> None:
    agent = Scripted("0.3", {"a1": "completed"}, {})
    log = Log()
    async with shown(agent, [b'{"url": ', b'"/elsewhere"}']) as url:
        log.introduce("seller", "a2a", url)
        carried(log, "a1")
        await log.reconciler.run()
    assert (agent.asked, log.status("a1")) == (["tasks/get"], "completed")


@asynccontextmanager
async def shown(agent: Scripted, card: list[bytes]) -> AsyncIterator[str]:
    async def show(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        for piece in card:
            await response.write(piece)
            await asyncio.sleep(0.05)
        return response

    app = web.Application()
    app.router.add_post("/rpc", agent.answer)
    app.router.add_post("/elsewhere", agent.answer)
    app.router.add_get("/rpc/.well-known/agent-card.json", show)
    async with TestServer(app, host="127.0.0.1") as server:
        yield str(server.make_url("/rpc"))
