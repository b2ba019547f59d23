"""`ramify demo`: a scripted session through the real proxy, its tree drawn as it grows, until somebody stops it."""

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any

from ramify.demo import scenario
from ramify.demo.upstream import serving
from ramify.query.errors import NotFound
from ramify.server import Running, greeting, listening, run_loop

REDRAW = 0.25
Draw = Callable[[dict[str, Any]], None]


def run_demo(served: Callable[[str], Running], clock: Callable[[], int], draw: Draw, pace: float) -> int:
    return run_loop(_play(served, clock, draw, pace))


async def _play(served: Callable[[str], Running], clock: Callable[[], int], draw: Draw, pace: float) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(scenario.script(pace)) as upstream:
        ramify = served(upstream.url)
        try:
            async with listening(ramify, clock) as address:
                print(greeting(ramify, address), file=sys.stderr, flush=True)
                acting = asyncio.create_task(scenario.play(address, pace))
                await _watch(ramify, acting, draw, stop)
                if not stop.is_set():
                    print(f"The session is over; the server stays up at {address} until you press Ctrl-C.", file=sys.stderr)
                    await stop.wait()
                acting.cancel()
        finally:
            ramify.close()
    return 0


async def _watch(ramify: Running, acting: "asyncio.Task[str]", draw: Draw, stop: asyncio.Event) -> None:
    quiet = 0
    while not stop.is_set() and quiet < 6:  # a few more looks after the end: the writer gathers before it stores
        await asyncio.sleep(REDRAW)
        quiet = quiet + 1 if acting.done() else 0
        try:
            draw(await asyncio.to_thread(ramify.questions.tree, scenario.SESSION))
        except NotFound:
            continue
    if acting.done() and not acting.cancelled():
        acting.result()
