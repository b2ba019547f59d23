"""Processes out of a brood, as tests need them: one that is waited for, and one that goes on beside."""

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = 60.0


@cache
def brood(python: str, folder: str, *modules: str) -> str:
    """Where it listens; one for each run of tests. The modules are in `folder`, or are that Python's own."""
    kept = tempfile.TemporaryDirectory(prefix="ramify-brood-")
    place = Path(kept.name) / "socket"
    world = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": folder}
    process = subprocess.Popen([python, str(HERE / "brood.py"), str(place), *modules], cwd=folder, env=world, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    end = time.monotonic() + SECONDS
    while not place.exists():
        assert process.poll() is None, "the brood ended"
        assert time.monotonic() < end, "the brood does not listen"
        time.sleep(0.02)
    atexit.register(kept.cleanup)
    atexit.register(process.kill)
    return str(place)


def asked(place: str, run: str, arguments: Sequence[str], environment: dict[str, str], descriptors: Sequence[int], folder: str) -> socket.socket:
    wish = {"run": run, "arguments": arguments, "environment": environment, "folder": folder}
    asking = socket.socket(socket.AF_UNIX)
    asking.connect(place)
    socket.send_fds(asking, [json.dumps(wish).encode()], list(descriptors))
    return asking


def run(place: str, what: str, arguments: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` would, with its output."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, open(os.devnull, "rb") as nothing:
        with asked(place, what, arguments, environment, [nothing.fileno(), out.fileno(), errors.fileno()], os.getcwd()) as asking:
            asking.settimeout(SECONDS)
            told = b""
            while piece := asking.recv(4096):
                told += piece
        said = dict(line.split() for line in told.decode().splitlines())
        written = []
        for file in (out, errors):
            file.seek(0)
            written.append(file.read().decode())
        return subprocess.CompletedProcess([what, *arguments], int(said.get("status", -signal.SIGKILL)), *written)


class Born:
    """What a test needs of `asyncio.subprocess.Process`."""

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


async def born(place: str, what: str, arguments: Sequence[str], environment: dict[str, str], heard: bool) -> Born:
    """`heard`: its output can be read."""
    nothing = os.open(os.devnull, os.O_RDWR)
    reading, writing = os.pipe() if heard else (-1, os.dup(nothing))
    asking = asked(place, what, arguments, environment, [nothing, writing, 2 if heard else nothing], str(Path(what).parent))
    os.close(writing)
    os.close(nothing)
    line, writer = await asyncio.open_connection(sock=asking)
    told = await asyncio.wait_for(line.readline(), SECONDS)
    return Born(int(told.removeprefix(b"pid ")), line, writer, await reader(reading) if heard else None)


async def reader(descriptor: int) -> asyncio.StreamReader:
    loop, output = asyncio.get_running_loop(), asyncio.StreamReader(limit=2**26)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), os.fdopen(descriptor, "rb"))
    return output
