"""What befalls a server in its life: killed, paused, left without its disk or its database. One blow at a time."""

import asyncio
import errno
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.harm import Down
from bench.soaked import Server
from tests.postgres import Cluster

LARGEST_FILL = 2**30


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[bool]:
    """A disk of its own that can be full; False where this user may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    told = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False)
    try:
        yield told.returncode == 0
    finally:
        if told.returncode == 0:
            subprocess.run(["umount", "-l", str(folder)], check=False)


def fill(path: Path) -> None:
    """Until not one byte more goes onto the disk."""
    step = 2**20
    with path.open("ab") as file:
        size = file.tell()
        while step and size < LARGEST_FILL:
            try:
                os.posix_fallocate(file.fileno(), size, step)
                size += step
            except OSError as problem:
                if problem.errno != errno.ENOSPC:
                    raise
                step //= 2


@dataclass
class Blows:
    server: Server
    down: Down
    source: random.Random
    disk: Path | None = None  # what may be filled
    database: Cluster | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def known(self, kills: bool) -> list[str]:
        names = ["pause server", "pause writer", "kill writer"]
        return names + ["full disk"] * (self.disk is not None) * 2 + ["kill database"] * (self.database is not None) * 2 + ["kill server"] * kills * 2

    async def strike(self, name: str) -> None:
        self.counts[name] += 1
        match name:
            case "pause server":
                await self._pause(self.server.pid)
            case "pause writer" if pid := self.server.writer():
                await self._pause(pid)
            case "kill writer" if pid := self.server.writer():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            case "kill server":
                await self._kill()
            case "full disk":
                await self._fill()
            case "kill database":
                await self._lose_database()

    async def _pause(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            try:
                await asyncio.sleep(self.source.uniform(0.5, 5.0))
            finally:
                os.kill(pid, signal.SIGCONT)

    async def _kill(self) -> None:
        self.down.begin()
        await asyncio.to_thread(self.server.kill)
        await asyncio.sleep(self.source.uniform(0.0, 2.0))
        await self.server.start()
        self.down.end()

    async def _fill(self) -> None:
        assert self.disk is not None
        filler = self.disk / "filler"
        end = time.monotonic() + self.source.uniform(3.0, 15.0)
        try:
            while time.monotonic() < end:
                await asyncio.to_thread(fill, filler)  # again: what others gave back is taken as well
                await asyncio.sleep(0.2)
        finally:
            filler.unlink(missing_ok=True)

    async def _lose_database(self) -> None:
        assert self.database is not None
        await asyncio.to_thread(self.database.kill)
        await asyncio.sleep(self.source.uniform(1.0, 10.0))
        await asyncio.to_thread(self.database.start)
