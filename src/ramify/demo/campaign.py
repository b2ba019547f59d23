"""A program that drives three sellers at once and reports what it does: one operation, a webhook for each seller."""

import asyncio
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import aiohttp

SELLERS = ("north_media", "harbour_ads", "leaf_network")
CREATIVES = ("Darjeeling", "Sencha")
TYPE = "sync_creatives"


async def play(base: str, pace: float, seed: str) -> None:
    operation = f"op_{uuid5(NAMESPACE_URL, f'{seed}/campaign').hex[:12]}"
    jar = aiohttp.CookieJar(unsafe=True)  # the session's cookie, also of a server that has no name but a number
    async with aiohttp.ClientSession(cookie_jar=jar) as http:
        for creative in CREATIVES:
            calls = {seller: f"{seller}-{creative.lower()}" for seller in SELLERS}
            await tell(http, base, [event("protocol_request", operation, seller, call, payload={"params": {"creative": creative}}) for seller, call in calls.items()])
            await asyncio.sleep(1.2 * pace)
            answers = [
                event("protocol_response", operation, seller, call, agentTaskId=f"task_{creative.lower()}", status="submitted",
                      payload={"status": "submitted", "task_id": f"task_{creative.lower()}"})
                for seller, call in calls.items()
            ]
            await tell(http, base, answers)
        for number, creative in enumerate(CREATIVES):
            for seller in SELLERS:
                await asyncio.sleep(0.7 * pace)
                ended = "failed" if (seller, number) == (SELLERS[1], 1) else "completed"
                await push(http, base, operation, seller, f"task_{creative.lower()}", ended)


def event(type: str, operation: str, seller: str, call: str, **fields: Any) -> dict[str, Any]:
    return {"eventType": type, "operationId": operation, "agentId": seller, "taskType": TYPE, "callId": call, "protocol": "mcp", **fields}


async def tell(http: aiohttp.ClientSession, base: str, events: list[dict[str, Any]]) -> None:
    async with http.post(f"{base}/api/events", json={"events": events}) as response:
        response.raise_for_status()


async def push(http: aiohttp.ClientSession, base: str, operation: str, seller: str, task: str, status: str) -> None:
    body = {"idempotency_key": f"push-{operation}-{seller}-{task}", "operation_id": operation, "task_id": task, "task_type": TYPE, "status": status}
    async with http.post(f"{base}/webhook/{TYPE}/{seller}/{operation}", json=body) as response:
        response.raise_for_status()
