"""`ramify demo`: a scripted session through the real proxy, its tree drawn as it grows, until somebody stops it."""

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any, Protocol

from ramify.demo import scenario
from ramify.demo.upstream import serving
from ramify.query.errors import NotFound
from ramify.server import Running, greeting, listening, run_loop

REDRAW = 0.25


class Picture(Protocol):
    """Where the session is shown: the page's address first, then the tree while it grows, until it is over."""

    def begin(self, page: str) -> None: ...
    def grow(self, tree: dict[str, Any]) -> None: ...
    def over(self) -> None: ...


def run_demo(served: Callable[[str], Running], clock: Callable[[], int], picture: Picture, pace: float) -> int:
    return run_loop(_play(served, clock, picture, pace))


async def _play(served: Callable[[str], Running], clock: Callable[[], int], picture: Picture, pace: float) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(scenario.script(pace)) as upstream:
        ramify = served(upstream.url)
        try:
            async with listening(ramify, clock) as address:
                print(greeting(ramify, address), file=sys.stderr, flush=True)
                picture.begin(f"{address}/latest")
                acting = asyncio.create_task(scenario.play(address, pace))
                await _watch(ramify, acting, picture, stop)
                picture.over()
                if not stop.is_set():
                    print(farewell(ramify), file=sys.stderr, flush=True)
                    await stop.wait()
                acting.cancel()
        finally:
            ramify.close()
    return 0


def farewell(ramify: Running) -> str:
    """The store is a throw-away one: whoever asks about it must say which."""
    lines = (
        "The session is over; the server stays up until you press Ctrl-C. In another terminal:",
        f"  export RAMIFY_STORE={ramify.settings.store}",
        f"  ramify messages {scenario.SESSION}    ramify tools {scenario.SESSION}",
    )
    return "\n".join(lines)


async def _watch(ramify: Running, acting: "asyncio.Task[str]", picture: Picture, stop: asyncio.Event) -> None:
    quiet = 0
    while not stop.is_set() and quiet < 6:  # a few more looks after the end: the writer gathers before it stores
        await asyncio.sleep(REDRAW)
        quiet = quiet + 1 if acting.done() else 0
        try:
            picture.grow(await asyncio.to_thread(ramify.questions.tree, scenario.SESSION))
        except NotFound:
            continue
    if acting.done() and not acting.cancelled():
        acting.result()
