"""`ramify demo`: scripted work by every way in, a session's tree drawn as it grows, until somebody stops it."""

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any, Protocol

from ramify.capture.broker.message import records_of
from ramify.capture.broker.receiver import Delivery
from ramify.demo import campaign, catalogue, mesh, scenario
from ramify.demo.agents import at_work
from ramify.demo.upstream import serving
from ramify.query.errors import NotFound
from ramify.server import Running, greeting, listening, run_loop

REDRAW = 0.25
LATER = 2.0  # seconds at pace 1 before the other protocols begin
SEED = "tea shop"


class Picture(Protocol):
    """Where the session is shown: the page's address first, then the tree while it grows, until it is over."""

    def begin(self, page: str) -> None: ...
    def grow(self, tree: dict[str, Any]) -> None: ...
    def over(self) -> None: ...


Open = Callable[[str, dict[str, str]], Running]
"""Opens what serves, from the address of a model and those of agents."""


def run_demo(served: Open, clock: Callable[[], int], picture: Picture, pace: float) -> int:
    return run_loop(_play(served, clock, picture, pace))


async def _play(served: Open, clock: Callable[[], int], picture: Picture, pace: float) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    actors = catalogue.agents(pace, SEED)
    async with serving(scenario.script(pace)) as upstream, at_work(actors) as agents:
        ramify = served(upstream.url, agents)
        try:
            async with listening(ramify, clock) as address:
                for actor in actors:
                    actor.reach = {name: f"{address}/a2a/{name}/" for name in agents}
                print(greeting(ramify, address), file=sys.stderr, flush=True)
                picture.begin(f"{address}/latest")
                acting = asyncio.create_task(act(ramify, address, clock, pace))
                await _watch(ramify, acting, picture, stop)
                picture.over()
                if not stop.is_set():
                    print(farewell(ramify), file=sys.stderr, flush=True)
                    await stop.wait()
                acting.cancel()
        finally:
            ramify.close()
    return 0


async def act(ramify: Running, address: str, clock: Callable[[], int], pace: float) -> str:
    """The session of a person first; then the others, each by its own way in."""
    session = asyncio.create_task(scenario.play(address, pace))
    try:
        await asyncio.sleep(LATER * pace)
        await asyncio.gather(
            session, catalogue.play(address, pace), campaign.play(address, pace, SEED), hear(ramify, clock, pace)
        )
    finally:
        session.cancel()
    return await session


async def hear(ramify: Running, clock: Callable[[], int], pace: float) -> None:
    """What a listener would hand over."""
    async for topic, payload in mesh.play(pace, SEED):
        for imported in records_of(Delivery(topic, payload), ramify.project, clock(), "demo", "UTC"):
            for seen in imported.observations:
                ramify.observe(seen)


def farewell(ramify: Running) -> str:
    """The store is a throw-away one: whoever asks about it must say which."""
    lines = (
        "The session is over; the server stays up until you press Ctrl-C. In another terminal:",
        f"  export RAMIFY_STORE={ramify.settings.store}",
        f"  ramify messages {scenario.SESSION}    ramify tools {scenario.SESSION}",
        "  ramify tasks --roots    ramify operations    (a person's session, A2A agents, an agent mesh, a program's operation)",
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
