"""An agent that speaks A2A by JSON-RPC, 1.0 or 0.3: its tasks, and the skills by which it is asked about its work."""

from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
import msgspec

from ramify.capture.a2a.cards import origin
from ramify.reconciling.wire import METHOD_NOT_FOUND, AgentError, body, document, listed, post

CARD = ".well-known/agent-card.json"
LARGEST_CARD = 2**20
PAGE = 100
MOST_PAGES = 100
METHODS = {"1.0": ("SendMessage", "GetTask", "ListTasks"), "0.3": ("message/send", "tasks/get", "tasks/list")}


class A2aAgent:
    def __init__(self, http: aiohttp.ClientSession, url: str, headers: dict[str, str]) -> None:
        self._http = http
        self._url = url
        self._headers = dict(headers)
        self._version = ""
        self._number = 0

    async def find(self) -> None:
        """Where and how it wants to be asked, as its card says; without a card, here and as it turns out.

        Only on the host that somebody named: what we send carries that agent's token, and a card can say anything.
        """
        base = self._url if self._url.endswith("/") else self._url + "/"
        try:
            async with self._http.get(urljoin(base, CARD), headers=self._headers, allow_redirects=False) as answer:
                card = document(await body(answer, LARGEST_CARD), answer.status) if answer.status == 200 else {}
        except (aiohttp.ClientError, TimeoutError, ConnectionError, AgentError):
            card = {}
        listed = card.get("supportedInterfaces")
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict) and one.get("protocolBinding") == "JSONRPC" and (url := beside(base, one.get("url"))):
                self._url = url
                self._version = "1.0" if str(one.get("protocolVersion", "1.0")).startswith("1") else "0.3"
                return
        if url := beside(base, card.get("url")):
            self._url, self._version = url, "0.3"

    async def _ask(self, kind: int, params: dict[str, Any]) -> dict[str, Any]:
        if not self._version:
            try:
                found = await self._send("1.0", kind, params)
                self._version = "1.0"
                return found
            except AgentError as problem:
                if problem.code not in (METHOD_NOT_FOUND, 404, 405, 400):
                    raise
                self._version = "0.3"
        return await self._send(self._version, kind, params)

    async def _send(self, version: str, kind: int, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": METHODS[version][kind], "params": params}
        headers = {**self._headers, **({"A2A-Version": version} if version == "1.0" else {})}
        found, _ = await post(self._http, self._url, message, headers)
        return found

    async def task(self, id: str) -> dict[str, Any]:
        return await self._ask(1, {"id": id, "historyLength": 0})

    async def tasks(self) -> list[dict[str, Any]]:
        """All of them. A token that repeats would never end: then nothing can be concluded."""
        found: list[dict[str, Any]] = []
        token, passed = "", set[str]()
        for _ in range(MOST_PAGES):
            page = await self._ask(2, {"pageSize": PAGE} | ({"pageToken": token} if token else {}))
            found += listed(page, "tasks")
            token = str(page.get("nextPageToken") or "")
            if not token:
                return found
            if token in passed:
                raise AgentError(0, "its list of tasks repeats a page token")
            passed.add(token)
        raise AgentError(0, f"its list of tasks has more than {MOST_PAGES} pages")

    async def skill(self, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """A question to the work behind the transport: one data part."""
        data = {"skill": name, "parameters": parameters, "input": parameters}
        asked = msgspec.json.encode([name, parameters, self._number]).hex()[:48]
        new = self._version != "0.3"
        part = {"data": data} if new else {"kind": "data", "data": data}
        message: dict[str, Any] = {"messageId": f"ramify-{asked}", "role": "ROLE_USER" if new else "user", "parts": [part]}
        if not new:
            message["kind"] = "message"
        return await self._ask(0, {"message": message, "configuration": {"blocking": True}})


def beside(base: str, url: Any) -> str:
    """The address that a card gives, where it is on the same host and port; else empty."""
    if not isinstance(url, str):
        return ""
    try:
        found = urljoin(base, url)
        return found if origin(urlsplit(found)) == origin(urlsplit(base)) else ""
    except ValueError:  # no address at all
        return ""
