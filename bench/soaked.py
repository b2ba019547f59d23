"""What a soak is made of: a real server as a process, sessions that never stop, and the checks after each blow."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from bench.ports import free_port
from ramify.demo.scenario import play
from ramify.demo.upstream import Upstream
from ramify.storage.sqlite import open_sqlite

LAST_WORDS = "The note is in notes/speed.md."
TROUBLE = (aiohttp.ClientError, ConnectionError, TimeoutError, LookupError, ValueError)
"""How a client sees a server that dies: no connection, or an answer that ends in the middle."""


class Broken(AssertionError):
    """A promise that was not kept."""


def holds(condition: bool, what: str) -> None:
    if not condition:
        raise Broken(what)


def status_of(work: Coroutine[Any, Any, None], log: Path | None = None) -> int:
    """1 at the first broken promise, which is said, with the end of a server's log."""
    try:
        asyncio.run(work)
    except Broken as problem:
        print(f"broken: {problem}", file=sys.stderr)
        if log is not None:
            print(log.read_text(errors="replace")[-3000:], file=sys.stderr)
        return 1
    return 0


class Server:
    """`ramify serve` on a file, or another store, again and again on the same port."""

    def __init__(self, folder: Path, upstream: str, *options: str, store: str = "") -> None:
        self.path = folder / "soak.db"
        self.store = store or f"sqlite:{self.path}"
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = (folder / "server.log").open("ab")
        self._upstream = upstream
        self._options = options
        self._child: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        words = ["serve", "--store", self.store, "--port", str(self.port), "--anthropic-upstream", self._upstream]
        words += self._options
        self._child = await asyncio.to_thread(self._spawn, [sys.executable, "-m", "ramify", *words])
        await self.until(lambda health: True)

    def _spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def end(self, number: int) -> None:
        assert self._child is not None
        self._child.send_signal(number)
        self._child.wait(timeout=30)

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    async def until(self, condition: Any, seconds: float = 60.0) -> dict[str, Any]:
        """Until its health is as it should be."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            health = await self.ask("health")
            if health is not None and condition(health):
                return health
            await asyncio.sleep(0.05)
        raise Broken(f"the server did not come to that in {seconds} s: {await self.ask('health')}")

    async def ask(self, question: str) -> dict[str, Any] | None:
        """None, when nobody answers."""
        try:
            async with aiohttp.ClientSession() as http, http.get(f"{self.address}/api/{question}") as response:
                found: dict[str, Any] = await response.json()
                return found
        except TROUBLE:
            return None

    async def metrics(self) -> dict[str, float]:
        """Its own figures; none, when nobody answers."""
        try:
            async with aiohttp.ClientSession() as http, http.get(f"{self.address}/metrics") as response:
                lines = (await response.text()).splitlines()
        except TROUBLE:
            return {}
        return {name: float(value) for name, _, value in (line.partition(" ") for line in lines if not line.startswith("#"))}

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    def writer(self) -> int:
        """The process that links and stores; 0 while there is none."""
        with suppress(OSError):  # whatever is looked at may just end
            for path in Path(f"/proc/{self.pid}/task").glob("*/children"):
                for child in path.read_text().split():
                    if b"ramify.writing" in Path(f"/proc/{child}/cmdline").read_bytes():
                        return int(child)
        return 0

    def end_anyway(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self.kill()

    def figures(self) -> tuple[int, int]:
        """Memory in MiB, and open files."""
        assert self._child is not None
        status = Path(f"/proc/{self._child.pid}/status").read_text()
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(resident.split()[1]) // 1024, len(os.listdir(f"/proc/{self._child.pid}/fd"))


@dataclass
class Load:
    """Sessions with sub-agents, side by side, each beginning anew when it has ended."""

    address: str
    width: int
    sessions: int = 0
    troubles: int = 0
    wrong: list[str] = field(default_factory=list)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _running: bool = False

    def start(self) -> None:
        self._running = True
        self._tasks = [asyncio.create_task(self._play(number)) for number in range(self.width)]

    async def stop(self) -> None:
        """Lets each session come to its end."""
        self._running = False
        await asyncio.gather(*self._tasks)

    async def cut(self) -> None:
        self._running = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _play(self, number: int) -> None:
        while self._running:
            try:
                said = await asyncio.wait_for(play(self.address, 0.02, f"{random.getrandbits(64):016x}-{number}"), 60)
            except TROUBLE:
                self.troubles += 1
                await asyncio.sleep(0.1)
                continue
            self.sessions += 1
            if said != LAST_WORDS:
                self.wrong.append(said)


@dataclass
class Shown:
    """What the API has shown: it must never be taken back."""

    server: Server
    calls: dict[str, str] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            page = await self.server.ask("calls?limit=400")
            for call in (page or {}).get("items", ()):
                self.calls[call["id"]] = call["status"]
            await asyncio.sleep(0.05)


@dataclass
class Times:
    """How long a client waits for a whole streamed answer."""

    address: str
    seconds: list[float] = field(default_factory=list)
    errors: int = 0

    async def measure(self, seconds: float) -> None:
        body = {"model": "claude-sonnet-5", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Still there?"}]}
        end = time.monotonic() + seconds
        async with aiohttp.ClientSession() as http:
            while time.monotonic() < end:
                began = time.perf_counter()
                try:
                    async with http.post(f"{self.address}/v1/messages", json=body) as response:
                        whole = (await response.read()).endswith(b'{"type":"message_stop"}\n\n')
                        self.errors += not whole or response.status != 200
                except TROUBLE:
                    self.errors += 1
                self.seconds.append(time.perf_counter() - began)
                await asyncio.sleep(0.02)

    def __str__(self) -> str:
        ordered = sorted(self.seconds)
        middle, most = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
        return f"{len(ordered)} asked, median {middle * 1000:.1f} ms, 99% {most * 1000:.1f} ms, longest {ordered[-1] * 1000:.1f} ms, errors {self.errors}"


def check_store(path: Path, shown: dict[str, str]) -> int:
    """After a blow, before anybody has opened the file again: it is whole, and everything shown is there."""
    raw = sqlite3.connect(path)
    holds(raw.execute("PRAGMA quick_check").fetchall() == [("ok",)], "the file is damaged")
    raw.close()
    store = open_sqlite(f"sqlite:{path}")
    missing = [id for id in shown if store.load("calls", id) is None]
    holds(not missing, f"{len(missing)} calls that the API had shown are gone: {missing[:3]}")
    for id, status in shown.items():
        row = store.load("calls", id)
        holds(status == "running" or getattr(row, "status", "") == status, f"{id} was {status} and is not any more")
    count = store.count("calls")
    store.close()
    return count


def check_rebuild(path: Path) -> None:
    command = [sys.executable, "-m", "ramify", "rebuild", "--dry-run", "--json", "--store", f"sqlite:{path}"]
    told = subprocess.run(command, capture_output=True, text=True)
    holds(told.returncode == 0, f"rebuild failed: {told.stderr}")
    moved = json.loads(told.stdout)["moved"]
    holds(moved == [], f"rebuild would move {len(moved)} rows: {moved[:2]}")


async def check_left_open(server: Server) -> None:
    """The next start stores what waits in the spool, and says of every call of the dead server that it ended."""
    await server.until(lambda health: not health["capture"]["spooled"] and not health["capture"]["waiting"])
    store = open_sqlite(f"sqlite:{server.path}")
    for _ in range(1000):
        left = store.count("calls", {"status": "running"})
        if not left:
            break
        await asyncio.sleep(0.02)
    store.close()
    holds(left == 0, f"{left} calls of a dead server still run")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process holds the file and lets nobody write."""
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60); c.execute('BEGIN EXCLUSIVE'); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            yield
        finally:
            holder.kill()


def asked_of(upstream: Upstream) -> int:
    return sum(received.method == "POST" for received in upstream.requests)
