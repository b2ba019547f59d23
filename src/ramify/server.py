"""The server process: one port for capture, questions and the live feed, from start to a clean end."""

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Protocol

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from ramify.capture.a2a.agents import Agents
from ramify.capture.allocator import reuse_memory
from ramify.capture.proxy import ANTHROPIC, OPENAI, SERVER_OPTIONS, Provider, Proxy
from ramify.capture.tee import Sink
from ramify.demonstration import Demonstration
from ramify.model.mistake import UserMistake
from ramify.settings import Settings
from ramify.storage.address import shown
from ramify.web.app import make_app
from ramify.web.served import Served

SWITCH_SECONDS = 0.0005  # how long the writer's thread may keep the interpreter while a client waits
BACKLOG = 1024
ENDING = (signal.SIGINT, signal.SIGTERM)
END_SECONDS = 4.0  # after everything is stored or spooled


class Closing(Sink, Protocol):
    def close(self) -> Any:
        """Back when everything is stored or spooled."""


class Running(Served, Protocol):
    settings: Settings
    proxy: Any
    demonstration: Any
    agents: Any
    openai: Any
    address: str

    @property
    def pipeline(self) -> Closing: ...
    def start(self) -> None: ...
    def close(self) -> None: ...
    def new_id(self) -> str: ...
    def fingerprint(self, credential: str) -> str: ...


def run_server(ramify: Running, clock: Callable[[], int], listener: socket.socket) -> int:
    logging.getLogger("aiohttp.server").addFilter(without_bytes)
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(50_000, 20, 100)  # a question reads many rows at once; looking through them finds nothing to free
    reuse_memory()
    try:
        return run_loop(until_interrupted(ramify, clock, listener))
    finally:
        for number in ENDING:  # whoever asks a second time would lose what is on its way; it takes seconds
            signal.signal(number, signal.SIG_IGN)
        ramify.close()


def end_when_told() -> None:
    """Until it listens: as the first process of a container it would not hear of it at all."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))


def without_bytes(told: logging.LogRecord) -> bool:
    """Of a request that is no HTTP, aiohttp's traceback quotes the header that was wrong, which may be a credential."""
    if told.exc_info and isinstance(told.exc_info[1], HttpProcessingError):
        told.msg, told.args, told.exc_info = "refused what is no HTTP status=%s", (told.exc_info[1].code,), None
    return True


def run_loop(work: Coroutine[Any, Any, int]) -> int:
    """On uvloop where it is installed: it halves what the proxy adds."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return int(uvloop.run(work))


async def until_interrupted(ramify: Running, clock: Callable[[], int], listener: socket.socket) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.add_signal_handler(number, stop.set)
    async with listening(ramify, clock, listener) as address:
        print(greeting(ramify, address), file=sys.stderr, flush=True)
        await stop.wait()
        print("ramify: stopping; storing what is still on its way", file=sys.stderr, flush=True)
    threading.Thread(target=end_anyway, args=(ramify,), name="ramify-end", daemon=True).start()
    return 0


def end_anyway(ramify: Running) -> None:
    """A question to a store that hangs keeps a thread, and that the process. When all that was seen is safe, it ends all the same."""
    ramify.pipeline.close()
    time.sleep(END_SECONDS)
    logging.getLogger("ramify").warning("the store hangs: ending without it")
    os._exit(0)


@asynccontextmanager
async def listening(ramify: Running, clock: Callable[[], int], listener: socket.socket | None = None) -> AsyncIterator[str]:
    """Gives the address under which clients on this machine reach us. Without a listener, one is made."""
    settings = ramify.settings

    def watching(upstream: str, project: str, provider: Provider = ANTHROPIC) -> Proxy:
        return Proxy(upstream, ramify.pipeline, project, clock, ramify.new_id, ramify.fingerprint, settings.body_limit, provider, ticks)

    project = settings.project or "default"
    proxy, openai = watching(settings.anthropic_upstream, project), watching(settings.openai_upstream, project, OPENAI)
    agents = Agents(
        settings.a2a, ramify.pipeline, project, clock,
        lambda: ramify.new_id().removeprefix("obs_"), settings.body_limit, ticks,
    )
    ramify.proxy, ramify.openai, ramify.agents = proxy.handle, openai.handle, agents.handle
    demonstration = ramify.demonstration = Demonstration(watching)
    runner = web.AppRunner(make_app(ramify), shutdown_timeout=2.0, **SERVER_OPTIONS)
    await runner.setup()
    listener = listener or bound(settings.host, settings.port)
    ramify.start()
    try:
        await web.SockSite(runner, listener, backlog=BACKLOG).start()
        host, port = listener.getsockname()[:2]
        near = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        ramify.address = f"http://[{near}]:{port}" if ":" in near else f"http://{near}:{port}"
        yield ramify.address
    finally:
        await demonstration.close()
        await runner.cleanup()
        await proxy.close()
        await openai.close()
        await agents.close()


def ticks() -> int:
    return time.monotonic_ns() // 1000


def bound(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG)
    except OSError as problem:
        why = str(problem.strerror or problem).partition(" (while ")[0]  # what follows says the address again
        raise UserMistake(f"cannot listen on {host}:{port}: {why}", not_bound(problem)) from None


def not_bound(problem: OSError) -> str:
    if (problem.errno or 0) < 0 or problem.errno == errno.EADDRNOTAVAIL:  # numbers below none are those of looking up a name
        return "this machine has no such address; --host 127.0.0.1 is the machine itself, --host 0.0.0.0 every address that it has"
    if problem.errno == errno.EACCES:
        return "ports below 1024 are for the administrator; choose another with --port"
    return "another server may be running there; choose another with --port, or stop it"


def greeting(ramify: Running, address: str) -> str:
    lines = (
        f"Ramify listens on {address} and sends on to {ramify.settings.anthropic_upstream}",
        f"  point a client at it:  export ANTHROPIC_BASE_URL={address}",
        f"                    or:  export OPENAI_BASE_URL={address}/openai/v1",
        "  see what it does:      ramify tail    ramify conversations    ramify tree ID",
        f"  look at it:            {address}",
        f"  store:                 {shown(ramify.settings.store)}",
    )
    agents = (f"\n  watches an A2A agent:  {address}/a2a/{name} (it is {url})" for name, url in ramify.settings.a2a.items())
    return "\n".join(lines) + "".join(agents) + "".join(f"\n  follows transcripts:   {root}" for root in ramify.settings.watch)
