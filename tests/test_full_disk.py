"""A real disk that is full and has room again: a real server, real clients, and a file system of its own."""

import asyncio
import signal
from pathlib import Path

import pytest

from bench.blows import fill, small_disk
from bench.soaked import Load, Server, asked_of, check_rebuild
from ramify.demo.scenario import script
from ramify.demo.upstream import serving
from ramify.storage.sqlite import open_sqlite

SIZE = 12 * 2**20


async def test_clients_notice_nothing_and_nothing_is_lost(tmp_path: Path) -> None:
    """Store and spool stand on that disk: what comes meanwhile waits in memory."""
    with small_disk(tmp_path / "disk", SIZE) as mounted:
        if not mounted:
            pytest.skip("this user may not mount a disk")
        async with serving(script(0.05)) as upstream:
            server = Server(tmp_path, upstream.url, store=f"sqlite:{tmp_path}/disk/soak.db")
            await server.start()
            try:
                load = Load(server.address, 2)
                load.start()
                await server.until(lambda health: health["capture"]["stored"] > 10)
                filler = tmp_path / "disk" / "filler"
                fill(filler)
                full = await server.until(lambda health: "neither store nor spool" in health["capture"]["problem"])
                assert full["status"] == "degraded"
                assert any("left on the disk" in notice for notice in full["notices"])
                assert await server.ask("tasks") is not None  # questions are answered all the same
                await asyncio.sleep(1)
                filler.unlink()
                await load.stop()
                health = await server.until(lambda health: not any(health["capture"][name] for name in ("problem", "waiting", "spooled")))
                server.end(signal.SIGTERM)
            finally:
                server.end_anyway()
            assert (load.troubles, load.wrong, health["capture"]["lost"]) == (0, [], 0)
            store = open_sqlite(server.store)
            assert (store.count("calls"), store.check()) == (asked_of(upstream), "ok")
            store.close()
            check_rebuild(tmp_path / "disk" / "soak.db")
