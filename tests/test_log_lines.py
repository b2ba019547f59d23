"""A server's log in a file: bounded, shared by its processes, and nobody else's to read."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from bench.soaked import Server
from ramify.demo.scenario import play, script
from ramify.demo.upstream import serving


def lose_writer(server: Server) -> None:
    """It is started again, and that is a line."""
    writer = server.writer()
    os.kill(writer, signal.SIGKILL)
    while server.writer() in (0, writer):
        time.sleep(0.05)


async def test_a_server_and_its_writer_share_a_file_that_is_turned_over(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "ramify.log"
    async with serving(script(0.0)) as upstream:
        server = Server(tmp_path, upstream.url, "--log-file", str(path), "--log-limit", "150")
        await server.start()
        try:
            await play(server.address, 0.0)
            for _ in range(2):
                await asyncio.to_thread(lose_writer, server)
            await server.until(lambda health: not health["capture"]["waiting"])
            server.end(signal.SIGTERM)
        finally:
            server.end_anyway()
    files = sorted(path.parent.iterdir())
    assert "ramify.log.1" in [one.name for one in files]
    assert all(one.stat().st_size <= 150 for one in files)
    assert path.stat().st_mode & 0o077 == 0
    whole = "".join(one.read_text() for one in files)
    assert "the writer is gone" in whole
    assert "the writer is gone" not in (tmp_path / "server.log").read_text()


def test_where_it_cannot_be_written_that_is_said_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ramify", "serve", "--store", f"sqlite:{tmp_path}/a.db", "--log-file", "/proc/none/ramify.log"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 2
    assert "log file /proc/none/ramify.log cannot be written" in told.stderr
