"""An agent that speaks MCP: with a handshake (until 2025-11-25), or each request alone (2026-07-28), whichever it knows."""

import re
from types import TracebackType
from typing import Any

import aiohttp

from ramify import __version__
from ramify.reconciling.wire import METHOD_NOT_FOUND, AgentError, listed, post

VERSION = re.compile(r"[\w.-]{1,40}", re.ASCII)  # it goes back as a header
HANDSHAKE, ALONE = "2025-11-25", "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
CLIENT = {"name": "ramify", "version": __version__}
META = "io.modelcontextprotocol/"
MOST_PAGES = 50


class McpAgent:
    """Open while its block lasts."""

    def __init__(self, http: aiohttp.ClientSession, url: str, headers: dict[str, str], *, alone: bool = False) -> None:
        self._http = http
        self._url = url
        self._headers, self._plain = dict(headers), headers
        self._alone = alone
        self._number = 0
        self._opened = False

    async def __aenter__(self) -> "McpAgent":
        if not self._alone:
            try:
                await self._shake_hands()
            except AgentError as problem:
                if problem.code == 0:
                    raise  # nobody is there, whatever is said
                self._alone = True
        return self

    async def _shake_hands(self) -> None:
        asked = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT}
        found, headers = await post(self._http, self._url, self._message("initialize", asked), self._headers)
        version = found.get("protocolVersion")
        self._headers["mcp-protocol-version"] = version if isinstance(version, str) and VERSION.fullmatch(version) else HANDSHAKE
        if "mcp-session-id" in headers:
            self._headers["mcp-session-id"] = headers["mcp-session-id"]
            self._opened = True
        await post(self._http, self._url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, self._headers)

    async def __aexit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        if self._opened:
            try:
                async with self._http.delete(self._url, headers=self._headers, allow_redirects=False):
                    pass
            except (aiohttp.ClientError, TimeoutError, ConnectionError):
                pass  # it ends by itself

    def _message(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        return {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        headers = self._headers
        if self._alone:
            meta = {f"{META}protocolVersion": ALONE, f"{META}clientInfo": CLIENT, f"{META}clientCapabilities": {"extensions": {TASKS: {}}}}
            params = {**params, "_meta": meta}
            headers = {**headers, "mcp-protocol-version": ALONE, "mcp-method": method}
            if isinstance(params.get("name"), str):
                headers["mcp-name"] = params["name"]
        found, _ = await post(self._http, self._url, self._message(method, params), headers)
        return found

    async def task(self, id: str) -> dict[str, Any]:
        """One that knows both versions may know tasks in the newer one alone."""
        try:
            return await self.ask("tasks/get", {"taskId": id})
        except AgentError as problem:
            if problem.code != METHOD_NOT_FOUND or self._alone:
                raise
        newer = McpAgent(self._http, self._url, self._plain, alone=True)
        return await newer.ask("tasks/get", {"taskId": id})

    async def tools(self) -> set[str]:
        names: set[str] = set()
        cursor: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            page = await self.ask("tools/list", cursor)
            names |= {str(tool.get("name")) for tool in listed(page, "tools")}
            after = page.get("nextCursor")
            if not after or cursor.get("cursor") == after:
                break
            cursor = {"cursor": after}
        return names

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})
