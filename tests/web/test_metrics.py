"""Figures for a monitoring system; whether the process lives and may have traffic."""

import re

import aiohttp

from tests.web.test_events import REQUEST, client, serving

LINE = re.compile(r"(# (HELP|TYPE) \w+ .+|\w+ -?[0-9.e+-]+)")


async def test_figures_can_be_read_by_a_monitoring_system() -> None:
    async with serving() as (_, address), client(address) as mine, aiohttp.ClientSession() as http:
        await mine.post(REQUEST)
        async with http.get(f"{address}/metrics") as answer:
            text = await answer.text()
            assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        lines = text.splitlines()
        assert all(LINE.fullmatch(line) for line in lines), text
        figures = dict(line.split() for line in lines if not line.startswith("#"))
        assert float(figures["ramify_log_sequence"]) >= 1
        assert (figures["ramify_store_up"], figures["ramify_observations_lost_total"]) == ("1", "0")


async def test_one_look_at_the_server_is_enough() -> None:
    async with serving() as (served, address), aiohttp.ClientSession() as http:
        looks: list[int] = []
        health = served.health
        served.health = lambda: (looks.append(1), health())[1]  # type: ignore[method-assign]
        async with http.get(f"{address}/metrics") as answer:
            assert "ramify_up_seconds" in await answer.text()
        assert len(looks) == 1


async def test_it_lives_and_is_ready() -> None:
    async with serving() as (_, address), client(address) as mine:
        assert await mine.ask("GET", "/api/alive") == {"alive": True}
        assert (await mine.ask("GET", "/api/ready"))["ready"]
