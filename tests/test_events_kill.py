"""Acknowledged means stored: a real server, killed while events come in."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp

from bench.soaked import TROUBLE, Server

EVENT = {"eventType": "protocol_request", "operationId": "op", "agentId": "a", "taskType": "t"}


async def test_kill_9_loses_no_event_that_was_acknowledged(tmp_path: Path) -> None:
    server = Server(tmp_path, "http://127.0.0.1:9")
    await server.start()
    acknowledged: list[int] = []
    enough = asyncio.Event()
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        async with http.post(f"{server.address}/api/events", json={**EVENT, "number": -1}) as answer:
            headers = {"X-Ramify-Session": answer.headers["X-Ramify-Session"]}
        writing = [asyncio.create_task(write(http, server.address, headers, range(start, 1000, 8), acknowledged, enough)) for start in range(8)]
        async with asyncio.timeout(60):
            await enough.wait()
        server.kill()
        await asyncio.gather(*writing)
        await server.start()
        found = await read(http, server.address, headers)
        numbers = [event["number"] for event in found["events"]]
        assert set(acknowledged) <= set(numbers)
        assert len(numbers) == len(set(numbers))
        assert sorted(event["seq"] for event in found["events"]) == list(range(1, len(numbers) + 1))
        async with http.get(f"{server.address}/api/operations/op", headers=headers) as answer:
            assert (await answer.json())["data"]["operation"]["taskCount"] == len(numbers)
    server.kill()


async def write(
    http: aiohttp.ClientSession, address: str, headers: dict[str, str], numbers: range, acknowledged: list[int], enough: asyncio.Event
) -> None:
    for number in numbers:
        event = {**EVENT, "number": number, "eventId": f"e{number}"}
        try:
            async with http.post(f"{address}/api/events", json=event, headers=headers) as answer:
                if answer.status == 200 and (await answer.json())["success"]:
                    acknowledged.append(number)
                    if len(acknowledged) > 60:
                        enough.set()
        except TROUBLE:
            return


async def read(http: aiohttp.ClientSession, address: str, headers: dict[str, str]) -> dict[str, Any]:
    async with http.get(f"{address}/api/events?limit=1000", headers=headers) as answer:
        found: dict[str, Any] = (await answer.json())["data"]
        return found
