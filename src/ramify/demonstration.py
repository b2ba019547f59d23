"""A demonstration on request: the scripted session through a proxy of its own, into the store of the server that runs."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import uuid4

from aiohttp import web

from ramify.capture.proxy import SERVER_OPTIONS, Proxy
from ramify.demo import scenario
from ramify.demo.upstream import serving

PROJECT = "demo"
PACE = 1.0
log = logging.getLogger("ramify")


class Demonstration:
    """One at a time. It has a model, a proxy and ports of its own, which are gone when it is over: what else is
    captured meanwhile does not meet it. Each is a session of its own, so each is a further run."""

    def __init__(self, proxy: Callable[[str, str], Proxy]) -> None:
        """`proxy` makes one, from an upstream and a project."""
        self.pace = PACE
        self._proxy = proxy
        self._playing: asyncio.Task[None] | None = None

    def begin(self) -> str | None:
        """The session that begins to play; None while another still does."""
        if self._playing is not None and not self._playing.done():
            return None
        session = str(uuid4())
        self._playing = asyncio.create_task(self._play(session))
        return session

    async def close(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.gather(self._playing, return_exceptions=True)

    async def _play(self, session: str) -> None:
        try:
            async with serving(scenario.script(self.pace), seed=session) as model, captured(self._proxy(model.url, PROJECT)) as address:
                await scenario.play(address, self.pace, session)
        except Exception:
            log.exception("the demonstration broke off session=%s", session)


@asynccontextmanager
async def captured(proxy: Proxy) -> AsyncIterator[str]:
    """The address at which the proxy listens, on this machine only."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", proxy.handle)
    runner = web.AppRunner(application, shutdown_timeout=1.0, **SERVER_OPTIONS)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield "http://{}:{}".format(*runner.addresses[0][:2])
    finally:
        await runner.cleanup()
        await proxy.close()
