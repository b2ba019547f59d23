"""Agents that answer in every way they should not: who is asked, what is kept, and when it is given up."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession, web

from ramify.capture.a2a_client.peer import Gone, NoCard, Peer
from ramify.capture.a2a_client.question import Said
from ramify.capture.a2a_client.tape import Place
from tests.capture.a2a.world import frames, records
from tests.capture.world import Seen

Answer = Callable[[web.Request], Any]
TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}


@asynccontextmanager
async def scripted(card: Callable[[str], Any], answer: Answer | None = None) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """An agent at an address, and what it was asked."""
    asked: list[web.Request] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        asked.append(request)
        await request.read()
        if request.path == "/.well-known/agent-card.json":
            given = card(address)
            return given if isinstance(given, web.Response) else web.json_response(given)
        if answer is None or request.method == "GET":
            return web.Response(status=404)
        found = answer(request)
        return await found if hasattr(found, "__await__") else found

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield address, asked
    finally:
        await runner.cleanup()


def card(url: str = "") -> Callable[[str], Any]:
    def made(address: str) -> Any:
        interface = {"url": url or address + "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return {"name": "A", "supportedInterfaces": [interface], "capabilities": {"streaming": True}}

    return made


@asynccontextmanager
async def peer(address: str, seen: Seen, name: str = "", **headers: str) -> AsyncIterator[Peer]:
    async with ClientSession() as http:
        yield Peer(address, http, Place(seen, "default", lambda: 1_700_000_000_000_000), name, headers)


def result(value: Any) -> Answer:
    return lambda request: web.json_response({"jsonrpc": "2.0", "id": 1, "result": value})


async def test_a_card_that_points_elsewhere_is_refused_and_nobody_there_is_asked() -> None:
    async with scripted(card(), result(TASK)) as (victim, asked), scripted(card(victim + "/rpc")) as (liar, _):
        async with peer(liar, Seen()) as one:
            with pytest.raises(NoCard, match="own host"):
                await one.show("t")
        assert asked == []


async def test_a_redirection_is_not_followed() -> None:
    async with scripted(card(), result(TASK)) as (victim, asked):
        away = web.Response(status=307, headers={"location": victim + "/.well-known/agent-card.json"})
        async with scripted(lambda address: away) as (liar, _), peer(liar, Seen()) as one:
            with pytest.raises(NoCard, match="307"):
                await one.show("t")
        elsewhere = web.Response(status=307, headers={"location": victim + "/rpc"})
        async with scripted(card(), lambda request: elsewhere) as (liar, _), peer(liar, Seen()) as one:
            assert (await one.show("t")).kind == "error"
        assert asked == []


async def test_a_card_is_found_from_the_place_where_the_agent_is_called_and_read_once() -> None:
    async with scripted(card(), result(TASK)) as (address, asked), peer(address + "/rpc", Seen()) as one:
        assert (await one.show("t")).state == "working"
        await one.show("t")
        assert one.name == "A"
    assert [request.path for request in asked].count("/.well-known/agent-card.json") == 1


async def test_what_is_sent_as_a_key_is_never_kept() -> None:
    seen = Seen()
    async with scripted(card(), result(TASK)) as (address, asked), peer(address, seen, authorization="Bearer s3cret-value", **{"X-Own": "s3cret-value"}) as one:
        await one.tell(Said("m", "hello"))
    assert {request.headers["x-own"] for request in asked} == {"s3cret-value"}
    assert b"s3cret" not in b"".join(record.body for record in records(seen))


async def test_our_looks_are_marked_and_what_we_say_is_not() -> None:
    seen = Seen()
    async with scripted(card(), result(TASK)) as (address, asked), peer(address, seen, "named") as one:
        await one.show("t")
        await one.cancel("t")
        await one.tell(Said("m", "hello"))
        await one.list_tasks()
    assert [(frame["agent"], "x-ramify-follow" in frame["headers"]) for frame in frames(seen) if frame["kind"] == "request"] == [
        ("named", True), ("named", True), ("named", False), ("named", False), ("named", True),
    ]  # fmt: skip
    assert ["x-ramify-follow" in request.headers for request in asked[1:]] == [True, False, False, True]
    assert len({record.id for record in records(seen)}) == len(records(seen))


async def test_a_look_that_shows_the_same_leaves_nothing_behind() -> None:
    seen = Seen()
    async with scripted(card(), result(TASK)) as (address, _), peer(address, seen) as one:
        for _ in range(5):
            await one.show("t")
    assert [frame["kind"] for frame in frames(seen)] == ["request", "response"] * 2  # the card, and the task once


@pytest.mark.parametrize("body", ["", "no json", "[]", '{"jsonrpc": "2.0", "result": 3}'])
async def test_an_answer_that_says_nothing_is_no_task(body: str) -> None:
    async with scripted(card(), lambda request: web.Response(text=body)) as (address, _), peer(address, Seen()) as one:
        assert (await one.show("t")).kind == ""


async def test_a_stream_is_told_while_it_runs_and_its_end_as_what_it_was() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        event = json.dumps({"jsonrpc": "2.0", "result": {"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}}})
        await response.write(f": ping\r\n\r\ndata: {event[:20]}".encode())
        await response.write(f"{event[20:]}\r\n\r\ndata: half".encode())
        assert request.transport is not None
        request.transport.abort()
        return response

    seen = Seen()
    async with scripted(card(), cut) as (address, _), peer(address, seen) as one:
        stream = one.watch("t")
        heard = await anext(stream)
        assert (heard.task, heard.state, frames(seen)[-1]["kind"]) == ("t", "working", "sse")
        with pytest.raises(Gone):
            await anext(stream)
    assert [frame["kind"] for frame in frames(seen)][2:] == ["request", "response", "sse", "sse", "abort"]
    assert frames(seen)[-1]["by"] == "agent"


async def test_a_stream_that_we_leave_is_no_fault_of_the_agent() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        while True:
            await response.write(b'data: {"result": {"artifactUpdate": {"taskId": "t"}}}\n\n')

    seen = Seen()
    async with scripted(card(), endless) as (address, _), peer(address, seen) as one:
        stream = one.watch("t")
        assert (await anext(stream)).kind == "artifactUpdate"
        await stream.aclose()
    assert (frames(seen)[-1]["kind"], frames(seen)[-1]["by"]) == ("abort", "client")
