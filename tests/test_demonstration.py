"""A demo run is loaded by one request into the store of a server that goes on with its own work."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from msgspec.structs import replace

from ramify import demonstration
from ramify.demo import scenario
from ramify.demo.upstream import Upstream
from ramify.demo.upstream import serving as upstream
from ramify.served import Served, open_served
from ramify.server import listening
from ramify.settings import load
from ramify.wiring import now

JSON = {"content-type": "application/json"}


@asynccontextmanager
async def server(pace: float) -> AsyncIterator[tuple[Served, str, Upstream]]:
    """A server with a model of its own, which no demonstration may meet."""
    async with upstream(scenario.script()) as model:
        served = open_served(replace(load({"store": "memory:"}, {}), port=0, anthropic_upstream=model.url))
        try:
            async with listening(served, now) as address:
                served.demonstration.pace = pace
                yield served, address, model
        finally:
            await asyncio.to_thread(served.close)


async def ask(address: str, headers: dict[str, str] = JSON) -> tuple[int, dict[str, str]]:
    async with aiohttp.ClientSession() as http, http.post(f"{address}/api/demo", data=b"{}", headers=headers) as response:
        answer = await response.json()
        return response.status, answer.get("error") or answer


async def over(served: Served) -> None:
    async with asyncio.timeout(30):
        await served.demonstration._playing
    assert await asyncio.to_thread(served.pipeline.flush, 30)


async def test_it_is_a_whole_run_in_this_store_and_goes_past_the_servers_own_model() -> None:
    async with server(0.0) as (served, address, model):
        status, answer = await ask(address)
        await over(served)
        tree = served.questions.tree(answer["session"])
        assert status == 200
        assert model.requests == []
        assert [root["title"] for root in tree["roots"]] == [scenario.SLOW, scenario.NOTE]
        assert [child["title"] for child in tree["roots"][0]["children"]][:2] == ["Measure the pages", "Read the checkout"]
        assert tree["roots"][0]["project"] == "demo"
        assert tree["unattached"] == []


async def test_another_is_refused_while_one_plays_and_is_a_further_run_later() -> None:
    async with server(0.02) as (served, address, _):
        _, first = await ask(address)
        status, error = await ask(address)
        assert (status, error["code"]) == (409, "already_playing")
        await over(served)
        _, second = await ask(address)
        await over(served)
        assert second["session"] != first["session"]
        runs = [served.questions.tree(one["session"]) for one in (first, second)]
        assert [len(run["roots"]) for run in runs] == [2, 2]
        assert served.questions.stats()["roots"] == 4
        assert served.questions.stats()["tasks"] == 14


async def test_what_is_captured_meanwhile_is_not_disturbed() -> None:
    async with server(0.02) as (served, address, model):
        _, answer = await ask(address)
        last = await scenario.play(address, 0.0)
        await over(served)
        assert last == "The note is in notes/speed.md."
        assert model.requests
        own, shown = served.questions.tree(scenario.SESSION), served.questions.tree(answer["session"])
        assert {root["project"] for root in own["roots"]} == {"default"}
        assert [root["usage"]["calls"] for root in own["roots"]] == [root["usage"]["calls"] for root in shown["roots"]]
        assert served.questions.stats()["conversations"] == 2


async def test_nothing_listens_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[int] = []
    play = scenario.play

    async def noting(base_url: str, pace: float, session: str) -> str:
        ports.append(int(base_url.rpartition(":")[2]))
        assert connects(ports[-1])
        return await play(base_url, pace, session)

    monkeypatch.setattr(demonstration.scenario, "play", noting)
    async with server(0.0) as (served, address, _):
        await ask(address)
        await over(served)
        assert [connects(port) for port in ports] == [False]


def connects(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


async def test_a_server_that_stops_does_not_wait_for_its_end() -> None:
    async with asyncio.timeout(10), server(5.0) as (_, address, _model):
        assert (await ask(address))[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (JSON | {"origin": "https://evil.example"}, 403),
        ({"content-type": "text/plain"}, 400),
        ({"content-type": "application/x-www-form-urlencoded"}, 400),
    ],
)
async def test_no_foreign_page_can_begin_it(headers: dict[str, str], status: int) -> None:
    async with server(0.0) as (served, address, _):
        assert (await ask(address, headers))[0] == status
        assert served.demonstration._playing is None
        assert served.questions.stats()["tasks"] == 0
