"""Reconciliation over A2A: the transport's task where it is the work, a skill where the work rides in it; both versions."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.reconciling.world import Log

NAMES = {"1.0": ("SendMessage", "GetTask", "ListTasks"), "0.3": ("message/send", "tasks/get", "tasks/list")}


class Scripted:
    """An agent that knows these states; `work` is asked by a skill, `tasks` by the protocol itself."""

    def __init__(self, version: str, tasks: dict[str, str], work: dict[str, str]) -> None:
        self.version, self.tasks, self.work = version, tasks, work
        self.asked: list[str] = []
        self.tokens: list[str] = []
        self.repeats = False
        self.riding: dict[str, str] = {}  # tasks that name the work in them

    async def answer(self, request: web.Request) -> web.Response:
        call = await request.json()
        self.asked.append(call["method"])
        self.tokens.append(request.headers.get("authorization", ""))
        if call["method"] not in NAMES[self.version]:
            return web.json_response({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32601, "message": "no such method"}})
        kind = NAMES[self.version].index(call["method"])
        found = (self.sent, self.task, self.listed)[kind](call["params"])
        return web.json_response({"jsonrpc": "2.0", "id": call["id"], **found})

    def task(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["id"] not in self.tasks:
            return {"error": {"code": -32001, "message": "Task not found"}}
        return {"result": self.shape(params["id"], self.tasks[params["id"]])}

    def shape(self, id: str, state: str) -> dict[str, Any]:
        written = f"TASK_STATE_{state.upper()}" if self.version == "1.0" else state
        task = {"id": id, "contextId": "c", "status": {"state": written, "timestamp": "2026-01-01T00:00:00Z"}}
        named = self.riding.get(id)
        data = {"task_id": named, "status": self.work[named]} if named else None
        return task | ({"artifacts": [{"artifactId": "x", "parts": [{"data": data}]}]} if data else {})

    def listed(self, params: dict[str, Any]) -> dict[str, Any]:
        start = int(params.get("pageToken") or 0)
        ids = list(self.tasks)[start : start + 40]
        token = "40" if self.repeats else str(start + 40) if start + 40 < len(self.tasks) else ""
        return {"result": {"tasks": [self.shape(id, self.tasks[id]) for id in ids], "nextPageToken": token, "totalSize": len(self.tasks)}}

    def sent(self, params: dict[str, Any]) -> dict[str, Any]:
        part = params["message"]["parts"][0]["data"]
        assert part["skill"] in ("get_task_status", "tasks_get")
        id = part["parameters"]["task_id"]
        data = {"task_id": id, "status": self.work[id]} if id in self.work else {"adcp_error": {"code": "TASK_NOT_FOUND"}}
        task = {**self.shape("a-new-one", "completed"), "artifacts": [{"artifactId": "x", "parts": [{"data": data}]}]}
        return {"result": {"task": task} if self.version == "1.0" else {"kind": "task", **task}}


@asynccontextmanager
async def served(agent: Scripted) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/rpc", agent.answer)
    async with TestServer(app, host="127.0.0.1") as server:
        yield str(server.make_url("/rpc"))


def carried(log: Log, native: str) -> None:
    log.submitted("seller", native, payload={"id": native, "status": {"state": "TASK_STATE_WORKING"}})


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_the_layer_that_works_is_asked(version: str) -> None:
    agent = Scripted(version, {"a1": "completed", "a2": "working"}, {"w1": "failed"})
    log = Log(environment={"RAMIFY_AGENT_TOKEN_SELLER": "for-the-agent"})
    async with served(agent) as url:
        log.introduce("seller", "a2a", url)
        for native in ("a1", "a2", "a3"):
            carried(log, native)
        log.submitted("seller", "w1", transportTaskId="a9")
        report = await log.reconciler.run()
    assert (report.checked, report.corrected, report.unchanged, report.missing, report.errors) == (4, 2, 1, 1, [])
    assert [log.status(native) for native in ("a1", "a2", "a3", "w1")] == ["completed", "working", "working", "failed"]
    assert set(agent.tokens) == {"Bearer for-the-agent"}


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_task_that_has_ended_and_names_the_work_in_it_leaves_that_open(version: str) -> None:
    agent = Scripted(version, {"a1": "completed"}, {"w1": "submitted"})
    agent.riding = {"a1": "w1"}
    log = Log()
    async with served(agent) as url:
        log.introduce("seller", "a2a", url)
        carried(log, "a1")
        assert (await log.reconciler.run()).corrected == 1
        assert log.status("w1") == "submitted"
        assert (await log.reconciler.run()).unchanged == 1
        agent.work["w1"] = "completed"
        await log.reconciler.run()
    assert log.status("w1") == "completed"


async def test_many_are_listed_page_by_page_and_a_token_that_repeats_concludes_nothing() -> None:
    agent = Scripted("1.0", {f"a{number}": "completed" for number in range(90)}, {})
    log = Log()
    async with served(agent) as url:
        log.introduce("seller", "a2a", url)
        for native in agent.tasks:
            carried(log, native)
        agent.repeats = True
        report = await log.reconciler.run()
        assert (report.checked, len(report.errors)) == (0, 1)
        agent.repeats = False
        report = await log.reconciler.run()
    assert (report.checked, report.corrected, report.errors) == (90, 90, [])
    assert "GetTask" not in agent.asked


@asynccontextmanager
async def hostile(agent: Scripted, card: Any, redirected: str = "") -> AsyncIterator[str]:
    """An agent whose card, or whose answer, leads elsewhere."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"location": redirected}) if redirected else await agent.answer(request)

    async def show(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"location": redirected}) if redirected else web.json_response(card)

    app = web.Application()
    app.router.add_post("/rpc", answer)
    app.router.add_get("/rpc/.well-known/agent-card.json", show)
    async with TestServer(app, host="127.0.0.1") as server:
        yield str(server.make_url("/rpc"))


@pytest.mark.parametrize("card", [
    {"supportedInterfaces": [{"protocolBinding": "JSONRPC", "protocolVersion": "1.0", "url": "{victim}"}]},
    {"url": "{victim}"}, {"supportedInterfaces": 7, "url": "http://[broken"},
], ids=["1.0", "0.3", "rubbish"])  # fmt: skip
async def test_a_card_that_leads_to_another_host_is_not_followed_there(card: dict[str, Any]) -> None:
    agent, victim = Scripted("1.0", {"a1": "completed"}, {}), Scripted("1.0", {"a1": "failed"}, {})
    log = Log(environment={"RAMIFY_AGENT_TOKEN_SELLER": "for-the-agent"})
    async with served(victim) as elsewhere:
        told = json.loads(json.dumps(card).replace("{victim}", elsewhere))
        async with hostile(agent, told) as url:
            log.introduce("seller", "a2a", url)
            carried(log, "a1")
            report = await log.reconciler.run()
    assert (victim.asked, report.errors, log.status("a1")) == ([], [], "completed")


async def test_a_redirection_is_not_followed() -> None:
    victim = Scripted("1.0", {"a1": "completed"}, {})
    log = Log(environment={"RAMIFY_AGENT_TOKEN_SELLER": "for-the-agent"})
    async with served(victim) as elsewhere, hostile(victim, {}, elsewhere) as url:
        log.introduce("seller", "a2a", url)
        carried(log, "a1")
        report = await log.reconciler.run()
    assert (victim.asked, len(report.errors), log.status("a1")) == ([], 1, "working")
