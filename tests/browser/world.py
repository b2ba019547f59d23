"""A real server in a thread with a scripted model behind it, for a real browser to look at."""

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from ramify.capture.relay import A_MOMENT
from ramify.demo import scenario
from ramify.demo.upstream import Script, Upstream
from ramify.demo.upstream import serving as upstream
from ramify.model.observation import Observation
from ramify.served import Served, open_served
from ramify.server import listening
from ramify.settings import load
from ramify.wiring import now

PATIENCE = 30.0


@dataclass
class World:
    """What a test can do to the server from outside: let a session play, or let it see something."""

    loop: asyncio.AbstractEventLoop
    served: Served
    url: str
    model: Upstream
    playing: list[Any] = field(default_factory=list)

    def play(self, pace: float = 0.0, session: str = scenario.SESSION) -> None:
        self.start(pace, session)
        self.playing.pop().result(PATIENCE)
        self.settle()

    def start(self, pace: float, session: str = scenario.SESSION) -> None:
        """Plays on while the test goes on."""
        self.playing.append(asyncio.run_coroutine_threadsafe(scenario.play(self.url, pace, session), self.loop))

    def release(self) -> None:
        """The model goes on with what it held back."""
        self.loop.call_soon_threadsafe(self.model.released.set)

    def see(self, observations: Iterable[Observation]) -> None:
        for seen in observations:
            self.served.pipeline.put(seen)
        self.settle()

    def settle(self) -> None:
        """What a client has its answer of is told a few turns of the loop later."""
        asyncio.run_coroutine_threadsafe(asyncio.sleep(2 * A_MOMENT), self.loop).result(PATIENCE)
        assert self.served.pipeline.flush(PATIENCE)
        self.served._index()

    def task(self, title: str) -> str:
        found = [task["id"] for task in self.served.questions.tasks(limit=0)["items"] if task["title"].startswith(title)]
        assert found, title
        return str(found[0])


@contextmanager
def world(script: Script | None = None, port: int = 0, **settings: Any) -> Iterator[World]:
    loop = asyncio.new_event_loop()
    ready: list[World] = []
    began, ending = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with upstream(script or scenario.script()) as model:
            own = replace(load({"store": "memory:"}, {}), port=port, anthropic_upstream=model.url, **settings)
            served = open_served(own)
            try:
                async with listening(served, now) as address:
                    ready.append(World(loop, served, address, model))
                    began.set()
                    await ending.wait()
            finally:
                served.close()
                began.set()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="world", daemon=True)
    thread.start()
    assert began.wait(PATIENCE)
    assert ready, "the server did not start"
    try:
        yield ready[0]
    finally:
        for one in ready[0].playing:
            one.cancel()
        loop.call_soon_threadsafe(ending.set)
        thread.join(PATIENCE)
        loop.close()
