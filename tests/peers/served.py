"""`ramify serve` as a person starts it: a process on a free port with a throw-away store, asked over HTTP."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp

from bench.ports import free_port
from tests.cli.test_main import environment

Answer = dict[str, Any]
SETTLED = 5
"""So many equal looks at the log, a tenth of a second apart, mean that nothing is on its way any more."""


@dataclass
class Server:
    url: str
    store: str
    http: aiohttp.ClientSession

    async def ask(self, path: str) -> Answer:
        async with self.http.get(f"{self.url}/api/{path}") as response:
            answer: Answer = await response.json()
            assert response.status == 200, answer
            return answer

    async def all(self, path: str) -> list[Answer]:
        answer = await self.ask(f"{path}{'&' if '?' in path else '?'}limit=100000")
        assert answer["next"] is None
        items: list[Answer] = answer["items"]
        return items

    async def about(self, task: str, what: str) -> list[Answer]:
        return await self.all(f"tasks/{quote(task)}/{what}")

    async def settled(self, exchanges: int) -> None:
        """Every exchange that the API saw has two ends in the log."""
        same, before = 0, -1
        for _ in range(200):
            seq = (await self.ask("health"))["seq"]
            same = same + 1 if seq == before else 0
            before = seq
            if seq >= 2 * exchanges and same >= SETTLED:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"the log stands at {before}, {exchanges} exchanges were seen")


@asynccontextmanager
async def serve(upstream: str, folder: Path, port: int = 0, **variables: str) -> AsyncIterator[Server]:
    port, store = port or free_port(), f"sqlite:{folder}/ramify.db"
    command = [sys.executable, "-m", "ramify", "serve", "--port", str(port), "--store", store]
    child = await asyncio.create_subprocess_exec(
        *command,
        *("--anthropic-upstream", upstream),
        env=environment(folder, **variables),
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stderr is not None
    try:
        greeting = (await asyncio.wait_for(child.stderr.readline(), 30)).decode()
        assert f"127.0.0.1:{port}" in greeting, greeting
        async with aiohttp.ClientSession() as http:
            yield Server(f"http://127.0.0.1:{port}", store, http)
    finally:
        if child.returncode is None:
            child.terminate()
        _, rest = await asyncio.wait_for(child.communicate(), 30)
        assert b"Traceback" not in rest, rest.decode()
