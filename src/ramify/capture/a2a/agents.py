"""`/a2a/{agent}/…`: a reverse proxy of named agents that watches. Nobody else can be reached through it."""

import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from aiohttp import hdrs, web
from multidict import istr

from ramify.capture.a2a.agent import Agent
from ramify.capture.proxy import BODY_LIMIT
from ramify.capture.tee import Asked, Clock, Sink, Watch
from ramify.whose import project_of

PREFIX = "/a2a/"
PLACE = re.compile(r"/a2a/([^/?#]*)([^#]*)")
HOST = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?", re.ASCII)
PATH = re.compile(r"(?:/[\w.~%-]+)*", re.ASCII)
FORWARDED_HOST, FORWARDED_PROTO, FORWARDED_PREFIX = map(
    istr, ("x-forwarded-host", "x-forwarded-proto", "x-forwarded-prefix")
)


class Agents:
    """`handle` is the handler of every such route; `close` when the server has stopped. Each exchange is a connection
    of its own: its name comes from `new_name`, which never says the same twice."""

    def __init__(
        self,
        addresses: Mapping[str, str],
        sink: Sink,
        project: str,
        clock: Callable[[], int],
        new_name: Callable[[], str],
        body_limit: int = BODY_LIMIT,
        ticks: Clock | None = None,
    ) -> None:
        self._watch = Watch(sink, clock, str, body_limit, ticks)
        self._agents = {name: Agent(name, url, self._watch) for name, url in addresses.items()}
        self._project = project
        self._new_name = new_name

    @property
    def lost(self) -> int:
        """Observations that the sink refused with an exception. No client noticed."""
        return self._watch.lost

    async def close(self) -> None:
        for agent in self._agents.values():
            agent.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        place = PLACE.fullmatch(request.raw_path)
        name = unquote(place[1]) if place else ""
        agent = self._agents.get(name)
        if place is None or agent is None:
            return self._unknown(name)
        rest = place[2]
        project = project_of(request, self._project)
        shown = rest if rest.startswith("/") else "/" + rest
        asked = Asked(self._new_name(), project, request.method, shown, request.raw_headers)
        return await agent.handle(request, asked, rest, f"{own_address(request)}{PREFIX}{name}")

    def _unknown(self, name: str) -> web.Response:
        known = ", ".join(sorted(self._agents)) or "none"
        error = {
            "code": "unknown_agent",
            "message": f"There is no agent {name!r}; known: {known}",
            "hint": "Agents are named when the server starts: ramify serve --a2a NAME=URL",
        }
        return web.json_response({"error": error}, status=404)


def own_address(request: web.Request) -> str:
    """Where the client reaches us, through whatever stands between. Who may ask at all is checked before; whoever does
    is believed, as the answer is for nobody else."""
    headers = request.headers
    proto = first(headers.get(FORWARDED_PROTO, ""))
    prefix = first(headers.get(FORWARDED_PREFIX, "")).rstrip("/")
    hosts = (first(headers.get(FORWARDED_HOST, "")), headers.get(hdrs.HOST, ""), local_name(request))
    host = next(host for host in hosts if HOST.fullmatch(host))
    return f"{proto if proto in ('http', 'https') else request.scheme}://{host}{prefix if PATH.fullmatch(prefix) else ''}"


def first(values: str) -> str:
    return values.partition(",")[0].strip()


def local_name(request: web.Request) -> str:
    name = request.transport.get_extra_info("sockname") if request.transport else None
    if not isinstance(name, tuple):
        return "localhost"
    return f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}"
