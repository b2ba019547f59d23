"""The event log of a real server, as a program with a session of its own uses it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.peers.served import Server

SECONDS = 60.0
KEY = "X-Ramify-Session"


@dataclass
class Log:
    server: Server
    key: str

    @classmethod
    async def open(cls, server: Server) -> "Log":
        async with server.http.get(f"{server.url}/api/session/info") as answer:
            return cls(server, answer.headers[KEY])

    async def ask(self, method: str, path: str, **more: Any) -> Any:
        async with self.server.http.request(method, f"{self.server.url}{path}", headers={KEY: self.key}, **more) as answer:
            body = await answer.json()
            assert answer.status == 200, body
            return body["data"]

    async def operation(self, id: str) -> dict[str, Any]:
        found: dict[str, Any] = await self.ask("GET", f"/api/operations/{id}")
        return found

    async def reconcile(self) -> dict[str, Any]:
        found: dict[str, Any] = await self.ask("POST", "/api/reconcile")
        return found

    async def until(self, id: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The operation, as soon as that holds; whatever it is when it never does."""
        found = await self.operation(id)
        for _ in range(int(SECONDS / 0.2)):
            if found["exists"] and holds(found):
                return found
            await asyncio.sleep(0.2)
            found = await self.operation(id)
        raise AssertionError(summary(found))


def summary(detail: dict[str, Any]) -> dict[str, Any]:
    """Enough to see what is wrong."""
    events = [(one["eventType"], one["agentId"], one["agentTaskId"], one.get("status"), one["source"], one["flags"]) for one in detail["events"]]
    return {"operation": detail["operation"], "events": events}


def states(detail: dict[str, Any]) -> list[str]:
    return [task["status"] for task in detail["tasks"]]
