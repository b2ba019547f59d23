"""A run to look at, for a store that is still empty."""

from aiohttp import web

from ramify.web.answering import LARGEST_ACT, json_body
from ramify.web.errors import Refused
from ramify.web.served import seen


async def played(request: web.Request) -> web.StreamResponse:
    """It is answered when the session begins; the live feed tells the rest."""
    await json_body(request, LARGEST_ACT)
    session = seen(request).demonstration.begin()
    if session is None:
        raise Refused(409, "already_playing", "A demo run is playing already", "Watch it, or wait until it is over")
    return web.json_response({"session": session}, headers={"cache-control": "no-store"})
