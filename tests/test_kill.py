"""A short soak: the real server, killed under load and left without its store. `make soak` is the long one."""

import asyncio
import signal
from pathlib import Path

from bench.soak import Tally, fail_store, kill_often
from bench.soaked import Server, check_rebuild, locked
from ramify.demo.scenario import play, script
from ramify.demo.upstream import serving
from ramify.demo.wire import Json, Reply, text
from ramify.storage.sqlite import open_sqlite
from tests.capture.world import talk


def holding(body: Json) -> Reply:
    """A model that never comes to its end."""
    return Reply(content=(text("Well, let me think."),), hold_after=3)


async def test_kill_9_takes_nothing_that_was_shown(tmp_path: Path) -> None:
    tally = Tally()
    async with serving(script(0.1)) as upstream:
        await kill_often(tmp_path, upstream, 3, 4, tally)
    assert tally.kills == 3


async def test_clients_do_not_notice_a_store_that_is_away(tmp_path: Path) -> None:
    async with serving(script(0.1)) as upstream:
        assert await fail_store(tmp_path, upstream, 2.0, 4)


async def test_what_was_in_the_spool_of_a_killed_server_is_stored_and_closed_by_the_next(tmp_path: Path) -> None:
    async with serving(holding) as upstream:
        server = Server(tmp_path, upstream.url)
        await server.start()
        with locked(server.path):
            asking = asyncio.create_task(play(server.address, 0.0))
            await server.until(lambda health: health["capture"]["spooled"])
            server.kill()
            await asyncio.gather(asking, return_exceptions=True)
        await server.start()
        await server.until(lambda health: not health["capture"]["spooled"])
        calls = await server.ask("calls")
        for _ in range(100):
            calls = await server.ask("calls")
            if calls and all(call["status"] != "running" for call in calls["items"]):
                break
            await asyncio.sleep(0.05)
        server.end(signal.SIGTERM)
    assert calls is not None
    assert [call["status"] for call in calls["items"]] == ["aborted"]
    check_rebuild(server.path)


async def test_a_server_with_open_streams_stops_soon_and_keeps_what_it_saw(tmp_path: Path) -> None:
    async with serving(holding) as upstream:
        server = Server(tmp_path, upstream.url)
        await server.start()
        asking = asyncio.create_task(play(server.address, 0.0))
        feed = asyncio.create_task(talk(server.port, b"GET /api/live HTTP/1.1\r\nHost: x\r\n\r\n"))
        await server.until(lambda health: health["capture"]["stored"])
        await asyncio.to_thread(server.end, signal.SIGTERM)  # waits, and fails if it takes half a minute
        await asyncio.gather(asking, feed, return_exceptions=True)
    store = open_sqlite(f"sqlite:{server.path}")
    assert (store.count("calls"), store.count("calls", {"status": "aborted"})) == (1, 1)
    store.close()
