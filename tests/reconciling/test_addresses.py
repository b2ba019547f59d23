"""Only an address that somebody named is ever dialled, whatever events say; and a token goes to that host alone. About this machine
its own programs are believed."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from ramify.reconciling.addresses import Addresses, below, hint
from ramify.reconciling.alone import Periodic
from ramify.wiring import now
from tests.cli.test_main import ramify
from tests.reconciling.test_a2a import Scripted, carried, served
from tests.reconciling.world import Log
from tests.web.test_events import client, serving

TOKEN = "the-token-of-the-seller"
WORKING = {
    "eventType": "protocol_response", "operationId": "op1", "agentId": "seller", "taskType": "sync", "agentTaskId": "t1", "status": "working",
}  # fmt: skip


@dataclass
class Heard:
    """Everything that was dialled at a server which answers nothing sensible."""

    url: str = ""
    redirected: str = ""
    seen: list[tuple[str, str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.seen.append((request.method, request.path_qs, request.headers.get("authorization", "")))
        if self.redirected:
            return web.Response(status=307, headers={"location": self.redirected})
        return web.Response(status=404)


@asynccontextmanager
async def hearing(redirected: str = "") -> AsyncIterator[Heard]:
    heard = Heard(redirected=redirected)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", heard.answer)
    async with TestServer(app, host="127.0.0.1") as server:
        heard.url = str(server.make_url("")).rstrip("/")
        yield heard


def told(uri: str) -> dict[str, Any]:
    return {"kind": "agent", "op": None, "agent": "seller", "protocol": "mcp", "uri": uri}


@pytest.mark.parametrize("how", ["a2a", "agent"])
async def test_an_event_cannot_lead_the_token_of_an_agent_elsewhere(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMIFY_AGENT_TOKEN_SELLER", TOKEN)
    async with hearing() as seller, hearing() as thief:
        named = {how: {"seller": f"{seller.url}/named"}}
        async with serving(**named) as (_, address), client(address) as mine:
            await mine.post(told(f"{thief.url}/latest/meta-data?x=1"), {**WORKING, "agentUri": f"{thief.url}/again"})
            await mine.data("POST", "/api/reconcile")
            await mine.data("POST", "/api/all/reconcile")
    assert thief.seen == []
    assert seller.seen
    assert {path.split("/")[1] for _, path, _ in seller.seen} <= {"named", ".well-known"}
    assert f"Bearer {TOKEN}" in {token for _, _, token in seller.seen}


async def test_an_agent_that_nobody_named_is_not_asked_and_the_report_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAMIFY_AGENT_TOKEN_SELLER", TOKEN)
    store = f"sqlite:{tmp_path}/s.db"
    async with hearing() as thief:
        async with serving(store) as (_, address), client(address) as mine:
            await mine.post(told(thief.url.replace("127.0.0.1", "127.0.0.1.nip.example")), WORKING)
            report = await mine.data("POST", "/api/reconcile")
            await mine.post(told(thief.url), WORKING)
        guarded = {"RAMIFY_AGENT_TOKEN_SELLER": TOKEN, "RAMIFY_REQUIRE_TOKEN": "yes"}
        shown = await asyncio.to_thread(ramify, tmp_path, "reconcile", "--store", store, **guarded)
        named = await asyncio.to_thread(ramify, tmp_path, "reconcile", "--store", store, "--agent", "seller=http://127.0.0.1:9/mcp")
    assert thief.seen == []
    assert (report["checked"], report["errors"]) == (0, [])
    assert [(one["agentId"], one["reason"]) for one in report["unnamed"]] == [("seller", "nobody named the address of this agent")]
    assert (shown.returncode, named.returncode) == (0, 0)
    assert "seller: nobody named the address of this agent — name it with --agent seller=URL" in shown.stderr
    assert "nobody named" not in named.stderr
    assert "seller: " in named.stderr


@pytest.mark.parametrize(("told", "asked"), [
    ("http://127.0.0.1:9/mcp", True), ("http://localhost:9/mcp", True), ("http://[::1]:9/mcp", True), ("http://10.0.0.1/mcp", False),
    ("http://127.0.0.1@example.com/", False), ("http://localhost.example.com/", False), ("http://127.0.0.1:9/?x=1", False), ("file://localhost/etc", False),
    ("http://169.254.169.254/latest", False), ("http://[", False), ("", False),
])  # fmt: skip
def test_programs_of_this_machine_are_believed_about_this_machine_alone(told: str, asked: bool) -> None:
    assert (Addresses(near=True).of("seller", told, "mcp") == (told, "mcp")) is asked
    assert Addresses().of("seller", told, "mcp") is None
    assert Addresses({}, {"seller": "http://10.0.0.9/mcp"}, near=True).of("seller", told, "mcp") == ("http://10.0.0.9/mcp", "mcp")


def test_the_periodic_run_says_once_that_an_agent_was_not_named_and_does_not_back_off(caplog: pytest.LogCaptureFixture) -> None:
    log = Log()
    log.submitted("seller", "t1")
    log.reconciler._clock = lambda: now() + 60_000_000
    periodic = Periodic(log.ingest, log.reconciler, now)
    with caplog.at_level(logging.INFO, "ramify"):
        for _ in range(3):
            periodic.turn()
    assert [record.getMessage().count("nobody named") for record in caplog.records] == [1]
    assert periodic._failures == {}


async def test_no_redirection_of_a_named_agent_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(environment={"RAMIFY_AGENT_TOKEN_SELLER": TOKEN})
    log.submitted("seller", "t1")
    async with hearing() as thief, hearing(thief.url) as seller:
        for protocol in ("mcp", "a2a"):
            log.introduce("seller", protocol, seller.url)
            assert [one["agentId"] for one in (await log.reconciler.run()).errors] == ["seller"]
    assert thief.seen == []


async def test_the_end_of_an_mcp_session_is_not_redirected_either() -> None:
    """The one request whose answer nobody reads."""
    log = Log(environment={"RAMIFY_AGENT_TOKEN_SELLER": TOKEN})
    log.submitted("seller", "t1")

    async def answer(request: web.Request) -> web.Response:
        if request.method == "DELETE":
            return web.Response(status=307, headers={"location": thief.url})
        call = await request.json()
        return web.json_response({"jsonrpc": "2.0", "id": call.get("id"), "result": {"tools": []}}, headers={"mcp-session-id": "s1"})

    app = web.Application()
    app.router.add_route("*", "/mcp", answer)
    async with hearing() as thief, TestServer(app, host="127.0.0.1") as server:
        log.introduce("seller", "mcp", str(server.make_url("/mcp")))
        await log.reconciler.run()
    assert thief.seen == []


async def test_an_event_may_say_where_below_the_named_address_an_agent_answers() -> None:
    agent = Scripted("1.0", {"a1": "completed"}, {})
    log = Log(environment={"RAMIFY_AGENT_TOKEN_SELLER": TOKEN})
    async with served(agent) as url:
        log.named["seller"] = url.removesuffix("/rpc")
        log.tell_of("seller", "a2a", url)
        carried(log, "a1")
        report = await log.reconciler.run()
    assert (report.corrected, report.errors, set(agent.tokens)) == (1, [], {f"Bearer {TOKEN}"})


@pytest.mark.parametrize(("named", "said", "asked"), [
    ("https://s.example", "https://s.example/mcp", "https://s.example/mcp"),
    ("https://s.example:443/", "HTTPS://S.example/mcp", "https://s.example:443/mcp"),
    ("http://127.0.0.1:9/a", "http://localhost:9/a/mcp", "http://127.0.0.1:9/a/mcp"),
    ("https://gate.example/seller", "https://gate.example/thief", ""),
    ("https://gate.example/seller", "https://gate.example/seller2", ""),
    ("https://gate.example/seller", "https://gate.example/seller/../thief", ""),
    ("https://gate.example/seller", "https://gate.example/seller/%2e%2e/thief", ""),
    ("https://gate.example/seller", "https://gate.example/seller/..\\thief", ""),
    ("https://s.example", "http://s.example/mcp", ""),
    ("https://s.example", "https://s.example:8443/mcp", ""),
    ("https://s.example", "https://s.example@evil.example/mcp", ""),
    ("https://s.example", "https://u:p@s.example/mcp", ""),
    ("https://s.example", "https://s.example/mcp?x=1", ""),
    ("https://s.example", "https://s.example.evil.example/mcp", ""),
    ("https://s.example", "//s.example/mcp", ""),
    ("https://s.example", "https://s.example:nought/mcp", ""),
    ("https://s.example", "https://[broken", ""),
    ("https://s.example", "", ""),
])  # fmt: skip
def test_what_is_told_counts_only_below_what_is_named(named: str, said: str, asked: str) -> None:
    assert below(named, said) == (asked or named)


def test_an_agent_named_twice_is_asked_by_what_it_speaks() -> None:
    both = Addresses({"x": "http://a"}, {"x": "http://m", "y": "http://n"})
    assert both.of("x", "", "a2a") == ("http://a", "a2a")
    assert both.of("x", "", "mcp") == both.of("x", "", "") == ("http://m", "mcp")
    assert both.of("y", "", "a2a") == ("http://n", "a2a")
    assert Addresses({"x": "http://a"}).of("x", "", "mcp") == ("http://a", "a2a")
    assert both.of("z", "http://a", "a2a") is None


def test_the_hint_can_be_typed() -> None:
    assert hint("seller").startswith("name it with --agent seller=URL")
    assert hint("Sample agent 1").startswith("name it with --agent 'Sample agent 1'=URL")
    assert hint("a=b").startswith("name it with --agent NAME=URL")
