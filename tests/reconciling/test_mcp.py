"""Reconciliation with real agents over MCP, in both versions of the protocol."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace

import ramify
from ramify.app import Ramify
from ramify.emit import Emitter
from ramify.emit.server import ServerSink
from ramify.reconciling.alone import LEASE, Periodic, alone
from ramify.reconciling.mcp_agent import McpAgent
from ramify.wiring import now
from tests.reconciling.world import Log, seller
from tests.web.test_events import client, serving

pytest.importorskip("mcp")
from mcp.client.client import Client


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with seller() as found:
        yield found


@asynccontextmanager
async def agent(url: str, alone: bool = False) -> AsyncIterator[McpAgent]:
    async with aiohttp.ClientSession() as http, McpAgent(http, url, {}, alone=alone) as found:
        yield found


async def order(url: str) -> str:
    async with agent(url) as seller:
        answer = await seller.call("sync_creatives", {"creative": "c"})
        return str(answer["structuredContent"]["task_id"])


async def tell(url: str, tool: str, **arguments: Any) -> None:
    async with agent(url) as seller:
        answer = await seller.call(tool, arguments)
        assert not answer.get("isError"), answer


@pytest.mark.parametrize("alone", [False, True], ids=["2025-11-25", "2026-07-28"])
async def test_both_versions_of_the_protocol_are_spoken(url: str, alone: bool) -> None:
    async with agent(url, alone) as seller:
        assert {"get_task_status", "list_tasks"} <= await seller.tools()
        answer = await seller.call("get_task_status", {"task_id": "nothing"})
    assert json.dumps(answer["structuredContent"]).count("TASK_NOT_FOUND") == 1


async def test_what_was_missed_is_corrected_once(url: str) -> None:
    log = Log()
    log.introduce("seller", "mcp", url)
    natives = [await order(url) for _ in range(5)]
    for native in natives:
        log.submitted("seller", native)
    for native, status in zip(natives, ("completed", "failed", "working", "canceled"), strict=False):
        await tell(url, "advance", task_id=native, status=status)
    report = await log.reconciler.run()
    assert (report.checked, report.corrected, report.unchanged, report.errors) == (5, 4, 1, [])
    assert [log.status(native) for native in natives] == ["completed", "failed", "working", "canceled", "submitted"]
    assert sorted(log.told())[0] == (natives[0], "submitted", "completed")
    again = await log.reconciler.run()
    assert (again.checked, again.corrected, again.unchanged) == (2, 0, 2)
    assert len(log.told()) == 4


async def test_one_task_alone_is_asked_for_by_its_id(url: str) -> None:
    log = Log()
    log.introduce("seller", "mcp", url)
    native = await order(url)
    log.submitted("seller", native)
    await tell(url, "advance", task_id=native, status="input_required")
    assert (await log.reconciler.run()).corrected == 1
    assert log.status(native) == "input-required"
    assert (await log.reconciler.run(grace_seconds=1)).checked == 0  # it waits for us: asking does not move it


async def test_an_agent_that_forgot_a_task_is_believed_the_third_time(url: str) -> None:
    log = Log()
    log.introduce("seller", "mcp", url)
    native = await order(url)
    log.submitted("seller", native)
    await tell(url, "forget", task_id=native)
    for status in ("submitted", "submitted", "unknown"):
        report = await log.reconciler.run()
        assert (report.missing, log.status(native)) == (1, status)
    log.events.append_many("s", [{"eventType": "status_update", "operationId": "op", "agentId": "seller", "taskType": "sync_creatives",
                                  "agentTaskId": native, "status": "completed", "source": "webhook"}])  # fmt: skip
    assert log.status(native) == "completed"


async def test_a_failed_or_cut_list_concludes_nothing(url: str) -> None:
    log = Log()
    log.introduce("seller", "mcp", url)
    natives = [await order(url) for _ in range(3)]
    for native in natives:
        log.submitted("seller", native)
        await tell(url, "advance", task_id=native, status="completed")
    for mood in ({"broken": True}, {"cut": True}):
        await tell(url, "feel", **mood)
        try:
            report = await log.reconciler.run()
        finally:
            await tell(url, "feel")
        assert (report.checked, report.missing, [one["agentId"] for one in report.errors]) == (0, 0, ["seller"])
        assert {log.status(native) for native in natives} == {"submitted"}
    assert (await log.reconciler.run()).corrected == 3


async def test_an_agent_that_is_not_there_is_an_error_and_asked_more_seldom() -> None:
    log = Log()
    log.introduce("gone", "mcp", "http://127.0.0.1:9/mcp")
    log.submitted("gone", "t1")
    log.submitted("nowhere", "t1")
    report = await log.reconciler.run()
    assert [one["agentId"] for one in report.errors] == ["gone"]
    assert [one["agentId"] for one in report.unnamed] == ["nowhere"]
    assert (await log.reconciler.run(skip=frozenset({"gone", "nowhere"}))).errors == []
    assert (await log.reconciler.run(grace_seconds=30)).errors == []


def test_the_periodic_run_backs_off_and_goes_on() -> None:
    log = Log()
    log.introduce("gone", "mcp", "http://127.0.0.1:9/mcp")
    periodic = Periodic(log.ingest, log.reconciler, now, every_seconds=0.2)
    log.submitted("gone", "t1")
    log.reconciler._clock = lambda: now() + 60_000_000
    periodic.turn()
    assert periodic._failures == {"gone": 1}
    periodic.turn()
    assert periodic._failures == {"gone": 1}, "it is left alone for a while"


async def test_only_one_run_at_a_time_over_one_store(tmp_path: Path) -> None:
    log, other = Log(f"sqlite:{tmp_path}/s.db"), Log(f"sqlite:{tmp_path}/s.db")
    assert log.ingest.claim(LEASE, "somebody", now(), now() + 60_000_000)
    with pytest.raises(Exception, match="under way"):
        await alone(other.ingest, other.reconciler, now)
    assert log.ingest.claim(LEASE, "somebody", now(), 0)
    assert (await alone(other.ingest, other.reconciler, now))["checked"] == 0


async def test_the_act_over_http_and_the_command_say_what_they_did(url: str, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/s.db"
    natives = [await order(url), await order(url)]
    base = {"operationId": "op", "agentId": "seller", "taskType": "sync_creatives", "agentUri": url, "protocol": "mcp"}
    async with serving(store, agent={"seller": url}) as (_, address), client(address) as mine:
        for native in natives:
            await mine.post({**base, "eventType": "protocol_response", "payload": {"task_id": native, "status": "submitted"}})
        await tell(url, "advance", task_id=natives[0], status="completed")
        report = await mine.data("POST", "/api/reconcile")
        assert (report["checked"], report["corrected"], report["errors"]) == (2, 1, [])
        async with client(address) as other:
            assert (await other.data("POST", "/api/reconcile"))["checked"] == 0
    await tell(url, "advance", task_id=natives[1], status="rejected")
    opened = Ramify.open(store)
    guarded = replace(opened.settings, require_token=True)
    assert [one["agentId"] for one in (await asyncio.to_thread(opened.reconcile, guarded))["unnamed"]] == ["seller"]
    report = await asyncio.to_thread(opened.reconcile)  # only programs of this machine can have said that it answers here
    assert (report["checked"], report["corrected"], report["unnamed"]) == (1, 1, [])
    opened.close()


async def test_five_creatives_to_three_real_agents_are_one_operation_with_fifteen_tasks(tmp_path: Path) -> None:
    """The real SDK's client, captured by our own instruments, into a real server; then the webhooks never come."""
    with seller("a") as a, seller("b") as b, seller("c") as c:
        agents = {"a": a, "b": b, "c": c}
        async with serving(f"sqlite:{tmp_path}/s.db", agent=agents) as (_, address), client(address) as mine:
            await mine.data("POST", "/api/events", json=[{"kind": "agent", "op": None, "agent": name, "protocol": "mcp", "uri": url} for name, url in agents.items()])
            [cookie] = [one for one in mine.http.cookie_jar if one.key == "ramify_session"]
            emitter = Emitter()
            emitter.subscribe(ServerSink(address, session=cookie.value))
            with ramify.instrument(emitter=emitter), ramify.operation("Sync 5 creatives", id="op_sync"):
                for url in agents.values():
                    async with Client(url) as there:
                        await asyncio.gather(*(there.call_tool("sync_creatives", {"creative": f"cr_{number}"}) for number in range(5)))
            assert await asyncio.to_thread(emitter.flush, 20)
            operation = (await mine.data("GET", "/api/operations/op_sync"))["operation"]
            assert (operation["taskCount"], len(operation["agents"]), operation["status"]) == (15, 3, "submitted")
            for url in agents.values():
                for number in range(5):
                    await tell(url, "advance", task_id=f"task_{number + 1:04}", status="completed")
            report = await mine.data("POST", "/api/reconcile")
            assert (report["checked"], report["corrected"], report["errors"]) == (15, 15, [])
            operation = (await mine.data("GET", "/api/operations/op_sync"))["operation"]
            assert (operation["statusCounts"], operation["status"]) == ({"completed": 15}, "completed")
            emitter.close()
