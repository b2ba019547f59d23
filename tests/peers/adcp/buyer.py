"""A program that uses the AdCP client, with one line for us: `python buyer.py SOURCE PACKAGES SERVER SESSION MCP_URL A2A_URL KEY`.

Runs in the client's environment; Ramify is found behind its packages. Prints what the program itself got.
"""

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

source, packages, server, session, mcp_url, a2a_url, key = sys.argv[1:]
sys.path += [source, packages]

import ramify  # noqa: E402

emitter = ramify.Emitter()
emitter.subscribe(ramify.ServerSink(server, session=session))
ramify.instrument(emitter=emitter)
assert "adcp" not in sys.modules, "ramify imports no client library"

import adcp  # noqa: E402
from adcp.client import ADCPClient  # noqa: E402
from adcp.types.core import AgentConfig, Protocol  # noqa: E402
from adcp.types.domains.protocol.get_task_status_request import GetTaskStatusRequest  # noqa: E402

activities: list[Any] = []
WEBHOOK = f"{server}/webhook/sync_creatives/mcp_alpha/op_adcp"


def client(name: str, url: str, protocol: str) -> ADCPClient:
    return ADCPClient(AgentConfig(id=name, agent_uri=url, protocol=Protocol(protocol)), on_activity=activities.append)


def creative(number: int) -> adcp.SyncCreativesRequest:
    return adcp.SyncCreativesRequest(
        account={"account_id": "acc_1"},
        idempotency_key=f"key-of-the-buyer-{number:04}",
        creatives=[{"creative_id": f"c{number}", "name": "C", "format_kind": "image", "assets": {}}],
        push_notification_config={"url": WEBHOOK},
    )


async def push() -> list[int]:
    """By the library's own sender, which signs: what is told of the first task, and the same bytes once more."""
    sender = adcp.WebhookSender.from_jwk(json.loads(key), allow_private_destinations=True, allowed_destination_ports=None)
    async with sender:
        sent = await sender.send_mcp(url=WEBHOOK, task_id="task_0001", status="completed", task_type="sync_creatives", operation_id="op_adcp")
        again = await sender.resend(sent)
    return [sent.status_code, again.status_code]


async def main() -> dict[str, Any]:
    told: dict[str, Any] = {}
    async with client("mcp_alpha", mcp_url, "mcp") as seller:
        with ramify.operation("Campaign", id="op_adcp"):
            products = await seller.get_products(adcp.GetProductsRequest(buying_mode="brief", brief="tea"))
            results = [await seller.sync_creatives(creative(number)) for number in (1, 2)]
            told["pushes"] = await push()
            looked = await seller.get_task_status(GetTaskStatusRequest(task_id="task_0002"))
    with ramify.operation(id="op_other"):
        async with client("a2a_beta", a2a_url, "a2a") as other:
            with suppress(Exception):  # it speaks A2A, and no AdCP
                await asyncio.wait_for(other.get_products(adcp.GetProductsRequest(buying_mode="brief", brief="tea")), 60)
    with ramify.operation(id="op_dead"):
        dead = client("dead", "http://127.0.0.1:9/mcp", "mcp")
        with suppress(BaseException):
            await dead.sync_creatives(creative(3))
    told["products"] = products.success
    told["answers"] = [(one.data.task_id, one.data.status, one.data.context.model_dump()) for one in results]
    told["looked"] = looked.data.status
    return told


told = asyncio.run(main())
assert emitter.flush(60), emitter.stats()
told["stats"] = emitter.stats()
told["activities"] = [[one.type, one.task_type, one.status] for one in activities]
print(json.dumps(told, default=str))
