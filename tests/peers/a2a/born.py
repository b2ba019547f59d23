"""Processes out of a brood: what a test needs of `asyncio.subprocess.Process`."""

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.peers.a2a.environments import HERE, python_of

SECONDS = 60.0


class Born:
    def __init__(self, pid: int, line: asyncio.StreamReader, writer: asyncio.StreamWriter, stdout: asyncio.StreamReader | None) -> None:
        self.pid = pid
        self.stdout = stdout
        self._writer = writer
        self._over = asyncio.ensure_future(line.read())

    @property
    def returncode(self) -> int | None:
        return 0 if self._over.done() else None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    async def wait(self) -> None:
        with suppress(ConnectionError):
            await self._over
        self._writer.close()


@cache
def brood(version: str) -> Path:
    """Where it listens; one for each version and run of tests."""
    folder = TemporaryDirectory(prefix="ramify-brood-")
    place = Path(folder.name) / "socket"
    command = [str(python_of(version)), str(HERE / "brood.py"), str(place), f"agent_{version}", f"client_{version}"]
    process = subprocess.Popen(command, cwd=HERE, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    end = time.monotonic() + SECONDS
    while not place.exists():
        assert process.poll() is None, "the brood ended"
        assert time.monotonic() < end, "the brood does not listen"
        time.sleep(0.02)
    atexit.register(folder.cleanup)
    atexit.register(process.kill)
    return place


async def born(version: str, script: str, *arguments: str, heard: bool) -> Born:
    """`heard`: its output can be read."""
    wish = {"script": str(HERE / script), "arguments": arguments, "environment": environment(), "quiet": not heard}
    reading, writing = os.pipe() if heard else (-1, os.open(os.devnull, os.O_WRONLY))
    asking = socket.socket(socket.AF_UNIX)
    asking.connect(str(brood(version)))
    socket.send_fds(asking, [json.dumps(wish).encode()], [writing])
    os.close(writing)
    line, writer = await asyncio.open_connection(sock=asking)
    pid = int(await asyncio.wait_for(line.readline(), SECONDS))
    return Born(pid, line, writer, await reader(reading) if heard else None)


async def reader(descriptor: int) -> asyncio.StreamReader:
    loop, output = asyncio.get_running_loop(), asyncio.StreamReader(limit=2**26)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), os.fdopen(descriptor, "rb"))
    return output


def environment() -> dict[str, str]:
    """No proxy of the person who runs the tests, and none of our own packages."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "NO_PROXY": "*"}
