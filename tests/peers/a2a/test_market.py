"""Five creatives to three real agents, two over MCP and one over A2A: one operation, fifteen tasks, each in its true state.

Some are done at once, some tell by webhook: before the answer, twice, too late, against themselves, or not at all. The
sellers' clocks are wrong, and their tasks have the same ids.
"""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import ramify
from ramify.emit import Emitter, ServerSink
from tests.peers.a2a.test_events import NAMES, NOWHERE, operate
from tests.peers.a2a.world import agent
from tests.peers.log import Log, states, summary
from tests.peers.served import Server, serve
from tests.peers.started import started

pytest.importorskip("mcp")
from mcp.client.client import Client

pytestmark = pytest.mark.peer
SELLER = Path(__file__).parents[1] / "market_agent.py"
SECRET = "shared-with-alpha"
GAMMA = NAMES["1"]
HOW = {1: "now", 2: "early", 3: "twice and late", 4: "lost", 5: "contradicted"}


async def sell(url: str, name: str, log: Log, how: dict[int, str]) -> list[Any]:
    """All five at once; then what its pushes were answered."""
    push = {"url": f"{log.server.url}/webhook/sync_creatives/{name}/op_5x3", "operation_id": "op_5x3"}
    async with Client(url) as client:
        with ramify.operation("Sync 5 creatives to 3 agents", id="op_5x3"):
            await asyncio.gather(
                *(
                    client.call_tool("sync_creatives", {"number": number, "how": one, "push_notification_config": push})
                    for number, one in how.items()
                )
            )
        ramify.uninstrument()
        found = await client.call_tool("answers_to_pushes", {})
    receipts: list[Any] = found.structured_content["receipts"]
    return receipts


async def sell_by_a2a(url: str, log: Log) -> None:
    push = ("--immediately", "--push", f"{log.server.url}/webhook/message/{quote(GAMMA)}/op_5x3")
    await asyncio.gather(
        operate("1", log, "op_5x3", url, "send", "plan title=now"),
        operate("1", log, "op_5x3", url, "send", "plan title=pushed", "plan title=fails fail=0", "plan title=slow sleep=2", *push),
        operate("1", log, "op_5x3", url, "send", "plan title=lost sleep=1", "--immediately"),
    )


async def test_five_creatives_to_three_agents_are_one_operation_with_fifteen_tasks(tmp_path: Path) -> None:
    with started(SELLER, "mcp_alpha", "-45", SECRET) as alpha, started(SELLER, "mcp_beta", "90") as beta:
        await check(alpha, beta, tmp_path)


async def check(alpha: str, beta: str, folder: Path) -> None:
    async with agent("1") as gamma:
        named = f"mcp_alpha={alpha},mcp_beta={beta},{GAMMA}={gamma.url}"
        async with serve(NOWHERE, folder, RAMIFY_WEBHOOK_SECRET_MCP_ALPHA=SECRET, RAMIFY_AGENT=named) as server:
            await trade(server, alpha, beta, gamma.url)


async def trade(server: Server, alpha: str, beta: str, gamma: str) -> None:
    log = await Log.open(server)
    with Emitter() as emitter, ramify.instrument(emitter=emitter):
        emitter.subscribe(ServerSink(server.url, session=log.key))
        first, second, _ = await asyncio.gather(
            sell(alpha, "mcp_alpha", log, HOW),
            sell(beta, "mcp_beta", log, HOW | {4: "lost and failed"}),
            sell_by_a2a(gamma, log),
        )
        assert await emitter.aflush(30)
        assert emitter.stats()["unencodable"] == 0
    found = await log.until("op_5x3", lambda detail: Counter(states(detail))["completed"] == 11)
    check_before(found)
    check_receipts(first)
    check_receipts(second)
    report = await log.reconcile()
    assert (report["checked"], report["corrected"], report["errors"]) == (3, 3, [])
    check_after(await log.operation("op_5x3"))
    async with server.http.get(f"{server.url}/api/tasks/task_0002") as answer:
        assert (answer.status, len((await answer.json())["error"]["candidates"])) == (409, 2)
    assert (await server.ask("tasks/mcp_beta%2Ftask_0004"))["status"] == "failed"


def check_before(found: dict[str, Any]) -> None:
    """Webhooks alone: what nobody told is open."""
    operation = found["operation"]
    assert (operation["taskCount"], operation["agents"]) == (15, sorted(["mcp_alpha", "mcp_beta", GAMMA])), summary(found)
    assert {name: share["taskCount"] for name, share in operation["byAgent"].items()} == {"mcp_alpha": 5, "mcp_beta": 5, GAMMA: 5}
    opened = sorted((task["agent"], task["native"]["agentTaskId"]) for task in found["tasks"] if task["status"] in ("submitted", "working"))
    assert [one[0] for one in opened] == [GAMMA, "mcp_alpha", "mcp_beta"]
    assert [one[1] for one in opened[1:]] == ["task_0004", "task_0004"]
    assert operation["status"] in ("submitted", "working")


def check_receipts(receipts: list[Any]) -> None:
    """A seller sees: taken, taken again as the same, and refused as something else under a used key."""
    told = {task: [(status, code, answer.get("duplicate", False)) for one, status, code, answer in receipts if one == task] for task, *_ in receipts}
    assert told == {
        "task_0002": [("working", 200, False), ("completed", 200, False)],
        "task_0003": [("working", 200, False), ("completed", 200, False), ("completed", 200, True), ("working", 200, False)],
        "task_0005": [("completed", 200, False), ("failed", 409, False)],
    }


def check_after(found: dict[str, Any]) -> None:
    operation = found["operation"]
    assert (operation["status"], operation["statusCounts"], operation["taskCount"]) == ("partial", {"completed": 13, "failed": 2}, 15)
    assert operation["byAgent"]["mcp_alpha"]["status"] == "completed"
    assert abs(operation["byAgent"]["mcp_alpha"]["skewMs"] + 45_000) < 15_000
    assert abs(operation["byAgent"]["mcp_beta"]["skewMs"] - 90_000) < 15_000
    flags = {(task["agent"], task["native"]["agentTaskId"]): set(task["flags"]) for task in found["tasks"] if task["agent"] != GAMMA}
    for seller in ("mcp_alpha", "mcp_beta"):
        assert "late" in flags[seller, "task_0003"]
        assert "conflict" in flags[seller, "task_0005"]
        assert flags[seller, None] == flags[seller, "task_0002"] == set()
    pushed = [one for one in found["events"] if one["source"] == "webhook"]
    assert {one["agentId"]: "unverified" in one["flags"] for one in pushed} == {"mcp_alpha": False, "mcp_beta": True, GAMMA: True}
    assert sum("duplicate" in one["flags"] for one in pushed) == 2
    assert {one["task"] for one in found["events"] if one["eventType"] != "progress"} <= {task["id"] for task in found["tasks"]}
